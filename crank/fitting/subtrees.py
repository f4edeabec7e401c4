"""Figures of every subtree of a pruning path, on any rows, in either order of the leaves.

Gains add up over nodes on any sample (theory §5): routing the rows once gives the figure of every
subtree in the order from left to right. The order by rank differs from it by the pairs of leaves
that it swaps, whose gains it turns round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crank.criteria import LeafOrder
from crank.growing.matrix import FloatArray
from crank.growing.tree import Tree
from crank.kernels.cuts import Layer
from crank.kernels.order import group_sums
from crank.mass import LocalMass
from crank.metrics.figures import Figure
from crank.rankers.pruning import PruningPath
from crank.ranks import Ranks

BATCH_ROWS = 2**20
"""Rows that are compared at a time."""

IntArray = NDArray[np.intp]


@dataclass(frozen=True)
class Cells:
    """Which rows of a sample fall into each node of a tree; nodes are numbered in preorder.

    Attributes
    ----------
    ranks : Ranks
        Of the responses of the sample.
    rows : ndarray
        Positions in `ranks`, leaf after leaf from left to right, increasing within each.
    start, stop : ndarray
        Node k owns ``rows[start[k]:stop[k]]``.
    end : ndarray
        One past the last node of the branch below each node.
    number : ndarray
        Number of each node of the tree.
    """

    ranks: Ranks
    rows: IntArray
    start: IntArray
    stop: IntArray
    end: IntArray
    number: IntArray


def place(tree: Tree, X: FloatArray, ranks: Ranks) -> Cells:
    """Route the rows of a sample to the leaves of a tree."""
    return place_leaves(tree, replace(tree, leaf_order="oriented").apply(X[ranks.row]), ranks)


def place_leaves(tree: Tree, leaf: IntArray, ranks: Ranks) -> Cells:
    """Put the rows of a sample into the leaves of a tree, numbered from left to right."""
    edges = np.concatenate(([0], np.cumsum(np.bincount(leaf, minlength=tree.n_leaves))))
    size = len(tree.nodes)
    number, end = np.empty(size, dtype=np.intp), np.empty(size, dtype=np.intp)
    first, past = np.empty(size, dtype=np.intp), np.empty(size, dtype=np.intp)
    order = [index for index, _ in tree.walk()]
    number[order] = np.arange(size)
    leaves = 0
    for k, index in enumerate(order):
        first[k] = leaves
        leaves += tree.nodes[index].is_leaf
    for k in range(size - 1, -1, -1):  # branches end where those of their right children do
        node = tree.nodes[order[k]]
        right = number[node.right]
        end[k] = k + 1 if node.is_leaf else end[right]
        past[k] = first[k] + 1 if node.is_leaf else past[right]
    return Cells(
        ranks=ranks,
        rows=np.argsort(leaf, kind="stable"),
        start=edges[first],
        stop=edges[past],
        end=end,
        number=number,
    )


def subtree_figures(
    path: PruningPath,
    cells: Cells,
    orders: Sequence[LeafOrder],
    figure: Figure | None = None,
) -> dict[LeafOrder, NDArray[np.float64]]:
    """Figure of every step of a path on the rows of the cells; NaN if these have none.

    Parameters
    ----------
    path : PruningPath
    cells : Cells
        Of the path's tree.
    orders : sequence of {"oriented", "rank"}
    figure : Figure, optional
        By default the one that the path is made for.
    """
    figure = figure or path.figure
    total = figure.total(cells.ranks)
    if total <= 0.0:
        return {order: np.full(len(path.steps), np.nan) for order in orders}
    nodes = [path.tree.nodes[i] for i in np.argsort(cells.number)]
    leaf = np.array([node.is_leaf for node in nodes])
    quantile = np.array([node.quantile for node in nodes])
    inner = np.flatnonzero(~leaf)
    gains = np.zeros(len(nodes))
    # in preorder the left child follows its parent, and the right child the left branch
    gains[inner] = pair_gains(cells, inner + 1, cells.end[inner + 1], figure)
    kept: list[float] = []
    swapped: list[IntArray] = []
    to_the_right = np.tri(int(leaf.sum()), dtype=bool).T  # the first step has the most leaves
    for step in path.steps:
        # a node below another that goes in the same step comes first
        for top in sorted(cells.number[list(step.removed)], reverse=True):
            branch = slice(top, cells.end[top])
            gains[branch], leaf[branch] = 0.0, False
            leaf[top] = True
        kept.append(gains.sum())
        if "rank" in orders:
            swapped.append(_swapped(np.flatnonzero(leaf), quantile, to_the_right))
    achieved: dict[LeafOrder, NDArray[np.float64]] = dict.fromkeys(orders, np.array(kept))
    if any(map(len, swapped)):
        achieved["rank"] = achieved["rank"] - 2.0 * _sums(cells, swapped, figure)
    return {order: 0.5 + 0.5 * found / total for order, found in achieved.items()}


def _swapped(
    leaves: IntArray, quantile: NDArray[np.float64], to_the_right: NDArray[np.bool_]
) -> IntArray:
    """Find the pairs of leaves that the order by rank turns round, as left · nodes + right."""
    of, n = quantile[leaves], len(leaves)
    left, right = np.nonzero((of[:, None] < of[None, :]) & to_the_right[:n, :n])
    return leaves[left] * len(quantile) + leaves[right]


def _sums(cells: Cells, swapped: list[IntArray], figure: Figure) -> NDArray[np.float64]:
    """Add up the gains of the swapped pairs of each step; steps share most of them."""
    step = np.repeat(np.arange(len(swapped)), [len(pairs) for pairs in swapped])
    pairs, which = np.unique(np.concatenate(swapped), return_inverse=True)
    gains = pair_gains(cells, *np.divmod(pairs, len(cells.number)), figure)
    return group_sums(step, gains[which], len(swapped))


def pair_gains(
    cells: Cells, above: IntArray, below: IntArray, figure: Figure
) -> NDArray[np.float64]:
    """Gain of ranking the rows of one node above those of another, pair by pair of nodes."""
    scores = figure.node_scores
    assert scores is not None
    gains = np.zeros(len(above))
    # one side of each pair after the other
    start = np.stack((cells.start[above], cells.start[below]), axis=1)
    sizes = np.stack((cells.stop[above], cells.stop[below]), axis=1) - start
    for batch in _batches(sizes):
        of = sizes[batch]
        both = of.sum(axis=1)
        bounds = np.concatenate(([0], np.cumsum(both)))
        each = of.ravel()
        offset = start[batch].ravel() - (np.cumsum(each) - each)
        position = cells.rows[np.repeat(offset, each) + np.arange(bounds[-1])]
        left = np.repeat(np.tile([True, False], len(batch)), each)
        pair = np.repeat(np.arange(len(batch)), both)
        by_y = np.argsort(pair * len(cells.rows) + position)
        layer = Layer(position[by_y].astype(np.int32), bounds)
        won = scores(cells.ranks, layer, LocalMass(cells.ranks, layer)) * left[by_y]
        gains[batch] = np.add.reduceat(won, bounds[:-1])
    return gains


def _batches(sizes: IntArray) -> Iterator[IntArray]:
    """Put pairs of which both sides have rows together, as many as are compared at a time."""
    usable = np.flatnonzero(sizes.min(axis=1) > 0) if len(sizes) else np.empty(0, dtype=np.intp)
    if len(usable) and sizes.sum() <= BATCH_ROWS:
        yield usable
    elif len(usable):
        rows = np.cumsum(sizes[usable].sum(axis=1))
        yield from np.split(usable, np.flatnonzero(np.diff(rows // BATCH_ROWS)) + 1)
