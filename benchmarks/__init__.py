"""Benchmarks: crank and its peers take turns in one run; see docs/benchmarks.md."""
