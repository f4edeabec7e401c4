"""The best stump of every node of a layer, over numeric and categorical columns alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.categories import CategoryColumn
from crank.kernels.cuts import Cut, FloatArray, ScoredLayer
from crank.kernels.exact import NumericColumns


@dataclass(frozen=True)
class LayerCuts:
    """What a kernel found for the nodes of a layer.

    Attributes
    ----------
    column : ndarray of int, shape (nodes,)
        The column to split on, −1 where no split improves on the undivided node.
    cut : list of Cut or None
    left : ndarray of bool
        Side of each row of the layer; False throughout a node without a split.
    """

    column: NDArray[np.intp]
    cut: list[Cut | None]
    left: NDArray[np.bool_]


class StumpKernel(ABC):
    """The columns of a training matrix, ready to be searched layer by layer.

    A kernel may be given a ``direction`` for each column. 1 allows only cuts that send the larger
    numbers left, to the high side, −1 only the contrary, 0 both. Missing values are not compared
    with numbers: they may go to either side of a cut, or be parted from all numbers.

    With ``discount``, the gain of a factor is reduced by what so many levels gain by chance
    (`crank.kernels.chance`) before columns are compared.
    """

    @abstractmethod
    def search(self, layer: ScoredLayer) -> LayerCuts:
        """Find the best stump of each node."""


class ExactStumps(StumpKernel):
    """Every threshold and every subset of levels, in NumPy.

    Parameters
    ----------
    columns : ndarray of shape (d, n)
        Values or category codes by position; NaN is missing.
    levels : sequence of int
        Number of levels of each column, 0 for numbers.
    direction, discount : sequence of int, bool
        See `StumpKernel`.
    """

    def __init__(
        self,
        columns: FloatArray,
        levels: Sequence[int],
        direction: Sequence[int] = (),
        discount: bool = True,
    ) -> None:
        kinds = np.asarray(levels, dtype=np.intp)
        self.d, self.n = columns.shape
        self.numeric = np.flatnonzero(kinds == 0)
        numbers = columns if len(self.numeric) == self.d else columns[self.numeric]
        signs = directions(direction, self.d)[self.numeric]
        self.numbers = NumericColumns(numbers, signs) if len(self.numeric) else None
        # place of each column among the numeric ones; the last entry answers for column −1
        self.row_of = np.full(self.d + 1, -1, dtype=np.intp)
        self.row_of[self.numeric] = np.arange(len(self.numeric))
        self.categories = {
            int(j): CategoryColumn.of(columns[j], int(kinds[j]), discount)
            for j in np.flatnonzero(kinds)
        }

    def search(self, layer: ScoredLayer) -> LayerCuts:
        """Search every column once for the whole layer."""
        numeric = None
        if self.numbers is not None:
            self.numbers.descend(layer)
            numeric = self.numbers.search(layer)
        subsets = {j: column.search(layer) for j, column in self.categories.items()}
        if numeric is not None and not subsets:
            gain = numeric.best
        else:
            gain = np.empty((self.d, len(layer.starts)))
            if numeric is not None:
                gain[self.numeric] = numeric.best
            for j, subset in subsets.items():
                gain[j] = subset.best
            for j, k in undecided(gain, {j: subset.bound for j, subset in subsets.items()}, layer):
                gain[j, k] = subsets[j].settle(k)
        column = best_columns(gain, layer)
        left = np.zeros(self.n, dtype=bool)
        cuts: list[Cut | None] = [None] * len(column)
        if numeric is not None:
            cuts = numeric.cuts(self.row_of[column], left)
        for k, j in enumerate(column.tolist()):
            if j in subsets:
                cuts[k] = subsets[j].cut(k, left)
        return LayerCuts(column, cuts, left[layer.position])


def directions(direction: Sequence[int], d: int) -> NDArray[np.int8]:
    """Return the direction of each of d columns; none are given if all may be cut both ways."""
    return np.asarray(direction if len(direction) else np.zeros(d), dtype=np.int8)


def best_columns(gain: NDArray[Any], layer: ScoredLayer) -> NDArray[np.intp]:
    """Choose the column to split each node on: the first of the best, −1 if none improves.

    Parameters
    ----------
    gain : ndarray of shape (d, nodes)
    """
    best = gain.max(axis=0)
    column = (gain >= best - layer.rounding).argmax(axis=0)
    return np.where(best > layer.floor, column, -1)


def undecided(
    gain: NDArray[Any], bound: Mapping[int, FloatArray], layer: ScoredLayer
) -> Iterator[tuple[int, int]]:
    """Name the columns and nodes where a subset of levels may gain more than was found.

    That is where the minimum leaf size forbids the best subset, which would gain more than any
    other column and than no split. Whoever asks enters the gain before asking for the next.

    Parameters
    ----------
    gain : ndarray of shape (d, nodes)
    bound : mapping of int to ndarray of shape (nodes,)
        What each column of categories could gain at most.
    """
    for j, most in bound.items():
        for k in np.flatnonzero(most > np.maximum(gain[j] + layer.rounding, layer.floor)).tolist():
            if most[k] >= gain[:, k].max() - layer.rounding[k]:
                yield j, k
