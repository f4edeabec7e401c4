"""Rankers: what turns a design matrix into scores. Frozen data, one file a kind."""
