"""Frames: any data frame as named columns, read one at a time."""
