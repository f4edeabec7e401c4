"""The rows of one tree of a forest, how trees are grown, and a tree as grown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.bins import MISSING_BIN
from crank.kernels.cuts import between
from crank.kernels.forest_bins import ForestBins

WIDTH = 256
ABSENT = -1
"""Place of a level that the bag lacks: its rows go where missing values go."""
KENDALL, SPEARMAN = 1, 3
"""Criteria whose scores are whole numbers if weights are."""
LOW_BITS = 22
"""Bits of a packed number that hold draws; the others hold scores."""
MOST_WHOLE = 2**20
"""Draws up to which packed numbers cannot overflow."""

MOST_COMPARED = 16
"""Draws of a row up to which rows are counted by comparing them with each number."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Growth:
    """How the trees of a forest are grown.

    Attributes
    ----------
    criterion : int
        As `crank.kernels.compiled_layer.CRITERIA` numbers it.
    scores : callable
        ``(bag, position) -> ndarray``: the criterion's scores of a node, in NumPy.
    variance : bool
        Whether the objective is the variance of scores between the sides, else their difference.
    at_random : bool
        Whether a column's threshold is drawn, else the best is found.
    max_depth, min_leaf, max_features : int
    direction : ndarray of int, shape (d,)
        1 or −1 for columns that may only be cut with their large values on the left or right.
    rounding : float
        Share of the mass that the criterion takes for rounding.
    """

    criterion: int
    scores: Callable[[Bag, Ints], Floats]
    variance: bool
    at_random: bool
    max_depth: int
    min_leaf: int
    max_features: int
    direction: NDArray[np.intp]
    rounding: float

    @property
    def shares_sums(self) -> bool:
        """Whether sums of a node serve its children: scores are the same in every node.

        Then all columns are counted, for one of two siblings: worth it if half of them are tried.
        """
        return self.criterion == SPEARMAN and 2 * self.max_features >= len(self.direction)


