"""All pairs of a sample at some coefficients: score, information, and what each row adds.

No pair is written down: the score of the pairwise loss is the rank of y minus the soft rank of the
linear predictor (theory §9).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crank.fitting.bounded import Bounds
from crank.kernels.compiler import numba_works
from crank.kernels.links import Link
from crank.kernels.pair_sums import LargeGrid, PairSums, pair_sums
from crank.ranks import Ranks

Floats = NDArray[np.float64]

COMPILED_FROM = 50_000
"""Rows from which compiled passes pay for loading the compiler."""
_OF_ANY_GRID = ("_room", "_fixed_score", "_rank_of_y", "_starts", "_lower_sums")


@dataclass(frozen=True)
class Pairs:
    """A sample in the order of y, seen as all its pairs.

    Attributes
    ----------
    Z : ndarray of shape (n, k)
        Standardised columns, rows in increasing order of y.
    ranks : Ranks
    link : Link
    ridge : float or ndarray of shape (k,)
        Added to the information of each coefficient.
    width : float
        Of the grid on which pairs are summed; 0 sums pair by pair.
    lasso : float
        Added to the loss for each unit of a coefficient's size.
    bounds : Bounds, optional
        What the coefficients must obey.
    """

    Z: Floats
    ranks: Ranks
    link: Link
    ridge: float | Floats
    width: float
    lasso: float = 0.0
    bounds: Bounds | None = None

    @property
    def penalised(self) -> bool:
        """Whether the loss has a minimum whatever the columns are."""
        return bool(np.all(self.ridge)) or self.lasso > 0.0

    @cached_property
    def compiled(self) -> bool:
        """Whether passes over the rows are compiled: for large samples."""
        return self.width > 0.0 and len(self.Z) >= COMPILED_FROM and numba_works()

    def on_grid(self, width: float) -> Pairs:
        """Return the same pairs, to be summed on another grid; what does not depend on it is kept.

        Examples
        --------
        >>> from crank.kernels.links import LINKS
        >>> from crank.ranks import rank
        >>> pairs = Pairs(np.eye(2), rank(np.array([1.0, 2.0])), LINKS["logit"], 0.0, 0.5)
        >>> pairs.on_grid(0.25).width
        0.25
        """
        return self._kept(replace(self, width=width))

    def under(self, ridge: float | Floats) -> Pairs:
        """Return the same pairs under another ridge; what does not depend on it is kept."""
        return self._kept(replace(self, ridge=ridge))

    def _kept(self, other: Pairs) -> Pairs:
        known = {name: self.__dict__[name] for name in _OF_ANY_GRID if name in self.__dict__}
        other.__dict__.update(known)
        return other

    def span(self, b: Floats) -> float:
        """Range of the scores."""
        return float(np.ptp(self.Z @ b))

    def score(self, b: Floats) -> Floats:
        """Return the score of the loss with its ridge, without the information."""
        if not self.compiled:
            return self.newton(b)[0]
        return self._fixed_score - self._large(b).pull() - self.ridge * b

    def newton(self, b: Floats, sums: PairSums | None = None) -> tuple[Floats, Floats]:
        """Return score and information of the loss with its ridge."""
        if self.compiled:
            large = self._large(b)
            score = self._fixed_score - large.pull() - self.ridge * b
            return score, large.information() + self.ridge * np.eye(len(b))
        soft, information = (sums or self._sums(b)).information(self.Z)
        score = (self.ranks.weight * (self._rank_of_y - soft)) @ self.Z - self.ridge * b
        return score, information + np.diag(np.broadcast_to(self.ridge, len(b)))

    def residuals(self, b: Floats) -> Floats:
        """Return the rank of each y minus the soft rank of its score."""
        return np.asarray(self._rank_of_y - self._sums(b).row_sums(np.empty((len(self.Z), 0)))[0])

    def influences(self, b: Floats, sums: PairSums | None = None) -> Floats:
        """Return what each row adds to the score through all pairs that it is in."""
        if self.compiled:
            found = np.empty(self.Z.shape)
            for rows, part in self._large_influences(self._large(b)):
                found[rows] = part
        else:
            soft, seen = (sums or self._sums(b)).row_sums(self.Z)
            found = self.Z * (self._rank_of_y - soft)[:, None]
            found -= self._lower_sums
            found += seen
            if not self.ranks.unweighted:
                found *= self.ranks.weight[:, None]
        # they add up to 0 unless there is a penalty, which refers to the weight of all pairs
        share = self.ranks.weight / self.ranks.total
        return np.asarray(found - share[:, None] * found.sum(axis=0))

    def moments(self, b: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the sum of the products of all rows' influences, score and information."""
        if not self.compiled:
            at_b = self._sums(b)
            found = self.influences(b, at_b)
            return found.T @ found, *self.newton(b, at_b)
        large = self._large(b)
        k, weight = len(b), self.ranks.weight
        products, sums, shared = np.zeros((k, k)), np.zeros(k), np.zeros(k)
        for rows, part in self._large_influences(large):
            products += part.T @ part
            sums += np.ones(len(part)) @ part
            shared += weight[rows] @ part
        # as if each row's share of their sum had been taken off
        shared /= self.ranks.total
        products -= np.outer(shared, sums) + np.outer(sums, shared)
        products += np.outer(sums, sums) * float(weight @ weight) / self.ranks.total**2
        score = self._fixed_score - large.pull() - self.ridge * b
        return products, score, large.information() + self.ridge * np.eye(k)

    def _large_influences(self, large: LargeGrid) -> Iterator[tuple[slice, Floats]]:
        return large.influences(self.ranks.group, self._rank_of_y - self.ranks.total / 2.0)

    def separates(self, b: Floats, tolerance: float = 0.0) -> bool:
        """Tell whether a direction puts no pair in the wrong order and keeps ties together.

        Then the loss falls along it for ever, and no finite coefficients are best.
        """
        score = self.Z @ b
        slack = tolerance * float(np.ptp(score))
        low = np.minimum.reduceat(score, self._starts)
        high = np.maximum.reduceat(score, self._starts)
        ordered = low[1:] >= np.maximum.accumulate(high)[:-1] - slack
        return bool(ordered.all() and (high - low <= slack).all() and np.ptp(score) > 0.0)

    def _large(self, b: Floats) -> LargeGrid:
        score = np.matmul(self.Z, b, out=self._room[0])
        return LargeGrid(score, self.ranks.weight, self.Z, self.link, self.width, self._room[1:])

    @cached_property
    def _room(self) -> Floats:
        """Memory of a pass over the rows; there is one pass at a time."""
        return np.empty((3, len(self.Z)))

    @cached_property
    def _fixed_score(self) -> Floats:
        """What the ranks of y add to the score."""
        above = self._rank_of_y - self.ranks.total / 2.0
        return np.asarray((self.ranks.weight * above) @ self.Z)

    def _sums(self, b: Floats) -> PairSums:
        return pair_sums(self.Z @ b, self.ranks.weight, self.link, self.width)

    @cached_property
    def _rank_of_y(self) -> Floats:
        """Weight of the rows below each row, and half of that of its ties, itself included."""
        return (self.ranks.below + self.ranks.upto) / 2.0

    @cached_property
    def _starts(self) -> NDArray[np.intp]:
        """Where each distinct value of y begins."""
        return np.searchsorted(self.ranks.group, np.arange(self.ranks.n_distinct))

    @cached_property
    def _lower_sums(self) -> Floats:
        """Sum the columns over the rows below each row, and half over its ties."""
        total = np.zeros((len(self.Z) + 1, self.Z.shape[1]))
        np.cumsum(self.Z * self.ranks.weight[:, None], axis=0, out=total[1:])
        ends = np.append(self._starts, len(self.Z))
        return np.asarray((total[ends[:-1]] + total[ends[1:]])[self.ranks.group] / 2.0)


def mean_loss(score: Floats, ranks: Ranks, link: Link, width: float) -> float:
    """Mean loss of all pairs of rows at given scores, pairs with equal responses among them.

    With the logit link it is the negative log-likelihood of a pair.

    Examples
    --------
    >>> from crank.kernels.links import LINKS
    >>> from crank.ranks import rank
    >>> ranks = rank(np.array([1.0, 2.0]))
    >>> [round(mean_loss(np.array([-s, s]), ranks, LINKS["logit"], 0.0), 3) for s in (0.0, 0.5)]
    [0.693, 0.313]
    """
    weight, alone = ranks.weight, float(ranks.weight @ ranks.weight) / 2.0
    itself = alone * float(link.loss(np.zeros(1))[0])
    won = float((weight * score) @ ((ranks.below + ranks.upto - ranks.total) / 2.0))
    total = pair_sums(score, weight, link, width).loss() - itself - won
    return total / (ranks.total**2 / 2.0 - alone)
