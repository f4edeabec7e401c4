"""Designs: raw columns in, numbers out, by a specification that holds no code."""
