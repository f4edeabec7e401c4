"""Trees while they grow on the client: what partitions need to know of them, and what they became.

A sapling has the rows of some folds, or all. Nodes are numbered as they are born, the left
children of a layer first, as in `crank.growing.grow`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from crank.cluster.counted import NodeCounts, counts_of, gains, levels_ranked, summary
from crank.cluster.layers import CountTask, Routes
from crank.cluster.scores import Scoring
from crank.cluster.tally import FloatArray
from crank.cluster.units import Units
from crank.criteria import Scores
from crank.growing.rule import Split
from crank.growing.tree import NOTHING, Node, Tree
from crank.metrics.figures import figures
from crank.plugins.stump import StumpRule
from crank.ranks import Ranks

SOME = 8
"""Splits whose gains are worked out at a time."""


@dataclass(frozen=True)
class Levels:
    """The levels of y that a tree tells apart.

    Attributes
    ----------
    value : ndarray
        A response for each.
    shift : int
        As many levels of the data, 2^shift, are one of these.
    units : Units
        Of the weights.
    """

    value: FloatArray
    shift: int
    units: Units

    @classmethod
    def of(cls, value: FloatArray, most: int, units: Units) -> Levels:
        """Join neighbouring levels until they are at most so many."""
        shift = 0
        while -(-len(value) >> shift) > most:
            shift += 1
        middle = np.arange(0, len(value), 1 << shift) + (1 << shift) // 2
        return cls(value[np.minimum(middle, len(value) - 1)], shift, units)


@dataclass
class Born:
    """A node of a sapling."""

    depth: int
    place: int
    parent: int = -1
    counts: NodeCounts | None = None
    about: tuple[int, float, float, float, float, float] = (0, 0.0, 0.0, 0.0, 0.0, 0.0)
    split: Split | None = None
    left: int = -1
    right: int = -1
    gains: Mapping[str, float] = field(default_factory=lambda: NOTHING)
    column: int = -1
    side: NDArray[np.bool_] | None = None


class Sapling:
    """A tree while it grows.

    Parameters
    ----------
    levels : Levels
    repeat, without : int, tuple of int
        The drawing of the folds and the folds whose rows are not the tree's.
    """

    def __init__(self, levels: Levels, repeat: int = 0, without: tuple[int, ...] = ()) -> None:
        self.levels, self.repeat, self.without = levels, repeat, without
        self.nodes = [Born(0, 0)]
        self.fresh = [0]
        self.ranks: Ranks | None = None
        self.position: NDArray[np.int32] | None = None

    @property
    def depth(self) -> int:
        """Depth so far."""
        return max(node.depth for node in self.nodes)

    def routes(
        self, counted: Sequence[int], folds: tuple[int, ...] | None = None, *, inside: bool = False
    ) -> Routes:
        """Tell partitions the way down; ``counted`` are the nodes whose rows are wanted.

        Other ``folds`` than the tree's own may be asked about, inside or outside.
        """
        column = np.array([node.column for node in self.nodes], dtype=np.int32)
        left = np.array([node.left for node in self.nodes], dtype=np.int32)
        right = np.array([node.right for node in self.nodes], dtype=np.int32)
        sides = [node.side for node in self.nodes if node.side is not None]
        size = np.array([0 if n.side is None else len(n.side) for n in self.nodes])
        slot = np.full(len(self.nodes), -1, dtype=np.int32)
        slot[list(counted)] = np.arange(len(counted))
        return Routes(
            column,
            left,
            right,
            (np.cumsum(size) - size).astype(np.int64),
            np.concatenate(sides) if sides else np.zeros(1, dtype=bool),
            slot,
            self.repeat,
            self.without if folds is None else folds,
            inside,
        )

    def task(self, nodes: Sequence[int], first: int, tree: int = 0) -> CountTask:
        """Ask for the responses of some nodes; see `CountTask`."""
        size, shift = len(self.levels.value), self.levels.shift
        return CountTask(self.routes(nodes), first, shift, size, len(nodes), tree)

    def scoring(self, scores: Scores, bits: int, min_leaf: int) -> Scoring:
        """Say how nodes are scored; see `Scoring`."""
        assert self.ranks is not None
        assert self.position is not None
        return Scoring(self.ranks, self.position, self.levels.units, scores, bits, min_leaf)

    @property
    def uncounted(self) -> list[int]:
        """The left children of the last layer: siblings have what they leave of the parents."""
        return self.fresh[: (len(self.fresh) + 1) // 2]

    def learn(
        self,
        nodes: Sequence[int],
        mass: NDArray[np.int64],
        rows: NDArray[np.int64],
        *,
        siblings: bool,
    ) -> None:
        """Take the counts of nodes that were asked for; the root's come first of all.

        With ``siblings``, only left children were, and right ones have what these leave.
        """
        if self.ranks is None:
            self.ranks, self.position = levels_ranked(self.levels.value, mass[0], self.levels.units)
        assert self.position is not None
        for k, index in enumerate(nodes):
            counts = counts_of(mass[k], int(rows[k]), self.position, self.levels.units)
            self._know(index, counts)
            above = self.nodes[index].parent
            if above >= 0 and siblings:
                self._know(self.nodes[above].right, self.counts(above).without(counts))

    def _know(self, index: int, counts: NodeCounts) -> None:
        node = self.nodes[index]
        assert self.ranks is not None
        node.counts = counts
        node.about = summary(self.ranks, counts, self.levels.units.unweighted)

    def value_splits(self) -> None:
        """Work out what splits gained whose children are known."""
        parents = [
            node
            for node in self.nodes
            if node.left >= 0
            and not node.gains
            and self.nodes[node.left].counts is not None
            and self.nodes[node.right].counts is not None
        ]
        if not parents:
            return
        assert self.ranks is not None
        scores = {
            figure.name: figure.node_scores
            for figure in figures(of_trees=True)
            if figure.node_scores is not None
        }
        for first in range(0, len(parents), SOME):  # a few at a time need little memory
            some = parents[first : first + SOME]
            known = [node.counts for node in some if node.counts is not None]
            left = [self.counts(node.left) for node in some]
            for node, found in zip(some, gains(scores, self.ranks, known, left), strict=True):
                node.gains, node.counts = found, None

    def counts(self, index: int) -> NodeCounts:
        """Return what is known of a node's responses."""
        counts = self.nodes[index].counts
        assert counts is not None
        return counts

    def forget_counts(self) -> None:
        """Let go of what a grown tree needs no more: it is most of the client's memory."""
        for node in self.nodes:
            node.counts = None

    def split(self, found: Mapping[int, tuple[StumpRule, int, NDArray[np.bool_]]]) -> None:
        """Split youngest nodes: rule, column and side of each bin; bear their children."""
        parents = [index for index in self.fresh if index in found]
        for index in parents:
            rule, column, side = found[index]
            node = self.nodes[index]
            node.split, node.column, node.side = Split(rule), column, side
        self.fresh = []
        for right in (0, 1):
            for index in parents:
                node = self.nodes[index]
                if right:
                    node.right = len(self.nodes)
                else:
                    node.left = len(self.nodes)
                self.fresh.append(len(self.nodes))
                self.nodes.append(Born(node.depth + 1, 2 * node.place + right, index))

    def tree(self) -> Tree:
        """Return the tree as it is."""
        assert self.ranks is not None
        nodes = tuple(
            Node(n.depth, n.place, *n.about, n.split, n.left, n.right, n.gains) for n in self.nodes
        )
        totals = {figure.name: figure.total(self.ranks) for figure in figures(of_trees=True)}
        return Tree(nodes, self.depth, totals)
