"""Figures of a score with few values on responses that are sorted already: a tree's own rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crank.kernels.leaves import LeafRows, is_compiled, leaf_sums
from crank.kernels.order import FloatArray, IntArray
from crank.metrics.figures import IAUC, KENDALL, Figure
from crank.metrics.inference import Concordance, described
from crank.metrics.intervals import counted, moments, spread_of
from crank.metrics.pairs import unit_ratio
from crank.ranks import Ranks

MOST_LEAVES = 512
"""Values of the score up to which the general way, which sorts, takes longer."""

WIDEST = 2.0**20
"""Total over smallest weight beyond which differences of sums lose digits."""


def leaf_concordance(
    ranks: Ranks,
    score_rank: NDArray[np.integer],
    figures: Sequence[Figure],
    copies: FloatArray | None = None,
) -> list[Concordance]:
    """Do what `concordance` does, without sorting anything.

    Parameters
    ----------
    ranks : Ranks
        Of the responses.
    score_rank : ndarray of int, shape (n,)
        Rank of the score from 0, in the order of `ranks`; ties share one.
    figures : sequence of Figure
        d_τ and the triple IAUC are quick, others go the general way.
    copies : ndarray of shape (n,), optional
        Rows, of equal weight, that each row stands for. Only quick figures then.

    Examples
    --------
    >>> from crank.ranks import rank
    >>> leaf = np.array([0, 1, 0, 2, 2, 1])
    >>> for found in leaf_concordance(rank(np.arange(6.0)), leaf, [KENDALL, IAUC]):
    ...     print(found)
    d_τ 0.7000, se 0.0943, 95% CI [0.3541, 0.9085], n 6
    IAUC (triple) 0.8500, se 0.0791, 95% CI [0.4690, 0.9732], n 6
    """
    n_leaves = int(score_rank.max()) + 1
    weights = None if ranks.unweighted else ranks.weight
    wide = ranks.total > WIDEST * ranks.weight.min() * len(ranks.row)
    if copies is None and (n_leaves > MOST_LEAVES or wide):
        return [figure.concordance(ranks.y, score_rank, weights) for figure in figures]
    sample = _LeafSample(ranks, score_rank.astype(np.int64), n_leaves, copies)
    return [
        sample.concordance(figure)
        if figure.name in (KENDALL.name, IAUC.name)
        else figure.concordance(ranks.y, score_rank, weights)
        for figure in figures
    ]


class _Judged(NamedTuple):
    """A figure, and what `moments` says of the influences of the rows."""

    estimate: float
    moments: tuple[float, float, float]


class _LeafSample:
    """Sums that d_τ, IAUC and their influences share."""

    def __init__(
        self, ranks: Ranks, leaf: IntArray, n_leaves: int, copies: FloatArray | None = None
    ) -> None:
        self.copies, self.n = copies, len(leaf) if copies is None else round(copies.sum())
        distinct = int(ranks.group[-1]) + 1
        tied = distinct < len(leaf)
        first = np.flatnonzero(np.diff(ranks.group, prepend=-1)) if tied else np.arange(len(leaf))
        self.weight, self.first, self.value = ranks.weight, first, ranks.group if tied else None
        self.unweighted = ranks.unweighted
        self.below = ranks.below[first] if tied else ranks.below
        upto = ranks.upto[first] if tied else ranks.upto
        self.mass, self.above = upto - self.below, ranks.total - upto
        self.counted = counted(self.weight, self.mass, copies)
        # thresholds weigh if there are rows on both sides (theory §3)
        self.each = self.mass.copy()
        self.each[[0, -1]] = 0.0
        self.running = np.cumsum(self.each)
        self.rows = LeafRows(leaf, ranks.weight, np.append(first, len(leaf)), n_leaves)
        self.sums = leaf_sums(self.rows, self.running - self.each, self.running)

    def at_rows(self, values: FloatArray) -> FloatArray:
        return values if self.value is None else values[self.value]

    def weighted(self, values: FloatArray) -> FloatArray:
        return values if self.unweighted else self.weight * values

    def by_value(self, values: FloatArray) -> FloatArray:
        return values if self.value is None else np.add.reduceat(values, self.first)

    def concordance(self, figure: Figure) -> Concordance:
        if self.copies is None and is_compiled(len(self.rows.leaf)):
            found = self.both[figure.name == IAUC.name]
        else:
            found = self.iauc() if figure.name == IAUC.name else self.kendall()
        known = self.counted.evidence(figure.members, figure.bearing)
        return described(figure, found.estimate, spread_of(found.moments, known), self.n, 0.05)

    @cached_property
    def both(self) -> tuple[_Judged, _Judged]:
        """Do what `kendall` and `iauc` do, compiled: in two passes, without arrays between."""
        from crank.kernels.compiled_leaves import add_squares, add_up

        by_row = self.rows.start, self.weight, self.sums.below, self.sums.above
        totals, found = np.zeros(5), np.zeros(4)
        by_value = self.below, self.above, self.mass, np.zeros_like(self.mass), totals
        add_up(*by_row, *by_value)
        pairs, concordant, triples, ordered, _ = totals.tolist()
        rate = unit_ratio(concordant, pairs)
        mean = unit_ratio(ordered, triples) if triples > 0.0 else np.nan  # of two values of y
        add_squares(*by_row, self.sums.between, *by_value, rate, mean, found)
        n, (square, fourth, square_of_three, fourth_of_three) = float(self.n), found.tolist()
        return _Judged(rate, (n, square, fourth)), _Judged(
            mean, (n, square_of_three, fourth_of_three)
        )

    def kendall(self) -> _Judged:
        pairs = float((self.mass * self.below).sum())
        rate = unit_ratio(float(self.weighted(self.sums.below).sum()), pairs)
        influence = self.sums.below + self.sums.above
        influence -= rate * self.at_rows(self.below + self.above)
        return _Judged(rate, moments(self.weighted(influence) / pairs, self.copies))

    def iauc(self) -> _Judged:
        """Differentiate the mean of the AUC profile; see `crank.metrics.jackknife`."""
        leaving = self.by_value(self.weighted(self.sums.below))
        change = self.by_value(self.weighted(self.sums.above)) - leaving
        around = np.cumsum(change)
        around -= change
        around -= leaving
        around[[0, -1]] = 0.0
        pairs = self.below * self.above
        total = float((self.each * pairs).sum())
        mean = unit_ratio(float((self.each * around).sum()), total)
        lower, higher = self.each * self.above, self.each * self.below
        expected = pairs
        expected += lower.sum()
        expected -= np.cumsum(lower, out=lower)
        expected += np.cumsum(higher)
        expected -= higher
        expected *= mean
        around -= expected
        influence = self.sums.between + self.at_rows(around)
        return _Judged(mean, moments(self.weighted(influence) / total, self.copies))
