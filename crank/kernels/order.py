"""Order statistics in NumPy: dense ranks, and sums over concordant pairs in O(n log n)."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiler import numba_works, repays

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

COMPILED_FROM = 200_000
"""Rows from which loading numba costs less than it saves."""
LOADED_FROM, ROWS_IN_ALL = 5_000, 250_000
"""Rows from which compiled sums repay if numba is loaded; rows in all that repay compiling."""

ONE_THREAD = 10_000
"""Numbers that BLAS multiplies in one thread."""


def dense_ranks(values: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Give each distinct value of an array its number, 0 for the smallest.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Any dtype with an order and without NaN; n is at least 1.

    Returns
    -------
    rank : ndarray of int64, shape (n,)
        The number of each entry's value; ties share one.
    first : ndarray of int64, shape (distinct,)
        An index at which each distinct value stands.

    Examples
    --------
    >>> rank, first = dense_ranks(np.array([20, 10, 20]))
    >>> rank.tolist(), len(first)
    ([1, 0, 1], 2)
    """
    order = np.argsort(values)
    begins = run_begins(values[order])
    rank = np.empty(len(values), dtype=np.int64)
    rank[order] = np.cumsum(begins) - 1
    return rank, order[begins]


def run_begins(sorted_values: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark the first entry of each run of equal values."""
    begins = np.ones(len(sorted_values), dtype=bool)
    np.not_equal(sorted_values[1:], sorted_values[:-1], out=begins[1:])
    return begins


def group_sums(group: IntArray, values: NDArray[Any], count: int) -> FloatArray:
    """Sum values over the entries of each group 0, …, count − 1; whole sums are exact below 2⁵³.

    Examples
    --------
    >>> group_sums(np.array([2, 0, 2]), np.array([1, 5, 3]), 4).tolist()
    [5.0, 0.0, 4.0, 0.0]
    """
    return np.bincount(group, weights=values, minlength=count).astype(np.float64, copy=False)


def dot(a: FloatArray, b: FloatArray) -> float:
    """Sum products; BLAS would wake threads for long arrays, which then spin beside ours.

    Examples
    --------
    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float(a @ b) if len(a) <= ONE_THREAD else float((a * b).sum())


def dominance_sums(arrangement: IntArray, values: FloatArray) -> FloatArray:
    """Sum values over the smaller numbers that come earlier in an arrangement.

    Two numbers part at the highest bit in which they differ: the smaller has 0 there, and both
    agree above it. So one pass a bit counts every pair once. Before the pass of bit b the numbers
    stand in blocks that agree above b, each in the order of the arrangement; a stable partition of
    every block by bit b prepares the next pass. Sums of integers stay exact below 2⁵³.

    Parameters
    ----------
    arrangement : ndarray of int64, shape (n,)
        A permutation of 0, …, n − 1.
    values : ndarray of float64, shape (k, n)
        Values to sum, k at a time, indexed by number.

    Returns
    -------
    ndarray of float64, shape (k, n)
        Indexed by number.

    Examples
    --------
    >>> dominance_sums(np.array([0, 2, 1]), np.array([[1.0, 1.0, 1.0]])).tolist()
    [[0.0, 1.0, 1.0]]
    """
    n = len(arrangement)
    numbers = np.array(arrangement, dtype=np.int64)
    counting = np.arange(n)
    sums = np.zeros_like(values)
    half = 1 << (n - 1).bit_length() >> 1
    while half:
        in_upper = (numbers & half) != 0
        at_upper = np.flatnonzero(in_upper)
        # take() at found places is twice as fast as a Boolean mask
        lower, upper = numbers.take(np.flatnonzero(~in_upper)), numbers.take(at_upper)
        nth = counting[: len(upper)]
        lower_before = at_upper - nth
        # every block with an upper part has a full lower part: `half` numbers a block
        lower_in_earlier_blocks = nth & -half
        for row, total in zip(values, sums, strict=True):
            running = np.concatenate(([0.0], np.cumsum(row.take(lower))))
            total[upper] += running.take(lower_before) - running.take(lower_in_earlier_blocks)
        numbers = _interleaved(lower, upper, half)
        half >>= 1
    return sums


def _interleaved(lower: IntArray, upper: IntArray, half: int) -> IntArray:
    """Put each block's lower part before its upper part; only the last block can be short."""
    n = len(lower) + len(upper)
    whole = n // (2 * half) * half
    result = np.empty(n, dtype=np.int64)
    blocks = result[: 2 * whole].reshape(-1, 2, half)
    blocks[:, 0] = lower[:whole].reshape(-1, half)
    blocks[:, 1] = upper[:whole].reshape(-1, half)
    split = whole + len(lower)
    result[2 * whole : split] = lower[whole:]
    result[split:] = upper[whole:]
    return result


@dataclass(frozen=True, eq=False)
class JointOrder:
    """Two rankings of the same rows, sorted so that tied pairs fall on the wanted side.

    Rows in `by_score` run through the scores upwards, ties in y's order; rows in `by_y` run
    through y upwards, ties in the *reverse* of `by_score`. A row then comes before another in both
    orders exactly if its y is smaller and its score is not larger.

    Attributes
    ----------
    y_rank, score_rank : ndarray of int64, shape (n,)
        Dense ranks of the rows.
    by_score, by_y : ndarray of int64, shape (n,)
        Rows, sorted.
    """

    y_rank: IntArray
    score_rank: IntArray
    by_score: IntArray
    by_y: IntArray

    @property
    def y_ties(self) -> bool:
        """Whether two rows share a y."""
        return bool(self.y_rank[self.by_y[-1]] + 1 < len(self.y_rank))

    @property
    def score_ties(self) -> bool:
        """Whether two rows share a score."""
        return bool(self.score_rank[self.by_score[-1]] + 1 < len(self.score_rank))

    def below(self, values: FloatArray) -> FloatArray:
        """Sum values over the rows of smaller y, twice those of smaller score, once those tied.

        Parameters
        ----------
        values : ndarray of float64, shape (k, n)

        Returns
        -------
        ndarray of float64, shape (k, n)
        """
        if _compiled_pays(values):
            from crank.kernels.compiled_order import sums_below

            return sums_below(self.by_y, self.y_rank, self.score_rank, values)
        place = np.empty(len(self.by_y), dtype=np.int64)
        place[self.by_y] = np.arange(len(place))
        in_y_order = dominance_sums(place[self.by_score], values.take(self.by_y, axis=1))
        result = 2.0 * in_y_order.take(place, axis=1)
        if self.score_ties:
            score, y = self.score_rank[self.by_score], self.y_rank[self.by_score]
            new_score = run_begins(score)
            start, _ = runs(new_score)
            pair_start, _ = runs(new_score | run_begins(y))
            running = running_sums(values.take(self.by_score, axis=1))
            tied = running.take(pair_start, axis=1) - running.take(start, axis=1)
            result[:, self.by_score] -= tied
        return result

    def within(self, values: FloatArray) -> FloatArray:
        """Sum values over the rows of equal y, twice those of smaller score, once those tied."""
        if not self.y_ties:
            return values.copy()
        y, score = self.y_rank[self.by_y], self.score_rank[self.by_y]
        new_y = run_begins(y)
        _, stop = runs(new_y)
        pair_start, pair_stop = runs(new_y | run_begins(score))
        running = running_sums(values.take(self.by_y, axis=1))
        result = np.empty_like(values)
        # scores fall within a run of equal y, so the smaller ones come later
        result[:, self.by_y] = (
            2.0 * running.take(stop, axis=1)
            - running.take(pair_stop, axis=1)
            - running.take(pair_start, axis=1)
        )
        return result

    def anywhere(self, values: FloatArray) -> FloatArray:
        """Sum values over all rows, twice those of smaller score, once those tied."""
        start, stop = self._score_runs
        running = running_sums(values.take(self.by_score, axis=1))
        result = np.empty_like(values)
        result[:, self.by_score] = running.take(start, axis=1) + running.take(stop, axis=1)
        return result

    @cached_property
    def _score_runs(self) -> tuple[IntArray, IntArray]:
        return runs(run_begins(self.score_rank[self.by_score]))


def _compiled_pays(values: FloatArray) -> bool:
    """Tell whether to sum in compiled code; whether numba is loaded must not show in sums."""
    n = values.shape[1]
    if n >= COMPILED_FROM:
        return numba_works()
    if "numba" not in sys.modules or n < LOADED_FROM or (values != np.rint(values)).any():
        return False
    return repays("_sweep", values.size, ROWS_IN_ALL) and numba_works()


def joint_order(y_rank: IntArray, score_rank: IntArray) -> JointOrder:
    """Sort rows by score and by y, from their dense ranks.

    Examples
    --------
    >>> order = joint_order(np.array([0, 1, 1]), np.array([0, 0, 1]))
    >>> order.below(np.ones((1, 3))).tolist()
    [[0.0, 1.0, 2.0]]
    """
    n = len(y_rank)
    by_score = _sorted_rows(score_rank, y_rank)
    place = np.empty(n, dtype=np.int64)
    place[by_score] = np.arange(n)
    return JointOrder(y_rank, score_rank, by_score, _sorted_rows(y_rank, n - 1 - place))


def _sorted_rows(rank: IntArray, tie_rank: IntArray) -> IntArray:
    """Rows in the order of one dense rank, ties in the order of another."""
    n = len(rank)
    if rank.max() + 1 == n:
        rows = np.empty(n, dtype=np.int64)
        rows[rank] = np.arange(n)
        return rows
    return np.argsort(rank * n + tie_rank)


def runs(begins: NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """Start and stop of the run to which each position belongs."""
    edges = np.append(np.flatnonzero(begins), len(begins))
    lengths = np.diff(edges)
    return np.repeat(edges[:-1], lengths), np.repeat(edges[1:], lengths)


def running_sums(values: FloatArray) -> FloatArray:
    """Sum of the first 0, 1, …, n entries of each row."""
    sums = np.zeros((values.shape[0], values.shape[1] + 1))
    np.cumsum(values, axis=1, out=sums[:, 1:])
    return sums
