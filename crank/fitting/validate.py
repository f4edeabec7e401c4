"""Cross-validation of the whole procedure: grow and prune without each fold, judge on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crank.criteria import LeafOrder
from crank.fitting.choose import Choice, Heldout, choose, choose_by_others
from crank.fitting.estimate import Judged, pooled_estimate
from crank.fitting.folds import deal, few_rows, fold_count
from crank.fitting.subtrees import Cells, place, subtree_figures
from crank.growing.matrix import FloatArray
from crank.growing.tree import Tree
from crank.metrics.figures import Figure, figures
from crank.progress import track
from crank.rankers.options import TreeOptions
from crank.rankers.pruning import PruningPath, weakest_links
from crank.rankers.validation import Estimate, Validation
from crank.ranks import Ranks

Grow = Callable[[Ranks], Tree]


@dataclass(frozen=True)
class FoldTree:
    """The pruning path of a tree grown without a fold, beside the rows it has not seen.

    Attributes
    ----------
    path : PruningPath
    cells : Cells
        Of the rows it has not seen.
    score : callable
        Scores these rows by a subtree of the path.
    copies : ndarray, optional
        Rows that each of these rows stands for.
    """

    path: PruningPath
    cells: Cells
    score: Callable[[Tree], NDArray[np.float64]]
    copies: NDArray[np.float64] | None = None

    @property
    def test(self) -> Ranks:
        """The rows it has not seen."""
        return self.cells.ranks

    @classmethod
    def on(cls, path: PruningPath, X: FloatArray, test: Ranks) -> FoldTree:
        """Send rows of a matrix down the tree."""
        return cls(path, place(path.tree, X, test), lambda tree: tree.score(X[test.row]))

    def judged(self, price: float, order: LeafOrder) -> Judged:
        """Prune at a price, put the leaves in order and score the rows."""
        tree = self.path.subtree(self.path.step_at_alpha(price))
        return Judged(self.score(replace(tree, leaf_order=order)), self.test, self.copies)


def fold_trees(
    ranks: Ranks, X: FloatArray, fold: NDArray[np.intp], grow: Grow, figure: Figure
) -> Iterator[FoldTree]:
    """Grow a tree without each fold in turn.

    Parameters
    ----------
    ranks : Ranks
    X : ndarray of shape (n, p)
    fold : ndarray
        Fold of each position, numbered from 0.
    grow : callable
    figure : Figure
        To prune by.
    """
    for k in range(int(fold.max()) + 1):
        tree = grow(ranks.subset(fold != k))
        yield FoldTree.on(weakest_links(tree, figure), X, ranks.subset(fold == k))


def without_pairs(
    ranks: Ranks,
    X: FloatArray,
    fold: NDArray[np.intp],
    grow: Grow,
    path: PruningPath,
    orders: Sequence[LeafOrder],
) -> list[Heldout]:
    """For each fold, held-out figures of the other folds by trees that have seen neither.

    A tree without folds a and b judges b for a, and a for b; NaN if it has not split.
    """
    folds, prices = int(fold.max()) + 1, path.typical_alphas
    empty = np.full((folds, len(prices)), np.nan)
    found: list[Heldout] = [{order: empty.copy() for order in orders} for _ in range(folds)]
    for a in range(folds):
        for b in range(a):
            tree = grow(ranks.subset((fold != a) & (fold != b)))
            if tree.n_leaves == 1:  # nothing to prune, so nothing to say of how far
                continue
            pruned = weakest_links(tree, path.figure)
            for one, other in ((a, b), (b, a)):
                judged = FoldTree.on(pruned, X, ranks.subset(fold == other))
                for order, shown in heldout_figures(judged, prices, orders).items():
                    found[one][order][other] = shown
    return found


def heldout_figures(
    fold: FoldTree, prices: Sequence[float], orders: Sequence[LeafOrder]
) -> dict[LeafOrder, NDArray[np.float64]]:
    """Held-out figures of the fold's subtree at each complexity price; NaN if the fold has none."""
    steps = [fold.path.step_at_alpha(price) for price in prices]
    found = subtree_figures(fold.path, fold.cells, orders)
    return {order: of_steps[steps] for order, of_steps in found.items()}


@dataclass(frozen=True)
class CrossValidation:
    """What the folds say: what to choose, by which figures, and how good the procedure is.

    Attributes
    ----------
    choice : Choice
        Of all folds.
    validation : Validation
        Held-out figures of the order that was chosen.
    crossvalidated : dict
        By name, figures of the procedure; those that no fold has are missing.
    """

    choice: Choice
    validation: Validation
    crossvalidated: Mapping[str, Estimate]


