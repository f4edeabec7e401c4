"""Pairs of terms that an additive score cannot express: which, and how many earn their place.

A first fit without pairs leaves residuals: the rank of each y minus the soft rank of its score.
Pairs whose products explain most of them come first; as many of those are taken as rank rows best
that were held out, residuals and order of the pairs being found anew without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from crank.design.penalties import CAUTION
from crank.fitting.bounded import Bounds
from crank.fitting.linear import Groups
from crank.fitting.pairs import Floats, Pairs
from crank.fitting.smoothing import START, WIDTH, Penalty, Smoothed, choose_smoothing
from crank.kernels.links import Link
from crank.ranks import Ranks

Mask = NDArray[np.bool_]

COUNTS = (0, 10)
"""Numbers of pairs that are tried; of the latter, those stay that do something."""
MOST_SIDES = 24
"""Pairs are sought among so many terms, those with the largest effects."""
RIDGE = 1e-6
"""Of the columns of pairs, beside the penalty that they choose."""
USED = 0.5
"""A pair that uses fewer degrees of freedom is not worth a term."""
NEAR = 1e-3
"""Ridge of the regression on residuals, as a share of the length of its columns."""


@dataclass(frozen=True)
class Side:
    """A term that may be one side of a pair.

    Attributes
    ----------
    name : str
    columns : ndarray of int
        Its columns among the standardised ones of the design.
    few : ndarray of shape (n, m)
        The few columns that it has in pairs.
    bending : ndarray of shape (m,)
        Their penalties.
    smooth : bool
        Whether it is a curve.
    """

    name: str
    columns: NDArray[np.intp]
    few: Floats
    bending: Floats
    smooth: bool


def product(a: Floats, b: Floats) -> Floats:
    """Multiply the columns of two sides, the first one's varying fastest, as designs do.

    Examples
    --------
    >>> product(np.array([[1.0, 2.0]]), np.array([[10.0, 20.0]])).tolist()
    [[10.0, 20.0, 20.0, 40.0]]
    """
    return np.asarray(np.einsum("ni,nj->nji", a, b).reshape(len(a), -1))


@dataclass(frozen=True)
class Product:
    """Standardised columns of a pair, and what a fit holds against them."""

    Z: Floats
    penalty: Penalty

    @classmethod
    def of(cls, a: Side, b: Side, weight: Floats) -> Product:
        """Multiply two sides; all of the product bends, for lines are in the terms themselves."""
        W = product(a.few, b.few)
        share = weight / weight.sum()
        W = W - share @ W
        variance = share @ W**2
        variance[variance <= 1e-18] = 1.0
        bending = (1.0 + np.add.outer(b.bending, a.bending).ravel()) / variance
        ridge, term = np.full(len(bending), RIDGE) / variance, np.zeros(len(bending), np.intp)
        caution = np.full(len(bending), CAUTION)
        return cls(W / np.sqrt(variance), Penalty(bending, ridge, term, caution))


def strongest(pairs: Pairs, b: Floats, sides: Sequence[Side], rows: Mask) -> list[tuple[int, int]]:
    """Sort pairs of sides, one of them a curve, by how much of the residuals they explain.

    Parameters
    ----------
    pairs : Pairs
    b : ndarray of shape (k,)
        Coefficients without pairs.
    sides : sequence of Side
    rows : ndarray of bool
        Which rows of the sides are those of the pairs.

    Returns
    -------
    list of tuple of int
        Positions among the sides, the best pair first; without those that explain no more than
        chance does.
    """
    root = np.sqrt(pairs.ranks.weight)
    residual = root * pairs.residuals(b)
    size = float(residual @ residual) / len(residual)
    if size <= 0.0:
        return []
    effects = [float(np.std(pairs.Z[:, side.columns] @ b[side.columns])) for side in sides]
    sought = sorted(np.argsort(-np.array(effects), kind="stable")[:MOST_SIDES].tolist())
    few = {i: sides[i].few[rows] for i in sought}
    found = []
    for i, j in combinations(sought, 2):
        if not (sides[i].smooth or sides[j].smooth):
            continue
        own = pairs.Z[:, np.concatenate([sides[i].columns, sides[j].columns])]
        known, _ = np.linalg.qr(root[:, None] * np.column_stack([np.ones(len(root)), own]))
        W = root[:, None] * product(few[i], few[j])
        W -= known @ (known.T @ W)
        gram = W.T @ W
        gram[np.diag_indices_from(gram)] += NEAR * max(float(np.trace(gram)) / len(gram), 1e-12)
        pull = W.T @ (residual - known @ (known.T @ residual))
        gain = float(pull @ np.linalg.solve(gram, pull)) / size - W.shape[1]
        if gain > 0.0:
            found.append((gain, i, j))
    found.sort(key=lambda one: -one[0])
    return [(i, j) for _, i, j in found]


@dataclass(frozen=True, eq=False)
class Candidates:
    """A sample that pairs can be added to; rows in the order of y.

    Attributes
    ----------
    Z : ndarray of shape (n, k)
        Standardised columns without pairs.
    ranks : Ranks
    link : Link
    penalty : Penalty
    sides : tuple of Side
    groups : ndarray of int or None
    bounds : Bounds or None
        What the coefficients of the columns without pairs obey.
    """

    Z: Floats
    ranks: Ranks
    link: Link
    penalty: Penalty
    sides: tuple[Side, ...] = ()
    groups: Groups | None = None
    bounds: Bounds | None = None
    made: dict[tuple[int, int], Product] = field(default_factory=dict)

    def products(self, chosen: Sequence[tuple[int, int]]) -> list[Product]:
        """Make the columns of pairs, each once."""
        for i, j in chosen:
            if (i, j) not in self.made:
                self.made[i, j] = Product.of(self.sides[i], self.sides[j], self.ranks.weight)
        return [self.made[one] for one in chosen]

    def order(self, rows: Mask, alone: Smoothed) -> list[tuple[int, int]]:
        """Sort the pairs by what they explain of some rows beyond a fit without pairs."""
        if len(self.sides) < 2:
            return []
        pairs = self._pairs(self.Z, rows)
        return strongest(pairs, alone.b, self.sides, rows)

    def fit(
        self, rows: Mask, chosen: Sequence[tuple[int, int]], start: Smoothed | None
    ) -> Smoothed:
        """Fit some rows with pairs; coefficients and smoothing of the pairs stand behind."""
        Z, penalty = self.Z, self.penalty
        if chosen:
            added = self.products(chosen)
            Z = np.column_stack([Z, *(one.Z for one in added)])
            for one in added:
                penalty = penalty.joined(one.penalty)
        if start is not None:
            more = Z.shape[1] - len(start.b)
            fresh = np.full(penalty.n_terms - len(start.smoothing), START)
            b, smoothing = np.append(start.b, np.zeros(more)), np.append(start.smoothing, fresh)
            start = Smoothed(b, smoothing, np.zeros(penalty.n_terms))
        groups = None
        if self.groups is not None:
            groups = np.unique(self.groups[rows], return_inverse=True)[1]
        return choose_smoothing(self._pairs(Z, rows), penalty, groups, start)

    def kept(self, count: int) -> list[tuple[str, str]]:
        """Name the strongest pairs on all rows, without those that hardly do anything."""
        everything = np.ones(len(self.Z), dtype=bool)
        alone = self.fit(everything, (), None)
        chosen = self.order(everything, alone)[:count]
        if not chosen:
            return []
        freedom = self.fit(everything, chosen, alone).freedom[self.penalty.n_terms :]
        names = [side.name for side in self.sides]
        return [
            (names[i], names[j])
            for (i, j), used in zip(chosen, freedom, strict=True)
            if used >= USED
        ]

    def scores(self, rows: Mask, chosen: Sequence[tuple[int, int]], fitted: Smoothed) -> Floats:
        """Score some rows."""
        Z = np.column_stack([self.Z[rows], *(one.Z[rows] for one in self.products(chosen))])
        return np.asarray(Z @ fitted.b)

    def path(self, held: Mask, counts: Sequence[int]) -> list[Floats]:
        """Fit the other rows with more and more pairs, and score the rows held out each time."""
        fitted = self.fit(~held, (), None)
        chosen: list[tuple[int, int]] = []
        order = self.order(~held, fitted) if max(counts) else []
        found = []
        for count in counts:
            if len(order[:count]) > len(chosen):
                chosen = order[:count]
                fitted = self.fit(~held, chosen, fitted)
            found.append(self.scores(held, chosen, fitted))
        return found

    def _pairs(self, Z: Floats, rows: Mask) -> Pairs:
        ranks = self.ranks if rows.all() else self.ranks.subset(rows)
        bounds = None if self.bounds is None else self.bounds.widened(Z.shape[1])
        return Pairs(np.ascontiguousarray(Z[rows]), ranks, self.link, 0.0, WIDTH, bounds=bounds)
