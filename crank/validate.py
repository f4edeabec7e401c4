"""Cross-validation of the whole procedure: grow and prune in each fold, judge on the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crank.criteria import LocalMass, iauc_scores, kendall_scores
from crank.errors import DataError
from crank.kernels.cuts import Level
from crank.plugins.base import FloatArray
from crank.prune import PruningPath, weakest_links
from crank.ranks import Ranks
from crank.tree import LeafOrder, Metric, Tree

Grow = Callable[[Ranks], Tree]


@dataclass(frozen=True)
class Estimate:
    """A cross-validated figure: mean over the held-out folds, with its standard error."""

    estimate: float
    se: float
    ci_low: float
    ci_high: float


@dataclass(frozen=True)
class Validation:
    """What cross-validation says of every step of a pruning path.

    Attributes
    ----------
    metric : {"iauc", "kendall"}
    folds, repeats : int
    heldout : ndarray of shape (folds * repeats, steps)
        Held-out figure of the fold's own subtree at the step's complexity price.
    step, step_1se : int
        The best step, and the smallest tree within one standard error of it.
    """

    metric: Metric
    folds: int
    repeats: int
    heldout: NDArray[np.float64]
    step: int
    step_1se: int

    @property
    def estimate(self) -> NDArray[np.float64]:
        """Mean held-out figure of each step."""
        return np.asarray(np.nanmean(self.heldout, axis=0))

    @property
    def se(self) -> NDArray[np.float64]:
        """Spread over the folds, as a standard error of the mean.

        Repeats average out the draw of the folds, not the sample: they do not divide the variance.
        """
        return np.asarray(np.nanstd(self.heldout, axis=0, ddof=1) / np.sqrt(self.folds))


@dataclass(frozen=True)
class FoldTree:
    """A tree grown without a fold, beside the rows it has not seen."""

    path: PruningPath
    test: Ranks


def stratified_folds(n: int, folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Deal positions in y order out to folds, so that each fold spans all quantiles of y.

    Examples
    --------
    >>> import numpy as np
    >>> fold = stratified_folds(6, 3, np.random.default_rng(0))
    >>> sorted(fold[:3].tolist()), sorted(fold[3:].tolist())
    ([0, 1, 2], [0, 1, 2])
    """
    blocks = -(-n // folds)
    dealt = rng.permuted(np.tile(np.arange(folds), (blocks, 1)), axis=1).ravel()
    return np.asarray(dealt[:n], dtype=np.intp)


def fold_trees(
    ranks: Ranks,
    grow: Grow,
    metric: Metric,
    *,
    folds: int,
    repeats: int,
    rng: np.random.Generator,
) -> Iterator[FoldTree]:
    """Grow a tree without each fold in turn."""
    n = len(ranks.row)
    if n < 2 * folds:
        raise DataError(
            f"{folds}-fold cross-validation needs at least {2 * folds} rows; got {n}. "
            "Use fewer folds (cv=...) or prune=None."
        )
    for _ in range(repeats):
        fold = stratified_folds(n, folds, rng)
        for k in range(folds):
            tree = grow(ranks.subset(fold != k))
            yield FoldTree(weakest_links(tree, metric), ranks.subset(fold == k))


def heldout_gains(tree: Tree, X: FloatArray, test: Ranks, metric: Metric) -> NDArray[np.float64]:
    """Gain of every node on rows that the tree has not seen.

    Additivity (theory §5) holds on any sample, so these give the held-out figure of every
    subtree at once.
    """
    scores = kendall_scores if metric == "kendall" else iauc_scores
    gains = np.zeros(len(tree.nodes))
    stack = [(0, np.arange(len(test.row), dtype=np.int32))]
    while stack:
        index, position = stack.pop()
        node = tree.nodes[index]
        if node.split is None or len(position) < 2:
            continue
        left = node.split.goes_left(X, test.row[position])
        level = Level(position, np.array([0, len(position)], dtype=np.intp))
        gains[index] = (scores(test, level, LocalMass(test, level)) * left).sum()
        stack += [(node.left, position.compress(left)), (node.right, position.compress(~left))]
    return gains


def heldout_figures(
    fold: FoldTree, X: FloatArray, alphas: tuple[float, ...], order: LeafOrder
) -> NDArray[np.float64]:
    """Held-out figure of the fold's subtree at each complexity price; NaN if the fold has none."""
    path = fold.path
    total = fold.test.pairs if path.metric == "kendall" else fold.test.triples
    if total <= 0:
        return np.full(len(alphas), np.nan)
    steps = [path.step_at_alpha(alpha) for alpha in alphas]
    if order == "rank":
        by_step = {step: _direct(fold, X, step, order) for step in sorted(set(steps))}
        return np.array([by_step[step] for step in steps])
    gains = heldout_gains(path.tree, X, fold.test, path.metric)
    kept = gains.sum()
    figure = []
    for step in path.steps:
        # what an earlier step removed has no gain left to lose
        for top in step.removed:
            below = [i for i, _ in path.tree.walk(top)]
            kept -= gains[below].sum()
            gains[below] = 0.0
        figure.append(0.5 + 0.5 * kept / total)
    return np.array(figure)[steps]


def _direct(fold: FoldTree, X: FloatArray, step: int, order: LeafOrder) -> float:
    from crank import metrics

    tree = replace(fold.path.subtree(step), leaf_order=order)
    figure = metrics.kendall if fold.path.metric == "kendall" else metrics.iauc
    test = fold.test
    weights = None if test.unweighted else test.weight
    return float(figure(test.y, tree.score(X[test.row]), weights=weights))


def choose_step(heldout: NDArray[np.float64], folds: int) -> tuple[int, int]:
    """Choose the best step and the smallest tree within one standard error of it.

    Steps run from the largest tree to the smallest, so the last of equals is the smaller tree.
    """
    if np.isnan(heldout).all():
        raise DataError(
            "no fold has enough distinct values of y to be judged. "
            "Use fewer folds (cv=...) or prune=None."
        )
    mean = np.nanmean(heldout, axis=0)
    best = len(mean) - 1 - int(np.argmax(mean[::-1] >= mean.max() - 1e-12))
    spread = np.nanstd(heldout[:, best], ddof=1) / np.sqrt(folds)
    within = np.flatnonzero(mean >= mean[best] - spread - 1e-12)
    return best, int(within[-1])


def pooled_estimate(
    folds: list[FoldTree],
    X: FloatArray,
    price: float,
    order: LeafOrder,
    metric: Metric,
    n_folds: int,
) -> Estimate:
    """Average the held-out figure over folds, with the standard error of theory §7.

    Folds are disjoint samples, so their variances add; repeats only average out the draw.
    """
    from crank.metrics import concordance
    from crank.metrics.inference import logit_interval

    found = []
    for fold in folds:
        test = fold.test
        if (test.pairs if metric == "kendall" else test.triples) <= 0:
            continue
        tree = replace(fold.path.subtree(fold.path.step_at_alpha(price)), leaf_order=order)
        weights = None if test.unweighted else test.weight
        score = tree.score(X[test.row])
        found.append(concordance(test.y, score, metric=metric, weights=weights))
    estimate = float(np.mean([f.estimate for f in found]))
    se = float(np.sqrt(np.mean([f.se**2 for f in found]) / n_folds))
    sets = sum(f.n for f in found) / (2 if metric == "kendall" else 3)
    low, high = logit_interval(estimate, se, 0.05, sets)
    return Estimate(estimate, se, low, high)
