"""Sums over concordant pairs for a score of few values, compiled. Importing it imports numba."""

from __future__ import annotations

from crank.kernels.compiler import kernel
from crank.kernels.order import FloatArray, IntArray

BITS = 3
"""Leaves are added up in blocks of two to so many."""
ADDED_AT_ONCE = 4096
"""Terms of a sum are added up in blocks of so many, so that long sums keep their digits."""


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


@kernel
def add_up(
    start: IntArray,
    weight: FloatArray,
    below: FloatArray,
    above: FloatArray,
    low: FloatArray,
    high: FloatArray,
    mass: FloatArray,
    around: FloatArray,
    sums: FloatArray,
) -> None:
    """Add up pairs and triples, and those of them that are concordant.

    ``around``, of zeros, gets the concordant triples around each value of y but the outer two;
    ``sums`` holds zeros for pairs, concordant pairs, triples, concordant triples and the mass
    times what lies above it.
    """
    n = len(low)
    running = 0.0
    for first in range(0, n, ADDED_AT_ONCE):
        pairs, concordant, triples, ordered, over = 0.0, 0.0, 0.0, 0.0, 0.0
        for t in range(first, min(first + ADDED_AT_ONCE, n)):
            leaving, arriving = 0.0, 0.0
            for row in range(start[t], start[t + 1]):
                leaving += weight[row] * below[row]
                arriving += weight[row] * above[row]
            pairs += mass[t] * low[t]
            concordant += leaving
            if 0 < t < n - 1:
                around[t] = running - leaving
                triples += mass[t] * (low[t] * high[t])
                ordered += mass[t] * around[t]
                over += mass[t] * high[t]
            running += arriving - leaving
        sums[0] += pairs
        sums[1] += concordant
        sums[2] += triples
        sums[3] += ordered
        sums[4] += over


@kernel
def add_squares(
    start: IntArray,
    weight: FloatArray,
    below: FloatArray,
    above: FloatArray,
    between: FloatArray,
    low: FloatArray,
    high: FloatArray,
    mass: FloatArray,
    around: FloatArray,
    sums: FloatArray,
    rate: float,
    mean: float,
    found: FloatArray,
) -> None:
    """Add up squares and fourth powers of the rows' influences on d_τ and on IAUC.

    ``sums`` is as `add_up` leaves it, ``rate`` and ``mean`` are the figures; ``found`` holds four
    zeros.
    """
    n = len(low)
    beyond, short = sums[4], 0.0
    for first in range(0, n, ADDED_AT_ONCE):
        square, fourth, square_of_three, fourth_of_three = 0.0, 0.0, 0.0, 0.0
        for t in range(first, min(first + ADDED_AT_ONCE, n)):
            each = mass[t] if 0 < t < n - 1 else 0.0
            beyond -= each * high[t]
            expected = mean * (low[t] * high[t] + beyond + short)
            short += each * low[t]
            for row in range(start[t], start[t + 1]):
                pair = weight[row] * (below[row] + above[row] - rate * (low[t] + high[t]))
                pair = (pair / sums[0]) ** 2
                square += pair
                fourth += pair * pair
                three = (weight[row] * (between[row] + around[t] - expected) / sums[2]) ** 2
                square_of_three += three
                fourth_of_three += three * three
        found[0] += square
        found[1] += fourth
        found[2] += square_of_three
        found[3] += fourth_of_three
