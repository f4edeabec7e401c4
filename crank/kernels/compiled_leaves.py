"""Sums over concordant pairs for a score of few values, compiled. Importing it imports numba."""

from __future__ import annotations

from crank.kernels.compiler import kernel
from crank.kernels.order import FloatArray, IntArray


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
    past: FloatArray,
    past_total: FloatArray,
    future: FloatArray,
    future_total: FloatArray,
) -> None:
    """Do what `crank.kernels.leaves.leaf_sums` does, row by row.

    The last four hold a zero for each leaf: to make arrays here would take long to compile.
    """
    for t in range(len(under)):
        for row in range(start[t], start[t + 1]):
            future[leaf[row]] += weight[row]
            future_total[leaf[row]] += weight[row] * under[t]
    for t in range(len(under)):
        for row in range(start[t], start[t + 1]):
            future[leaf[row]] -= weight[row]
            future_total[leaf[row]] -= weight[row] * under[t]
        for row in range(start[t], start[t + 1]):
            own = leaf[row]
            low, low_total = past[own] / 2.0, past_total[own] / 2.0
            high, high_total = future[own] / 2.0, future_total[own] / 2.0
            for g in range(own):
                low += past[g]
                low_total += past_total[g]
            for g in range(own + 1, len(past)):
                high += future[g]
                high_total += future_total[g]
            below[row] = low
            above[row] = high
            between[row] = under[t] * low - low_total + high_total - upto[t] * high
        for row in range(start[t], start[t + 1]):
            past[leaf[row]] += weight[row]
            past_total[leaf[row]] += weight[row] * upto[t]
