"""The exact stump kernel in NumPy: every threshold of every numeric column, a whole level at once.

It serves small data, any data where numba is missing, and is the oracle of the compiled kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from crank.kernels.cuts import Cut, FloatArray, LevelArrays, Objective, between, first_best


class NumericColumns:
    """Numeric columns kept sorted within every node, from level to level.

    Parameters
    ----------
    columns : ndarray of shape (d, n)
        Values by position; NaN is missing.
    """

    def __init__(self, columns: FloatArray) -> None:
        self.d, self.n = columns.shape
        self.order = np.argsort(columns, axis=1)
        self.value = np.take_along_axis(columns, self.order, axis=1)
        self.missing = np.flatnonzero(np.isnan(self.value[:, -1]))

    def descend(self, level: LevelArrays) -> None:
        """Re-sort by (node, value): a stable partition of what the level above had sorted."""
        rows = len(level.position)
        if len(level.starts) == 1 and rows == self.order.shape[1]:
            return
        born = np.zeros(self.n, dtype=np.int8)
        born[level.position[: level.turn]] = 1
        born[level.position[level.turn :]] = 2
        side = born.take(self.order)
        at = np.empty((self.d, rows), dtype=np.intp)
        at[:, : level.turn] = np.flatnonzero(side == 1).reshape(self.d, -1)
        at[:, level.turn :] = np.flatnonzero(side == 2).reshape(self.d, -1)
        self.order = self.order.take(at)
        self.value = self.value.take(at)

    def search(self, level: LevelArrays) -> NumericSearch:
        """Find each column's best cut in each node."""
        every = np.arange(self.d)
        placements = [_Placement.of(self, level, every, missing_low=False)]
        if len(self.missing):
            placements.append(_Placement.of(self, level, self.missing, missing_low=True))
        return NumericSearch(self, level, placements)


@dataclass(frozen=True)
class _Placement:
    """Gains of all cuts of some columns, with the missing values on the high or on the low side.

    Attributes
    ----------
    columns : ndarray of int
    missing_low : bool
    gain, low : ndarray of shape (columns, rows)
        Value of cutting after each sorted row, 0 where that is not allowed; score of its low side.
    n_low : ndarray of int, broadcasting to the same shape
        Rows on the low side.
    best : ndarray of shape (columns, nodes)
    """

    columns: NDArray[np.intp]
    missing_low: bool
    gain: FloatArray
    low: FloatArray
    n_low: NDArray[np.intp]
    best: FloatArray

    @classmethod
    def of(
        cls, data: NumericColumns, level: LevelArrays, columns: NDArray[np.intp], missing_low: bool
    ) -> _Placement:
        every = len(columns) == data.d
        order = data.order if every else data.order[columns]
        value = data.value if every else data.value[columns]
        low = _running(_by_position(level, level.score, data.n), order, level)
        n_low = (np.arange(order.shape[1]) - np.repeat(level.starts - 1, level.sizes))[None, :]
        low_weight: FloatArray = n_low.astype(np.float64)
        if level.weight is not None and level.objective == "variance":
            low_weight = _running(_by_position(level, level.weight, data.n), order, level)
        allowed = np.empty(order.shape, dtype=bool)
        np.less(value[:, :-1], value[:, 1:], out=allowed[:, :-1])
        if len(data.missing):
            absent = np.isnan(value)
            if missing_low:
                low = low + _missing_part(low, absent, level)
                low_weight = low_weight + _missing_part(low_weight, absent, level)
                n_low = n_low + _missing_part(n_low, absent, level).astype(np.intp)
            else:
                allowed[:, :-1] |= absent[:, 1:] > absent[:, :-1]
        allowed &= n_low >= level.min_leaf
        allowed &= np.repeat(level.sizes, level.sizes) - n_low >= level.min_leaf
        allowed[:, level.bounds[1:] - 1] = False
        gain = _value(low, low_weight, level)
        gain *= allowed
        best = np.maximum.reduceat(gain, level.starts, axis=1)
        return cls(columns, missing_low, gain, low, n_low, best)


