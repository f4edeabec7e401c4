"""The best subset of levels when the minimum leaf size forbids the best of all.

Without a minimum the best subset is a prefix of the levels sorted by mean score (theory §4). With
one, whole levels have to fill a side, which is a knapsack: solved exactly for sums of scores, by
dynamic programming over the rows of whichever side is still too small.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crank.kernels.cuts import FloatArray, Objective

Counts = NDArray[np.intp]
Chosen = NDArray[np.bool_]

FEW_LEVELS = 12
"""Up to here every subset is tried for the variance: 2,048 of them."""

STARTS, MAX_ROUNDS = 5, 20
"""Where the search for the best variance among many levels starts; it ends after two or three."""


def best_allowed(
    score: FloatArray, count: Counts, weight: FloatArray, min_leaf: int, objective: Objective
) -> tuple[float, Chosen]:
    """Find the subset of levels that makes the best high side among those that are allowed.

    Exact for sums of scores, and for the variance up to 12 levels. Beyond, the variance is
    maximised over the subsets that are best for some straight approximation of it: it is convex
    in the score and the weight of a side, so its maximum is among those.

    Parameters
    ----------
    score, count, weight : ndarray of shape (levels,)
        Sum of scores, rows and weight of each level; every level has rows.
    min_leaf : int
        Fewest rows of a side.
    objective : {"sum", "variance"}

    Returns
    -------
    gain : float
        0 if no subset is allowed or none has the higher scores.
    chosen : ndarray of bool, shape (levels,)

    Examples
    --------
    >>> score = np.array([7.0, 2.0, -4.0, -5.0])
    >>> count = np.array([4, 2, 4, 1])
    >>> gain, chosen = best_allowed(score, count, count, 5, "sum")
    >>> gain, chosen.tolist()
    (18.0, [True, True, False, False])
    """
    if objective == "sum":
        chosen = _fill(score, count, min_leaf)
    elif len(score) <= FEW_LEVELS:
        chosen = _try_all(score, count, weight, min_leaf)
    else:
        chosen = _climb(score, count, weight, min_leaf)
    if chosen is None:
        return 0.0, np.zeros(len(score), dtype=bool)
    return float(_gain(score, weight, chosen[None, :], objective)[0]), chosen


def _gain(score: FloatArray, weight: FloatArray, sides: Chosen, objective: Objective) -> FloatArray:
    """Value each of several subsets as the high side; 0 if it is not higher."""
    side, total = sides @ score, score.sum()
    if objective == "sum":
        return np.asarray(np.maximum(2.0 * side - total, 0.0))
    mass, part = weight.sum(), sides @ weight
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = side**2 * (mass / (part * (mass - part)))
    return np.where(2.0 * side > total, np.nan_to_num(gain, posinf=0.0), 0.0)


def _try_all(score: FloatArray, count: Counts, weight: FloatArray, min_leaf: int) -> Chosen | None:
    """Value every subset without the last level, and its complement."""
    k = len(score)
    half = (np.arange(2 ** (k - 1))[:, None] >> np.arange(k) & 1).astype(bool)
    rows = half @ count
    half = half[(rows >= min_leaf) & (count.sum() - rows >= min_leaf)]
    if not len(half):
        return None
    sides = np.concatenate((half, ~half))
    gain = _gain(score, weight, sides, "variance")
    return np.asarray(sides[int(np.argmax(gain))])


def _climb(score: FloatArray, count: Counts, weight: FloatArray, min_leaf: int) -> Chosen | None:
    """Maximise the variance by maximising straight approximations of it, each a sum over levels.

    The gain A²·W / (w·(W − w)) of a side with score A and weight w is convex in both, so the best
    subset for its slope at another subset is at least as good as that one.
    """
    mass = weight.sum()
    mean = np.sort(score / weight)
    between = (mean[1:] + mean[:-1]) / 2.0
    best, found = 0.0, None
    for price in between[np.linspace(0, len(between) - 1, STARTS).astype(np.intp)].tolist():
        reached = 0.0
        for _ in range(MAX_ROUNDS):
            chosen = _fill(score - price * weight, count, min_leaf)
            if chosen is None:
                return None
            gain = float(_gain(score, weight, chosen[None, :], "variance")[0])
            if gain <= reached:
                break
            reached = gain
            if gain > best:
                best, found = gain, chosen
            part = float(weight[chosen].sum())
            price = float(score[chosen].sum()) * (mass - 2.0 * part) / (2.0 * part * (mass - part))
    return found


def _fill(score: FloatArray, count: Counts, min_leaf: int) -> Chosen | None:
    """Choose levels with the largest sum of scores, at least ``min_leaf`` rows in and out.

    A state is how many rows the side that is still too small has, all others being on the other
    side; one more state stands for all choices where both have enough. So there are
    2 · min_leaf + 1 states whatever the number of rows.
    """
    m = both = (
        min_leaf  # states: rows in (0 … m − 1), both sides large enough, rows out (from m + 1)
    )
    value = np.full(2 * m + 1, -np.inf)
    value[0] = 0.0
    came_from = np.zeros((len(score), 2 * m + 1), dtype=np.int32)
    took = np.zeros((len(score), 2 * m + 1), dtype=bool)
    before = 0
    for level, (a, n) in enumerate(zip(score.tolist(), count.tolist(), strict=True)):
        live = np.flatnonzero(value > -np.inf)
        rows_in = np.where(live > both, before - (live - both - 1), live)
        rows_out = np.where(live > both, live - both - 1, before - live)
        rows_out[live == both] = m
        worth = np.concatenate((value[live], value[live] + a))
        rows_in = np.concatenate((rows_in, rows_in + n))
        rows_out = np.concatenate((rows_out + n, rows_out))
        to = np.where(rows_in < m, rows_in, np.where(rows_out < m, both + 1 + rows_out, both))
        # the best way into each state comes last, and stays
        way = np.argsort(worth, kind="stable")
        value = np.full(2 * m + 1, -np.inf)
        value[to[way]] = worth[way]
        came_from[level, to[way]] = np.tile(live, 2)[way]
        took[level, to[way]] = way >= len(live)
        before += n
    if value[both] == -np.inf:
        return None
    chosen = np.zeros(len(score), dtype=bool)
    state = both
    for level in range(len(score) - 1, -1, -1):
        chosen[level] = took[level, state]
        state = int(came_from[level, state])
    return chosen
