"""Sums over all pairs on a grid of scores, compiled. Importing this module imports numba.

Does what `crank.kernels.pair_sums.OnGrid` does; each pass reads the rows once and writes no more
than it must.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiler import kernel, kernel_part
from crank.kernels.order import FloatArray


@kernel_part
def _cubic(f: float) -> tuple[float, float, float, float]:  # compiled
    return (
        -f * (f - 1.0) * (f - 2.0) / 6.0,
        (f + 1.0) * (f - 1.0) * (f - 2.0) / 2.0,
        -(f + 1.0) * f * (f - 2.0) / 2.0,
        (f + 1.0) * f * (f - 1.0) / 6.0,
    )


@kernel
def spread_columns(
    score: FloatArray,
    weight: FloatArray,
    Z: FloatArray,
    low: float,
    width: float,
    binned: FloatArray,
) -> None:
    """Add each row's weight, and its weighted columns, to the four points around its score."""
    n, p = Z.shape
    size = len(binned)
    for i in range(n):
        place = 1.0 + (score[i] - low) / width
        first = min(int(place), size - 3)
        shares = _cubic(place - first)
        for m in range(4):
            share = weight[i] * shares[m]
            point = binned[first - 1 + m]
            point[0] += share
            for k in range(p):
                point[k + 1] += share * Z[i, k]


@kernel
def row_influences(
    rows: tuple[int, int],
    score: FloatArray,
    weight: FloatArray,
    Z: FloatArray,
    group: NDArray[np.int32],
    rank: FloatArray,
    low: float,
    width: float,
    seen: FloatArray,
    below: FloatArray,
    read: int,
    found: FloatArray,
) -> int:
    """Compute what some rows add to the score of the loss, in increasing order of y.

    Parameters
    ----------
    rows : tuple of int
        The first row, and the one after the last.
    rank : ndarray of shape (n,)
        Weight below each row less half of all, ties by half.
    seen : ndarray of shape (size, p + 1)
        What each point sees of the weights and of the weighted columns, less half of all.
    below : ndarray of shape (2, p)
        Sums of the weighted columns below the group of ties at hand, and with it, less half of
        all; carried from one call to the next.
    read : int
        Rows that the second of them counts.
    found : ndarray
        The result, a row for each.

    Returns
    -------
    int
        `read`, for the next call.
    """
    n, p = Z.shape
    size = len(seen)
    sums = np.empty(p + 1)
    for i in range(rows[0], rows[1]):
        if i == read:
            below[0] = below[1]
            while read < n and group[read] == group[i]:
                for k in range(p):
                    below[1, k] += weight[read] * Z[read, k]
                read += 1
        place = 1.0 + (score[i] - low) / width
        first = min(int(place), size - 3)
        shares = _cubic(place - first)
        sums[:] = 0.0
        for m in range(4):
            share, point = shares[m], seen[first - 1 + m]
            for k in range(p + 1):
                sums[k] += share * point[k]
        left, w = rank[i] - sums[0], weight[i]
        for k in range(p):
            lower = 0.5 * (below[0, k] + below[1, k]) - sums[k + 1]
            found[i - rows[0], k] = w * (Z[i, k] * left - lower)
    return read