@dataclass(frozen=True)
class NumericSearch:
    """The best cuts of all numeric columns in all nodes of a level."""

    data: NumericColumns
    level: LevelArrays
    placements: list[_Placement]

    @property
    def best(self) -> FloatArray:
        """Largest gain, shape (columns, nodes); 0 where no cut is allowed."""
        best = self.placements[0].best.copy()
        for placement in self.placements[1:]:
            best[placement.columns] = np.maximum(best[placement.columns], placement.best)
        return best

    def cut(self, column: int, node: int, left: NDArray[np.bool_]) -> Cut:
        """Read the best cut of a column in a node off, and mark by position the rows it sends left.

        Missing values on the high side are preferred, then small thresholds.
        """
        start, end = int(self.level.bounds[node]), int(self.level.bounds[node + 1])
        rounding = float(self.level.rounding[node])
        found, row = max(
            ((p, int(np.searchsorted(p.columns, column))) for p in self.placements),
            key=lambda at: _reached(at[0], at[1], column, node, rounding),
        )
        at = start + first_best(found.gain[row, start:end], rounding)
        n_low = int(np.broadcast_to(found.n_low, found.gain.shape)[row, at])
        low_is_left = bool(2.0 * found.low[row, at] > self.level.total[node])
        value, order = self.data.value[column], self.data.order[column, start:end]
        left[order[: at + 1 - start]] = low_is_left
        left[order[at + 1 - start :]] = not low_is_left
        any_missing = bool(np.isnan(value[end - 1]))
        missing_left = low_is_left == found.missing_low
        if any_missing:
            left[order[np.isnan(value[start:end])]] = missing_left
        return Cut(
            low_is_left=low_is_left,
            low=float(value[at]),
            high=float(value[at + 1]),
            levels=None,
            missing_left=missing_left if any_missing else None,
            n_left=n_low if low_is_left else end - start - n_low,
        )


def _reached(p: _Placement, row: int, column: int, node: int, rounding: float) -> float:
    """Gain of a placement of a column, less the rounding by which the second one must win."""
    if row == len(p.columns) or p.columns[row] != column:
        return -1.0
    return float(p.best[row, node]) - (rounding if p.missing_low else 0.0)


def _value(low: FloatArray, low_weight: FloatArray, level: LevelArrays) -> FloatArray:
    """Value of cutting off a low side: |Σ left − Σ right|, or the variance (Σ low)² W / (W_l W_h).

    The variance form is for scores that are centred within the node.
    """
    if level.objective == "sum":
        gain = 2.0 * low
        gain -= np.repeat(level.total, level.sizes)
        return np.abs(gain, out=gain)
    weight = np.repeat(level.mass, level.sizes)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = weight / (low_weight * (weight - low_weight))
    factor[~np.isfinite(factor)] = 0.0
    return low**2 * factor


def _by_position(level: LevelArrays, values: FloatArray, n: int) -> FloatArray:
    out = np.zeros(n)
    out[level.position] = values
    return out


def _running(by_position: FloatArray, order: NDArray[np.intp], level: LevelArrays) -> FloatArray:
    """Add values up in sorted order within each node.

    Node by node, because the rounding of a sum over the level would swamp its smallest nodes.
    """
    total = by_position.take(order)
    edges = level.bounds.tolist()
    for start, end in pairwise(edges):
        np.cumsum(total[:, start:end], axis=1, out=total[:, start:end])
    return total


def _missing_part(
    running: NDArray[np.floating] | NDArray[np.intp], absent: NDArray[np.bool_], level: LevelArrays
) -> FloatArray:
    """Share of the missing values, the last of each node, in its running sums."""
    last = level.bounds[1:] - 1
    running = np.broadcast_to(running, absent.shape)
    present = level.sizes - np.add.reduceat(absent, level.starts, axis=1)
    before = np.take_along_axis(running, np.maximum(level.starts + present - 1, 0), axis=1)
    part = running[:, last] - np.where(present > 0, before, 0.0)
    return np.repeat(part, level.sizes, axis=1)


def best_cut(
    value: FloatArray, score: FloatArray, weight: FloatArray, objective: Objective, min_leaf: int
) -> tuple[float, int] | None:
    """Cut one column of decision values where the objective is best.

    Returns
    -------
    (cut, sign) or None
        Rows with ``sign * value > sign * cut`` form the high side. None if no allowed cut
        improves on the undivided node.
    """
    n = len(value)
    if n < 2 * min_leaf:
        return None
    position, bounds = np.arange(n, dtype=np.int32), np.array([0, n], dtype=np.intp)
    level = LevelArrays(position, bounds, score, weight, objective, min_leaf)
    search = NumericColumns(value[None, :]).search(level)
    if search.best[0, 0] <= level.floor[0]:
        return None
    cut = search.cut(0, 0, np.empty(n, dtype=bool))
    return between(cut.low, cut.high, cut.low_is_left), -1 if cut.low_is_left else 1
