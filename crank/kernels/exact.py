"""The exact stump kernel in NumPy: every threshold of every numeric column, a whole layer at once.

It serves small data, any data where numba is missing, and is the oracle of the compiled kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.cuts import Cut, FloatArray, Layer, Objective, ScoredLayer, between

Numbers = NDArray[Any]
"""Sums of scores: int64 if the scores are whole numbers, else float64."""


class NumericColumns:
    """Numeric columns kept sorted within every node, from layer to layer.

    Parameters
    ----------
    columns : ndarray of shape (d, n)
        Values by position; NaN is missing.
    direction : ndarray of int, shape (d,), optional
        See `crank.kernels.stumps.StumpKernel`.
    """

    def __init__(
        self, columns: FloatArray, direction: NDArray[np.integer[Any]] | None = None
    ) -> None:
        self.d, self.n = columns.shape
        self.direction = np.zeros(self.d, dtype=np.int8) if direction is None else direction
        self.directed = bool(self.direction.any())
        self.order = _sorted_order(columns)
        self.value = columns.take(self.order + np.arange(0, columns.size, self.n)[:, None])
        self.missing = np.flatnonzero(np.isnan(self.value[:, -1]))

    def descend(self, layer: ScoredLayer) -> None:
        """Re-sort by (node, value): a stable partition of what the layer above had sorted."""
        rows = len(layer.position)
        if len(layer.starts) == 1 and rows == self.order.shape[1]:
            return
        born = np.zeros(self.n, dtype=np.int8)
        born[layer.position[: layer.n_from_left]] = 1
        born[layer.position[layer.n_from_left :]] = 2
        side = born.take(self.order)
        at = np.empty((self.d, rows), dtype=np.intp)
        at[:, : layer.n_from_left] = np.flatnonzero(side == 1).reshape(self.d, -1)
        at[:, layer.n_from_left :] = np.flatnonzero(side == 2).reshape(self.d, -1)
        self.order = self.order.take(at)
        self.value = self.value.take(at)

    def search(self, layer: ScoredLayer) -> NumericSearch:
        """Find each column's best cut in each node."""
        low = _running(_by_position(layer, _whole(layer), self.n), self.order, layer)
        n_low: NDArray[np.intp] = (layer.within + 1)[None, :]
        low_weight: Numbers = n_low
        if layer.weight is not None and layer.objective == "variance":
            by_position = _by_position(layer, layer.weight, self.n)
            low_weight = _running(by_position, self.order, layer)
        rises = np.zeros(self.order.shape, dtype=bool)
        np.less(self.value[:, :-1], self.value[:, 1:], out=rises[:, :-1])
        every = np.arange(self.d)
        if not len(self.missing):
            self._forbid(every, low, rises, layer)
            placement = _Placement.of(every, False, low, n_low, low_weight, rises, layer)
            return NumericSearch(self, layer, [placement])
        some = _Missing(self, layer)
        inner, low_with_missing = rises[self.missing], low[self.missing] + some.part_of(low)
        self._forbid(every, low, rises, layer)
        self._forbid(self.missing, low_with_missing, inner, layer)
        rises[some.column, some.last_known] |= some.parted
        placements = [
            _Placement.of(every, False, low, n_low, low_weight, rises, layer),
            _Placement.of(
                self.missing,
                True,
                low_with_missing,
                n_low + layer.spread_out(some.count, axis=1),
                low_weight if layer.objective == "sum" else some.add_to(low_weight),
                inner,
                layer,
            ),
        ]
        return NumericSearch(self, layer, placements)

    def _forbid(
        self,
        columns: NDArray[np.intp],
        low: Numbers,
        rises: NDArray[np.bool_],
        layer: ScoredLayer,
    ) -> None:
        """Rule out the cuts of some columns that would send the wrong side left."""
        if self.directed:
            lean = np.sign(low + low - layer.spread_out(layer.total))
            rises &= lean * self.direction[columns, None] <= 0.0


