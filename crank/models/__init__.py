"""Models: records with verbs of a few lines, which call the functions that do the work."""