def cross_validate(
    path: PruningPath,
    ranks: Ranks,
    X: FloatArray,
    grow: Grow,
    *,
    options: TreeOptions,
    rng: np.random.Generator,
    labels: NDArray[np.intp] | None = None,
    progress: bool | None = None,
) -> CrossValidation:
    """Judge every step of a pruning path, choose one, and judge the choosing.

    Each fold is judged at the choice of the other folds. Their trees have seen its rows, which
    makes that choice a little too good: the fewer the rows, the more. On few rows the folds are
    judged once more, at the choice of trees that have seen neither fold; these have still fewer
    rows, which makes it a little too poor. The mean of both is nearly unbiased (docs/theory §8).

    Parameters
    ----------
    path : PruningPath
        Of the tree grown on all rows; its prices are tried in every fold.
    ranks : Ranks
    X : ndarray of shape (n, p)
    grow : callable
        Grows a tree on some of the rows.
    options : TreeOptions
        With ``prune`` "cv" or "1se".
    rng : Generator
        Deals the rows out to folds.
    labels : ndarray of shape (n,), optional
        Group of each row, numbered from 0.
    progress : bool, optional
    """
    of_position = None if labels is None else labels[ranks.row]
    n_folds = fold_count(ranks, options.cv, of_position)
    dealt = [deal(ranks, of_position, n_folds, rng) for _ in range(options.cv_repeats)]
    grown = (tree for fold in dealt for tree in fold_trees(ranks, X, fold, grow, path.figure))
    total = n_folds * options.cv_repeats
    trees = list(track(grown, total, "cross-validation", show=progress))
    orders = leaf_orders(options)
    others = None
    if few_rows(ranks) and n_folds > 2:
        others = [without_pairs(ranks, X, fold, grow, path, orders) for fold in dealt]
    return conclude(
        path, trees, n_folds, options, measurable(ranks, path.figure), len(X), labels, others
    )


def leaf_orders(options: TreeOptions) -> tuple[LeafOrder, ...]:
    """List the orders of the leaves between which the folds decide."""
    return ("oriented", "rank") if options.leaf_order == "auto" else (options.leaf_order,)


def conclude(
    path: PruningPath,
    trees: Sequence[FoldTree],
    n_folds: int,
    options: TreeOptions,
    shown: Sequence[Figure],
    n: int,
    labels: NDArray[np.intp] | None = None,
    others: Sequence[Sequence[Heldout]] | None = None,
) -> CrossValidation:
    """Choose a step from what the folds say, and judge the choosing; see `cross_validate`.

    Parameters
    ----------
    path : PruningPath
    trees : sequence of FoldTree
        One for each fold, drawing after drawing.
    n_folds : int
    options : TreeOptions
    shown : sequence of Figure
        To be estimated.
    n : int
        Rows of all folds of a drawing.
    labels : ndarray, optional
    others : sequence of sequences of Heldout, optional
        For each drawing, figures by trees that have not seen a pair of folds.
    """
    prune, repeats, prices = options.prune, options.cv_repeats, path.typical_alphas
    assert prune is not None
    orders = leaf_orders(options)
    each = [heldout_figures(tree, prices, orders) for tree in trees]
    heldout = {order: np.array([found[order] for found in each]) for order in orders}
    choice = choose(heldout, repeats)
    # a tree that could not split, where the model's could, says nothing of the model
    mute = np.array([tree.path.tree.n_leaves == 1 < path.tree.n_leaves for tree in trees])
    judged = []
    for r in range(repeats):
        these = slice(r * n_folds, (r + 1) * n_folds)
        silent = mute[these]
        tables: Heldout = {
            order: np.where(silent[:, None], np.nan, table[these])
            for order, table in heldout.items()
        }
        ways: list[Sequence[Heldout]] = [[tables] * n_folds]
        if others is not None:
            ways.append(others[r])
        for tables_of_fold in ways:
            choices = [
                None if silent[k] else choose_by_others(tables_of_fold[k], k)
                for k in range(n_folds)
            ]
            judged.append(
                [
                    tree.judged(prices[own.step_of(prune)], own.order)
                    for tree, own in zip(trees[these], choices, strict=True)
                    if own is not None
                ]
            )
    found = {figure.name: pooled_estimate(judged, n, figure, labels) for figure in shown}
    return CrossValidation(
        choice,
        Validation(
            path.figure,
            n_folds,
            repeats,
            heldout[choice.order],
            choice.step,
            choice.step_1se,
        ),
        {name: estimate for name, estimate in found.items() if estimate is not None},
    )


def measurable(ranks: Ranks, first: Figure) -> tuple[Figure, ...]:
    """Find the figures of trees that the response allows, the one that prunes first."""
    allowed = (figure for figure in figures(of_trees=True) if figure.total(ranks) > 0.0)
    return tuple(sorted(allowed, key=lambda figure: figure is not first))
