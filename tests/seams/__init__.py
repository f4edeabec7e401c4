"""A kind of ranker, a criterion and a figure as someone else would add them: new files alone."""
