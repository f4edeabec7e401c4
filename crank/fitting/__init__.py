"""Fitting: from a design and ranks to a ranker, on arrays that have been checked."""