@dataclass(frozen=True)
class Bag:
    """The rows of one tree; arrays are by position in y order.

    Attributes
    ----------
    draws : ndarray of int32
        How often each row was drawn; 0 for rows that are not in the bag.
    case_weight : ndarray of float64 or None
        None if rows weigh the same.
    group : ndarray of int32
        Dense rank of y.
    """

    draws: Ints
    case_weight: Floats | None
    group: Ints

    @property
    def position(self) -> Ints:
        """The rows of the bag."""
        return np.flatnonzero(self.draws).astype(np.int32)

    @cached_property
    def size(self) -> int:
        """Draws in all."""
        return int(self.draws.sum())

    @cached_property
    def weight(self) -> Floats:
        """Draws times case weights."""
        if self.case_weight is None:
            return self.draws.astype(np.float64)
        return self.draws * self.case_weight

    @cached_property
    def mass(self) -> Floats:
        """Weight at each distinct y."""
        if not self.tied:
            return self.weight
        return np.bincount(self.group, weights=self.weight).astype(np.float64, copy=False)

    @cached_property
    def below(self) -> Floats:
        """Weight of the bag's rows with a smaller y."""
        below = np.cumsum(self.mass) - self.mass
        return below[self.group] if self.tied else below

    @cached_property
    def upto(self) -> Floats:
        """Weight of the bag's rows with y not larger."""
        upto = np.cumsum(self.mass)
        return upto[self.group] if self.tied else upto

    @property
    def total(self) -> float:
        """Weight of the bag."""
        return float(self.size) if self.case_weight is None else float(self.upto[-1])

    @property
    def tied(self) -> bool:
        """Whether any two rows have the same y."""
        return len(self.group) > int(self.group[-1]) + 1

    @cached_property
    def pairs(self) -> float:
        """Weight of all pairs of the bag with different responses."""
        if self.case_weight is not None:
            return float((self.weight * self.below).sum())
        # twice the pairs and the squares make the square of the sum: all whole numbers
        return float((self.size**2 - self._powers[0]) // 2)

    @cached_property
    def triples(self) -> float:
        """Weight of all triples of the bag with three different responses."""
        if self.case_weight is not None:
            return float((self.weight * self.below * (self.total - self.upto)).sum())
        squares, cubes = self._powers  # Newton's identity
        return float((self.size**3 - 3 * self.size * squares + 2 * cubes) // 6)

    @cached_property
    def _powers(self) -> tuple[int, int]:
        """Sums of the squares and of the cubes of the draws at each distinct y."""
        times = self.mass.astype(np.intp) if self.tied else self.draws
        counts = counts_of(times)
        return sum(c * k**2 for k, c in counts), sum(c * k**3 for k, c in counts)

    def is_whole(self, criterion: int) -> bool:
        """Tell whether scores are whole numbers that can be packed."""
        packed = self.case_weight is None and criterion in (KENDALL, SPEARMAN)
        return packed and self.size <= MOST_WHOLE


def counts_of(times: NDArray[Any]) -> list[tuple[int, int]]:
    """List how often each whole number is there, zeros aside.

    Few numbers are compared one by one: adding to few counters, each waits for the one before.

    Examples
    --------
    >>> counts_of(np.array([2, 0, 1, 2]))
    [(1, 1), (2, 2)]
    """
    most = int(times.max(initial=0))
    if most > MOST_COMPARED:
        return list(enumerate(np.bincount(times).tolist()))[1:]
    small = times.astype(np.uint8)
    return [(k, int(np.count_nonzero(small == k))) for k in range(1, most + 1)]


@dataclass(frozen=True)
class BagTree:
    """A tree as grown: children after parents, the left child before the right one.

    Attributes
    ----------
    column : ndarray of int, shape (nodes,)
        −1 for leaves.
    cut : ndarray of int, shape (nodes, 4)
        Last bin of the low side; next bin with rows, 255 if there is none; whether the low side
        takes missing values; whether it is the left side.
    children, span : ndarray of int, shape (nodes, 2)
        Left and right child; where the rows of a leaf lie in ``position``.
    drawn : ndarray of int
        A row of each leaf, drawn by weight.
    gain, gain_iauc : ndarray of float64
        Concordant less discordant pairs of each split, and the same with each pair weighed by what
        the bag has between its responses: concordant less discordant triples.
    size, mass, mean : ndarray
        Draws of each node; weight and mean vote of each leaf, 0 for other nodes.
    position : ndarray of int
        Rows of the bag in the order of the leaves, from left to right.
    rank : ndarray of int, shape (d, 256)
        Place of each level in the order of this tree; −1 if the bag lacks it.
    """

    column: Ints
    cut: Ints
    children: Ints
    span: NDArray[np.intp]
    drawn: Ints
    gain: Floats
    gain_iauc: Floats
    size: Ints
    mass: Floats
    mean: Floats
    position: Ints
    rank: NDArray[np.intp]

    def thresholds(self, bins: ForestBins) -> Floats:
        """Midway between the values beside each cut; for factors, between places in the order."""
        inner = np.flatnonzero(self.column >= 0)
        j, low, high = self.column[inner], self.cut[inner, 0], self.cut[inner, 1]
        low_is_left = self.cut[inner, 3] == 1
        found = np.full(len(self.column), np.inf)
        factor, some = bins.levels[j] > 0, high != MISSING_BIN
        found[inner[factor & some]] = low[factor & some] + 0.5
        number = ~factor & some
        if not number.any():
            return found
        ends = bins.largest[j[number], low[number]], bins.smallest[j[number], high[number]]
        found[inner[number]] = _between(*ends, low_is_left[number])
        return found


def _between(low: Floats, high: Floats, low_is_left: NDArray[np.bool_]) -> Floats:
    """Return finite numbers from ``low`` to before ``high``, midway; see `crank.kernels.cuts`."""
    middle = low / 2.0 + high / 2.0
    middle = np.where(middle < high, middle, low)
    odd = np.flatnonzero(~np.isfinite(middle) | (low_is_left & (middle <= low)))
    for k in odd.tolist():
        middle[k] = between(float(low[k]), float(high[k]), bool(low_is_left[k]))
        if low_is_left[k]:  # x < t is the contrary of x > the double before t
            middle[k] = np.nextafter(middle[k], -np.inf)
    return middle


def level_orders(
    bins: ForestBins, bag: Bag, vote: Floats
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Order the levels of each factor by their mean vote in the bag, those it lacks last.

    Returns
    -------
    rank, order, known : ndarray of int, shape (d, 256)
        Place of each level, the level at each place, and places with `ABSENT` for levels that the
        bag lacks.
    """
    d = len(bins.levels)
    order = np.tile(np.arange(WIDTH), (d, 1))
    rank, known = order.copy(), order.copy()
    position = bag.position if bins.levels.any() else np.zeros(0, dtype=np.int32)
    for j in np.flatnonzero(bins.levels).tolist():
        code, n = bins.bins[j, position], int(bins.levels[j])
        weight = bag.weight[position]
        mass = np.bincount(code, weights=weight, minlength=WIDTH)[:n]
        total = np.bincount(code, weights=weight * vote[position], minlength=WIDTH)[:n]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(mass > 0.0, total / mass, np.inf)
        order[j, :n] = np.argsort(mean, kind="stable")
        rank[j, order[j, :n]] = np.arange(n)
        known[j, :n] = np.where(mass > 0.0, rank[j, :n], ABSENT)
    return rank, order, known
