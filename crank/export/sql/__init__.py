"""Models as SQL expressions, one file a kind."""
