"""One tree of a forest from its bag, grown over shared bins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.criteria import ROUNDING, Criterion
from crank.fitting.tree_votes import votes_by_bins, votes_by_values, votes_of
from crank.growing.matrix import TrainingMatrix
from crank.kernels.bags import Bag, BagTree, Growth, level_orders
from crank.kernels.compiler import is_stored, numba_works, repays
from crank.kernels.cuts import Layer
from crank.kernels.forest import grow_bag
from crank.kernels.forest_bins import ForestBins, bin_columns
from crank.kernels.threads import Threads
from crank.mass import LocalMass
from crank.metrics.node_scores import IAUC_ROUNDING
from crank.plugins.base import SplitLearner
from crank.rankers.forest import ForestOptions
from crank.rankers.votes import GRID, ColumnTrees, VoteTrees
from crank.ranks import Ranks

COMPILED_FROM = 2**16
"""Values that all trees read together (trees × rows × columns) from which compiling repays."""
STORED_FROM = 2**14
"""Values from which loading what was compiled before repays: NumPy takes half a second for them."""
BY_BINS_FROM = 2**22
"""Rows that the trees of a process vote for from which it repays to compile votes by bins, too."""
CRITERIA = {"crank": 0, "kendall": 1, "iauc": 2, "spearman": 3}
"""As `crank.kernels.compiled_layer` numbers them."""

NOTHING = np.empty(0)

Ints = NDArray[np.int32]
TreeMaker = Callable[[Ints, int, bool], tuple[VoteTrees, NDArray[np.int64] | None]]
"""``(draws, seed, voting) -> trees, votes``: a forest of one tree from its bag, and, if asked for,
its votes for the rows that the bag lacks, by position in y order; 0 for others."""
TreeMakers = Callable[[ForestOptions], TreeMaker]
"""Given options of which none is "auto", and whose thresholds are not mixed: what grows a tree."""


def column_trees(
    data: TrainingMatrix,
    ranks: Ranks,
    rung: Ints,
    learner: SplitLearner,
    criterion: Criterion,
    options: ForestOptions,
) -> TreeMakers:
    """Bin the columns once, and return what makes growers of trees of stumps from a bag."""
    n, d = data.X.shape
    least = min(COMPILED_FROM, STORED_FROM if is_stored("grow_tree") else COMPILED_FROM)
    large = options.n_trees * n * d >= least and criterion.name in CRITERIA
    compiled = large and numba_works()
    with Threads(options.threads) as threads:
        bins = bin_columns(data.X, data.levels, ranks.row, threads, compiled)
    monotone = any(data.monotone)
    vote = np.asarray(GRID * ranks.quantile)
    weight = None if ranks.unweighted else ranks.weight
    grow = grow_compiled if compiled else grow_bag
    by_bins = compiled and data.X.dtype in (np.float32, np.float64)
    by_bins = by_bins and repays("_vote_absent_*", options.n_trees * n, BY_BINS_FROM)
    if compiled:
        _ = bins.by_row  # once, before threads ask for it

    def maker(way: ForestOptions) -> TreeMaker:
        growth = growth_of(criterion, way, n, data.monotone or (0,) * d, ranks.unweighted)

        def make(
            draws: Ints, seed: int, voting: bool
        ) -> tuple[ColumnTrees, NDArray[np.int64] | None]:
            bag = Bag(draws, weight, ranks.group)
            tree = grow(bins, bag, growth, vote, seed)
            trees = votes_of(tree, bag, bins, rung, monotone)
            if not voting:
                return trees, None
            if by_bins:
                return trees, votes_by_bins(tree, trees.nodes, bins, data.X, ranks.row, draws)
            return trees, votes_by_values(trees, data.X, ranks.row, draws)

        return make

    return maker


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
    position = np.empty(len(bag.draws), dtype=np.int32)
    most = 2 * max(1, min(bag.size // growth.min_leaf, 2**growth.max_depth))
    column, drawn = np.empty(most, dtype=np.int32), np.zeros(most, dtype=np.int32)
    cut, children = np.zeros((most, 4), dtype=np.int32), np.zeros((most, 2), dtype=np.int32)
    span = np.zeros((most, 2), dtype=np.intp)
    gain, gain_iauc = np.zeros(most), np.zeros(most)
    size, mass, mean = np.zeros(most, dtype=np.int32), np.zeros(most), np.zeros(most)
    columns = np.column_stack((bins.n_bins, growth.direction, bins.levels > 0)).astype(np.intp)
    whole = bag.is_whole(growth.criterion)
    k = grow_tree(
        bins.bins,
        bins.by_row,
        columns,
        rank,
        order,
        position,
        bag.group,
        bag.tied,
        bag.draws,
        *((NOTHING,) * 3 if whole else (bag.weight, bag.below, bag.upto)),
        vote,
        whole,
        growth.shares_sums,
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
        gain_iauc,
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
        gain_iauc=gain_iauc[:k],
        size=size[:k],
        mass=mass[:k],
        mean=mean[:k],
        position=position[: span[0, 1]],
        rank=known,
    )
