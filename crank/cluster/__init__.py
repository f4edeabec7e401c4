"""Data in partitions: what a fit learns of them, as sums over partitions that Dask runs."""
