"""Sums over concordant pairs where the score takes few values and rows stand in order of y.

Nothing is sorted by comparing. Compiled, running totals for each value of the score, and for
blocks of values, are enough, in one pass; NumPy takes one pass a bit of the number of the value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crank.kernels.compiler import numba_works
from crank.kernels.order import (
    COMPILED_FROM,
    FloatArray,
    IntArray,
    run_begins,
    running_sums,
    runs,
)


@dataclass(frozen=True, eq=False)
class LeafRows:
    """Rows in increasing order of y, each in one leaf.

    Attributes
    ----------
    leaf : ndarray of int64, shape (n,)
        Dense rank of the score, 0 for the lowest.
    weight : ndarray of float64, shape (n,)
    start : ndarray of int64, shape (distinct + 1,)
        The rows of the t-th value of y are ``start[t]:start[t + 1]``.
    n_leaves : int
    """

    leaf: IntArray
    weight: FloatArray
    start: IntArray
    n_leaves: int


@dataclass(frozen=True, eq=False)
class LeafSums:
    """What each row sees of the rows that are concordant with it; a tie in the score counts half.

    Attributes
    ----------
    below, above : ndarray of float64, shape (n,)
        Weight of those of smaller and of larger y.
    between : ndarray of float64, shape (n,)
        Weight of both, each times what lies between its y and the row's.
    """

    below: FloatArray
    above: FloatArray
    between: FloatArray


def is_compiled(n: int) -> bool:
    """Say whether so many rows are worth the compiled way, and can go it."""
    return n >= COMPILED_FROM and numba_works()


def leaf_sums(rows: LeafRows, under: FloatArray, upto: FloatArray) -> LeafSums:
    """Sum over the rows concordant with each row.

    Parameters
    ----------
    rows : LeafRows
    under, upto : ndarray of float64, shape (distinct,)
        A running total along y, before and after each value: ``under[k] − upto[i]`` lies between
        the i-th and the k-th value.

    Examples
    --------
    >>> rows = LeafRows(np.array([0, 1, 0]), np.ones(3), np.arange(4), 2)
    >>> sums = leaf_sums(rows, np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0]))
    >>> sums.below.tolist(), sums.above.tolist(), sums.between.tolist()
    ([0.0, 1.0, 0.5], [1.5, 0.0, 0.0], [0.5, 0.0, 0.5])
    """
    n = len(rows.leaf)
    found = LeafSums(np.empty(n), np.empty(n), np.empty(n))
    if is_compiled(n):
        from crank.kernels.compiled_leaves import BITS, fill

        n_blocks = ((rows.n_leaves - 1) >> BITS) + 1
        fill(
            rows.leaf,
            rows.weight,
            rows.start,
            under,
            upto,
            found.below,
            found.above,
            found.between,
            rows.n_leaves,
            *np.zeros((4, rows.n_leaves + n_blocks)),
        )
    else:
        _fill(rows, under, upto, found)
    return found


def _fill(rows: LeafRows, under: FloatArray, upto: FloatArray, found: LeafSums) -> None:
    """Count what comes before a row; what comes after it is the rest.

    Rows stand by y, of one y the highest leaf first. So of the rows before another one, those of
    smaller leaf have a smaller y.
    """
    n, distinct, leaf, weight = len(rows.leaf), len(under), rows.leaf, rows.weight
    row, value = np.arange(n), np.repeat(np.arange(distinct), np.diff(rows.start))
    if distinct < n:
        row = np.lexsort((-leaf, value))
        leaf, weight = leaf[row], weight[row]
    low, high = under[value], upto[value]
    values = np.stack((weight, weight * high, weight * low))
    smaller = _smaller_before(leaf, values, rows.n_leaves)

    order = _stable_order(leaf)
    ranked = leaf[order]
    first, last = runs(run_begins(ranked * distinct + value[order]))  # of one leaf and one y
    start, stop = runs(run_begins(ranked))
    sums = running_sums(values.take(order, axis=1))
    at_start = sums.take(start, axis=1)
    at_stop = sums.take(stop, axis=1)
    lower_tied, tied_so_far, higher = np.empty((3, *values.shape))
    lower_tied[:, order] = sums.take(first, axis=1) - at_start
    tied_so_far[:, order] = sums[:, :-1] - at_start
    higher[:, order] = sums[:, -1:] - (at_stop + sums.take(last, axis=1)) / 2.0
    larger_so_far = running_sums(values)[:, :-1] - smaller - tied_so_far
    below, above = smaller + lower_tied / 2.0, higher - larger_so_far
    found.below[row], found.above[row] = below[0], above[0]
    found.between[row] = low * below[0] - below[1] + above[2] - high * above[0]


def _smaller_before(leaf: IntArray, values: FloatArray, n_leaves: int) -> FloatArray:
    """Sum values over the rows of smaller leaf that come before each row.

    Two leaves part at the highest bit in which they differ, so one pass a bit sees every pair
    once; in it, rows stand in blocks of leaves that agree above the bit.
    """
    sums = np.zeros_like(values)
    for bit in range((n_leaves - 1).bit_length()):
        order = _stable_order(leaf >> (bit + 1))
        sorted_leaf = leaf[order]
        at = np.flatnonzero(sorted_leaf >> bit & 1)
        lower = values.take(order, axis=1)
        lower[:, at] = 0.0
        so_far = running_sums(lower)
        start, _ = runs(run_begins(sorted_leaf >> (bit + 1)))
        sums[:, order[at]] += so_far.take(at, axis=1) - so_far.take(start[at], axis=1)
    return sums


def _stable_order(small: IntArray) -> IntArray:
    """Sort small numbers; NumPy counts those of 16 bits instead of comparing them."""
    least = np.uint16 if small.max(initial=0) < 2**16 else np.int64
    return np.argsort(small.astype(least), kind="stable")
