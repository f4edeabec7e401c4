"""Sums over concordant pairs where the score takes few values and rows stand in order of y.

No sorting and no tree of sums: a running total for each value of the score is enough. One pass
costs O(n · values).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crank.kernels.compiler import numba_works
from crank.kernels.order import COMPILED_FROM, FloatArray, IntArray, group_sums

BLOCK_CELLS = 2**17
"""Cells of the table values of y × values of the score that are held at a time: 1 MB."""


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
    """Tell whether the sums of so many rows are left to compiled code."""
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
        from crank.kernels.compiled_leaves import fill

        fill(rows.leaf, rows.weight, rows.start, rows.n_leaves, under, upto, *_arrays(found))
    else:
        _fill(rows, under, upto, found)
    return found


def _arrays(sums: LeafSums) -> tuple[FloatArray, FloatArray, FloatArray]:
    return sums.below, sums.above, sums.between


def _fill(rows: LeafRows, under: FloatArray, upto: FloatArray, found: LeafSums) -> None:
    distinct, leaves = len(under), rows.n_leaves
    value = np.repeat(np.arange(distinct), np.diff(rows.start))
    # weight of each leaf, and weight times the running total: so far, and still to come
    past = np.zeros((2, leaves))
    future = np.stack(
        [group_sums(rows.leaf, part, leaves) for part in (rows.weight, rows.weight * under[value])]
    )
    step = max(BLOCK_CELLS // leaves, 1)
    for first in range(0, distinct, step):
        last = min(first + step, distinct)
        here = slice(rows.start[first], rows.start[last])
        cell = (value[here] - first) * leaves + rows.leaf[here]
        size = (last - first) * leaves
        mass = group_sums(cell, rows.weight[here], size).reshape(-1, leaves)
        upwards = np.stack((mass, mass * upto[first:last, np.newaxis]))
        downwards = np.stack((mass, mass * under[first:last, np.newaxis]))
        seen = np.cumsum(upwards, axis=1)
        before = past[:, np.newaxis] + seen - upwards
        after = future[:, np.newaxis] - np.cumsum(downwards, axis=1)
        past += seen[:, -1]
        future = after[:, -1].copy()
        lower = np.cumsum(before, axis=2) - before / 2.0
        higher = after.sum(axis=2, keepdims=True) - np.cumsum(after, axis=2) + after / 2.0
        below, below_total = lower.reshape(2, -1)[:, cell]
        above, above_total = higher.reshape(2, -1)[:, cell]
        at = value[here]
        found.below[here], found.above[here] = below, above
        found.between[here] = under[at] * below - below_total + above_total - upto[at] * above
