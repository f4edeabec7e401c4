"""Tables of leaf by level of y: all that the figures of a tree need to know of the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crank.cluster.engine import Cluster
from crank.cluster.layers import CountTask, LevelCounts, count_levels, square_unit
from crank.cluster.saplings import Levels, Sapling
from crank.cluster.tally import FloatArray
from crank.fitting.subtrees import Cells, place_leaves
from crank.growing.tree import Tree
from crank.ranks import Ranks, rank_levels

TABLE_CELLS = 2**20
"""Cells of the table of one tree; with more leaves, levels are joined."""

PASS_CELLS = 2**21
"""Cells of the tables that are counted in one pass."""


@dataclass(frozen=True)
class LeafTable:
    """The rows of a sample, those of one leaf and one level of y together.

    Attributes
    ----------
    ranks : Ranks
        Each row stands for all rows of a leaf with the same y.
    leaf : ndarray of int
        Its leaf, numbered from left to right.
    copies : ndarray of float64
        How many rows of equal weight it stands for.
    n : int
        Rows in all.
    """

    ranks: Ranks
    leaf: NDArray[np.intp]
    copies: FloatArray
    n: int

    def cells(self, tree: Tree) -> Cells:
        """Put the rows into the leaves of the tree as grown."""
        return place_leaves(tree, self.leaf, self.ranks)

    def scorer(self, grown: Tree) -> Callable[[Tree], FloatArray]:
        """Return a function that scores the rows by a subtree."""
        return lambda tree: tree.scores[leaf_in(tree, grown)[self.leaf]]


def leaf_in(tree: Tree, grown: Tree) -> NDArray[np.intp]:
    """Find the leaf of a subtree, best first, in which each leaf of the grown tree lies.

    A cell's place says on which side it is of every cell above it: place >> 1 is its parent's.
    """
    known = {(tree.nodes[i].depth, tree.nodes[i].place): k for k, i in enumerate(tree.leaves)}
    found = np.empty(grown.n_leaves, dtype=np.intp)
    for k, index in enumerate(grown.oriented_leaves):
        depth, place = grown.nodes[index].depth, grown.nodes[index].place
        while (depth, place) not in known:
            depth, place = depth - 1, place >> 1
        found[k] = known[depth, place]
    return found


def leaf_tables(
    cluster: Cluster,
    saplings: Sequence[Sapling],
    trees: Sequence[Tree],
    levels: Levels,
    *,
    heldout: bool,
) -> list[LeafTable | None]:
    """Count the rows of trees by leaf and level of y; None for a tree without any.

    Parameters
    ----------
    cluster : Cluster
    saplings, trees : sequences
        The trees as they grew, and as data.
    levels : Levels
        All levels of y.
    heldout : bool
        Whether the rows are those that the tree has not seen.
    """
    found: list[LeafTable | None] = []
    units = levels.units
    largest = None if units.unweighted else units.heaviest
    wanted = list(zip(saplings, trees, strict=True))
    while wanted:
        tasks: list[CountTask] = []
        values: list[FloatArray] = []
        first = 0
        while wanted:
            sapling, tree = wanted[0]
            own = Levels.of(levels.value, max(2, TABLE_CELLS // tree.n_leaves), units)
            size = len(own.value) * tree.n_leaves
            if tasks and first + size > PASS_CELLS:
                break
            routes = sapling.routes(tree.oriented_leaves, inside=heldout)
            tasks.append(CountTask(routes, first, own.shift, len(own.value), tree.n_leaves))
            values.append(own.value)
            first += size
            wanted.pop(0)
        counts: LevelCounts = cluster.sum(count_levels, tasks, largest)
        found += [
            _table(task, value, counts, levels, int(rows.sum()))
            for task, value, rows in zip(tasks, values, counts.rows, strict=True)
        ]
    return found


def own_table(sapling: Sapling, tree: Tree, levels: Levels) -> LeafTable:
    """Make the table of the rows of which an unweighted tree was grown: its leaves know them."""
    own = Levels.of(levels.value, max(2, TABLE_CELLS // tree.n_leaves), levels.units)
    assert sapling.position is not None
    level = np.flatnonzero(sapling.position >= 0) >> own.shift
    mass = np.zeros((tree.n_leaves, len(own.value)), dtype=np.int64)
    for k, index in enumerate(tree.oriented_leaves):
        counts = sapling.nodes[index].counts
        assert counts is not None
        place = level[counts.position]
        mass[k] = np.bincount(place, counts.mass, len(own.value)).astype(np.int64)
    task = CountTask(sapling.routes([]), 0, own.shift, len(own.value), tree.n_leaves)
    found = _table(task, own.value, LevelCounts(mass.ravel(), ()), levels, int(mass.sum()))
    assert found is not None
    return found


def _table(
    task: CountTask, value: FloatArray, counts: LevelCounts, levels: Levels, rows: int
) -> LeafTable | None:
    cells = slice(task.first, task.first + task.slots * task.levels)
    mass = counts.mass[cells].reshape(task.slots, task.levels).T
    level, leaf = np.nonzero(mass)
    if not len(level):
        return None
    copies = there = mass[level, leaf].astype(np.float64)
    if counts.squares is not None:
        squares = counts.squares[cells].reshape(task.slots, task.levels).T[level, leaf]
        copies = there**2 / (squares * square_unit(levels.units.heaviest))
    weight = there * levels.units.scale
    ranks = rank_levels(value[level], weight, levels.units.unit)
    return LeafTable(ranks, leaf, np.maximum(copies, 1.0), rows)


def renumbered(table: LeafTable, first: int) -> LeafTable:
    """Count the rows of a table from another number on, apart from those of other tables."""
    return replace(table, ranks=replace(table.ranks, row=table.ranks.row + first))
