"""Data for the benchmarks."""

from __future__ import annotations

import numpy as np


def plain(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw continuous columns; y depends on four of them, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X[:, 0] + X[:, 1] ** 2 + X[:, 2] * X[:, 3] + rng.normal(size=n)
    return X, y


def mixed(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw columns of which every other has few values, 5% missing, and a y with ties."""
    rng = np.random.default_rng(seed)
    X, y = plain(n, d, seed)
    X[:, ::2] = np.round(X[:, ::2] * 4)
    X[rng.random((n, d)) < 0.05] = np.nan
    return X, np.round(y, 2)
