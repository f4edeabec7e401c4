"""Fit a tree to arrays: grow, cross-validate, prune, order the leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crank.criteria import choose_criterion
from crank.fitting.grow import grow
from crank.fitting.subtrees import Cells, place, subtree_figures
from crank.fitting.validate import cross_validate, measurable
from crank.growing.matrix import FloatArray, TrainingMatrix
from crank.growing.tree import Tree
from crank.metrics.figures import Figure
from crank.metrics.grouped import leaf_concordance
from crank.plugins.base import SplitLearner
from crank.rankers.options import TreeOptions
from crank.rankers.pruning import PruningPath, weakest_links
from crank.rankers.validation import Estimate, Validation
from crank.ranks import Ranks


@dataclass(frozen=True)
class FittedTree:
    """A tree with its history.

    Attributes
    ----------
    tree : Tree
        Pruned and with its leaves in their final order.
    grown : Tree
        Before it was pruned.
    figure : Figure
        By which it is pruned.
    crossvalidated : dict
        Figures of `tree` by name; those that y does not allow are missing.
    validation : Validation or None
        None if no cross-validation was run.
    criterion : str
        Name of the one by which it was grown.
    because : str
        Why "auto" chose it; empty if it was asked for.
    by_rank : mapping
        By figure, training figures of the steps of the pruning path in the order by rank; empty
        in the order from left to right.
    """

    tree: Tree
    grown: Tree
    figure: Figure
    crossvalidated: Mapping[str, Estimate]
    validation: Validation | None
    criterion: str
    because: str = ""
    by_rank: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @cached_property
    def path(self) -> PruningPath:
        """The pruning path of the tree as grown; worked out when it is asked for."""
        path = weakest_links(self.grown, self.figure)
        return path.ordered_by_rank(self.by_rank) if self.by_rank else path


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
    monotone: tuple[int, ...] = (),
    labels: NDArray[np.intp] | None = None,
    history: bool = True,
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
    monotone : tuple of int, optional
        1 or −1 for columns in which the score must not decrease or not increase, else 0.
    labels : ndarray of shape (n,), optional
        Group of each row, numbered from 0: folds keep groups whole.
    history : bool
        Whether the pruning path shall know the training figures of the order by rank, which take
        a while to count on large data.
    progress : bool, optional
        By default a bar is shown on a terminal or in a notebook when folds take a while.
    """
    criterion, because = choose_criterion(options.criterion, ranks)
    figure = criterion.figure_for(ranks)
    data = TrainingMatrix(X, levels or (0,) * X.shape[1], options.threads, monotone)
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
        order = criterion.leaf_order if options.leaf_order == "auto" else options.leaf_order
        by_rank = rank_figures(grown, figure, X, ranks) if history and order == "rank" else {}
        tree = replace(grown, leaf_order=order)
        return FittedTree(tree, grown, figure, {}, None, criterion.name, because, by_rank)

    path = weakest_links(grown, figure)
    found = cross_validate(
        path,
        ranks,
        X,
        grow_on,
        options=options,
        rng=np.random.default_rng(seeds.sequence),
        labels=labels,
        progress=progress,
    )
    order = found.choice.order
    tree = replace(path.subtree(found.choice.step_of(options.prune)), leaf_order=order)
    by_rank = rank_figures(grown, figure, X, ranks) if history and order == "rank" else {}
    return FittedTree(
        tree,
        grown,
        figure,
        found.crossvalidated,
        found.validation,
        criterion.name,
        because,
        by_rank,
    )


def rank_figures(
    grown: Tree, figure: Figure, X: FloatArray, ranks: Ranks
) -> dict[str, tuple[float, ...]]:
    """Training figures of every subtree of the pruning path in the order by rank."""
    return cell_figures(weakest_links(grown, figure), place(grown, X, ranks))


def cell_figures(path: PruningPath, cells: Cells) -> dict[str, tuple[float, ...]]:
    """Figures of every subtree of a path, in the order by rank, on the rows of its cells."""
    return {
        each.name: tuple(
            np.clip(subtree_figures(path, cells, ["rank"], each)["rank"], 0.0, 1.0).tolist()
        )
        for each in measurable(cells.ranks, path.figure)
    }


def in_sample(
    tree: Tree,
    X: FloatArray,
    ranks: Ranks,
    first: Figure,
    labels: NDArray[np.intp] | None = None,
) -> dict[str, Estimate]:
    """Training figures of a tree, with standard errors that ignore how it was chosen."""
    score_rank = (tree.n_leaves - 1 - tree.apply(X))[ranks.row]  # leaves count from the best
    allowed = measurable(ranks, first)
    if labels is None:
        found = leaf_concordance(ranks, score_rank, allowed)
    else:
        weights = None if ranks.unweighted else ranks.weight
        groups = labels[ranks.row]
        found = [each.concordance(ranks.y, score_rank, weights, groups=groups) for each in allowed]
    return {
        each.figure.name: Estimate(each.estimate, each.se, each.ci_low, each.ci_high)
        for each in found
    }
