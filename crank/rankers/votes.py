"""The trees of a forest: arrays of nodes whose leaves vote, with whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.errors import OptionError
from crank.growing.matrix import FloatArray
from crank.growing.tree import Tree
from crank.kernels.descent import NodeTable
from crank.kernels.shapley import shapley_values
from crank.kernels.threads import Threads
from crank.metrics.figures import IAUC, KENDALL, Figure
from crank.rankers.base import no_contributions

GRID = 65_535
"""The vote of the highest rank; that of the lowest is 0. Sums of votes are exact."""
THREADS_FROM = 2**22
"""Comparisons from which more than one thread scores rows."""


@dataclass(frozen=True, eq=False)
class ColumnTrees:
    """Trees of one-column tests as one table of nodes, tree after tree, each from its root.

    Attributes
    ----------
    nodes : NodeTable
        Its values are votes: the leaf's mean rank on the grid from 0 to 65535.
    low_is_left : ndarray of bool
        Whether the low branch of a node is its left one, of the higher ranks.
    drawn : ndarray of int
        Of a leaf: the rung of one of its training responses.
    size : ndarray of int
        Training rows drawn into each node, counted as often as they were drawn.
    gain : ndarray of float64
        Concordant less discordant pairs of a split, as a share of the pairs of its bag.
    gain_iauc : ndarray of float64 or None
        The same of triples, which IAUC counts; None if an older file does not say.
    """

    nodes: NodeTable
    low_is_left: NDArray[np.bool_]
    drawn: NDArray[np.int32]
    size: NDArray[np.int32]
    gain: NDArray[np.float64]
    gain_iauc: NDArray[np.float64] | None

    def __len__(self) -> int:
        return len(self.nodes.roots)

    @property
    def n_leaves(self) -> int:
        """Leaves of all trees."""
        return int(np.count_nonzero(~self.nodes.inner))

    def tree(self, k: int) -> NodeTable:
        """Return one tree as a table of its own."""
        nodes = self.nodes
        first = int(nodes.roots[k])
        last = int(nodes.roots[k + 1]) if k + 1 < len(self) else len(nodes.column)
        here = slice(first, last)
        sets: dict[str, NDArray[np.intp]] = {}
        if len(nodes.level_branch):
            start = nodes.level_start[first : last + 1]
            branch = nodes.level_branch[start[0] : start[-1]]
            sets = {"level_start": start - start[0], "level_branch": branch}
        return NodeTable(
            column=nodes.column[here],
            threshold=nodes.threshold[here],
            low=nodes.low[here] - first,
            high=nodes.high[here] - first,
            missing_low=nodes.missing_low[here],
            value=nodes.value[here],
            roots=np.zeros(1, dtype=np.intp),
            **sets,
        )

    def sums(self, X: FloatArray, n_jobs: int = 1) -> NDArray[np.int64]:
        """Sum the votes of all trees for each row."""
        steps = len(X) * int(self.nodes.depths.sum())
        if n_jobs < 2 or steps < THREADS_FROM:
            return self.nodes.sum(X)
        total = np.empty(len(X), dtype=np.int64)

        def fill(first: int, last: int) -> None:
            total[first:last] = self.nodes.sum(X[first:last])

        with Threads(n_jobs) as threads:
            threads.run(fill, threads.chunks(len(X), 64))
        return total

    def leaves(self, X: FloatArray) -> NDArray[np.int32]:
        """Return the node in which each row leaves each tree, shape (n, trees)."""
        found = np.empty((len(X), len(self)), dtype=np.int32)
        for k, root in enumerate(self.nodes.roots.tolist()):
            nodes = self.tree(k)
            found[:, k] = root + replace(nodes, value=np.arange(len(nodes.value))).sum(X)
        return found

    def votes(self, X: FloatArray, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the votes of all trees for some rows."""
        return self.nodes.sum(X, rows)

    def shapley(self, X: FloatArray) -> tuple[NDArray[np.float64], float]:
        """Return what each column adds to each row's sum of votes, and the sum on average."""
        return shapley_values(self.nodes, self.size.astype(np.float64), X)

    def credits(self, d: int, figure: Figure = KENDALL) -> NDArray[np.float64]:
        """Sum the gains of each of d columns in a figure, as the mean over trees."""
        gain = {KENDALL: self.gain, IAUC: self.gain_iauc}.get(figure)
        if gain is None:
            raise OptionError(
                f"metric={figure.name!r} is not allowed: the model's file says nothing of its "
                "gains. Fit the forest again, or use permutation_importance: it takes any metric."
            )
        inner = self.nodes.inner
        gained = np.bincount(self.nodes.column[inner], weights=gain[inner], minlength=d)
        return np.asarray(gained / len(self))

    @classmethod
    def joined(cls, trees: Sequence[ColumnTrees]) -> ColumnTrees:
        """Put trees one after another."""
        shift = np.cumsum([0] + [len(tree.gain) for tree in trees])[:-1]
        tables = [tree.nodes for tree in trees]
        same = ("column", "threshold", "missing_low", "value", "level_branch")
        arrays: dict[str, NDArray[Any]] = {
            name: np.concatenate([getattr(table, name) for table in tables]) for name in same
        }
        for name in ("low", "high", "roots"):
            parts = zip(tables, shift, strict=True)
            arrays[name] = np.concatenate([getattr(table, name) + first for table, first in parts])
        if len(arrays["level_branch"]):
            widths = [
                np.diff(table.level_start) if len(table.level_start) else np.zeros(len(table.low))
                for table in tables
            ]
            arrays["level_start"] = np.append(0, np.cumsum(np.concatenate(widths)))
        known = [tree.gain_iauc for tree in trees if tree.gain_iauc is not None]
        iauc = np.concatenate(known) if len(known) == len(trees) else None
        return cls(
            NodeTable(**arrays),
            low_is_left=np.concatenate([tree.low_is_left for tree in trees]),
            drawn=np.concatenate([tree.drawn for tree in trees]),
            size=np.concatenate([tree.size for tree in trees]),
            gain=np.concatenate([tree.gain for tree in trees]),
            gain_iauc=iauc,
        )


