"""The best subset of a factor's levels: a prefix of the sorted levels, or what a minimum leaves."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from crank.kernels.chance import chance_gain
from crank.kernels.cuts import Cut, FloatArray, ScoredLayer, first_best
from crank.kernels.subsets import best_allowed


class CategoryColumn:
    """One column of codes; the missing values are a level of their own, the last.

    Parameters
    ----------
    code : ndarray of int
        Codes by position, ``n_levels`` for a missing value.
    n_levels : int
    discount : bool
        Whether gains are reduced by what so many levels gain by chance.
    """

    def __init__(self, code: NDArray[np.integer], n_levels: int, discount: bool = True) -> None:
        self.code, self.n_levels, self.discount = code, n_levels, discount

    @classmethod
    def of(cls, values: FloatArray, n_levels: int, discount: bool = True) -> CategoryColumn:
        """Read codes from a design column, where NaN is missing."""
        code = np.where(np.isnan(values), n_levels, values).astype(np.intp)
        return cls(code, n_levels, discount)

    def search(self, layer: ScoredLayer) -> CategorySearch:
        """Find the best subset in each node."""
        nodes, width = len(layer.starts), self.n_levels + 1
        code = self.code[layer.position]
        key = code + np.repeat(np.arange(nodes) * width, layer.sizes) if nodes > 1 else code
        shape, cells = (nodes, width), nodes * width
        count = np.bincount(key, minlength=cells).reshape(shape)
        score = np.bincount(key, layer.score, cells).astype(np.float64, copy=False).reshape(shape)
        weight = count if layer.weight is None else None
        if weight is None:
            weight = np.bincount(key, layer.weight, cells).reshape(shape)
        return self.search_sums(layer, count, score, weight)

    def search_sums(
        self,
        layer: ScoredLayer,
        count: NDArray[np.intp],
        score: FloatArray,
        weight: NDArray[np.intp] | FloatArray,
    ) -> CategorySearch:
        """Find the best subset in each node from what its levels add up to.

        Sorted by mean score the best subset is a prefix: all levels with a positive sum for the
        sum objective, by Fisher's theorem for the variance. Where the minimum leaf size forbids
        that prefix, the search says what it would have gained, and `CategorySearch.settle` finds
        the best subset that is allowed.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.where(count > 0, np.rint(score / weight / layer.grain[:, None]), -np.inf)
        order = np.argsort(-mean, axis=1, kind="stable")
        n_left = np.cumsum(np.take_along_axis(count, order, axis=1), axis=1)
        left = np.cumsum(np.take_along_axis(score, order, axis=1), axis=1)
        total = layer.total[:, None]
        if layer.objective == "sum":
            gain = 2.0 * left - total
        else:
            mass = layer.mass[:, None]
            left_weight = np.cumsum(np.take_along_axis(weight, order, axis=1), axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                gain = left**2 * (mass / (left_weight * (mass - left_weight)))
        n_right = layer.sizes[:, None] - n_left
        gain = np.where((n_right > 0) & (2.0 * left > total), gain, 0.0)
        chance = np.zeros(len(count))
        if self.discount:
            chance = chance_gain(count, layer.noise, layer.objective)
        bound = np.maximum(gain.max(axis=1) - chance, 0.0)
        if layer.min_leaf > 1:
            gain *= (n_left >= layer.min_leaf) & (n_right >= layer.min_leaf)
        best = np.maximum(gain.max(axis=1) - chance, 0.0)
        return CategorySearch(self, layer, count, score, weight, order, gain, chance, best, bound)


@dataclass(frozen=True)
class CategorySearch:
    """What subsets of the levels gain in every node.

    Attributes
    ----------
    count, score, weight : ndarray of shape (nodes, levels + 1)
        Rows of each level, the sum of their scores and their weight.
    order : ndarray of int, shape (nodes, levels + 1)
        The levels, the largest mean score first.
    gain : ndarray of shape (nodes, levels + 1)
        Of each prefix of them; 0 where the minimum leaf size forbids it.
    chance : ndarray of shape (nodes,)
        What is taken off the gains; see `crank.kernels.chance`.
    best, bound : ndarray of shape (nodes,)
        Largest gain less chance, and what it could be at most if any subset were allowed.
    settled : dict
        Subsets by node, where no prefix is the best of those allowed.
    """

    column: CategoryColumn
    layer: ScoredLayer
    count: NDArray[np.intp]
    score: FloatArray
    weight: NDArray[np.intp] | FloatArray
    order: NDArray[np.intp]
    gain: FloatArray
    chance: FloatArray
    best: FloatArray
    bound: FloatArray
    settled: dict[int, NDArray[np.bool_]] = field(default_factory=dict)

    def settle(self, node: int) -> float:
        """Find the best allowed subset of a node where the best of all is forbidden."""
        present = self.count[node] > 0
        layer = self.layer
        gain, chosen = best_allowed(
            self.score[node, present],
            self.count[node, present],
            self.weight[node, present].astype(np.float64),
            layer.min_leaf,
            layer.objective,
        )
        gain -= float(self.chance[node])
        if gain > self.best[node] + layer.rounding[node]:
            self.settled[node] = np.zeros(len(present), dtype=bool)
            self.settled[node][present] = chosen
            self.best[node] = gain
        return float(self.best[node])

    def cut(self, node: int, left: NDArray[np.bool_]) -> Cut:
        """Read the best subset of a node off, and mark by position the rows it sends left."""
        missing = self.column.n_levels
        present = self.count[node] > 0
        chosen = self.settled.get(node)
        if chosen is None:
            at = first_best(self.gain[node], float(self.layer.rounding[node]))
            chosen = np.zeros(missing + 1, dtype=bool)
            chosen[self.order[node, : at + 1]] = True
        here = self.layer.position[self.layer.bounds[node] : self.layer.bounds[node + 1]]
        left[here] = chosen[self.column.code[here]]
        sides = (np.flatnonzero(side & present) for side in (chosen, ~chosen))
        codes = tuple(tuple(int(c) for c in side if c != missing) for side in sides)
        return Cut(
            low_is_left=True,
            low=np.nan,
            high=np.nan,
            levels=(codes[0], codes[1]),
            missing_left=bool(chosen[missing]) if present[missing] else None,
            n_left=int(self.count[node, chosen].sum()),
        )
