"""The best subset of a factor's levels, exact in the number of levels (theory §4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crank.kernels.cuts import Cut, FloatArray, ScoredLevel, first_best


class CategoryColumn:
    """One column of codes; the missing values are a level of their own, the last.

    Parameters
    ----------
    code : ndarray of int
        Codes by position, ``n_levels`` for a missing value.
    n_levels : int
    """

    def __init__(self, code: NDArray[np.integer], n_levels: int) -> None:
        self.code, self.n_levels = code, n_levels

    @classmethod
    def of(cls, values: FloatArray, n_levels: int) -> CategoryColumn:
        """Read codes from a design column, where NaN is missing."""
        return cls(np.where(np.isnan(values), n_levels, values).astype(np.intp), n_levels)

    def search(self, level: ScoredLevel) -> CategorySearch:
        """Find the best subset in each node.

        Sorted by mean score the best subset is a prefix: all levels with a positive sum for the
        sum objective, by Fisher's theorem for the variance. It is the best of all subsets unless
        the minimum leaf size forbids that prefix; then it is the best allowed prefix.
        """
        nodes, width = len(level.starts), self.n_levels + 1
        code = self.code[level.position]
        key = code + np.repeat(np.arange(nodes) * width, level.sizes) if nodes > 1 else code
        shape, cells = (nodes, width), nodes * width
        count = np.bincount(key, minlength=cells).reshape(shape)
        score = np.bincount(key, level.score, cells).reshape(shape)
        weight = count if level.weight is None else None
        if weight is None:
            weight = np.bincount(key, level.weight, cells).reshape(shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.where(count > 0, np.rint(score / weight / level.grain[:, None]), -np.inf)
        order = np.argsort(-mean, axis=1, kind="stable")
        n_left = np.cumsum(np.take_along_axis(count, order, axis=1), axis=1)
        left = np.cumsum(np.take_along_axis(score, order, axis=1), axis=1)
        allowed = (n_left >= level.min_leaf) & (level.sizes[:, None] - n_left >= level.min_leaf)
        total = level.total[:, None]
        if level.objective == "sum":
            gain = 2.0 * left - total
        else:
            mass = level.mass[:, None]
            left_weight = np.cumsum(np.take_along_axis(weight, order, axis=1), axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                gain = left**2 * (mass / (left_weight * (mass - left_weight)))
        gain = np.where(allowed & (2.0 * left > total), gain, 0.0)
        return CategorySearch(self, level, count, order, n_left, gain)


@dataclass(frozen=True)
class CategorySearch:
    """Gains of every prefix of the levels, sorted by mean score, in every node."""

    column: CategoryColumn
    level: ScoredLevel
    count: NDArray[np.intp]
    order: NDArray[np.intp]
    n_left: NDArray[np.intp]
    gain: FloatArray

    @property
    def best(self) -> FloatArray:
        """Largest gain in each node; 0 where no subset is allowed."""
        return np.asarray(self.gain.max(axis=1))

    def cut(self, node: int, left: NDArray[np.bool_]) -> Cut:
        """Read the best subset of a node off, and mark by position the rows it sends left."""
        at = first_best(self.gain[node], float(self.level.rounding[node]))
        missing = self.column.n_levels
        present = self.count[node] > 0
        chosen = np.zeros(missing + 1, dtype=bool)
        chosen[self.order[node, : at + 1]] = True
        here = self.level.position[self.level.bounds[node] : self.level.bounds[node + 1]]
        left[here] = chosen[self.column.code[here]]
        sides = (np.flatnonzero(side & present) for side in (chosen, ~chosen))
        codes = tuple(tuple(int(c) for c in side if c != missing) for side in sides)
        return Cut(
            low_is_left=True,
            low=np.nan,
            high=np.nan,
            levels=(codes[0], codes[1]),
            missing_left=bool(chosen[missing]) if present[missing] else None,
            n_left=int(self.n_left[node, at]),
        )
