"""Sums over concordant pairs, compiled. Importing this module imports numba."""

from __future__ import annotations

import numpy as np

from crank.kernels.compiler import kernel
from crank.kernels.order import FloatArray, IntArray


def sums_below(
    by_y: IntArray, y_rank: IntArray, score_rank: IntArray, values: FloatArray
) -> FloatArray:
    """Do what `crank.kernels.order.JointOrder.below` does, with a tree of sums over scores."""
    result = np.empty_like(values)
    _sweep(by_y, y_rank, score_rank, score_rank.max() + 1, values, result)
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
    k, n = values.shape
    tree = np.zeros((groups + 1, k))  # Fenwick's: sums of the scores seen so far
    at = np.zeros((groups, k))
    start = 0
    while start < n:
        y = y_rank[by_y[start]]
        stop = start
        while stop < n and y_rank[by_y[stop]] == y:
            row = by_y[stop]
            for v in range(k):
                result[v, row] = at[score_rank[row], v]
            i = score_rank[row]
            while i > 0:
                for v in range(k):
                    result[v, row] += 2.0 * tree[i, v]
                i -= i & -i
            stop += 1
        for place in range(start, stop):
            row = by_y[place]
            i = score_rank[row] + 1
            for v in range(k):
                at[i - 1, v] += values[v, row]
            while i <= groups:
                for v in range(k):
                    tree[i, v] += values[v, row]
                i += i & -i
        start = stop
