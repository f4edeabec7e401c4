"""The exact stump kernel in NumPy: every threshold and category subset of a whole level at once.

It serves small data, any data where numba is missing, and is the oracle of the compiled kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Objective = Literal["sum", "variance"]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class LevelArrays:
    """A level as the kernels see it; arrays are aligned with its rows, node after node."""

    position: NDArray[np.int32]
    bounds: NDArray[np.intp]
    score: FloatArray
    weight: FloatArray
    objective: Objective
    min_leaf: int

    @property
    def starts(self) -> NDArray[np.intp]:
        """First row of each node."""
        return self.bounds[:-1]

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Rows in each node."""
        return np.diff(self.bounds)


@dataclass(frozen=True)
class Cut:
    """The best split of one node.

    Attributes
    ----------
    column : int
    gain : float
        Value of the objective.
    low_is_left : bool
        Whether the low side (small values; the listed levels) is the high side of the ranking.
    low, high : float
        For numbers: the neighbouring values between which the cut falls; ``high`` is NaN if the
        cut parts the missing values from all others.
    levels : tuple of int or None
        For categories: the levels on the left.
    missing_left : bool or None
        Side of the missing values; None if the node had none.
    n_left : int
    """

    column: int
    gain: float
    low_is_left: bool
    low: float
    high: float
    levels: tuple[int, ...] | None
    missing_left: bool | None
    n_left: int


def objective_value(
    low: FloatArray, total: FloatArray, low_weight: FloatArray | None, weight: FloatArray
) -> FloatArray:
    """Value of cutting off a part with score sum ``low``; its weight is needed for variance only.

    The sum objective is |Σ left − Σ right|; the variance objective is (Σ low)² W / (W_low W_high),
    for scores that are centred within the node.
    """
    if low_weight is None:
        return np.abs(2.0 * low - total)
    with np.errstate(divide="ignore", invalid="ignore"):
        return low**2 * weight / (low_weight * (weight - low_weight))


class NumericColumns:
    """Numeric columns kept sorted within every node, from level to level.

    Parameters
    ----------
    columns : ndarray of shape (d, n)
        Values by position; NaN is missing.
    """

    def __init__(self, columns: FloatArray) -> None:
        self.order = np.argsort(columns, axis=1, kind="stable").astype(np.int32)
        self.value = np.take_along_axis(columns, self.order, axis=1)
        self.missing = np.flatnonzero(np.isnan(self.value[:, -1]))
        self.n = columns.shape[1]

    def descend(self, position: NDArray[np.int32], bounds: NDArray[np.intp]) -> None:
        """Re-sort by (node, value): a stable partition of what the level above had sorted."""
        nodes = len(bounds) - 1
        if nodes == 1 and len(position) == self.order.shape[1]:
            return
        # narrow integers: NumPy's stable sort is then a radix sort
        node = np.full(self.n, nodes, dtype=np.int16 if nodes < 2**15 else np.int32)
        node[position] = np.repeat(np.arange(nodes, dtype=node.dtype), np.diff(bounds))
        turn = np.argsort(node[self.order], axis=1, kind="stable")[:, : len(position)]
        self.order = np.take_along_axis(self.order, turn, axis=1)
        self.value = np.take_along_axis(self.value, turn, axis=1)

    def search(self, level: LevelArrays) -> tuple[FloatArray, list[_NumericSearch]]:
        """Find each column's best cut in each node.

        Returns
        -------
        gain : ndarray of shape (d, nodes)
            −1 where no cut is allowed.
        searches : list
            One per way to place missing values, to look the winners up in.
        """
        every = np.arange(len(self.order))
        plain = _NumericSearch(self, level, every, missing_low=False)
        searches = [plain]
        if len(self.missing):
            searches.append(_NumericSearch(self, level, self.missing, missing_low=True))
        gain = plain.best
        for search in searches[1:]:
            gain[search.columns] = np.maximum(gain[search.columns], search.best)
        return gain, searches


