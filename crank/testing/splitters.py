"""Checks of learners at work in the grower, and of splitters of their own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from crank.blame import read_only
from crank.criteria import Criterion, criteria, get_criterion
from crank.fitting.grow import grow
from crank.growing.matrix import TrainingMatrix
from crank.growing.passes import Passes
from crank.growing.splitter import LayerTask, Splitter
from crank.kernels.cuts import Layer
from crank.plugins.base import SplitLearner
from crank.plugins.checked import splits_problem
from crank.ranks import Ranks, rank
from crank.testing.check import NotApplicable, demand, require


@demand(
    "splits layers",
    "The side of each row is where its node's rule sends it; sides have min_leaf rows or more, "
    "and the same task gives the same splits.",
    needs=("prepares",),
)
def splits_layers(learner: SplitLearner) -> None:
    """Ask a splitter for two layers by every criterion, with and without weights and ties."""
    X, levels = made_up(learner)
    data = TrainingMatrix(read_only(X), levels)
    if not isinstance(learner.prepare(data), Splitter):
        raise NotApplicable("prepare gives no Splitter.")
    for name, ranks in samples(X):
        for criterion in criteria():
            splitter = learner.prepare(data)
            assert isinstance(splitter, Splitter)
            where = f"criterion {criterion.name}, {name}"
            try:
                for task in layers(splitter, ranks, criterion):
                    kept = task.layer.position.copy(), task.score.copy()
                    found = splitter.split(task)
                    require(
                        np.array_equal(kept[0], task.layer.position)
                        and np.array_equal(kept[1], task.score),
                        f"split changed its task ({where}).",
                    )
                    problem = splits_problem(found, task, data)
                    require(problem is None, f"its splitter {problem} ({where})")
                    again = splitter.split(task)
                    require(
                        np.array_equal(again.left, found.left),
                        f"the same task is split otherwise the second time ({where}).",
                    )
            finally:
                splitter.close()


def made_up(learner: SplitLearner) -> tuple[NDArray[np.float64], tuple[int, ...]]:
    """Make rows up with all that a learner says it takes."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(160, 3))
    levels = [0, 0, 0]
    if learner.takes_missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    if learner.takes_categories:
        X[:, 2], levels[2] = rng.integers(0, 5, 160), 5
    return X, tuple(levels)


def samples(X: NDArray[np.float64]) -> Iterator[tuple[str, Ranks]]:
    """Make responses up: distinct, tied, weighted."""
    rng = np.random.default_rng(12)
    y = np.nan_to_num(X[:, 0]) + X[:, 2] + rng.normal(size=len(X))
    weight = rng.uniform(0.2, 3.0, len(X))
    yield "distinct y", rank(y)
    yield "tied y", rank(np.round(y))
    yield "weights", rank(y, weight)
    yield "tied y and weights", rank(np.round(y), weight)


def layers(splitter: Splitter, ranks: Ranks, criterion: Criterion) -> Iterator[LayerTask]:
    """Give the root and a layer of two nodes as tasks."""
    n = len(ranks.row)
    passes = Passes(ranks)
    splitter.passes(ranks)
    odd = np.arange(n) % 2 == 0
    halves = np.concatenate([np.flatnonzero(odd), np.flatnonzero(~odd)]).astype(np.int32)
    both = np.array([0, int(odd.sum()), n], dtype=np.intp)
    root = Layer(np.arange(n, dtype=np.int32), np.array([0, n], dtype=np.intp))
    for layer in (root, Layer(halves, both, int(odd.sum()))):
        score = passes.scores(layer, criterion)
        yield LayerTask(layer, score, ranks, criterion.objective, 7, np.random.default_rng)


@demand(
    "grows trees",
    "The learner must serve crank's grower: see crank.growing.splitter.",
    needs=("decides", "leaves data alone", "prepares", "separates", "splits layers"),
)
def grows_trees(learner: SplitLearner) -> None:
    """Grow a small tree and score rows that it has not seen."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + 0.3 * rng.normal(size=300)
    tree = grow(
        TrainingMatrix(X[:200], (0, 0, 0)),
        rank(y[:200]),
        learner,
        get_criterion("kendall"),
        max_depth=2,
        min_samples_leaf=10,
    )
    concordance = _concordance(y[200:], tree.score(X[200:]))
    require(
        concordance > 0.6,
        f"a tree of depth 2 orders {concordance:.0%} of new pairs rightly; guessing gets 50%.",
    )


def _concordance(y: NDArray[np.float64], score: NDArray[np.float64]) -> float:
    above = np.sign(y[:, None] - y) * np.sign(score[:, None] - score)
    return float(0.5 + 0.5 * above.sum() / (len(y) * (len(y) - 1)))


CHECKS = (splits_layers, grows_trees)