@dataclass(frozen=True, eq=False)
class RuleTrees:
    """Trees of any learner's rules, each with the votes of its leaves, best first.

    Attributes
    ----------
    trees : tuple of Tree
    votes_by_leaf, drawns : tuple of ndarray
        By tree, the vote of each leaf and the rung of one response of it, in `Tree.leaves` order.
    """

    trees: tuple[Tree, ...]
    votes_by_leaf: tuple[NDArray[np.int32], ...]
    drawns: tuple[NDArray[np.int32], ...]

    def __len__(self) -> int:
        return len(self.trees)

    @property
    def n_leaves(self) -> int:
        """Leaves of all trees."""
        return sum(tree.n_leaves for tree in self.trees)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the leaves of each tree begin among those of all."""
        return np.cumsum([0] + [tree.n_leaves for tree in self.trees]).astype(np.int64)

    @cached_property
    def drawn(self) -> NDArray[np.int32]:
        """Rungs of the leaves of all trees."""
        return np.concatenate(self.drawns)

    def sums(self, X: FloatArray, n_jobs: int = 1) -> NDArray[np.int64]:
        """Sum the votes of all trees for each row."""
        total = np.zeros(len(X), dtype=np.int64)
        for tree, vote in zip(self.trees, self.votes_by_leaf, strict=True):
            total += vote[tree.apply(X, n_jobs)]
        return total

    def leaves(self, X: FloatArray) -> NDArray[np.int32]:
        """Return the leaf in which each row leaves each tree, shape (n, trees)."""
        parts = [tree.apply(X) + self.starts[k] for k, tree in enumerate(self.trees)]
        return np.column_stack(parts).astype(np.int32)

    def votes(self, X: FloatArray, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the votes of all trees for some rows."""
        return self.sums(X[rows])

    def shapley(self, X: FloatArray) -> tuple[NDArray[np.float64], float]:
        """Do the same where all rules test one column each."""
        parts = [
            tree_shapley(tree, vote, X)
            for tree, vote in zip(self.trees, self.votes_by_leaf, strict=True)
        ]
        values, bases = zip(*parts, strict=True)
        return np.sum(values, axis=0), float(sum(bases))

    def credits(self, d: int, figure: Figure = KENDALL) -> NDArray[np.float64]:
        """Sum the gains of each of d columns in a figure, as the mean over trees."""
        gained = np.zeros(d)
        for tree in self.trees:
            gained += tree.column_gains(figure, d)
        return np.asarray(gained / len(self))

    @classmethod
    def joined(cls, trees: Sequence[RuleTrees]) -> RuleTrees:
        """Put trees one after another."""
        return cls(
            tuple(tree for one in trees for tree in one.trees),
            tuple(vote for one in trees for vote in one.votes_by_leaf),
            tuple(drawn for one in trees for drawn in one.drawns),
        )


def tree_shapley(
    tree: Tree, leaf_values: NDArray[Any], X: FloatArray
) -> tuple[NDArray[np.float64], float]:
    """Return the Shapley values of one oriented tree whose leaves, best first, have values."""
    if tree.routing is None:
        raise no_contributions("a tree with oblique splits")
    nodes = replace(tree.routing, value=np.asarray(leaf_values, dtype=float)[tree.leaf_of_node])
    return shapley_values(nodes, np.array([node.weight for node in tree.nodes]), X)


VoteTrees = ColumnTrees | RuleTrees
