"""The oriented ranking tree as plain data; what prints, prunes, scores or exports only reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crank.criteria import LeafOrder
from crank.growing.matrix import FloatArray
from crank.growing.rule import Split
from crank.kernels.column_tests import ColumnTest, tree_of_tests
from crank.kernels.descent import NodeTable
from crank.kernels.threads import Threads, count
from crank.metrics.figures import Figure

MAX_DEPTH = 50
"""Leaf scores of a tree of depth J are integers up to 2^J: exact in a double up to here."""

BLOCK_ROWS = 2**17
"""Rows that are routed at a time; what lies between route and score stays in cache."""


NOTHING: Mapping[str, float] = {}


class Node(NamedTuple):
    """One cell of the partition: C_{depth, place} in the paper's notation.

    Attributes
    ----------
    depth, place : int
        Place counts the cells of a complete tree from left to right, from 0.
    n, weight : int, float
        Training rows in the cell and their case weight.
    quantile : float
        Mean position of the cell's responses in the training distribution, 0 to 1.
    y_lower, y_median, y_upper : float
        Quartiles of the cell's responses.
    split : Split or None
        None for a leaf.
    left, right : int
        Indices of the children in `Tree.nodes`, −1 for a leaf.
    gains : mapping
        By figure, concordant minus discordant weight of the pairs (of the triples) that the split
        separates; empty for a leaf.
    """

    depth: int
    place: int
    n: int
    weight: float
    quantile: float
    y_lower: float
    y_median: float
    y_upper: float
    split: Split | None = None
    left: int = -1
    right: int = -1
    gains: Mapping[str, float] = NOTHING

    @property
    def is_leaf(self) -> bool:
        """Whether the cell is not split."""
        return self.split is None

    @property
    def number(self) -> int:
        """Number in rpart's manner: 1 for the root, 2k and 2k + 1 for the children of k."""
        return int(2**self.depth + self.place)

    def gain(self, figure: Figure) -> float:
        """Gain of the node's own split in C − D of a figure."""
        return self.gains.get(figure.name, 0.0)


