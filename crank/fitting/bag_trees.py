"""One tree of a forest from its bag: grown over shared bins, its leaves given votes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.criteria import ROUNDING, Criterion
from crank.growing.matrix import TrainingMatrix
from crank.kernels.bags import ABSENT, Bag, BagTree, Growth, level_orders
from crank.kernels.compiler import is_stored, numba_works
from crank.kernels.cuts import Layer
from crank.kernels.descent import GOES_HIGH, GOES_LOW, GOES_MISSING, NodeTable
from crank.kernels.forest import grow_bag
from crank.kernels.forest_bins import ForestBins, bin_columns
from crank.kernels.threads import Threads
from crank.mass import LocalMass
from crank.metrics.node_scores import IAUC_ROUNDING
from crank.plugins.base import SplitLearner
from crank.rankers.forest import ForestOptions
from crank.rankers.votes import GRID, ColumnTrees
from crank.ranks import Ranks

COMPILED_FROM = 2**16
"""Values that all trees read together (trees × rows × columns) from which compiling repays."""
STORED_FROM = 2**14
"""Values from which loading what was compiled before repays: NumPy takes half a second for them."""
LARGEST = float(np.finfo(np.float64).max)
CRITERIA = {"crank": 0, "kendall": 1, "iauc": 2, "spearman": 3}
"""As `crank.kernels.compiled_layer` numbers them."""

NOTHING = np.empty((0, 0), dtype=np.uint8)

Ints = NDArray[np.int32]
TreeMaker = Callable[[Ints, int], Any]
"""``(draws, seed) -> trees``: a forest of one tree from its bag."""


def column_trees(
    data: TrainingMatrix,
    ranks: Ranks,
    rung: Ints,
    learner: SplitLearner,
    criterion: Criterion,
    options: ForestOptions,
) -> TreeMaker:
    """Bin the columns once, and return what grows a tree of stumps from a bag."""
    n, d = data.X.shape
    least = min(COMPILED_FROM, STORED_FROM if is_stored("grow_tree") else COMPILED_FROM)
    large = options.n_trees * n * d >= least and criterion.name in CRITERIA
    compiled = large and numba_works()
    with Threads(options.threads) as threads:
        bins = bin_columns(data.X, data.levels, ranks.row, threads, compiled)
    monotone = any(data.monotone)
    growth = growth_of(criterion, options, n, data.monotone or (0,) * d, ranks.unweighted)
    vote = np.asarray(GRID * ranks.quantile)
    weight = None if ranks.unweighted else ranks.weight
    grow = grow_compiled if compiled else grow_bag
    if compiled and growth.shares_sums:
        _ = bins.by_row  # once, before threads ask for it

    def make(draws: Ints, seed: int) -> ColumnTrees:
        bag = Bag.of(draws, weight, ranks.group)
        tree = grow(bins, bag, growth, vote, seed)
        return votes_of(tree, bag, bins, rung, monotone)

    return make


def growth_of(
    criterion: Criterion,
    options: ForestOptions,
    n: int,
    directions: Sequence[int],
    unweighted: bool,
) -> Growth:
    """Say how the trees of a forest on n rows are grown; a direction for each column."""
    return Growth(
        criterion=CRITERIA.get(criterion.name, -1),
        scores=node_scorer(criterion),
        variance=criterion.objective == "variance",
        at_random=options.thresholds == "random",
        max_depth=options.max_depth,
        min_leaf=options.leaf_of(n),
        max_features=options.features_of(len(directions)),
        direction=np.asarray(directions, dtype=np.intp),
        rounding=-1.0 if unweighted else IAUC_ROUNDING,
    )


def node_scorer(criterion: Criterion) -> Callable[[Bag, Ints], NDArray[np.float64]]:
    """Let a criterion score the rows of one node of a bag."""

    def scores(bag: Bag, rows: Ints) -> NDArray[np.float64]:
        inside = BagRanks(bag)
        layer = Layer(rows, np.array([0, len(rows)], dtype=np.intp))
        ranks: Any = inside
        return criterion.scores(ranks, layer, LocalMass(ranks, layer))

    return scores


class BagRanks:
    """A bag as criteria read the ranks of a sample."""

    unweighted = are_positions = False

    def __init__(self, bag: Bag) -> None:
        self.weight, self.group = bag.weight, bag.group
        self.below, self.upto, self.total = bag.below, bag.upto, bag.total
        self.tied = bag.tied


def grow_compiled(
    bins: ForestBins, bag: Bag, growth: Growth, vote: NDArray[np.float64], key: int
) -> BagTree:
    """Grow one tree in compiled code, which runs beside other threads."""
    from crank.kernels.compiled_forest import grow_tree

    rank, order, known = level_orders(bins, bag, vote)
    position = bag.position
    draws = int(bag.draws.sum())
    most = 2 * max(1, min(len(position), draws // growth.min_leaf, 2**growth.max_depth))
    column, drawn = np.empty(most, dtype=np.int32), np.zeros(most, dtype=np.int32)
    cut, children = np.zeros((most, 4), dtype=np.int32), np.zeros((most, 2), dtype=np.int32)
    span, gain = np.zeros((most, 2), dtype=np.intp), np.zeros(most)
    size, mass, mean = np.zeros(most, dtype=np.int32), np.zeros(most), np.zeros(most)
    columns = np.column_stack((bins.n_bins, growth.direction, bins.levels > 0)).astype(np.intp)
    whole = bag.is_whole(growth.criterion)
    k = grow_tree(
        bins.bins,
        bins.by_row if whole and growth.shares_sums else NOTHING,
        columns,
        rank,
        order,
        position,
        bag.group,
        bag.tied,
        bag.draws,
        bag.weight,
        bag.below,
        bag.upto,
        vote,
        whole,
        growth.criterion,
        growth.variance,
        growth.at_random,
        growth.max_depth,
        growth.min_leaf,
        growth.max_features,
        ROUNDING,
        growth.rounding * bag.total**2 if growth.rounding > 0.0 else -1.0,
        np.uint64(key),
        column,
        cut,
        children,
        span,
        drawn,
        gain,
        size,
        mass,
        mean,
    )
    return BagTree(
        column=column[:k],
        cut=cut[:k],
        children=children[:k],
        span=span[:k],
        drawn=drawn[:k],
        gain=gain[:k],
        size=size[:k],
        mass=mass[:k],
        mean=mean[:k],
        position=position,
        rank=known,
    )


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
    size = tree.size.copy()
    for k in np.flatnonzero(inner)[::-1].tolist():
        size[k] = size[left[k]] + size[right[k]]
    pairs = bag_pairs(bag)
    return ColumnTrees(nodes, low_is_left, drawn, size, tree.gain / pairs if pairs else tree.gain)


def bag_pairs(bag: Bag) -> float:
    """Weight of all pairs of the bag with different responses."""
    return float((bag.weight * bag.below).sum())


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
