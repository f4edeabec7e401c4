"""The mean of ROC curves over thresholds, in NumPy: at equal steps of α, and at every vertex.

Both functions count in whole weights, so an α that meets a vertex of a curve meets it exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crank.kernels.order import FloatArray, IntArray, group_sums

# rows that change sides within one block of thresholds: the fastest of 16 … 1024 when measured
BLOCK_ROWS = 96


@dataclass(frozen=True, eq=False)
class RocFamily:
    """One ROC curve for each threshold of y, and the share of each in their mean.

    At a threshold the rows of smaller y are the negatives, those of larger y the positives; the
    rows at it take no part.

    Attributes
    ----------
    group : ndarray of int64, shape (n,)
        Dense rank of the scores, 0 for the *best*; rows in increasing order of y.
    weight : ndarray of int64, shape (n,)
        Whole weights, in the same order; they add up to 2⁵¹ at most.
    edges : ndarray of int64, shape (thresholds + 1,)
        The rows at threshold t are ``edges[t]:edges[t + 1]``.
    share : ndarray of float64, shape (thresholds,)
        Adds up to 1; 0 where a threshold has no weight on one side.
    """

    group: IntArray
    weight: IntArray
    edges: IntArray
    share: FloatArray


def mean_roc_on_grid(family: RocFamily, m: int) -> FloatArray:
    """Evaluate the mean ROC curve at α = 0, 1/m, …, 1; at a jump, its upper value.

    Thresholds go in blocks. Within a block only few rows change sides, so the negatives that come
    before a score are a running count common to the block plus a small table; a search in each
    finds the score at which a curve passes α. It takes O(n (m log n + n / BLOCK_ROWS)), whatever
    the order of the data.

    Returns
    -------
    ndarray of float64, shape (m + 1,)
    """
    group, weight, edges = family.group, family.weight, family.edges
    n_groups = int(group.max()) + 1
    before = _running(group_sums(group, weight, n_groups).astype(np.int64))
    settled = np.zeros(n_groups, dtype=np.int64)
    mean = np.zeros(m + 1)
    for first, last in _blocks(edges):
        rows = slice(edges[first], edges[last])
        used = first + np.flatnonzero(family.share[first:last])
        if len(used):
            moving = _moving_rows(family, first, last)
            mean += _block_mean(moving, used - first, family.share[used], before, settled, m)
        settled += group_sums(group[rows], weight[rows], n_groups).astype(np.int64)
    return mean


def _blocks(edges: IntArray) -> list[tuple[int, int]]:
    """Cut the thresholds so that each block has few rows, or is one heavily tied threshold."""
    blocks, first = [], 0
    while first < len(edges) - 1:
        last = int(np.searchsorted(edges, edges[first] + BLOCK_ROWS, side="right")) - 1
        last = max(last, first + 1)
        blocks.append((first, last))
        first = last
    return blocks


@dataclass(frozen=True, eq=False)
class _Moving:
    """The rows of a block of thresholds, by score group.

    ``negative[t, i]`` is the weight of those already below threshold t in the first i of `groups`,
    ``at[t, i]`` the weight of those at it.
    """

    groups: IntArray
    negative: IntArray
    at: IntArray


def _moving_rows(family: RocFamily, first: int, last: int) -> _Moving:
    rows = slice(family.edges[first], family.edges[last])
    groups, column = np.unique(family.group[rows], return_inverse=True)
    threshold = np.repeat(np.arange(last - first), np.diff(family.edges[first : last + 1]))
    shape = (last - first, len(groups))
    cell = threshold * shape[1] + column
    at = group_sums(cell, family.weight[rows], shape[0] * shape[1]).astype(np.int64).reshape(shape)
    return _Moving(groups, _running(np.cumsum(at, axis=0) - at), _running(at))


def _block_mean(
    moving: _Moving, used: IntArray, share: FloatArray, before: IntArray, settled: IntArray, m: int
) -> FloatArray:
    """Sum the curves of a block, each times its share.

    ``before[g]`` is the weight of all rows in score groups better than g, ``settled[g]`` the
    weight in group g of the negatives common to the block.
    """
    negative, at = moving.negative[used], moving.at[used]
    common = _running(settled)
    n_groups, n_moving = len(settled), len(moving.groups)
    negatives = common[-1] + negative[:, -1]
    positives = before[-1] - negatives - at[:, -1]
    target, fraction = even_parts(negatives, m)

    passed = common[moving.groups + 1] + negative[:, 1:]
    row = np.arange(len(used))[:, np.newaxis]
    # the tables' rows, lifted apart, are one sorted array; at most 96 · 2⁵¹ high
    lift = row * (before[-1] + 1)
    place = np.searchsorted((passed + lift).ravel(), (target + lift).ravel(), side="right")
    i = place.reshape(target.shape) - row * n_moving
    cell = i + row * (n_moving + 1)
    known = negative.take(cell)
    limit = np.append(moving.groups, n_groups).take(i)
    g = np.minimum(limit, np.searchsorted(common, target - known, side="right") - 1)

    # the curve passes α within group g: between (n0, p0) and (n1, p1)
    n0 = common.take(g) + known
    p0 = before.take(g) - n0 - at.take(cell)
    g1 = np.minimum(g + 1, n_groups)
    cell1 = cell + ((g == limit) & (g < n_groups))
    n1 = common.take(g1) + negative.take(cell1)
    p1 = before.take(g1) - n1 - at.take(cell1)
    part = (target - n0 + fraction) / np.maximum(n1 - n0, 1)
    result: FloatArray = (share / positives) @ (p0 + (p1 - p0) * part)
    return result


def even_parts(whole: IntArray, m: int) -> tuple[IntArray, FloatArray]:
    """Integer and fractional part of whole·j/m for j = 0, …, m, without overflow.

    Examples
    --------
    >>> integer, fraction = even_parts(np.array([5]), 2)
    >>> integer.tolist(), fraction.tolist()
    ([[0, 2, 5]], [[0.0, 0.5, 0.0]])
    """
    j = np.arange(m + 1)
    quotient, remainder = np.divmod(whole[:, np.newaxis], m)
    carry, rest = np.divmod(remainder * j, m)
    return quotient * j + carry, rest / m


def mean_roc_vertices(family: RocFamily) -> tuple[FloatArray, FloatArray]:
    """Trace the mean ROC curve through every vertex of every curve in it.

    The table of thresholds × score groups is held in memory: meant for small data.

    Returns
    -------
    alpha, value : ndarray of float64
        From (0, 0) to (1, 1); where the curve jumps, α stands twice.
    """
    thresholds, n_groups = len(family.share), int(family.group.max()) + 1
    threshold = np.repeat(np.arange(thresholds), np.diff(family.edges))
    cell = threshold * n_groups + family.group
    at = group_sums(cell, family.weight, thresholds * n_groups).reshape(thresholds, n_groups)
    upto = np.cumsum(at, axis=0)
    used = np.flatnonzero(family.share)
    negative, positive = (upto - at)[used], (upto[-1] - upto)[used]
    negatives = negative.sum(axis=1, keepdims=True)
    height = positive * (family.share[used] / positive.sum(axis=1))[:, np.newaxis]
    end = np.cumsum(negative, axis=1) / negatives
    start = (np.cumsum(negative, axis=1) - negative) / negatives
    flat = negative == 0
    slope = np.divide(height * negatives, negative, out=np.zeros_like(height), where=~flat)

    alpha, place = np.unique(np.append(start, end), return_inverse=True)
    begins, ends = place[: start.size], place[start.size :]
    # adding and later removing the same whole number leaves nothing behind, unlike floats
    scale = 2.0 ** (61 - np.frexp(slope.max(axis=1).sum())[1])
    steps = np.rint(slope * scale).astype(np.int64).ravel()
    climbing = np.zeros(len(alpha), dtype=np.int64)
    np.add.at(climbing, begins, steps)
    np.subtract.at(climbing, ends, steps)
    climb = np.cumsum(climbing)[:-1] / scale * np.diff(alpha)
    jump = group_sums(begins[flat.ravel()], height[flat], len(alpha))
    left = np.append(0.0, np.cumsum(climb)) + np.cumsum(jump) - jump
    return _drawn(alpha, left, left + jump)


def _drawn(alpha: FloatArray, left: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Put the two sides of each jump one after the other."""
    twice = 1 + (right > left)
    value = np.repeat(left, twice)
    value[np.cumsum(twice) - 1] = right
    return np.repeat(alpha, twice), value


def _running(counts: NDArray[np.int64]) -> IntArray:
    """Sum of the first 0, 1, … counts, along the last axis."""
    sums = np.zeros((*counts.shape[:-1], counts.shape[-1] + 1), dtype=np.int64)
    np.cumsum(counts, axis=-1, out=sums[..., 1:])
    return sums
