"""What a tree of a forest votes: its leaves with their mean rank, for rows out of its bag too."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from crank.growing.matrix import FloatArray
from crank.kernels.bags import ABSENT, Bag, BagTree
from crank.kernels.bins import MISSING_BIN
from crank.kernels.descent import GOES_HIGH, GOES_LOW, GOES_MISSING, NodeTable
from crank.kernels.forest_bins import ForestBins
from crank.rankers.votes import ColumnTrees, VoteTrees

LARGEST = float(np.finfo(np.float64).max)

Ints = NDArray[np.int32]


def votes_of(
    tree: BagTree,
    bag: Bag,
    bins: ForestBins,
    rung: Ints,
    monotone: bool,
) -> ColumnTrees:
    """Give the leaves their votes, and write the tree as a table of nodes."""
    leaf = np.flatnonzero(tree.column < 0)
    leaf = leaf[np.argsort(tree.span[leaf, 0])]  # from left to right
    mean = tree.mean[leaf]
    if monotone:
        mean = non_increasing(mean, tree.mass[leaf])
    value = np.zeros(len(tree.column), dtype=np.int64)
    value[leaf] = np.rint(mean).astype(np.int64)
    drawn = np.zeros(len(tree.column), dtype=np.int32)
    drawn[leaf] = rung[tree.drawn[leaf]]
    inner, own = tree.column >= 0, np.arange(len(tree.column))
    low_is_left = inner & (tree.cut[:, 3] == 1)
    left, right = tree.children[:, 0], tree.children[:, 1]
    start, branch = _level_sets(tree, bins)
    nodes = NodeTable(
        column=np.where(inner, tree.column, 0),
        threshold=np.where(inner, np.minimum(tree.thresholds(bins), LARGEST), 0.0),
        low=np.where(inner, np.where(low_is_left, left, right), own),
        high=np.where(inner, np.where(low_is_left, right, left), own),
        missing_low=inner & (tree.cut[:, 2] == 1),
        value=value,
        roots=np.zeros(1, dtype=np.intp),
        level_start=start,
        level_branch=branch,
    )
    return ColumnTrees(
        nodes,
        low_is_left,
        drawn,
        tree.size,
        tree.gain / (bag.pairs or 1.0),
        tree.gain_iauc / (bag.triples or 1.0),
    )


def _level_sets(tree: BagTree, bins: ForestBins) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Write the cuts of factors as the branch of each level."""
    column = np.maximum(tree.column, 0)
    width = np.where(tree.column >= 0, bins.levels[column], 0)
    if not width.any():
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    start = np.append(0, np.cumsum(width))
    branch = np.empty(start[-1], dtype=np.intp)
    for k in np.flatnonzero(width).tolist():
        place = tree.rank[column[k], : width[k]]
        goes = np.where(place > tree.cut[k, 0], GOES_HIGH, GOES_LOW)
        branch[start[k] : start[k + 1]] = np.where(place == ABSENT, GOES_MISSING, goes)
    return start, branch


def non_increasing(mean: NDArray[np.float64], mass: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest values that never increase: neighbours out of order share their mean.

    Examples
    --------
    >>> non_increasing(np.array([5.0, 1.0, 3.0]), np.array([1.0, 1.0, 3.0])).tolist()
    [5.0, 2.5, 2.5]
    """
    value: list[float] = []
    weight: list[float] = []
    ends = [0]
    for v, w in zip(mean.tolist(), mass.tolist(), strict=True):
        value.append(v)
        weight.append(w)
        ends.append(ends[-1] + 1)
        while len(value) > 1 and value[-2] < value[-1]:
            joint = weight[-2] + weight[-1]
            value[-2:] = [(value[-2] * weight[-2] + value[-1] * weight[-1]) / joint]
            weight[-2:] = [joint]
            del ends[-2]
    sizes = [b - a for a, b in pairwise(ends)]
    return np.repeat(np.array(value), sizes)


def votes_by_values(
    trees: VoteTrees, X: FloatArray, row: NDArray[np.intp], draws: Ints
) -> NDArray[np.int64]:
    """Let a tree vote for the rows that its bag lacks, by position in y order; 0 for others."""
    here = np.empty(len(draws), dtype=bool)
    here[row] = draws == 0
    absent = np.flatnonzero(here)  # in the order of X, which is read faster so
    votes = np.zeros(len(draws), dtype=np.int64)
    if len(absent):
        votes[absent] = trees.votes(X, absent)
    return votes[row]


def votes_by_bins(
    tree: BagTree,
    nodes: NodeTable,
    bins: ForestBins,
    X: FloatArray,
    row: NDArray[np.intp],
    draws: Ints,
) -> NDArray[np.int64]:
    """Do the same in compiled code, from the bins where they tell."""
    from crank.kernels.compiled_absent import vote_absent

    column, low, high = nodes.column, tree.cut[:, 0], tree.cut[:, 1]
    factor = bins.levels[column] > 0
    # the last bin may hold infinity, which lies above every threshold
    up_to = low + (factor | (bins.largest[column, low] <= nodes.threshold))
    votes = np.zeros(len(draws), dtype=np.int64)
    vote_absent(X.dtype.name)(
        X,
        row,
        bins.by_row,
        np.where(tree.rank == ABSENT, MISSING_BIN, tree.rank).astype(np.uint8),
        bool(bins.levels.any()),
        draws,
        column,
        up_to.astype(np.intp),
        np.where(factor, up_to, np.maximum(high, up_to)).astype(np.intp),
        nodes.threshold,
        nodes.children.astype(np.uint32),
        nodes.value,
        votes,
    )
    return votes