class _Missing:
    """The missing values of the columns that have any: the last rows of each node, when sorted.

    Attributes
    ----------
    column : ndarray of int, shape (columns, 1)
    count, last_known : ndarray of int, shape (columns, nodes)
        How many rows of the node miss the value, and the last row that does not.
    parted : ndarray of bool, shape (columns, nodes)
        Whether the node has rows of both kinds.
    """

    def __init__(self, data: NumericColumns, layer: ScoredLayer) -> None:
        self.layer, self.column = layer, data.missing[:, None]
        absent = np.isnan(data.value[data.missing])
        self.count = np.add.reduceat(absent, layer.starts, axis=1, dtype=np.intp)
        self.known = self.count < layer.sizes
        self.last_known = np.maximum(layer.bounds[1:] - self.count - 1, 0)
        self.parted = self.known & (self.count > 0)

    def part_of(self, running: Numbers) -> Numbers:
        """Give each row the share of its node's missing values in a running sum."""
        known = np.where(self.known, running[self.column, self.last_known], 0)
        return self.layer.spread_out(running[self.column, self.layer.bounds[1:] - 1] - known, 1)

    def add_to(self, weight: Numbers) -> Numbers:
        """Add the missing values to the weight of the low side."""
        if self.layer.weight is None:
            return np.asarray(weight + self.layer.spread_out(self.count, axis=1))
        return np.asarray(weight[self.column[:, 0]] + self.part_of(weight))


