"""Fit a linear ranker to partitions: Newton's steps are sums over them.

Rows are spread over the points of a grid of scores (see `crank.kernels.pair_sums`). What the points
hold is a sum over partitions, the convolution is the client's, and the information takes a second
sum. Sums of floats depend on partitions in their last digits, and so do coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.cluster.columns import Standard, learn_columns
from crank.cluster.engine import Cluster
from crank.cluster.formula import Learned
from crank.cluster.rows import read_rows
from crank.cluster.scoring import counted, table_figures
from crank.cluster.sketch import Parts
from crank.cluster.spread import Spread, design_of
from crank.cluster.tally import FloatArray
from crank.cluster.units import Units
from crank.criteria import require_distinct
from crank.errors import OptionError
from crank.fitting.columns import check_columns
from crank.fitting.linear import (
    CELLS,
    FINER,
    WIDEST,
    refined,
    settled,
    summarised,
)
from crank.kernels.links import LINKS, Link
from crank.kernels.pair_sums import Grid
from crank.rankers.linear import LinearOptions, LinearRanker
from crank.rankers.validation import Estimate
from crank.ranks import Ranks, rank_levels


@dataclass(frozen=True)
class LinearPart:
    """One partition: standardised columns, level of y, weight."""

    Z: FloatArray
    level: NDArray[np.uint16]
    weight: FloatArray


def prepare_linear(
    frame: Any, learned: Learned, y: Parts, units: Units, standard: Standard
) -> LinearPart:
    """Standardise one partition."""
    rows = read_rows(frame, learned.asked)
    response, X = design_of(rows, learned)
    whole = units.whole(rows.weight)
    weight = np.ones(len(response)) if whole is None else whole * units.scale
    return LinearPart(standard.applied(X), y.of(response).astype(np.uint16), weight)


@dataclass(frozen=True)
class LevelSums:
    """Weight and weighted columns by level of y; smallest and largest value of each column."""

    sums: FloatArray
    low: FloatArray
    high: FloatArray

    def __add__(self, other: LevelSums) -> LevelSums:
        return LevelSums(
            self.sums + other.sums,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )


def level_sums(part: LinearPart, levels: int) -> LevelSums:
    """Sum one partition by level."""
    k = part.Z.shape[1]
    sums = np.empty((levels, k + 1))
    sums[:, 0] = np.bincount(part.level, part.weight, levels)
    for j in range(k):
        sums[:, j + 1] = np.bincount(part.level, part.weight * part.Z[:, j], levels)
    none = not len(part.Z)
    low = np.full(k, np.inf) if none else part.Z.min(axis=0)
    return LevelSums(sums, low, np.full(k, -np.inf) if none else part.Z.max(axis=0))


def spread_rows(part: LinearPart, b: FloatArray, low: float, width: float, size: int) -> FloatArray:
    """Spread the rows of one partition over the points of a grid."""
    from crank.kernels.compiled_pair_sums import spread_columns

    binned = np.zeros((size, len(b) + 1))
    spread_columns(part.Z @ b, part.weight, part.Z, low, width, binned)
    return binned


def at_scores(score: FloatArray, low: float, width: float, seen: FloatArray) -> FloatArray:
    """Interpolate what the points of a grid see, by cubics, at the score of each row."""
    place = 1.0 + (score - low) / width
    first = np.minimum(place.astype(np.intp), len(seen) - 3)
    f = place - first
    shares = (
        -f * (f - 1.0) * (f - 2.0) / 6.0,
        (f + 1.0) * (f - 1.0) * (f - 2.0) / 2.0,
        -(f + 1.0) * f * (f - 2.0) / 2.0,
        (f + 1.0) * f * (f - 1.0) / 6.0,
    )
    shape = (-1, *(1,) * (seen.ndim - 1))
    found = np.zeros((len(score), *seen.shape[1:]))
    for m, share in enumerate(shares):
        found += share.reshape(shape) * seen[first - 1 + m]
    return found


def slope_products(
    part: LinearPart, b: FloatArray, low: float, width: float, seen: FloatArray
) -> FloatArray:
    """Sum the products of columns, weighted by what each row sees of slopes."""
    slopes = at_scores(part.Z @ b, low, width, seen)
    return np.asarray((part.Z * (slopes * part.weight)[:, None]).T @ part.Z)


@dataclass(frozen=True)
class Products:
    """Sums over rows of their influences: products, sums, sums by weight; squared weights."""

    products: FloatArray
    sums: FloatArray
    shared: FloatArray
    squares: float

    def __add__(self, other: Products) -> Products:
        return Products(
            self.products + other.products,
            self.sums + other.sums,
            self.shared + other.shared,
            self.squares + other.squares,
        )


def influence_products(
    part: LinearPart,
    b: FloatArray,
    low: float,
    width: float,
    seen: FloatArray,
    rank: FloatArray,
    below: FloatArray,
) -> Products:
    """Sum what the rows of one partition add to the score through all pairs that they are in.

    Parameters
    ----------
    part : LinearPart
    b, low, width
        Coefficients and grid.
    seen : ndarray of shape (points, k + 1)
        What each point sees above it less what it sees below, by half: soft rank and columns.
    rank, below : ndarray of shape (levels,) and (levels, k)
        The same of y: rank, and sums of columns.
    """
    own = at_scores(part.Z @ b, low, width, seen)
    found = part.Z * (rank[part.level] - own[:, 0])[:, None] - (below[part.level] - own[:, 1:])
    found *= part.weight[:, None]
    return Products(
        np.asarray(found.T @ found),
        found.sum(axis=0),
        np.asarray(part.weight @ found),
        float(part.weight @ part.weight),
    )


@dataclass(frozen=True)
class Ends:
    """Smallest and largest score of each level of y."""

    low: FloatArray
    high: FloatArray

    def __add__(self, other: Ends) -> Ends:
        return Ends(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def score_ends(part: LinearPart, b: FloatArray, levels: int) -> Ends:
    """Find them in one partition."""
    score = part.Z @ b
    ends = Ends(np.full(levels, np.inf), np.full(levels, -np.inf))
    np.minimum.at(ends.low, part.level, score)
    np.maximum.at(ends.high, part.level, score)
    return ends


@dataclass(frozen=True)
class ClusterPairs:
    """All pairs of rows in partitions; what `crank.fitting.pairs.Pairs` is for rows at hand.

    Attributes
    ----------
    cluster : Cluster
        Of `LinearPart`.
    ranks : Ranks
        Of the levels of y.
    known : LevelSums
    link : Link
    ridge : float
    width : float
        Of the grid.
    """

    cluster: Cluster
    ranks: Ranks
    known: LevelSums
    link: Link
    ridge: float
    width: float
    lasso: float = 0.0
    bounds: None = None
    compiled: bool = True

    @property
    def penalised(self) -> bool:
        """Whether the loss has a minimum whatever the columns are."""
        return self.ridge > 0.0

    def on_grid(self, width: float) -> ClusterPairs:
        """Return the same pairs, to be summed on another grid."""
        return replace(self, width=width)

    def span(self, b: FloatArray) -> float:
        """Range that the scores cannot leave."""
        low, high = self._range(b)
        return high - low

    def _range(self, b: FloatArray) -> tuple[float, float]:
        ends = np.stack((self.known.low * b, self.known.high * b))
        return float(ends.min(axis=0).sum()), float(ends.max(axis=0).sum())

    def _grid(self, b: FloatArray) -> tuple[_Points, FloatArray]:
        grid = _Points(np.array(self._range(b)), self.link, self.width)
        return grid, self.cluster.sum(spread_rows, b, grid.low, grid.width, grid.size)

    @property
    def _rank(self) -> FloatArray:
        """Rank of each level of y, from the middle."""
        return (self.ranks.below + self.ranks.upto - self.ranks.total) / 2.0

    def _score(self, b: FloatArray, grid: _Points, binned: FloatArray) -> FloatArray:
        fixed = self._rank @ self.known.sums[:, 1:]
        pull = grid.sum_signs(binned[:, 0]) @ binned[:, 1:]
        return np.asarray(fixed - pull - self.ridge * b)

    def score(self, b: FloatArray) -> FloatArray:
        """Return the score of the loss with its ridge."""
        return self._score(b, *self._grid(b))

    def newton(self, b: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return score and information of the loss with its ridge."""
        grid, binned = self._grid(b)
        return self._score(b, grid, binned), self._information(b, grid, binned)

    def _information(self, b: FloatArray, grid: _Points, binned: FloatArray) -> FloatArray:
        seen = grid.sum_slopes(np.ascontiguousarray(binned[:, 0]))
        products = self.cluster.sum(slope_products, b, grid.low, grid.width, seen)
        columns = np.ascontiguousarray(binned[:, 1:])
        return np.asarray(
            products - columns.T @ grid.sum_slopes(columns) + self.ridge * np.eye(len(b))
        )

    def moments(self, b: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the sum of the products of all rows' influences, score and information."""
        grid, binned = self._grid(b)
        sums = self.known.sums[:, 1:]
        below = np.cumsum(sums, axis=0) - sums / 2.0 - sums.sum(axis=0) / 2.0
        found: Products = self.cluster.sum(
            influence_products, b, grid.low, grid.width, grid.sum_signs(binned), self._rank, below
        )
        # as if each row's share of their sum had been taken off
        shared, total = found.shared / self.ranks.total, self.ranks.total
        products = found.products - np.outer(shared, found.sums) - np.outer(found.sums, shared)
        products += np.outer(found.sums, found.sums) * found.squares / total**2
        return products, self._score(b, grid, binned), self._information(b, grid, binned)

    def separates(self, b: FloatArray, tolerance: float = 0.0) -> bool:
        """Tell whether a direction puts no pair in the wrong order and keeps ties together."""
        ends: Ends = self.cluster.sum(score_ends, b, len(self.ranks.y))
        slack = tolerance * float(ends.high.max() - ends.low.min())
        ordered = ends.low[1:] >= np.maximum.accumulate(ends.high)[:-1] - slack
        return bool(
            ordered.all()
            and (ends.high - ends.low <= slack).all()
            and ends.high.max() > ends.low.min()
        )


class _Points(Grid):
    """A grid, by what its points see."""

    def sum_signs(self, binned: FloatArray) -> FloatArray:
        """Sum what each point sees below it, less what it sees above, by half."""
        return self._convolved(binned, self.above)

    def sum_slopes(self, binned: FloatArray) -> FloatArray:
        """Sum what each point sees of the link's slope."""
        return self._convolved(binned, self.slope)


def score_masses(part: LinearPart, b: FloatArray, low: float, high: float) -> FloatArray:
    """Weigh the scores of one partition in cells of equal width: their weight, and their sum."""
    score = part.Z @ b
    place = (score - low) * (CELLS / ((high - low) or 1.0))
    cell = np.clip(place, 0.0, CELLS - 1.0).astype(np.intp)
    weight = part.weight
    return np.stack(
        [np.bincount(cell, weight, CELLS), np.bincount(cell, weight * score, CELLS)]
    ).astype(np.float64)


@dataclass(frozen=True)
class LinearJudge:
    """Reads responses, scores and weights of a partition for the figures."""

    b: FloatArray
    value: FloatArray
    weighted: bool

    def read(self, part: LinearPart) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Return y, score and weight of one partition."""
        return self.value[part.level], part.Z @ self.b, part.weight if self.weighted else None


def fit_linear(
    cluster: Cluster,
    learned: Learned,
    spread: Spread,
    options: LinearOptions,
    names: Sequence[str],
) -> tuple[LinearRanker, dict[str, Estimate]]:
    """Fit a linear ranker; return it with its training figures."""
    refuse_options(options)
    check_columns(len(names))
    standard = learn_columns(
        cluster, learned, spread.units, all_varying=options.resolved(None) > 0.0
    )
    units = spread.units
    parts = cluster.keep(prepare_linear, learned, spread.y, units, standard)
    known: LevelSums = parts.sum(level_sums, len(spread.y.value))
    ranks = rank_levels(spread.y.value, known.sums[:, 0], units.unit)
    require_distinct(ranks)
    ridge, _ = options.shares(options.resolved(None), ranks.total)
    pairs: Any = ClusterPairs(parts, ranks, known, LINKS[options.link], ridge, WIDEST / FINER)
    labels = [str(names[k]) for k in standard.kept]
    b, p = np.zeros(len(standard.kept)), len(names)
    vcov = np.empty((0, 0))
    if len(b):
        b = settled(pairs, b, labels)
        b, vcov = refined(pairs, b, None, labels)
    coef, covariance = np.full(p, np.nan), np.full((p, p), np.nan)
    coef[standard.kept] = b / standard.scale
    around = vcov / np.outer(standard.scale, standard.scale)
    covariance[np.ix_(standard.kept, standard.kept)] = around
    mass, sums = parts.sum(score_masses, b, *pairs._range(b))
    there = mass > 0.0
    reference, share = summarised(sums[there] / mass[there], mass[there])
    ranker = LinearRanker(
        options=options,
        coef=coef,
        vcov=covariance,
        centre=standard.centre,
        covariance=standard.covariance,
        reference=reference,
        share=share,
        n_groups=None,
        path=None,
    )
    judge = LinearJudge(b, spread.y.value, not units.unweighted)
    return ranker, table_figures(counted(parts, judge))


def refuse_options(options: LinearOptions) -> None:
    """Refuse penalties whose choice takes many fits."""
    if isinstance(options.penalty, str) or options.l1_ratio:
        raise OptionError(
            f"penalty={options.penalty!r}, l1_ratio={options.l1_ratio:g} cannot be used with a "
            "Dask data frame. Allowed: a number as the penalty and l1_ratio=0; or choose the "
            "penalty on a sample first, sample=100_000."
        )
