"""The histogram stump kernel: binned columns, compiled, for large data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.binning import Binned
from crank.kernels.categories import CategoryColumn, CategorySearch
from crank.kernels.compiled_bins import MISSING
from crank.kernels.compiled_histogram import search_columns
from crank.kernels.compiled_sides import side_nodes
from crank.kernels.cuts import Cut, Level, ScoredLevel
from crank.kernels.stumps import LevelCuts, StumpKernel, best_columns
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
    """

    def __init__(
        self,
        X: NDArray[Any],
        binned: Binned,
        levels: Sequence[int],
        row: NDArray[np.intp],
        threads: Threads,
    ) -> None:
        self.X, self.binned, self.row, self.threads = X, binned, row, threads
        self.levels = np.asarray(levels, dtype=np.intp)
        self.slot = binned.slots(row)
        self.columns = np.flatnonzero(self.levels <= MISSING)
        self.wide = {
            int(j): CategoryColumn.of(X[row, j].astype(np.float64), int(self.levels[j]))
            for j in np.flatnonzero(self.levels > MISSING)
        }

    def search(self, level: ScoredLevel) -> LevelCuts:
        """Search every column once for the whole level."""
        index = level.position if self.slot is None else self.slot[level.position]
        gain, found = self._gains(level, index)
        subsets = {j: column.search(level) for j, column in self.wide.items()}
        for j, subset in subsets.items():
            gain[j] = subset.best
        column = best_columns(gain, level)
        return self._cuts(level, index, column, found, subsets)

    def _gains(
        self, level: ScoredLevel, index: NDArray[np.int32]
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        nodes, d = len(level.starts), len(self.levels)
        gain = np.zeros((d, nodes))
        found = np.zeros((d, nodes, 6), dtype=np.int32)
        weight = np.empty(0) if level.weight is None else level.weight
        categorical = self.levels > 0

        def search(first: int, last: int) -> None:
            search_columns(
                self.binned.bins,
                self.columns,
                first,
                last,
                self.binned.n_bins,
                categorical,
                index,
                level.bounds,
                level.score,
                weight,
                level.total,
                level.mass,
                level.rounding,
                level.grain,
                level.objective == "variance",
                level.min_leaf,
                gain,
                found,
            )

        self.threads.run(search, self.threads.chunks((len(self.columns) + 1) // 2))
        return gain, found

    def _cuts(
        self,
        level: ScoredLevel,
        index: NDArray[np.int32],
        column: NDArray[np.intp],
        found: NDArray[np.int32],
        subsets: dict[int, CategorySearch],
    ) -> LevelCuts:
        """Turn the winners into cuts, and send the rows of their nodes left or right."""
        nodes = len(column)
        left = np.zeros(len(level.position), dtype=bool)
        side = np.zeros((nodes, MISSING + 1), dtype=bool)
        edge = np.full((nodes, 2), -1, dtype=np.int32)
        neighbour = np.full((nodes, 2), np.nan)
        by_table = column.copy()
        cuts: list[Cut | None] = [None] * nodes
        for k, j in enumerate(column.tolist()):
            if j < 0:
                continue
            if j in subsets:
                by_position = np.zeros(len(self.row), dtype=bool)
                cuts[k] = subsets[j].cut(k, by_position)
                here = slice(level.bounds[k], level.bounds[k + 1])
                left[here] = by_position[level.position[here]]
                by_table[k] = -1
            elif self.levels[j]:
                cuts[k] = self._subset(level, index, k, j, side[k])
            else:
                low, high = (int(b) for b in found[j, k, :2])
                side[k, : low + 1] = found[j, k, 4]
                side[k, low + 1 :] = not found[j, k, 4]
                side[k, MISSING] = found[j, k, 3] == found[j, k, 4]
                if self.binned.discrete[j]:
                    neighbour[k] = self.binned.edges[j, [low, high]]
                else:
                    edge[k] = low, high if high != MISSING else -1
        self._send(level, index, by_table, side, edge, left, neighbour)
        for k, j in enumerate(column.tolist()):
            if j >= 0 and cuts[k] is None:
                cuts[k] = self._threshold(level, k, found[j, k], neighbour[k])
        return LevelCuts(column, cuts, left)

    def _send(
        self,
        level: ScoredLevel,
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
                level.position,
                self.binned.bins,
                index,
                level.bounds,
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

    def _subset(
        self,
        level: ScoredLevel,
        index: NDArray[np.int32],
        node: int,
        column: int,
        side: NDArray[np.bool_],
    ) -> Cut:
        """Find the winning subset again, in NumPy, now that only one node asks for it."""
        here = slice(level.bounds[node], level.bounds[node + 1])
        n_levels = int(self.levels[column])
        code = self.binned.bins[column, index[here]].astype(np.intp)
        code[code == MISSING] = n_levels
        alone = ScoredLevel.of(
            Level(np.arange(len(code), dtype=np.int32), np.array([0, len(code)], dtype=np.intp)),
            level.score[here],
            None if level.weight is None else level.weight[here],
            level.objective,
            level.min_leaf,
        )
        cut = CategoryColumn(code, n_levels).search(alone).cut(0, np.empty(len(code), dtype=bool))
        assert cut.levels is not None
        side[list(cut.levels[0])] = True
        side[MISSING] = bool(cut.missing_left)
        return cut

    def _threshold(
        self,
        level: ScoredLevel,
        node: int,
        found: NDArray[np.int32],
        neighbour: NDArray[np.float64],
    ) -> Cut:
        _, high, n_low, missing_low, low_is_left, n_missing = found.tolist()
        rows = int(level.bounds[node + 1] - level.bounds[node])
        return Cut(
            low_is_left=bool(low_is_left),
            low=float(neighbour[0]),
            high=float(neighbour[1]) if high != MISSING else np.nan,
            levels=None,
            missing_left=missing_low == low_is_left if n_missing else None,
            n_left=n_low if low_is_left else rows - n_low,
        )
