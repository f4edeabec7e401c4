"""Designs: raw columns in, numbers out, by a specification that is plain data."""
