"""A test on one column as plain data, and trees of such tests as a table of nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crank.kernels.descent import GOES_HIGH, GOES_LOW, GOES_MISSING, NodeTable

MOST_LEVELS = 2**16
"""Codes that a table lists; trees with larger ones are routed by their rules."""


class ColumnTest(NamedTuple):
    """A test on one column, see `crank.plugins.stump.StumpRule` for what the fields mean.

    Examples
    --------
    >>> ColumnTest(column=0, threshold=2.5, above=True, levels=None, missing_left=False).threshold
    2.5
    """

    column: int
    threshold: float | None
    above: bool
    levels: tuple[tuple[int, ...], tuple[int, ...]] | None
    missing_left: bool

    def cut(self) -> tuple[float, bool]:
        """Write the test of a number as ``x <= threshold``; say whether the low branch is left.

        An infinite threshold parts missing values from all others.

        Examples
        --------
        >>> ColumnTest(0, 2.5, True, None, False).cut()
        (2.5, False)
        """
        if self.threshold is None:
            return math.inf, self.above and self.levels is None
        if self.above:
            return self.threshold, False
        # x < t is the contrary of x > the double before t
        return math.nextafter(self.threshold, -math.inf), True

    def passes(self, X: NDArray[Any]) -> NDArray[np.bool_]:
        """Tell which rows go left.

        Examples
        --------
        >>> test = ColumnTest(0, 2.5, True, None, False)
        >>> test.passes(np.array([[2.0], [3.0], [np.nan]])).tolist()
        [False, True, False]
        """
        x = X[:, self.column]
        missing = np.isnan(x)
        if self.levels is not None:
            left, right = (np.isin(x, codes) for codes in self.levels)
            return np.asarray(left | (~left & ~right & self.missing_left))
        if self.threshold is None:
            found = np.full(len(x), self.above)
        else:
            found = x > self.threshold if self.above else x < self.threshold
        return np.where(missing, self.missing_left, found)

    def branches(self) -> list[int]:
        """Return the branch of each level by its code, the high one being left.

        A code beyond the list goes where missing values go.
        """
        if self.levels is None:
            return []
        left, right = self.levels
        branch = [GOES_MISSING] * (1 + max(left + right, default=0))
        for code in left:
            branch[code] = GOES_HIGH
        for code in right:
            branch[code] = GOES_LOW
        return branch


def tree_of_tests(
    tests: Sequence[tuple[ColumnTest, int, int] | None], value: NDArray[Any]
) -> NodeTable | None:
    """Make one tree of each node's test, left and right child; None for a leaf.

    Returns None if a test has more levels than a table should list.

    Examples
    --------
    >>> test = ColumnTest(0, 2.5, True, None, False)
    >>> tree = tree_of_tests([(test, 1, 2), None, None], np.array([0, 1, -1]))
    >>> tree.sum(np.array([[2.5], [2.6], [np.nan]])).tolist()
    [-1, 1, -1]
    """
    n = len(tests)
    column, threshold = np.zeros(n, dtype=np.intp), np.full(n, np.inf)
    low, high = np.arange(n), np.arange(n)
    missing_low = np.zeros(n, dtype=bool)
    start, branches = [0], list[int]()
    for i, node in enumerate(tests):
        if node is not None:
            test, left, right = node
            codes = [code for side in test.levels or () for code in side]
            if codes and not 0 <= min(codes) <= max(codes) < MOST_LEVELS:
                return None
            column[i] = test.column
            threshold[i], low_is_left = test.cut()
            low[i], high[i] = (left, right) if low_is_left else (right, left)
            missing_low[i] = low_is_left == test.missing_left
            branches += test.branches()
        start.append(len(branches))
    roots = np.zeros(1, dtype=np.intp)
    nodes = NodeTable(column, threshold, low, high, missing_low, value, roots)
    if not branches:
        return nodes
    return replace(nodes, level_start=np.array(start), level_branch=np.array(branches))
