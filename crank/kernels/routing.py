"""Trees of one-column tests as a table: rows are routed without asking rule after rule."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiler import numba_works

FEW_ROWS = 24
"""Up to here plain Python is faster than NumPy."""

MANY_ROWS = 100_000
"""From here the compiled kernel is worth loading."""

MANY_ROWS_LOADED = 2_000
"""From here the compiled kernel is worth using if numba has been loaded anyway."""

LANES = 16
"""Rows that the compiled kernel takes down the tree side by side; it needs as many."""

MOST_LEVELS = 2**16
"""Codes that a table lists; trees with larger ones are routed by their rules."""

BELOW, ABOVE, MISSING = 0, 1, 2
"""Where a row turns at a node: not above the threshold, above it, the value being missing."""


class ColumnTest(NamedTuple):
    """A test on one column, see `crank.plugins.stump.StumpRule` for what the fields mean."""

    column: int
    threshold: float | None
    above: bool
    levels: tuple[tuple[int, ...], tuple[int, ...]] | None
    missing_left: bool


@dataclass(frozen=True)
class RoutingTable:
    """A tree of one-column tests.

    Attributes
    ----------
    column : ndarray of int
        Column that each node tests, 0 at a leaf.
    threshold : ndarray of float64
        A row turns `ABOVE` if its value is strictly larger.
    child : ndarray of int, shape (3 * nodes,)
        Node after each of the three turns; a leaf leads to itself.
    offset, width : ndarray of int
        For categories, codes 0 to before ``width`` turn as ``turn[offset + code]`` says;
        the width is 0 for numbers.
    turn : ndarray of int
    depth : int
        Most tests that a row can meet.
    """

    column: NDArray[np.intp]
    threshold: NDArray[np.float64]
    child: NDArray[np.intp]
    offset: NDArray[np.intp]
    width: NDArray[np.intp]
    turn: NDArray[np.intp]
    depth: int

    @classmethod
    def of(cls, tests: Sequence[tuple[ColumnTest, int, int] | None]) -> RoutingTable | None:
        """Build a table from each node's test and children; None for a leaf.

        Returns None if a test has more levels than a table should list.
        """
        n = len(tests)
        column, threshold = np.zeros(n, dtype=np.intp), np.full(n, np.inf)
        child = np.repeat(np.arange(n), 3)
        offset, width = np.zeros(n, dtype=np.intp), np.zeros(n, dtype=np.intp)
        depth = [0] * n
        turns: list[int] = []
        for i, node in enumerate(tests):
            if node is None:
                continue
            test, left, right = node
            # the compiled kernel looks no index up twice: what it reads must be there
            if test.column < 0 or not (i < left < n and i < right < n):
                raise IndexError(f"node {i} tests column {test.column}, children {left}, {right}")
            depth[left] = depth[right] = depth[i] + 1
            column[i] = test.column
            low, high = right, left
            if test.levels is not None:
                codes = [c for side in test.levels for c in side]
                if codes and (min(codes) < 0 or max(codes) >= MOST_LEVELS):
                    return None
                offset[i], width[i] = len(turns), 1 + max(codes, default=-1)
                turn = np.full(width[i], MISSING)
                turn[list(test.levels[0])], turn[list(test.levels[1])] = ABOVE, BELOW
                turns += turn.tolist()
            elif test.threshold is None:
                low = high = left if test.above else right
            elif test.above:
                threshold[i] = test.threshold
            else:
                # x < t is the contrary of x > the double before t
                threshold[i] = np.nextafter(test.threshold, -np.inf)
                low, high = left, right
            child[3 * i : 3 * i + 3] = low, high, left if test.missing_left else right
        table = np.array(turns, dtype=np.intp)
        return cls(column, threshold, child, offset, width, table, max(depth))

    def route(self, X: NDArray[Any]) -> NDArray[np.intp]:
        """Return the leaf, as a node's index, that each row reaches."""
        n = len(X)
        if X.shape[1] <= self.last_column:
            raise IndexError(f"the tree reads column {self.last_column}; X has {X.shape[1]}")
        if n <= FEW_ROWS:
            return self._one_by_one(X)
        many = MANY_ROWS_LOADED if "numba" in sys.modules else MANY_ROWS
        if n >= many and X.dtype in (np.float64, np.float32) and numba_works():
            return self._compiled(X)
        return self._all_at_once(X)

    @cached_property
    def last_column(self) -> int:
        """The largest column that is read, −1 if none is."""
        return int(self.column.max()) if self.depth else -1

    @cached_property
    def _lists(self) -> tuple[list[Any], ...]:
        arrays = (self.column, self.threshold, self.child, self.offset, self.width, self.turn)
        return tuple(array.tolist() for array in arrays)

    @cached_property
    def _narrow(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        return self.column.astype(np.uint32), self.child.astype(np.uint32)

    def _one_by_one(self, X: NDArray[Any]) -> NDArray[np.intp]:
        column, threshold, child, offset, width, turn = self._lists
        found = []
        for row in X.tolist():
            i = 0
            for _ in range(self.depth):
                x = row[column[i]]
                if width[i]:
                    # NaN and infinity are not below the width: they are never made an integer
                    known = 0 <= x < width[i] and x == int(x)
                    t = turn[offset[i] + int(x)] if known else MISSING
                else:
                    t = ABOVE if x > threshold[i] else BELOW if x == x else MISSING
                i = child[3 * i + t]
            found.append(i)
        return np.array(found, dtype=np.intp)

    def _all_at_once(self, X: NDArray[Any]) -> NDArray[np.intp]:
        rows = np.arange(len(X))
        node = np.zeros(len(X), dtype=np.intp)
        for _ in range(self.depth):
            x = X[rows, self.column[node]]
            turn = (x > self.threshold[node]).astype(np.intp)
            turn[np.isnan(x)] = MISSING
            if len(self.turn):
                self._turn_by_level(x, node, turn)
            node = self.child[3 * node + turn]
        return node

    def _turn_by_level(
        self, x: NDArray[Any], node: NDArray[np.intp], turn: NDArray[np.intp]
    ) -> None:
        width = self.width[node]
        at = np.flatnonzero(width)
        value = x[at]
        known = (value >= 0) & (value < width[at]) & (value == np.floor(value))
        turn[at] = MISSING
        at, value = at[known], value[known]
        turn[at] = self.turn[self.offset[node[at]] + value.astype(np.intp)]

    def _compiled(self, X: NDArray[Any]) -> NDArray[np.intp]:
        from crank.kernels.compiled_routing import route_rows

        column, child = self._narrow
        found = np.empty(len(X), dtype=np.intp)
        route_rows(str(X.dtype))(
            X,
            column,
            self.threshold,
            child,
            self.offset,
            self.width,
            self.turn,
            self.depth,
            found,
        )
        return found
