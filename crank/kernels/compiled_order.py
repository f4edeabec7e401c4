"""Sums over concordant pairs, compiled. Importing this module imports numba."""

from __future__ import annotations

import numpy as np

from crank.kernels.compiler import kernel
from crank.kernels.order import FloatArray, IntArray


def sums_below(
    by_y: IntArray, y_rank: IntArray, score_rank: IntArray, values: FloatArray
) -> FloatArray:
    """Do what `crank.kernels.order.JointOrder.below` does, with a tree of sums over scores."""
    result, groups = np.empty_like(values), score_rank.max() + 1
    for row, total in zip(values, result, strict=True):
        _sweep(by_y, y_rank, score_rank, groups, np.ascontiguousarray(row), total)
    return result


@kernel
def _sweep(
    by_y: IntArray,
    y_rank: IntArray,
    score_rank: IntArray,
    groups: int,
    values: FloatArray,
    result: FloatArray,
) -> None:
    n = len(values)
    tree = np.zeros(groups + 1)  # Fenwick's: sums of the scores seen so far
    at = np.zeros(groups)
    start = 0
    while start < n:
        y = y_rank[by_y[start]]
        stop = start
        while stop < n and y_rank[by_y[stop]] == y:
            row = by_y[stop]
            i = score_rank[row]
            total = at[i]
            while i > 0:
                total += 2.0 * tree[i]
                i -= i & -i
            result[row] = total
            stop += 1
        for place in range(start, stop):
            row = by_y[place]
            i = score_rank[row] + 1
            at[i - 1] += values[row]
            while i <= groups:
                tree[i] += values[row]
                i += i & -i
        start = stop
