"""Fit a tree to partitions: prepare them, grow, cross-validate in the same passes, prune."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from crank.cluster.cuts import Chooser
from crank.cluster.engine import Cluster
from crank.cluster.formula import Learned
from crank.cluster.grow import count_nodes, grow_saplings
from crank.cluster.prepared import (
    Extremes,
    Plan,
    bin_values,
    deal,
    extremes,
    prepare,
)
from crank.cluster.saplings import Levels, Sapling
from crank.cluster.spread import Spread
from crank.cluster.tables import LeafTable, leaf_in, leaf_tables, own_table, renumbered
from crank.criteria import choose_criterion
from crank.errors import CrankError, DataError
from crank.fitting.folds import FEW_ROWS, largest_fold_count
from crank.fitting.tree import FittedTree, cell_figures
from crank.fitting.validate import CrossValidation, FoldTree, conclude, measurable
from crank.kernels.compiler import numba_works
from crank.metrics.figures import Figure
from crank.metrics.grouped import leaf_concordance
from crank.rankers.options import TreeOptions
from crank.rankers.pruning import PruningPath, weakest_links
from crank.rankers.validation import Estimate
from crank.ranks import Ranks

FOLD_LEVELS = 2**13
"""Levels of y that the trees of folds tell apart."""


@dataclass(frozen=True)
class ClusterTree:
    """A tree fitted to partitions.

    Attributes
    ----------
    fitted : FittedTree
    figures : mapping
        Training figures by name.
    """

    fitted: FittedTree
    figures: Mapping[str, Estimate]


def prepared(
    cluster: Cluster, learned: Learned, spread: Spread, *, keyed: bool
) -> tuple[Plan, Cluster]:
    """Bin all partitions, and keep the bins where the partitions are; ``keyed`` for folds."""
    if not numba_works():
        raise CrankError("fitting on a cluster needs numba. Reinstall it: pip install -U numba")
    plan = Plan.of(learned, spread)
    return plan, cluster.keep(prepare, plan, keyed)


def fit_tree(
    cluster: Cluster,
    learned: Learned,
    spread: Spread,
    *,
    options: TreeOptions,
    directions: Sequence[int],
    discount: bool,
    done: Callable[[], None],
) -> ClusterTree:
    """Fit a tree of stumps.

    Parameters
    ----------
    cluster : Cluster
        Of raw partitions.
    learned, spread
        What the passes before found.
    options : TreeOptions
    directions : sequence of int
        See `crank.kernels.stumps.StumpKernel`.
    discount : bool
        Whether factors are charged for what their levels gain by chance.
    done : callable
        Called after each step.
    """
    plan, parts = prepared(cluster, learned, spread, keyed=options.prune is not None)
    ends = parts.sum_later(extremes)
    done()
    n, units = learned.survey.used, spread.units
    levels = Levels(spread.y.value, 0, units)
    whole = Sapling(levels)
    saplings, folds = [whole], 0
    if options.prune is not None:
        folds = largest_fold_count(n, spread.n_tied, options.cv, n < FEW_ROWS)
        sequence = np.random.SeedSequence(options.random_state)
        seeds = sequence.generate_state(options.cv_repeats, np.uint64).tolist()
        parts = deal(parts, n, folds, seeds)
        coarse = Levels.of(spread.y.value, FOLD_LEVELS, units)
        saplings += [
            Sapling(coarse, repeat, (fold,))
            for repeat in range(options.cv_repeats)
            for fold in range(folds)
        ]
    count_nodes(parts, [(sapling, [0]) for sapling in saplings])
    found: Extremes = ends()
    low, high = bin_values(plan, found)
    done()
    assert whole.ranks is not None
    squares = float(n) if units.unweighted else found.squares * units.scale**2
    criterion, because = choose_criterion(options.criterion, whole.ranks, squares)
    figure = criterion.figure_for(whole.ranks)
    chooser = Chooser(
        plan, low, high, directions, criterion.objective, options.min_samples_leaf, discount
    )
    grow_saplings(
        parts,
        saplings,
        criterion,
        chooser,
        max_depth=options.max_depth,
        rows=n,
        done=done,
    )
    grown = whole.tree()
    path = weakest_links(grown, figure)
    own = own_table(whole, grown, levels) if units.unweighted else None
    for sapling in saplings:
        sapling.forget_counts()
    if own is None:
        (own,) = leaf_tables(parts, [whole], [grown], levels, heldout=False)
    assert own is not None
    order = criterion.leaf_order if options.leaf_order == "auto" else options.leaf_order
    tree, validated = grown, None
    if options.prune is not None:
        validated = _validated(parts, path, saplings[1:], levels, folds, options, whole.ranks)
        order = validated.choice.order
        tree = path.subtree(validated.choice.step_of(options.prune))
    tree = replace(tree, leaf_order=order)
    fitted = FittedTree(
        tree,
        grown,
        figure,
        {} if validated is None else validated.crossvalidated,
        None if validated is None else validated.validation,
        criterion.name,
        because,
        cell_figures(path, own.cells(grown)) if order == "rank" else {},
    )
    done()
    leaf = leaf_in(tree, grown)
    estimates = training_figures(own, tree.n_leaves - 1 - leaf[own.leaf], figure)
    return ClusterTree(fitted, estimates)


def training_figures(
    table: LeafTable, score_rank: np.ndarray[tuple[int], np.dtype[np.intp]], first: Figure
) -> dict[str, Estimate]:
    """Figures of a tree on its own rows, with standard errors that ignore how it was chosen."""
    found = leaf_concordance(table.ranks, score_rank, measurable(table.ranks, first), table.copies)
    return {
        each.figure.name: Estimate(each.estimate, each.se, each.ci_low, each.ci_high)
        for each in found
    }


def _validated(
    parts: Cluster,
    path: PruningPath,
    saplings: Sequence[Sapling],
    levels: Levels,
    folds: int,
    options: TreeOptions,
    ranks: Ranks,
) -> CrossValidation:
    """Judge the steps of the path by the rows that each fold's tree has not seen."""
    trees = [sapling.tree() for sapling in saplings]
    tables = leaf_tables(parts, saplings, trees, levels, heldout=True)
    judged, first, n = [], 0, 0
    for k, (tree, table) in enumerate(zip(trees, tables, strict=True)):
        if k % folds == 0:
            first = 0
        if table is None:
            raise DataError(
                "no row fell into one of the folds: "
                "there are too few rows to be dealt out by their content. Use prune=None."
            )
        own = renumbered(table, first)
        first += len(own.leaf)
        n = max(n, first)
        judged.append(
            FoldTree(
                weakest_links(tree, path.figure), own.cells(tree), own.scorer(tree), own.copies
            )
        )
    return conclude(path, judged, folds, options, measurable(ranks, path.figure), n)
