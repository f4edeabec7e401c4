"""Continuous ranking."""
