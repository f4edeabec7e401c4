"""The histogram stump kernel: binned columns, compiled, for large data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.bin_sums import BinCuts
from crank.kernels.bin_tables import WIDTH, Scratch, any_factor, column_table, node_table
from crank.kernels.binning import Binned
from crank.kernels.bins import MISSING_BIN
from crank.kernels.categories import CategoryColumn, CategorySearch
from crank.kernels.compiled_histogram import search_columns
from crank.kernels.compiled_sides import side_nodes
from crank.kernels.cuts import Cut, Layer, ScoredLayer
from crank.kernels.stumps import LayerCuts, StumpKernel, best_columns, directions, undecided
from crank.kernels.threads import Threads


class HistogramStumps(StumpKernel):
    """The best cut between bins; the threshold lies midway between values of the node.

    A column of more than 255 levels is not binned: its subsets are found in NumPy.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    binned : Binned
    levels : sequence of int
        Number of levels of each column, 0 for numbers.
    row : ndarray of int
        Row of X at each position.
    threads : Threads
    direction, discount : sequence of int, bool
        See `crank.kernels.stumps.StumpKernel`.
    """

    def __init__(
        self,
        X: NDArray[Any],
        binned: Binned,
        levels: Sequence[int],
        row: NDArray[np.intp],
        threads: Threads,
        direction: Sequence[int] = (),
        discount: bool = True,
    ) -> None:
        self.discount = discount
        self.X, self.binned, self.row, self.threads = X, binned, row, threads
        self.levels = np.asarray(levels, dtype=np.intp)
        self.slot = binned.slots(row)
        self.columns = column_table(
            self.levels, binned.n_bins, directions(direction, len(self.levels))
        )
        self.wide = {
            int(j): CategoryColumn.of(X[row, j].astype(np.float64), int(self.levels[j]), discount)
            for j in np.flatnonzero(self.levels > MISSING_BIN)
        }

    def search(self, layer: ScoredLayer) -> LayerCuts:
        """Search every column once for the whole layer."""
        index = layer.position if self.slot is None else self.slot[layer.position]
        cuts = self._search(layer, index)
        gain, bound = cuts.gain, cuts.bound
        wide = {j: column.search(layer) for j, column in self.wide.items()}
        for j, subset in wide.items():
            gain[j], bound[j] = subset.best, subset.bound
        alone: dict[tuple[int, int], CategorySearch] = {}
        factors = np.flatnonzero(self.levels).tolist()
        for j, k in undecided(gain, {j: bound[j] for j in factors}, layer):
            if j not in wide:
                alone[j, k] = self._alone(layer, index, k, j)
            gain[j, k] = wide[j].settle(k) if j in wide else alone[j, k].best[0]
        column = best_columns(gain, layer)
        for k, j in enumerate(column.tolist()):
            if j >= 0 and self.levels[j] and j not in wide and (j, k) not in alone:
                alone[j, k] = self._alone(layer, index, k, j)
        return self._cuts(layer, index, column, cuts.found, wide, alone)

    def _search(self, layer: ScoredLayer, index: NDArray[np.int32]) -> BinCuts:
        """Count and choose, two columns at a time."""
        cuts = BinCuts.empty(len(self.levels), len(layer.starts))
        factors = any_factor(self.columns)
        noise = layer.noise if factors and self.discount else None
        nodes = node_table(layer.total, layer.mass, layer.spread, noise, layer.objective)

        def search(first: int, last: int) -> None:
            room = Scratch.of(2 * WIDTH, layer.weight is not None, factors)
            search_columns(
                self.binned.bins,
                self.columns,
                first,
                last,
                index,
                layer.bounds,
                layer.score,
                layer.weight,
                nodes,
                layer.objective == "variance",
                layer.min_leaf,
                room.sums,
                room.counts,
                room.masses,
                room.work,
                room.order,
                cuts.gain,
                cuts.bound,
                cuts.found.reshape(-1),
            )

        self.threads.run(search, self.threads.chunks((len(self.columns) + 1) // 2))
        return cuts

    def _cuts(
        self,
        layer: ScoredLayer,
        index: NDArray[np.int32],
        column: NDArray[np.intp],
        found: NDArray[np.int32],
        wide: dict[int, CategorySearch],
        alone: dict[tuple[int, int], CategorySearch],
    ) -> LayerCuts:
        """Make cuts of the winners, and send the rows of their nodes left or right."""
        nodes = len(column)
        left = np.zeros(len(layer.position), dtype=bool)
        side = np.zeros((nodes, MISSING_BIN + 1), dtype=bool)
        edge = np.full((nodes, 2), -1, dtype=np.int32)
        neighbour = np.full((nodes, 2), np.nan)
        by_table = column.copy()
        cuts: list[Cut | None] = [None] * nodes
        for k, j in enumerate(column.tolist()):
            if j < 0:
                continue
            if j in wide:
                by_position = np.zeros(len(self.row), dtype=bool)
                cuts[k] = wide[j].cut(k, by_position)
                here = slice(layer.bounds[k], layer.bounds[k + 1])
                left[here] = by_position[layer.position[here]]
                by_table[k] = -1
            elif self.levels[j]:
                cuts[k] = _subset(alone[j, k], side[k])
            else:
                low, high = (int(b) for b in found[j, k, :2])
                side[k, : low + 1] = found[j, k, 4]
                side[k, low + 1 :] = not found[j, k, 4]
                side[k, MISSING_BIN] = found[j, k, 3] == found[j, k, 4]
                if self.binned.discrete[j]:
                    neighbour[k] = self.binned.edges[j, [low, high]]
                else:
                    edge[k] = low, high if high != MISSING_BIN else -1
        self._send(layer, index, by_table, side, edge, left, neighbour)
        for k, j in enumerate(column.tolist()):
            if j >= 0 and cuts[k] is None:
                cuts[k] = self._threshold(layer, k, found[j, k], neighbour[k])
        return LayerCuts(column, cuts, left)

    def _send(
        self,
        layer: ScoredLayer,
        index: NDArray[np.int32],
        column: NDArray[np.intp],
        side: NDArray[np.bool_],
        edge: NDArray[np.int32],
        left: NDArray[np.bool_],
        neighbour: NDArray[np.float64],
    ) -> None:
        kernel = side_nodes(str(self.X.dtype))
        self.threads.run(
            lambda first, last: kernel(
                self.X,
                self.row,
                layer.position,
                self.binned.bins,
                index,
                layer.bounds,
                first,
                last,
                column,
                side,
                edge,
                left,
                neighbour,
            ),
            self.threads.chunks(len(column)),
        )

    def _alone(
        self, layer: ScoredLayer, index: NDArray[np.int32], node: int, column: int
    ) -> CategorySearch:
        """Find the subset of one node again, in NumPy: compiled code tells gains only."""
        here = slice(layer.bounds[node], layer.bounds[node + 1])
        n_levels = int(self.levels[column])
        code = self.binned.bins[column, index[here]].astype(np.intp)
        code[code == MISSING_BIN] = n_levels
        alone = ScoredLayer.of(
            Layer(np.arange(len(code), dtype=np.int32), np.array([0, len(code)], dtype=np.intp)),
            layer.score[here],
            None if layer.weight is None else layer.weight[here],
            layer.objective,
            layer.min_leaf,
        )
        search = CategoryColumn(code, n_levels, self.discount).search(alone)
        if search.bound[0] > search.best[0] + alone.rounding[0]:
            search.settle(0)
        return search

    def _threshold(
        self,
        layer: ScoredLayer,
        node: int,
        found: NDArray[np.int32],
        neighbour: NDArray[np.float64],
    ) -> Cut:
        _, high, n_low, missing_low, low_is_left, n_missing = found.tolist()
        rows = int(layer.bounds[node + 1] - layer.bounds[node])
        return Cut(
            low_is_left=bool(low_is_left),
            low=float(neighbour[0]),
            high=float(neighbour[1]) if high != MISSING_BIN else np.nan,
            levels=None,
            missing_left=missing_low == low_is_left if n_missing else None,
            n_left=n_low if low_is_left else rows - n_low,
        )


def _subset(search: CategorySearch, side: NDArray[np.bool_]) -> Cut:
    """Read the cut of a node off, and mark the bins that go left."""
    cut = search.cut(0, np.empty(len(search.column.code), dtype=bool))
    assert cut.levels is not None
    side[list(cut.levels[0])] = True
    side[MISSING_BIN] = bool(cut.missing_left)
    return cut
