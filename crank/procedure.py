"""The whole procedure on arrays: grow, cross-validate, prune, order the leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crank.criteria import get_criterion
from crank.errors import DataError
from crank.grow import grow
from crank.options import TreeOptions
from crank.plugins.base import FloatArray, SplitLearner, TrainingMatrix
from crank.progress import track
from crank.prune import PruningPath, weakest_links
from crank.ranks import Ranks
from crank.tree import LeafOrder, Metric, Tree
from crank.validate import (
    Estimate,
    FoldTree,
    Validation,
    choose_step,
    fold_trees,
    heldout_figures,
    pooled_estimate,
)


@dataclass(frozen=True)
class FittedTree:
    """A tree with its history.

    Attributes
    ----------
    tree : Tree
        Pruned and with its leaves in their final order.
    grown : Tree
        Before it was pruned.
    metric : {"iauc", "kendall"}
        The figure by which it is pruned.
    crossvalidated : dict
        Figures of `tree` by name, "iauc" and "kendall"; those that y does not allow are missing.
    validation : Validation or None
        None if no cross-validation was run.
    """

    tree: Tree
    grown: Tree
    metric: Metric
    crossvalidated: Mapping[str, Estimate]
    validation: Validation | None

    @cached_property
    def path(self) -> PruningPath:
        """The pruning path of the tree as grown; worked out when it is asked for."""
        return weakest_links(self.grown, self.metric)


class Seeds:
    """The random numbers of a fit: made when they are first asked for, which stumps never do."""

    def __init__(self, random_state: int | None) -> None:
        self.random_state = random_state

    @cached_property
    def sequence(self) -> np.random.SeedSequence:
        """For the folds."""
        return np.random.SeedSequence(self.random_state)

    @cached_property
    def _nodes(self) -> int:
        return int(self.sequence.spawn(1)[0].generate_state(1)[0])

    def of_nodes(self) -> int:
        """Return the number from which nodes derive theirs."""
        return self._nodes


def fit_tree(
    X: FloatArray,
    ranks: Ranks,
    *,
    learner: SplitLearner,
    options: TreeOptions,
    levels: tuple[int, ...] | None = None,
    progress: bool | None = None,
) -> FittedTree:
    """Fit a ranking tree to arrays that have been checked.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Design; NaN is missing.
    ranks : Ranks
        Of the responses of its rows.
    learner : SplitLearner
    options : TreeOptions
    levels : tuple of int, optional
        Number of levels of the columns that hold category codes, 0 for numbers.
    progress : bool, optional
        By default a bar is shown on a terminal when cross-validation takes a while.
    """
    metric = judged_by(options.criterion, ranks)
    data = TrainingMatrix(X, levels or (0,) * X.shape[1], options.threads)
    criterion = get_criterion(options.criterion)
    seeds = Seeds(options.random_state)

    def grow_on(rows: Ranks) -> Tree:
        return grow(
            data,
            rows,
            learner,
            criterion,
            max_depth=options.max_depth,
            min_samples_leaf=options.min_samples_leaf,
            seed=seeds.of_nodes,
        )

    grown = grow_on(ranks)
    if options.prune is None:
        order: LeafOrder = "rank" if options.leaf_order == "rank" else "oriented"
        if options.leaf_order == "auto" and criterion.name == "spearman":
            order = "rank"
        return FittedTree(replace(grown, leaf_order=order), grown, metric, {}, None)

    path = weakest_links(grown, metric)

    trees = fold_trees(
        ranks,
        grow_on,
        metric,
        folds=options.cv,
        repeats=options.cv_repeats,
        rng=np.random.default_rng(seeds.sequence),
    )
    n_fits = options.cv * options.cv_repeats
    first_order: LeafOrder = "rank" if options.leaf_order == "rank" else "oriented"
    folds, heldout = [], []
    for fold in track(trees, n_fits, "cross-validation", show=progress):
        folds.append(fold)
        heldout.append(heldout_figures(fold, X, path.typical_alphas, first_order))
    validation = judge(path, np.array(heldout), options)
    order = choose_order(path, folds, X, validation, options)
    step = validation.step if options.prune == "cv" else validation.step_1se
    tree = replace(path.subtree(step), leaf_order=order)
    price = path.typical_alphas[step]
    crossvalidated: dict[str, Estimate] = {
        name: pooled_estimate(folds, X, price, order, name, options.cv)
        for name in measurable(ranks)
    }
    return FittedTree(tree, grown, metric, crossvalidated, validation)


def judge(path: PruningPath, heldout: NDArray[np.float64], options: TreeOptions) -> Validation:
    """Choose how far to prune from the held-out figures of each fold at each step."""
    best, smallest = choose_step(heldout, options.cv)
    return Validation(path.metric, options.cv, options.cv_repeats, heldout, best, smallest)


def choose_order(
    path: PruningPath,
    folds: list[FoldTree],
    X: FloatArray,
    validation: Validation,
    options: TreeOptions,
) -> LeafOrder:
    """Keep the oriented order unless the same folds put the order by rank clearly ahead."""
    if options.leaf_order != "auto":
        return options.leaf_order
    step = validation.step if options.prune == "cv" else validation.step_1se
    price = path.typical_alphas[step : step + 1]
    by_rank = np.array([heldout_figures(fold, X, price, "rank")[0] for fold in folds])
    ahead = by_rank - validation.heldout[:, step]
    clear = np.nanmean(ahead) > np.nanstd(ahead, ddof=1) / np.sqrt(options.cv)
    return "rank" if clear else "oriented"


def judged_by(criterion: str, ranks: Ranks) -> Metric:
    """Choose the figure to prune by, and refuse responses that cannot be ranked.

    A response with two distinct values has no triples: only τ, the AUC then, is defined.
    """
    distinct = int(ranks.group[-1]) + 1
    if distinct < 2:
        raise DataError(
            f"y is constant ({ranks.y[0]:g} in {len(ranks.y)} rows): there is nothing to rank. "
            "Allowed: at least two distinct values."
        )
    metric = get_criterion(criterion).metric
    if distinct == 2 and criterion == "iauc":
        raise DataError(
            "criterion='iauc' needs at least three distinct values of y; got 2. "
            "Use criterion='kendall', which maximises the AUC of a binary y."
        )
    return "kendall" if distinct == 2 else metric


def measurable(ranks: Ranks) -> tuple[Metric, ...]:
    """Name the figures that the response allows."""
    return ("iauc", "kendall") if ranks.triples > 0 else ("kendall",)


def in_sample(tree: Tree, X: FloatArray, ranks: Ranks) -> dict[str, Estimate]:
    """Training figures of a tree, with standard errors that ignore how it was chosen."""
    from crank.metrics.inference import sample_concordance
    from crank.metrics.sample import read_sample

    score = tree.score(X)[ranks.row]
    weights = None if ranks.unweighted else ranks.weight
    sample = read_sample(ranks.y, score, weights, distinct=2, purpose="kendall")
    found: dict[str, Estimate] = {}
    for name in measurable(ranks):
        result = sample_concordance(sample, name)
        found[name] = Estimate(result.estimate, result.se, result.ci_low, result.ci_high)
    return found