@dataclass(frozen=True)
class _Placement:
    """Gains of all cuts of some columns, with the missing values on the high or on the low side.

    Attributes
    ----------
    columns : ndarray of int
    missing_low : bool
    gain, low : ndarray of shape (columns, rows)
        Value of cutting after each sorted row, 0 where that is not allowed; score of its low side.
    n_low : ndarray of int, shape (columns, rows) or (1, rows)
        Rows on the low side.
    best : ndarray of shape (columns, nodes)
    """

    columns: NDArray[np.intp]
    missing_low: bool
    gain: Numbers
    low: Numbers
    n_low: NDArray[np.intp]
    best: Numbers

    @classmethod
    def of(
        cls,
        columns: NDArray[np.intp],
        missing_low: bool,
        low: Numbers,
        n_low: NDArray[np.intp],
        low_weight: Numbers,
        rises: NDArray[np.bool_],
        layer: ScoredLayer,
    ) -> _Placement:
        """Value the cuts where the column ``rises`` and both sides are large enough."""
        room = layer.spread_out(layer.sizes) - layer.min_leaf
        rises &= (n_low >= layer.min_leaf) & (n_low <= room)
        gain = _value(low, low_weight, layer)
        gain *= rises
        best = np.maximum.reduceat(gain, layer.starts, axis=1)
        return cls(columns, missing_low, gain, low, n_low, best)

    def find(self, column: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Locate columns among those of the placement, and tell which are among them."""
        at = np.minimum(np.searchsorted(self.columns, column), len(self.columns) - 1)
        return at, self.columns[at] == column


@dataclass(frozen=True)
class NumericSearch:
    """The best cuts of all numeric columns in all nodes of a layer."""

    data: NumericColumns
    layer: ScoredLayer
    placements: list[_Placement]

    @property
    def best(self) -> Numbers:
        """Largest gain, shape (columns, nodes); 0 where no cut is allowed."""
        best = self.placements[0].best
        for placement in self.placements[1:]:
            best = best.copy()
            best[placement.columns] = np.maximum(best[placement.columns], placement.best)
        return best

    def cuts(self, column: NDArray[np.intp], left: NDArray[np.bool_]) -> list[Cut | None]:
        """Read the best cut of a column in each node off, and mark the rows it sends left.

        Missing values on the high side are preferred, then small thresholds.

        Parameters
        ----------
        column : ndarray of int, shape (nodes,)
            −1 for a node without a cut.
        left : ndarray of bool
            Side by position, filled for the nodes with a cut.
        """
        layer, data = self.layer, self.data
        nodes, wanted = np.arange(len(column)), column >= 0
        column = np.maximum(column, 0)
        rows = np.arange(len(layer.position))
        flat = layer.spread_out(column * len(rows)) + rows
        first = self.placements[0]
        found, gain = first.best[column, nodes], first.gain.take(flat)
        missing_low = np.zeros(len(column), dtype=bool)
        for other in self.placements[1:]:
            at, there = other.find(column)
            missing_low = there & (other.best[at, nodes] > found + layer.rounding)
            found = np.where(missing_low, other.best[at, nodes], found)
            moved = other.gain.take(layer.spread_out(at * len(rows)) + rows)
            gain = np.where(layer.spread_out(missing_low), moved, gain)
        near = np.flatnonzero(gain >= layer.spread_out(found - layer.rounding))
        cut = near[np.searchsorted(near, layer.starts)]
        low, n_low = first.low[column, cut], first.n_low[0, cut]
        for other in self.placements[1:]:
            at, _ = other.find(column)
            low = np.where(missing_low, other.low[at, cut], low)
            n_low = np.where(missing_low, other.n_low[at, cut], n_low)
        low_is_left = 2.0 * low > layer.total
        missing_left = low_is_left == missing_low
        any_missing = np.isnan(data.value[column, layer.bounds[1:] - 1])
        order = data.order.take(flat)
        goes = (rows <= layer.spread_out(cut)) == layer.spread_out(low_is_left)
        if any_missing.any():
            goes = np.where(np.isnan(data.value.take(flat)), layer.spread_out(missing_left), goes)
        if not wanted.all():
            here = layer.spread_out(wanted)
            order, goes = order[here], goes[here]
        left[order] = goes
        after = np.minimum(cut + 1, len(rows) - 1)
        sides = np.where(low_is_left, n_low, layer.sizes - n_low)
        return [
            Cut(low_first, a, b, None, missing if some else None, n) if want else None
            for want, low_first, a, b, some, missing, n in zip(
                wanted.tolist(),
                low_is_left.tolist(),
                data.value[column, cut].tolist(),
                data.value[column, after].tolist(),
                any_missing.tolist(),
                missing_left.tolist(),
                sides.tolist(),
                strict=True,
            )
        ]


def _value(low: Numbers, low_weight: Numbers, layer: ScoredLayer) -> Numbers:
    """Value of cutting off a low side: |Σ left − Σ right|, or the variance (Σ low)² W / (W_l W_h).

    The variance form is for scores that are centred within the node.
    """
    if layer.objective == "sum":
        gain = low + low
        gain -= layer.spread_out(layer.total.astype(low.dtype))
        return np.asarray(np.abs(gain, out=gain))
    weight = layer.spread_out(layer.mass)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = weight / (low_weight * (weight - low_weight))
    factor[~np.isfinite(factor)] = 0.0
    return low**2 * factor


def _sorted_order(columns: FloatArray) -> NDArray[np.intp]:
    """Sort each column, NaN last.

    NumPy sorts several times as fast when there is no NaN: infinity stands in for it, unless a
    column has infinities of its own.
    """
    absent = np.isnan(columns)
    if not absent.any() or np.isposinf(columns).any():
        return np.argsort(columns, axis=1)
    return np.argsort(np.where(absent, np.inf, columns), axis=1)


def _by_position(layer: ScoredLayer, values: Numbers, n: int) -> Numbers:
    out = np.zeros(n, dtype=values.dtype)
    out[layer.position] = values
    return out


def _running(by_position: Numbers, order: NDArray[np.intp], layer: ScoredLayer) -> Numbers:
    """Add values up in sorted order within each node.

    Whole numbers go through the layer in one sweep. Others are added node by node, because the
    rounding of a sum over the layer would swamp its smallest nodes.
    """
    total = by_position.take(order)
    if total.dtype == np.int64:
        np.add.accumulate(total, axis=1, out=total)
        if len(layer.starts) > 1:
            # every column has the same rows in a node, hence the same sum before it
            before = total[0, layer.bounds[1:-1] - 1]
            total[:, layer.bounds[1] :] -= before.repeat(layer.sizes[1:])
        return total
    for start, end in pairwise(layer.bounds.tolist()):
        np.add.accumulate(total[:, start:end], axis=1, out=total[:, start:end])
    return total


def _whole(layer: ScoredLayer) -> Numbers:
    """Return the scores as integers if they are: NumPy adds those four times as fast.

    Without weights they are, for every criterion but spearman.
    """
    if layer.weight is None and layer.objective == "sum" and layer.spread.sum() < 2.0**60:
        whole = layer.score.astype(np.int64)
        if (whole == layer.score).all():
            return whole
    return layer.score


def best_cut(
    value: FloatArray,
    score: FloatArray,
    weight: FloatArray | None,
    objective: Objective,
    min_leaf: int,
    direction: int = 0,
) -> tuple[float, int] | None:
    """Cut one column of decision values where the objective is best.

    With a direction, only where the values above (1) or below (−1) the cut form the high side.

    Returns
    -------
    (cut, sign) or None
        Rows with ``sign * value > sign * cut`` form the high side. None if no allowed cut
        improves on the undivided node.
    """
    n = len(value)
    if n < 2 * min_leaf:
        return None
    whole = Layer(np.arange(n, dtype=np.int32), np.array([0, n], dtype=np.intp))
    layer = ScoredLayer.of(whole, score, weight, objective, min_leaf)
    search = NumericColumns(value[None, :], np.array([direction])).search(layer)
    if search.best[0, 0] <= layer.floor[0]:
        return None
    cut = search.cuts(np.zeros(1, dtype=np.intp), np.empty(n, dtype=bool))[0]
    assert cut is not None
    return between(cut.low, cut.high, cut.low_is_left), -1 if cut.low_is_left else 1
