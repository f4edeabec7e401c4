"""Records: fitted models as plain data, and the table of their kinds; readers need no more."""
