"""Kernels: the inner loops, on plain arrays."""