class _NumericSearch:
    """Gains of every cut of some columns, the missing values on the high or on the low side."""

    def __init__(
        self,
        columns: NumericColumns,
        level: LevelArrays,
        which: NDArray[np.intp],
        missing_low: bool,
    ) -> None:
        every = len(which) == len(columns.order)
        order = columns.order if every else columns.order[which]
        value = columns.value if every else columns.value[which]
        self.columns, self.level, self.value, self.missing_low = which, level, value, missing_low
        sizes, starts, last = level.sizes, level.starts, level.bounds[1:] - 1
        score = _by_position(level.position, level.score, columns.n)
        running = _running(score[order], level)
        total = np.repeat(running[:, last], sizes, axis=1)
        count = np.broadcast_to(
            np.arange(len(level.position)) - np.repeat(starts, sizes) + 1, value.shape
        )
        low_weight, weight = None, total
        if level.objective == "variance":
            low_weight = _running(
                _by_position(level.position, level.weight, columns.n)[order], level
            )
            weight = np.repeat(low_weight[:, last], sizes, axis=1)
        allowed = np.empty(value.shape, dtype=bool)
        np.less(value[:, :-1], value[:, 1:], out=allowed[:, :-1])
        if len(columns.missing):
            absent = np.isnan(value)
            if missing_low:
                missed = _running(np.where(absent, score[order], 0.0), level)[:, last]
                running = running + np.repeat(missed, sizes, axis=1)
                count = count + np.repeat(
                    _running(absent.astype(float), level)[:, last], sizes, axis=1
                )
                if low_weight is not None:
                    w = _by_position(level.position, level.weight, columns.n)[order]
                    missed = _running(np.where(absent, w, 0.0), level)[:, last]
                    low_weight = low_weight + np.repeat(missed, sizes, axis=1)
            else:
                allowed[:, :-1] |= ~absent[:, :-1] & absent[:, 1:]
        size = np.repeat(sizes, sizes)
        allowed &= (count >= level.min_leaf) & (size - count >= level.min_leaf)
        allowed[:, last] = False
        gain = objective_value(running, total, low_weight, weight)
        self.gain = np.where(allowed, gain, -1.0)
        self.running, self.total, self.count = running, total, count
        self.best = np.maximum.reduceat(self.gain, starts, axis=1)

    def cut(self, column: int, node: int, gain: float) -> Cut | None:
        """Read the winning cut of a node off, if it is one of this search."""
        row = int(np.searchsorted(self.columns, column))
        if row == len(self.columns) or self.columns[row] != column or self.best[row, node] != gain:
            return None
        start, end = self.level.bounds[node], self.level.bounds[node + 1]
        at = start + int(np.argmax(self.gain[row, start:end]))
        low_is_left = bool(2.0 * self.running[row, at] > self.total[row, at])
        any_missing = bool(np.isnan(self.value[row, end - 1]))
        n_low = int(self.count[row, at])
        return Cut(
            column=column,
            gain=gain,
            low_is_left=low_is_left,
            low=float(self.value[row, at]),
            high=float(self.value[row, at + 1]),
            levels=None,
            missing_left=low_is_left == self.missing_low if any_missing else None,
            n_left=n_low if low_is_left else int(end - start) - n_low,
        )


def _by_position(position: NDArray[np.int32], values: FloatArray, n: int) -> FloatArray:
    out = np.zeros(n)
    out[position] = values
    return out


def _running(values: FloatArray, level: LevelArrays) -> FloatArray:
    """Cumulative sums that start anew in every node."""
    total = np.cumsum(values, axis=1)
    if len(level.starts) > 1:
        base = total[:, level.starts[1:] - 1]
        total[:, level.starts[1] :] -= np.repeat(base, level.sizes[1:], axis=1)
    return total


class CategoryColumn:
    """One column of codes; the missing values are a level of their own, the last.

    Sorted by mean score, the best subset is a prefix: every level with a positive sum for the sum
    objective, Fisher's theorem for the variance.
    """

    def __init__(self, column: int, codes: FloatArray, n_levels: int) -> None:
        self.column, self.n_levels = column, n_levels
        self.code = np.where(np.isnan(codes), n_levels, codes).astype(np.intp)

    def search(self, level: LevelArrays) -> FloatArray:
        """Find the best subset in each node; −1 where none is allowed."""
        nodes, width = len(level.starts), self.n_levels + 1
        key = np.repeat(np.arange(nodes) * width, level.sizes) + self.code[level.position]
        shape = (nodes, width)
        count = np.bincount(key, minlength=nodes * width).reshape(shape)
        score = np.bincount(key, level.score, nodes * width).reshape(shape)
        weight = np.bincount(key, level.weight, nodes * width).reshape(shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.where(count > 0, score / weight, -np.inf)
        self.order = np.argsort(-mean, axis=1, kind="stable")
        self.count = np.cumsum(np.take_along_axis(count, self.order, axis=1), axis=1)
        running = np.cumsum(np.take_along_axis(score, self.order, axis=1), axis=1)
        total = score.sum(axis=1, keepdims=True)
        low_weight = None
        if level.objective == "variance":
            low_weight = np.cumsum(np.take_along_axis(weight, self.order, axis=1), axis=1)
        size = level.sizes[:, None]
        allowed = (self.count >= level.min_leaf) & (size - self.count >= level.min_leaf)
        gain = objective_value(running, total, low_weight, weight.sum(axis=1, keepdims=True))
        gain = np.where(allowed & (2.0 * running > total), gain, -1.0)
        self.at = np.argmax(gain, axis=1)
        self.present = count > 0
        return gain[np.arange(nodes), self.at]

    def cut(self, node: int, gain: float) -> Cut:
        """Read the best subset of a node off."""
        left = [int(c) for c in self.order[node, : self.at[node] + 1] if self.present[node, c]]
        missing = self.n_levels
        return Cut(
            column=self.column,
            gain=gain,
            low_is_left=True,
            low=np.nan,
            high=np.nan,
            levels=tuple(sorted(c for c in left if c != missing)),
            missing_left=missing in left if self.present[node, missing] else None,
            n_left=int(self.count[node, self.at[node]]),
        )


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
    if len(value) < 2 * min_leaf:
        return None
    n = len(value)
    level = LevelArrays(
        np.arange(n, dtype=np.int32), np.array([0, n]), score, weight, objective, min_leaf
    )
    gain, searches = NumericColumns(value[None, :]).search(level)
    floor = abs(float(score.sum())) if objective == "sum" else 0.0
    if gain[0, 0] <= floor + 1e-12 * float(np.abs(score).sum()):
        return None
    cut = searches[0].cut(0, 0, gain[0, 0])
    assert cut is not None
    return between(cut.low, cut.high, cut.low_is_left), -1 if cut.low_is_left else 1


def between(low: float, high: float, low_is_left: bool) -> float:
    """Return the threshold midway, on the side that a strict comparison needs if it rounds.

    ``x < t`` is the test if the low side goes left, else ``x > t``.
    """
    middle = low / 2.0 + high / 2.0
    if low_is_left:
        return middle if middle > low else high
    return middle if middle < high else low
