"""Sums over concordant pairs for a score of few values, compiled. Importing it imports numba."""

from __future__ import annotations

from crank.kernels.compiler import kernel
from crank.kernels.order import FloatArray, IntArray

BITS = 3
"""Leaves are added up in blocks of two to so many."""


@kernel
def fill(
    leaf: IntArray,
    weight: FloatArray,
    start: IntArray,
    under: FloatArray,
    upto: FloatArray,
    below: FloatArray,
    above: FloatArray,
    between: FloatArray,
    n_leaves: int,
    past: FloatArray,
    past_total: FloatArray,
    future: FloatArray,
    future_total: FloatArray,
) -> None:
    """Do what `crank.kernels.leaves.leaf_sums` does, row by row.

    The last four arrays hold a zero for each leaf and, behind them, for each block of leaves, so
    that few numbers are added for a row. To make them here would take long to compile.
    """
    n_all = len(past)
    for t in range(len(under)):
        for row in range(start[t], start[t + 1]):
            own, w = leaf[row], weight[row]
            block = n_leaves + (own >> BITS)
            future[own] += w
            future[block] += w
            future_total[own] += w * under[t]
            future_total[block] += w * under[t]
    for t in range(len(under)):
        for row in range(start[t], start[t + 1]):
            own, w = leaf[row], weight[row]
            block = n_leaves + (own >> BITS)
            future[own] -= w
            future[block] -= w
            future_total[own] -= w * under[t]
            future_total[block] -= w * under[t]
        for row in range(start[t], start[t + 1]):
            own = leaf[row]
            block = own >> BITS
            low, low_total = past[own] / 2.0, past_total[own] / 2.0
            high, high_total = future[own] / 2.0, future_total[own] / 2.0
            for g in range(block << BITS, own):
                low += past[g]
                low_total += past_total[g]
            for g in range(own + 1, min((block + 1) << BITS, n_leaves)):
                high += future[g]
                high_total += future_total[g]
            for g in range(n_leaves, n_leaves + block):
                low += past[g]
                low_total += past_total[g]
            for g in range(n_leaves + block + 1, n_all):
                high += future[g]
                high_total += future_total[g]
            below[row] = low
            above[row] = high
            between[row] = under[t] * low - low_total + high_total - upto[t] * high
        for row in range(start[t], start[t + 1]):
            own, w = leaf[row], weight[row]
            block = n_leaves + (own >> BITS)
            past[own] += w
            past[block] += w
            past_total[own] += w * upto[t]
            past_total[block] += w * upto[t]
