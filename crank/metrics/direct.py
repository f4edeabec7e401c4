"""Sums over concordant pairs without a single subtraction, for weights many decades apart.

The usual sums take differences of running totals, which is exact for whole weights (`sample`). If
one row outweighs all others by 2¹⁴ and more, such differences would drown the others. Here the
values of y are halved again and again: pairs with one row in either half are summed from positive
parts only, and what lies between two rows is what lies above the one plus what lies below the
other in their halves. It takes O(n log² n).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crank.kernels.order import FloatArray, IntArray, group_sums

FEW_ROWS = 64
"""Rows that are compared pair by pair."""


@dataclass(frozen=True, eq=False)
class DirectSums:
    """Concordant weight, indexed by row or by distinct y; a tie in the score counts half.

    Attributes
    ----------
    below, above : ndarray of float64, shape (n,)
        Weight of the rows concordant with a row, of smaller and of larger y.
    lower, higher : ndarray of float64, shape (n,)
        For a row as the lower and as the higher member of pairs: weight of the other member
        times what lies between the two.
    around : ndarray of float64, shape (distinct,)
        Weight of the concordant pairs that lie strictly on both sides of each distinct y.
    """

    below: FloatArray
    above: FloatArray
    lower: FloatArray
    higher: FloatArray
    around: FloatArray


def direct_sums(
    y_rank: IntArray,
    score_rank: IntArray,
    weight: FloatArray,
    between_lower: FloatArray,
    between_higher: FloatArray,
) -> DirectSums:
    """Sum over the pairs of rows that a score puts in the order of y.

    Parameters
    ----------
    y_rank, score_rank : ndarray of int64, shape (n,)
        Dense ranks.
    weight : ndarray of float64, shape (n,)
    between_lower, between_higher : ndarray of float64, shape (distinct,)
        What a value of y adds to each pair around it, for the lower and for the higher member.

    Examples
    --------
    >>> y, s, none = np.arange(3), np.array([1, 0, 2]), np.zeros(3)
    >>> sums = direct_sums(y, s, np.array([1.0, 1e-30, 1e-20]), none, none)
    >>> sums.below.tolist(), sums.around.tolist()
    ([0.0, 0.0, 1.0], [0.0, 1e-20, 0.0])
    """
    n, distinct = len(weight), len(between_lower)
    order = np.argsort(y_rank, kind="stable")
    below, above, lower, higher = np.zeros((4, n))
    sums = DirectSums(below, above, lower, higher, np.zeros(distinct))
    start = np.append(0, np.cumsum(np.bincount(y_rank, minlength=distinct)))
    task = _Task(
        start, y_rank[order], score_rank[order], weight[order], between_lower, between_higher
    )
    halves = [(0, distinct)]
    while halves:
        first, last = halves.pop()
        rows = start[last] - start[first]
        if last - first < 2:
            continue
        if rows <= FEW_ROWS:
            task.all_pairs(first, last, sums)
            continue
        middle = int(np.searchsorted(start, (start[first] + start[last]) / 2.0))
        middle = min(max(middle, first + 1), last - 1)
        task.across(first, middle, last, sums)
        halves += [(first, middle), (middle, last)]
    for part in (below, above, lower, higher):
        part[order] = part.copy()
    return sums


@dataclass(frozen=True, eq=False)
class _Task:
    """Rows in order of y."""

    start: IntArray
    value: IntArray
    score: IntArray
    weight: FloatArray
    between_lower: FloatArray
    between_higher: FloatArray

    def across(self, first: int, middle: int, last: int, sums: DirectSums) -> None:
        """Add the pairs with one row in either half."""
        left = slice(self.start[first], self.start[middle])
        right = slice(self.start[middle], self.start[last])
        low, high = self.weight[left], self.weight[right]
        to_middle, from_middle = self.value[left] - first, self.value[right] - middle
        # what lies between a row and the middle
        lower, higher = self.between_lower, self.between_higher
        left_lower = after(lower[first:middle])[to_middle]
        left_higher = after(higher[first:middle])[to_middle]
        right_lower = before(lower[middle:last])[from_middle]
        right_higher = before(higher[middle:last])[from_middle]

        won = _ahead(self.score[left], self.score[right], np.stack((low, low * left_higher)))
        sums.below[right] += won[0]
        sums.higher[right] += won[1] + right_higher * won[0]
        lost = _ahead(-self.score[right], -self.score[left], np.stack((high, high * right_lower)))
        sums.above[left] += lost[0]
        sums.lower[left] += lost[1] + left_lower * lost[0]
        pairs = group_sums(to_middle, low * lost[0], middle - first)
        sums.around[first:middle] += before(pairs)
        pairs = group_sums(from_middle, high * won[0], last - middle)
        sums.around[middle:last] += after(pairs)

    def all_pairs(self, first: int, last: int, sums: DirectSums) -> None:
        """Add the pairs of a few rows one by one."""
        rows = slice(self.start[first], self.start[last])
        value, score, weight = self.value[rows] - first, self.score[rows], self.weight[rows]
        rises = score[:, np.newaxis] < score
        credit = (rises + 0.5 * (score[:, np.newaxis] == score)) * (value[:, np.newaxis] < value)
        lower = _between(self.between_lower[first:last])[np.ix_(value, value)]
        higher = _between(self.between_higher[first:last])[np.ix_(value, value)]
        from_below, from_above = weight[:, np.newaxis] * credit, credit * weight
        sums.below[rows] += from_below.sum(axis=0)
        sums.above[rows] += from_above.sum(axis=1)
        sums.higher[rows] += (from_below * higher).sum(axis=0)
        sums.lower[rows] += (from_above * lower).sum(axis=1)
        pairs = np.add.reduceat(from_below * weight, self.start[first:last] - rows.start, axis=0)
        pairs = np.add.reduceat(pairs, self.start[first:last] - rows.start, axis=1)
        later = np.zeros_like(pairs)
        later[:, :-1] = np.cumsum(pairs[:, :0:-1], axis=1)[:, ::-1]
        earlier = np.zeros_like(pairs)
        earlier[1:] = np.cumsum(later[:-1], axis=0)
        sums.around[first:last] += np.diagonal(earlier)


def _ahead(score: IntArray, other: IntArray, values: FloatArray) -> FloatArray:
    """Sum values over the scores smaller than each of the others, half of those equal to it."""
    distinct, group = np.unique(score, return_inverse=True)
    at = np.searchsorted(distinct, other)
    level = np.append(distinct, distinct[-1])[at] == other
    result = np.empty((len(values), len(other)))
    for row, out in zip(values, result, strict=True):
        mass = group_sums(group, row, len(distinct) + 1)
        out[:] = before(mass)[at] + np.where(level & (at < len(distinct)), mass[at] / 2.0, 0.0)
    return result


def _between(each: FloatArray) -> FloatArray:
    """Sum of the values strictly between any two."""
    m = len(each)
    running = np.cumsum(np.triu(np.broadcast_to(each, (m, m)), 1), axis=1)
    result = np.zeros((m, m))
    result[:, 1:] = running[:, :-1]
    return result


def before(values: NDArray[np.float64]) -> FloatArray:
    """Sum of the values before each one, without subtracting it from the running sum.

    Examples
    --------
    >>> before(np.array([1.0, 1e-30, 2.0])).tolist()
    [0.0, 1.0, 1.0]
    """
    sums = np.zeros(len(values))
    np.cumsum(values[:-1], out=sums[1:])
    return sums


def after(values: NDArray[np.float64]) -> FloatArray:
    """Sum of the values after each one.

    Examples
    --------
    >>> after(np.array([1.0, 2.0, 1e-30])).tolist()
    [2.0, 1e-30, 0.0]
    """
    return before(values[::-1])[::-1]
