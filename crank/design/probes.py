"""Made-up rows of a design, on which two ways to compute the same can be compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SCALES = (0.1, 1.0, 30.0, 1e4)
"""Sizes of the numbers; rules of real data cut at all of them."""


def probe_rows(
    levels: Sequence[int], *, missing: bool, rows: int = 64, seed: int = 0
) -> NDArray[np.float64]:
    """Make design rows up: numbers of several sizes, category codes, missing values if allowed.

    Examples
    --------
    >>> probe_rows((0, 3), missing=False).shape
    (64, 2)
    """
    rng = np.random.default_rng(seed)
    X: NDArray[np.float64] = rng.normal(size=(rows, len(levels))) * np.resize(SCALES, rows)[:, None]
    for column, count in enumerate(levels):
        if count:
            X[:, column] = rng.integers(0, count, rows)
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    return X
