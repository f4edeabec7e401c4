"""Cross-fitting for the diagnosis: the model's procedure anew, and trees for single thresholds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crank import metrics
from crank.criteria import Criterion, LeafOrder, get_criterion
from crank.design.monotone import signs
from crank.errors import DataError, OptionError
from crank.fitting.grow import grow
from crank.frames.table import Table
from crank.frames.weights import read_weights
from crank.growing.tree import Tree
from crank.metrics.figures import Figure
from crank.plugins.base import FloatArray, SplitLearner, TrainingMatrix
from crank.plugins.registry import get_learner
from crank.rankers.options import TreeOptions
from crank.rankers.pruning import weakest_links
from crank.ranks import Ranks, rank

if TYPE_CHECKING:
    from crank.records.tree import TreeRecord

FEWEST = 5
"""Rows of a held-out fold that each side of a threshold must have."""
BINARY = get_criterion("kendall")
"""On a response of two values it maximises the AUC."""
LEAVES, DEPTH, ROWS_A_LEAF = 8, 6, 100
"""Size of the trees made for one threshold: eight leaves, more where there are many rows. Coarse
cells mix rows, and mixtures need have no one order even where their rows have one; fine cells are
noisy."""


@dataclass(frozen=True)
class Rows(ABC):
    """The rows of a diagnosis, and how trees are grown on them."""

    X: FloatArray
    y: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    levels: tuple[int, ...]
    learner: SplitLearner
    options: TreeOptions

    @abstractmethod
    def anew(self, test: NDArray[np.bool_]) -> tuple[Tree, NDArray[np.float64]]:
        """Repeat the model's fit without the held-out rows: a tree for y, and their scores."""

    def tree(self, response: NDArray[np.float64], train: NDArray[np.bool_]) -> Tree:
        """Grow a tree for any response without the held-out rows."""
        size = max(LEAVES, int(train.sum()) // ROWS_A_LEAF)
        depth = max(self.options.max_depth, DEPTH)
        return self.grown(response, train, BINARY, size, depth, "rank")

    def grown(
        self,
        response: NDArray[np.float64],
        train: NDArray[np.bool_],
        criterion: Criterion,
        size: int,
        depth: int,
        order: LeafOrder,
        monotone: tuple[int, ...] = (),
        figure: Figure | None = None,
    ) -> Tree:
        """Grow a tree and prune it to a number of leaves."""
        ranks = rank(response, self.weight)
        tree = grow(
            TrainingMatrix(self.X, self.levels, self.options.threads, monotone),
            ranks.subset(train[ranks.row]),
            self.learner,
            criterion,
            max_depth=depth,
            min_samples_leaf=self.options.min_samples_leaf,
            seed=lambda: self.options.random_state or 0,
        )
        path = weakest_links(tree, figure or criterion.figure)
        return replace(path.subtree(path.step_with_leaves(size)), leaf_order=order)


@dataclass(frozen=True)
class TreeRows(Rows):
    """Of a tree, which is grown anew to the size that it was pruned to."""

    model: TreeRecord

    def anew(self, test: NDArray[np.bool_]) -> tuple[Tree, NDArray[np.float64]]:
        """Grow the model's tree anew; it is both."""
        model, options = self.model, self.options
        tree = self.grown(
            self.y,
            ~test,
            get_criterion(model.criterion),
            model.tree.n_leaves,
            options.max_depth,
            model.tree.leaf_order,
            signs(model.design, options.directions),
            model.figure,
        )
        return tree, tree.score(self.X[test])


def read_task(
    model: TreeRecord,
    data: Any,
    *,
    weights: Any = None,
    unknown: Any = "error",
    learner: SplitLearner | None = None,
) -> TreeRows:
    """Read the rows that can be used, as fitting would."""
    table = Table.read(data)
    y = model.response.values(table)
    w = read_weights(weights, table, data)
    X = model.design.matrix(table, unknown=unknown)
    usable = ~np.isnan(y) if w is None else ~np.isnan(y) & (w > 0)
    if not model.learner.takes_missing:
        usable &= ~np.isnan(X).any(axis=1)
    if not usable.any():
        raise DataError(f"none of the {len(y)} rows has all it takes to be ranked and judged.")
    return TreeRows(
        model=model,
        options=model.options,
        learner=learner or get_learner(model.learner.name, model.learner.params),
        X=X[usable],
        y=y[usable],
        weight=None if w is None else w[usable],
        levels=tuple(0 if names is None else len(names) for names in model.design.levels),
    )


@dataclass(frozen=True)
class Cut:
    """A threshold between two neighbouring values of y."""

    quantile: float
    threshold: float
    below: float
    """The largest value below it."""


def check_quantiles(quantiles: Any) -> list[float]:
    """Return the thresholds that are asked for."""
    if isinstance(quantiles, str) or not isinstance(quantiles, Iterable):
        raise OptionError(
            f"thresholds={quantiles!r} is not allowed. Allowed: a list of quantiles between 0 "
            "and 1, such as [0.5, 0.9]."
        )
    found = list(quantiles)
    if not found:
        raise OptionError("thresholds is empty. Allowed: at least one quantile between 0 and 1.")
    for q in found:
        if not isinstance(q, Real) or not 0.0 < float(q) < 1.0:
            raise OptionError(
                f"threshold {q!r} is not allowed. Allowed: quantiles between 0 and 1."
            )
    return [float(q) for q in found]


def find_cuts(ranks: Ranks, quantiles: Sequence[float], cv: int, strict: bool) -> list[Cut]:
    """Find thresholds between distinct values of y, with enough rows on both sides."""
    last = np.flatnonzero(np.diff(ranks.group))  # position of the last row of each value but one
    n = len(ranks.y)
    rows = np.minimum(last + 1, n - last - 1)
    share = ranks.upto[last] / ranks.total
    enough = rows >= FEWEST * cv
    found: dict[int, Cut] = {}
    for q in check_quantiles(quantiles):
        near = np.where(enough, np.abs(share - q), np.inf)
        if not len(last):
            raise DataError(
                f"y has one value in all {n} rows: there is no threshold to judge an order by."
            )
        if not enough.any():
            raise DataError(
                f"no threshold of y has enough rows on both sides: {cv} folds need at least "
                f"{FEWEST * cv} rows above and as many below, and there are {n} rows in all, at "
                f"most {int(rows.max())} of them on the smaller side. Use fewer folds (cv=...), or "
                "more rows."
            )
        if strict and near.min() > np.abs(share - q).min():
            raise DataError(
                f"the {q:g} quantile of y has too few rows on one side: {cv} folds need at least "
                f"{FEWEST * cv} of the {n} rows on either side. Use fewer folds (cv=...), "
                "thresholds nearer to the middle, or more rows."
            )
        k = int(np.argmin(near))
        low, high = float(ranks.y[last[k]]), float(ranks.y[last[k] + 1])
        found[k] = Cut(float(share[k]), low + (high / 2.0 - low / 2.0), low)
    return [found[k] for k in sorted(found)]


def judge_folds(
    task: Rows,
    fold: NDArray[np.intp],
    cv: int,
    asked: list[Cut],
    along: list[Cut],
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Fit without each fold in turn; judge on it the comparisons at the cuts, and the profile."""
    above = np.stack([(task.y > cut.below).astype(np.float64) for cut in asked])
    for k in range(cv):
        test = fold == k
        own, model = task.anew(test)
        trees = [own, *(task.tree(z, ~test) for z in above)]
        one, dedicated = _scores(task, trees, above, test)
        w = None if task.weight is None else task.weight[test]
        found = [
            _judged(z, model, one, special, w)
            for z, special in zip(above[:, test], dedicated, strict=True)
        ]
        y = task.y[test]
        profile = [
            [metrics.kendall(y > cut.below, score, weights=w) for cut in along]
            for score in (model, one)
        ]
        yield np.array(found), np.array(profile)


def _scores(
    task: Rows, trees: list[Tree], above: NDArray[np.float64], test: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Score held-out rows by the leaves they fall in: one order, and one for each threshold.

    Both average the same leaves' training rows, of mean rank and of shares above the
    threshold; one row's worth of the overall mean keeps small leaves from extremes.
    """
    w = np.ones(len(task.y)) if task.weight is None else task.weight
    w = np.where(test, 0.0, w / w.mean())
    ranks = rank(task.y, task.weight)
    position = np.empty(len(task.y))
    position[ranks.row] = ranks.quantile
    values = np.vstack((position, above))
    overall = values @ w / w.sum()
    total = np.zeros((len(values), int(test.sum())))
    for tree in trees:
        leaf = tree.apply(task.X)
        weight = np.bincount(leaf, w, minlength=tree.n_leaves)
        for row, value, middle in zip(total, values, overall, strict=True):
            mean = (np.bincount(leaf, w * value, minlength=tree.n_leaves) + middle) / (weight + 1.0)
            row += mean[leaf[test]]
    return total[0], total[1:]


def _judged(
    z: NDArray[np.float64],
    model: NDArray[np.float64],
    one: NDArray[np.float64],
    dedicated: NDArray[np.float64],
    w: NDArray[np.float64] | None,
) -> list[float]:
    """AUC of the three scores in one fold, then the differences and their variances."""
    auc = [float(metrics.kendall(z, score, weights=w)) for score in (model, one, dedicated)]
    few = max(2.0, min(z.sum(), len(z) - z.sum()))  # of one row there is no variance to correct
    for first, second in ((dedicated, one), (dedicated, model), (one, model)):
        found = metrics.compare(z, first, second, metric="kendall", weights=w)
        # the jackknife divides by the rows of a side, an unbiased variance by one less
        auc += [found.difference, found.se**2 * few / (few - 1.0)]
    return auc
