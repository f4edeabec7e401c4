"""One table of nodes for all trees of one-column tests, and the descent from root to leaf."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiler import numba_works, repays

GOES_LOW, GOES_HIGH, GOES_MISSING = 0, 1, 2
"""The branch that a row takes at a node: not above the threshold, above it, nothing to compare."""

LANES = 16
"""Rows that the compiled kernel takes down a tree side by side; it needs as many."""

FEW_WALKS = 24
"""Ways from a root to a leaf up to which plain Python is faster than NumPy."""

FEW_VALUES = 4_096
"""Values of X up to which it is read as lists for that."""

BLOCK_WALKS = 2**17
"""Ways that NumPy follows at a time."""

MANY_ROWS = 100_000
"""Rows to be routed from which loading the compiled kernel repays."""

MANY_STEPS = 2**23
"""Comparisons in sums of trees from which loading it repays."""

MANY_STEPS_LOADED = 2**13
"""Comparisons from which it repays if numba has been loaded anyway."""

MANY_STEPS_IN_ALL = 2**24
"""Comparisons of a process that take NumPy about as long as the kernel takes to compile."""

NONE = np.zeros(0, dtype=np.intp)

Indices: TypeAlias = NDArray[np.intp]
Values: TypeAlias = NDArray[Any]  # of float64 or int64


@dataclass(frozen=True, eq=False)
class NodeTable:
    """The nodes of one tree or of many, children after their one parent.

    A leaf is its own child, so that rows can descend in step.

    Attributes
    ----------
    column, threshold : ndarray of shape (nodes,)
        A row with ``x[column] <= threshold`` goes low.
    low, high : ndarray of int, shape (nodes,)
        Children.
    missing_low : ndarray of bool, shape (nodes,)
        Whether a missing value goes low.
    value : ndarray of float64 or int64, shape (nodes,)
        Of the leaves; whole numbers are summed as such.
    roots : ndarray of int, shape (trees,)
    level_start : ndarray of int, shape (nodes + 1,)
        A node of categories has the entries of ``level_branch`` from its start to before the next
        one's, one for each code from 0 on; other codes go where missing values go. Nodes without
        entries compare numbers. Empty if all do.
    level_branch : ndarray of int
        `GOES_LOW`, `GOES_HIGH` or `GOES_MISSING`.

    Examples
    --------
    >>> stump = NodeTable([0, 0, 0], [0.5, 0, 0], [1, 1, 2], [2, 1, 2], [True, False, False],
    ...                   value=[0, -1, 1], roots=[0])
    >>> stump.sum(np.array([[0.5], [0.6], [np.nan]])).tolist()
    [-1, 1, -1]
    """

    column: Indices
    threshold: NDArray[np.float64]
    low: Indices
    high: Indices
    missing_low: NDArray[np.bool_]
    value: Values
    roots: Indices
    level_start: Indices = field(default_factory=lambda: NONE)
    level_branch: Indices = field(default_factory=lambda: NONE)

    def __post_init__(self) -> None:
        whole = np.asarray(self.value).dtype.kind in "iu"
        kinds: dict[str, Any] = {
            "threshold": np.float64,
            "missing_low": np.bool_,
            "value": np.int64 if whole else np.float64,
        }
        for name in (item.name for item in fields(self)):
            array = np.array(getattr(self, name), dtype=kinds.get(name, np.intp))
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        # compiled code does not check what it reads: a table with holes must not come to be
        if not (self._are_trees() and self._levels_fit()):
            raise ValueError(
                "the nodes form no trees. "
                "Allowed: children after their one parent; a leaf is its own child."
            )

    def _are_trees(self) -> bool:
        n = len(self.column)
        arrays = (self.threshold, self.low, self.high, self.missing_low, self.value)
        if not len(self.roots) or any(array.shape != (n,) for array in arrays):
            return False
        inner, own = self.inner, np.arange(n)
        met = np.concatenate((self.low[inner], self.high[inner], self.roots))
        if min(met.min(), self.column.min(initial=0)) < 0 or met.max() >= n:
            return False
        later = (self.low > own) & (self.high > own)
        follow = np.where(inner, later, self.high == own).all()
        return bool(follow) and int(np.bincount(met).max()) == 1

    def _levels_fit(self) -> bool:
        start, branch = self.level_start, self.level_branch
        if not len(start):
            return not len(branch)
        return bool(
            len(start) == len(self.column) + 1
            and start[0] == 0
            and start[-1] == len(branch)
            and (np.diff(start) >= 0).all()
            and ((branch >= GOES_LOW) & (branch <= GOES_MISSING)).all()
        )

    @classmethod
    def joined(cls, tables: Iterable[NodeTable]) -> NodeTable:
        """Put the trees of several tables into one, in their order."""
        parts: list[tuple[NDArray[Any], ...]] = []
        start = 0
        for table in tables:
            nodes = (table.column, table.threshold, start + table.low, start + table.high)
            levels = table.level_sets[1], table.level_branch
            parts.append((*nodes, table.missing_low, table.value, start + table.roots, *levels))
            start += len(table.column)
        joined: list[Any] = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
        width = joined.pop(-2)
        joined.insert(-1, np.concatenate(([0], np.cumsum(width))) if len(joined[-1]) else NONE)
        return cls(*joined)

    @cached_property
    def inner(self) -> NDArray[np.bool_]:
        """Which nodes are no leaves."""
        return np.not_equal(self.low, np.arange(len(self.low)), dtype=bool)

    def branches_of(self, node: int) -> Indices:
        """Return where each level goes at a node of categories; empty if it compares numbers."""
        start, width = self.level_sets
        return self.level_branch[start[node] : start[node] + width[node]]

    @cached_property
    def depths(self) -> Indices:
        """Comparisons on the longest way from each root to a leaf."""
        low, high = self.low.tolist(), self.high.tolist()
        height = [0] * len(low)
        for node in reversed(np.flatnonzero(self.inner).tolist()):
            height[node] = 1 + max(height[low[node]], height[high[node]])
        return np.array(height, dtype=np.intp)[self.roots]

    @cached_property
    def tree(self) -> Indices:
        """Number of each node's tree in the order of the roots; −1 for nodes below no root."""
        number = [-1] * len(self.low)
        for k, root in enumerate(self.roots.tolist()):
            number[root] = k
        low, high = self.low.tolist(), self.high.tolist()
        for node in np.flatnonzero(self.inner).tolist():
            number[low[node]] = number[high[node]] = number[node]
        return np.array(number, dtype=np.intp)

    def route(self, X: NDArray[Any], value: Values | None = None) -> Values:
        """Return the node in which each row leaves the first tree, or what it has for a value."""
        n, width = X.shape
        if width <= self._last_column:
            raise self._too_narrow(X)
        if n <= FEW_WALKS and n * width <= FEW_VALUES:
            found = np.array(self._one_by_one(X, 1), dtype=np.intp)
        elif self._compiled_pays(X, n, n * self._longest[0], n >= MANY_ROWS):
            entry = self._own if value is None else value
            # whole numbers below 2⁵³ are floats as well, and one kernel serves both
            return self._compiled(X, None, entry.astype(float), 1).astype(entry.dtype, copy=False)
        else:
            found = self._in_step(X, np.arange(n), 1)
        return found if value is None else value.take(found)

    def sum(self, X: NDArray[Any], rows: Indices | None = None) -> Values:
        """Sum the leaf values of all rows, or of some, in the order of the trees."""
        n, trees = len(X) if rows is None else len(rows), len(self.roots)
        if X.shape[1] <= self._last_column:
            raise self._too_narrow(X)
        if n * trees <= FEW_WALKS and n * X.shape[1] <= FEW_VALUES:
            found = self._one_by_one(X if rows is None else X[rows], trees)
            return self._added(np.array(found, dtype=np.intp))
        steps = n * sum(self._longest)
        if self._compiled_pays(X, n, steps, steps >= MANY_STEPS):
            return self._compiled(X, rows, self.value, trees)
        rows = np.arange(n) if rows is None else rows
        total = np.empty(n, dtype=self.value.dtype)
        size = max(1, BLOCK_WALKS // trees)
        for start in range(0, n, size):
            block = slice(start, start + size)
            total[block] = self._added(self._in_step(X, rows[block], trees))
        return total

    def _added(self, leaf: Indices) -> Values:
        # cumsum adds in order of the trees for any number of rows; sum would not
        total: Values = np.cumsum(self.value[leaf].reshape(len(self.roots), -1), axis=0)[-1]
        return total

    def _too_narrow(self, X: NDArray[Any]) -> IndexError:
        return IndexError(f"the trees read column {self._last_column}; X has {X.shape[1]}")

    def _compiled_pays(self, X: NDArray[Any], n: int, steps: int, loading: bool) -> bool:
        """Tell whether n rows are worth the compiled kernel; ``loading``: and numba with it."""
        if n < LANES or X.dtype not in (np.float32, np.float64):
            return False
        pays = steps >= MANY_STEPS_LOADED if "numba" in sys.modules else loading
        return pays and repays("_sum_leaves_*", steps, MANY_STEPS_IN_ALL) and numba_works()

    @cached_property
    def _last_column(self) -> int:
        """The largest column that is read, −1 if none is."""
        return int(self.column.max()) if self.inner.any() else -1

    @cached_property
    def children(self) -> Indices:
        """The next node after each branch, low, high or missing, of each node."""
        missing = np.where(self.missing_low, self.low, self.high)
        return np.column_stack((self.low, self.high, missing)).ravel()

    @cached_property
    def _longest(self) -> list[int]:
        return list(map(int, self.depths))

    @cached_property
    def _roots(self) -> list[int]:
        return list(map(int, self.roots))

    @cached_property
    def _own(self) -> NDArray[np.int64]:
        return np.arange(len(self.column), dtype=np.int64)

    @cached_property
    def _lists(self) -> tuple[list[Any], ...]:
        start, width = self.level_sets
        column = np.where(self.inner, self.column, -1)  # where a walk ends
        arrays = (column, self.threshold, self.children, start, width, self.level_branch)
        return tuple(array.tolist() for array in arrays)

    @cached_property
    def level_sets(self) -> tuple[Indices, Indices]:
        """Where the codes of each node start in ``level_branch``, and how many they are."""
        if not len(self.level_start):
            return (np.zeros(len(self.low), dtype=np.intp),) * 2
        return self.level_start[:-1], np.diff(self.level_start)

    @cached_property
    def _narrow(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        return self.column.astype(np.uint32), self.children.astype(np.uint32)

    def _one_by_one(self, X: NDArray[Any], trees: int) -> list[int]:
        """Walk each row down each tree in plain Python; the leaves, tree by tree."""
        column, threshold, child, start, width, level_branch = self._lists
        lines = X.tolist()
        found = []
        for root in self._roots[:trees]:
            for line in lines:
                node = root
                while (at := column[node]) >= 0:
                    x = line[at]
                    if width[node]:
                        # NaN and infinity are not below the width: they are never made an integer
                        known = 0 <= x < width[node] and x == int(x)
                        branch = level_branch[start[node] + int(x)] if known else GOES_MISSING
                    else:
                        above = x > threshold[node]
                        branch = GOES_HIGH if above else GOES_LOW if x == x else GOES_MISSING
                    node = child[3 * node + branch]
                found.append(node)
        return found

    def _in_step(self, X: NDArray[Any], rows: Indices, trees: int) -> Indices:
        """Walk all rows down all trees in step, in NumPy; the oracle of the compiled kernel."""
        node = self.roots[:trees].repeat(len(rows))
        row = rows if trees == 1 else rows[None].repeat(trees, axis=0).ravel()
        for _ in range(max(self._longest[:trees])):
            x = X[row, self.column[node]]
            branch = (x > self.threshold[node]).astype(np.intp)
            branch[np.isnan(x)] = GOES_MISSING
            if len(self.level_branch):
                self._look_levels_up(x, node, branch)
            node = self.children[3 * node + branch]
        return node

    def goes_low(self, X: NDArray[Any], node: int) -> NDArray[np.bool_]:
        """Tell which rows take the low branch of one node."""
        x = X[:, self.column[node]]
        branch = (x > self.threshold[node]).astype(np.intp)
        branch[np.isnan(x)] = GOES_MISSING
        if len(self.level_branch):
            self._look_levels_up(x, np.full(len(x), node), branch)
        low = branch == GOES_LOW
        return np.asarray(low | ((branch == GOES_MISSING) & self.missing_low[node]))

    def _look_levels_up(self, x: NDArray[Any], node: Indices, branch: Indices) -> None:
        start, width = (array[node] for array in self.level_sets)
        at = np.flatnonzero(width)
        code = x[at]
        known = (code >= 0) & (code < width[at]) & (code == np.floor(code))
        branch[at] = GOES_MISSING
        at, code = at[known], code[known]
        branch[at] = self.level_branch[start[at] + code.astype(np.intp)]

    def _compiled(self, X: NDArray[Any], rows: Indices | None, value: Values, trees: int) -> Values:
        """Sum a value of each tree's leaf; at least `LANES` rows."""
        from crank.kernels.compiled_descent import sum_leaves

        column, child = self._narrow
        total = np.empty(len(X) if rows is None else len(rows), dtype=value.dtype)
        sum_leaves(X.dtype.name, value.dtype.name, rows is None)(
            X,
            None if rows is None else np.ascontiguousarray(rows),
            column,
            self.threshold,
            child,
            *self.level_sets,
            self.level_branch,
            value,
            self.roots[:trees],
            self.depths,
            total,
        )
        return total
