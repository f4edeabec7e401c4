"""Judging: a model on data, against other models, and against what one order can do at all."""
