"""What every stump kernel shares: the layer it reads, the value of a cut, which of two is better.

Gains that differ by rounding only count as equal; then the first column wins, and in it the
first cut. So kernels that add the same scores in another order grow the same tree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

Objective = Literal["sum", "variance"]
FloatArray = NDArray[np.float64]
S = TypeVar("S", bound=np.generic)

ROUNDING = 1e-12
"""Gains that differ by no more than this share of the node's scale count as equal."""


@dataclass(frozen=True)
class Layer:
    """The nodes of one depth that are still to be split.

    Attributes
    ----------
    position : ndarray of int32
        Positions in y order (see `crank.ranks.Ranks`), node after node, increasing within each.
    bounds : ndarray of int, shape (nodes + 1,)
        Node k owns ``position[bounds[k]:bounds[k + 1]]``; no node is empty.
    n_from_left : int
        The left children of the layer above come first: this many rows are theirs.

    Examples
    --------
    >>> layer = Layer(np.array([0, 2, 1, 3], dtype=np.int32), np.array([0, 2, 4]))
    >>> layer.sizes.tolist(), layer.within.tolist()
    ([2, 2], [0, 1, 0, 1])
    """

    position: NDArray[np.int32]
    bounds: NDArray[np.intp]
    n_from_left: int = 0

    @property
    def starts(self) -> NDArray[np.intp]:
        """First row of each node."""
        return self.bounds[:-1]

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """Rows in each node."""
        return self.bounds[1:] - self.bounds[:-1]

    def spread_out(self, values: NDArray[S], axis: int = 0) -> NDArray[S]:
        """Give each row the value of its node."""
        return values.repeat(self.sizes, axis)

    @cached_property
    def within(self) -> NDArray[np.intp]:
        """Number of each row within its node."""
        return np.arange(len(self.position)) - self.spread_out(self.starts)


@dataclass(frozen=True, kw_only=True)
class ScoredLayer(Layer):
    """A layer as the kernels see it; arrays are aligned with its rows.

    Attributes
    ----------
    score : ndarray of float64
        Case weights included.
    weight : ndarray of float64 or None
        None if every weight is 1.
    objective : {"sum", "variance"}
    min_leaf : int
        Fewest rows that a side may have.
    """

    score: FloatArray
    weight: FloatArray | None
    objective: Objective
    min_leaf: int

    @classmethod
    def of(
        cls,
        layer: Layer,
        score: FloatArray,
        weight: FloatArray | None,
        objective: Objective,
        min_leaf: int,
    ) -> ScoredLayer:
        """Score a layer."""
        return cls(
            layer.position,
            layer.bounds,
            layer.n_from_left,
            score=score,
            weight=weight,
            objective=objective,
            min_leaf=min_leaf,
        )

    @cached_property
    def total(self) -> FloatArray:
        """Sum of the scores of each node."""
        return np.add.reduceat(self.score, self.starts)

    @cached_property
    def mass(self) -> FloatArray:
        """Weight of each node."""
        if self.weight is None:
            return self.sizes.astype(np.float64)
        return np.add.reduceat(self.weight, self.starts)

    @cached_property
    def spread(self) -> FloatArray:
        """Sum of the absolute scores of each node."""
        return np.add.reduceat(np.abs(self.score), self.starts)

    @cached_property
    def squares(self) -> FloatArray:
        """Sum of the squared scores of each node."""
        return np.add.reduceat(self.score**2, self.starts)

    @cached_property
    def noise(self) -> FloatArray:
        """Scale of what chance gains in each node; see `crank.kernels.chance`."""
        return noise_of(self.squares, self.total, self.sizes, self.mass, self.objective)

    @cached_property
    def rounding(self) -> FloatArray:
        """Difference of gains, in each node, that may be due to rounding."""
        return rounding_of(self.spread, self.mass, self.objective)

    @cached_property
    def grain(self) -> FloatArray:
        """Difference of mean scores, in each node, below which two levels are tied."""
        return grain_of(self.spread, self.mass)

    @cached_property
    def floor(self) -> FloatArray:
        """Gain that a split has to exceed to improve on the undivided node."""
        return self.rounding + (np.abs(self.total) if self.objective == "sum" else 0.0)


def rounding_of(spread: FloatArray, mass: FloatArray, objective: Objective) -> FloatArray:
    """Difference of gains that may be due to rounding; see `ScoredLayer`."""
    return ROUNDING * (spread if objective == "sum" else spread**2 / mass)


def grain_of(spread: FloatArray, mass: FloatArray) -> FloatArray:
    """Difference of mean scores below which two levels are tied."""
    return 100.0 * ROUNDING * spread / mass


def noise_of(
    squares: FloatArray,
    total: FloatArray,
    rows: NDArray[Any],
    mass: FloatArray,
    objective: Objective,
) -> FloatArray:
    """Return the scale of chance in each node: the standard deviation or variance of its scores."""
    variance = np.maximum(squares / rows - (total / rows) ** 2, 0.0)
    if objective == "sum":
        return np.asarray(np.sqrt(variance))
    return np.asarray(variance * rows / mass)  # of weighted scores, per unit of weight


@dataclass(frozen=True)
class Cut:
    """The best split of one node.

    Attributes
    ----------
    low_is_left : bool
        Whether the low side (small values; the listed levels) is the high side of the ranking.
    low, high : float
        For numbers: the neighbouring values between which the cut falls; ``high`` is NaN if the
        cut parts the missing values from all others.
    levels : tuple of (int, ...) or None
        For categories: the levels on the left, and those on the right.
    missing_left : bool or None
        Side of the missing values; None if the node had none.
    n_left : int
        Rows on the left.
    """

    low_is_left: bool
    low: float
    high: float
    levels: tuple[tuple[int, ...], tuple[int, ...]] | None
    missing_left: bool | None
    n_left: int


def first_best(gain: FloatArray, rounding: float) -> int:
    """Index of the first gain that only rounding parts from the largest.

    Examples
    --------
    >>> first_best(np.array([1.0, 3.0 - 1e-15, 3.0]), 1e-12)
    1
    """
    return int(np.argmax(gain >= gain.max() - rounding))


def between(low: float, high: float, low_is_left: bool) -> float:
    """Return a finite threshold midway, on the side that a strict comparison needs if it rounds.

    ``x < t`` is the test if the low side goes left, else ``x > t``.

    Examples
    --------
    >>> between(1.0, 2.0, True), between(1.0, np.inf, False)
    (1.5, 1.0)
    """
    if math.isinf(low) and math.isinf(high):
        return 0.0
    if math.isinf(low):
        return high if low_is_left else math.nextafter(high, low)
    if math.isinf(high):
        return math.nextafter(low, high) if low_is_left else low
    middle = low / 2.0 + high / 2.0
    if low_is_left:
        return middle if middle > low else high
    return middle if middle < high else low