@dataclass(frozen=True)
class Tree:
    """An oriented tree and the order of its leaves.

    Attributes
    ----------
    nodes : tuple of Node
        The root first, parents before children.
    depth : int
        Depth as grown (J of theory §6); pruning leaves it, so that scores keep their scale.
    totals : mapping
        By figure, weight of all ordered pairs (or triples) of the training sample.
    leaf_order : {"oriented", "rank"}

    Examples
    --------
    >>> leaf = Node(depth=0, place=0, n=3, weight=3.0, quantile=0.5,
    ...             y_lower=1.0, y_median=2.0, y_upper=3.0)
    >>> tree = Tree((leaf,), depth=0, totals={"kendall": 3.0})
    >>> tree.n_leaves, tree.score(np.zeros((2, 1))).tolist()
    (1, [1.0, 1.0])
    """

    nodes: tuple[Node, ...]
    depth: int
    totals: Mapping[str, float]
    leaf_order: LeafOrder = "oriented"

    @cached_property
    def oriented_leaves(self) -> tuple[int, ...]:
        """Node indices of the leaves from left to right."""
        return tuple(index for index, _ in self.walk() if self.nodes[index].is_leaf)

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """Node indices of the leaves, best first."""
        if self.leaf_order == "oriented":
            return self.oriented_leaves
        return tuple(sorted(self.oriented_leaves, key=lambda i: -self.nodes[i].quantile))

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """Score of each leaf, best first: 2^J (1 − k / 2^j) for the leaf C_{j,k} (theory §6).

        The order by rank deals out the same scores in another order.
        """
        cells = (self.nodes[i] for i in self.oriented_leaves)
        return np.array([2.0**self.depth * (1.0 - c.place / 2.0**c.depth) for c in cells])

    @cached_property
    def leaf_of_node(self) -> NDArray[np.intp]:
        """Rank of each node among the leaves, best first from 0; −1 for inner nodes."""
        table = np.full(len(self.nodes), -1, dtype=np.intp)
        table[list(self.leaves)] = np.arange(len(self.leaves))
        return table

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.oriented_leaves)

    def walk(self, start: int = 0) -> Iterator[tuple[int, Node]]:
        """Visit a branch in preorder, the high side first."""
        stack = [start]
        while stack:
            index = stack.pop()
            node = self.nodes[index]
            yield index, node
            if node.split is not None:
                stack += [node.right, node.left]

    @cached_property
    def routing(self) -> NodeTable | None:
        """The tree as a table, if every split tests one column."""
        tests: list[tuple[ColumnTest, int, int] | None] = []
        for node in self.nodes:
            test = None if node.split is None else node.split.column_test()
            if node.split is not None and test is None:
                return None
            tests.append(None if test is None else (test, node.left, node.right))
        return tree_of_tests(tests, self.leaf_of_node)

    def apply(self, X: FloatArray, n_jobs: int = 1) -> NDArray[np.intp]:
        """Route rows to their leaves, numbered best first from 0."""
        return self._look_up(self.leaf_of_node, X, n_jobs)

    def score(self, X: FloatArray, n_jobs: int = 1) -> NDArray[np.float64]:
        """Score rows: higher is better."""
        return self._look_up(self._score_of_node, X, n_jobs)

    @cached_property
    def _score_of_node(self) -> NDArray[np.float64]:
        return self.scores[self.leaf_of_node]  # of inner nodes, too, but no row ends there

    def _look_up(self, table: NDArray[Any], X: FloatArray, n_jobs: int) -> NDArray[Any]:
        """Return the entry of each row's leaf; many rows are taken a block at a time."""
        n = len(X)
        if n <= BLOCK_ROWS:
            return self._entries(table, X)
        found = np.empty(n, dtype=table.dtype)

        def fill(start: int, stop: int) -> None:
            found[start:stop] = self._entries(table, X[start:stop])

        with Threads(count(n_jobs)) as threads:
            threads.run(fill, ((k, min(k + BLOCK_ROWS, n)) for k in range(0, n, BLOCK_ROWS)))
        return found

    def _entries(self, table: NDArray[Any], X: FloatArray) -> NDArray[Any]:
        if self.routing is not None:
            return self.routing.route(X, table)
        return table.take(self._route(X))

    def _route(self, X: FloatArray) -> NDArray[np.intp]:
        """Ask rule after rule for the index of the node in which each row ends."""
        if len(X) == 1:
            return np.array([self._route_one(X)])
        found = np.empty(len(X), dtype=np.intp)
        stack: list[tuple[int, NDArray[np.intp] | None]] = [(0, None)]
        while stack:
            index, rows = stack.pop()
            node = self.nodes[index]
            if node.split is None:
                found[slice(None) if rows is None else rows] = index
                continue
            left = node.split.goes_left(X, rows, f"node {node.number}")
            if rows is None:
                stack += [(node.right, np.flatnonzero(~left)), (node.left, np.flatnonzero(left))]
            elif len(rows):
                stack += [(node.right, rows.compress(~left)), (node.left, rows.compress(left))]
        return found

    def _route_one(self, X: FloatArray) -> int:
        index = 0
        while (split := self.nodes[index].split) is not None:
            node = self.nodes[index]
            side = split.goes_left(X, where=f"node {node.number}")[0]
            index = node.left if side else node.right
        return index

    def figure(self, figure: Figure) -> float:
        """Training figure of the oriented order: gains add up over nodes (theory §5).

        NaN if the sample has no ordered pair (or triple) at all.
        """
        total = self.totals[figure.name]
        if total == 0.0:
            return float("nan")
        return 0.5 + 0.5 * sum(node.gain(figure) for _, node in self.walk()) / total

    def column_gains(self, figure: Figure, n_columns: int) -> NDArray[np.float64]:
        """Share each split's gain among the columns that earned it, in units of the figure.

        They sum to what the oriented order achieves, twice the figure less 1.
        """
        total, gains = self.totals[figure.name], np.zeros(n_columns)
        for _, node in self.walk():
            if node.split is None or total == 0.0:
                continue
            credit = node.split.rule.credit()
            if not credit:
                gains += node.gain(figure) / total / n_columns
            for column, share in credit.items():
                gains[column] += share * node.gain(figure) / total
        return gains

    def collapse(self, at: set[int]) -> Tree:
        """Turn nodes into leaves and drop what hangs below them."""
        kept: list[Node] = []

        def copy(index: int) -> int:
            node, place = self.nodes[index], len(kept)
            kept.append(node)
            if node.split is None or index in at:
                kept[place] = node._replace(split=None, left=-1, right=-1, gains=NOTHING)
            else:
                left, right = copy(node.left), copy(node.right)
                kept[place] = node._replace(left=left, right=right)
            return place

        copy(0)
        return replace(self, nodes=tuple(kept))
