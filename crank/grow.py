"""Grow an oriented ranking tree level by level: criterion × split learner (theory §4–§5)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from crank.criteria import Criterion
from crank.kernels.cuts import Level
from crank.passes import Passes, edges
from crank.plugins.base import SplitLearner, TrainingMatrix
from crank.ranks import Ranks
from crank.splitter import LevelTask, Splitter, bind
from crank.tree import Node, Split, Tree


def grow(
    data: TrainingMatrix,
    ranks: Ranks,
    learner: SplitLearner,
    criterion: Criterion,
    *,
    max_depth: int,
    min_samples_leaf: int,
    seed: Callable[[], int] = int,
) -> Tree:
    """Grow a tree until no split improves, or the limits are reached.

    Parameters
    ----------
    data : TrainingMatrix
    ranks : Ranks
        Of the response of the same rows.
    learner, criterion
        The two independent choices that make a tree.
    max_depth, min_samples_leaf : int
    seed : callable
        Returns an integer, 0 by default; it is asked when a learner first uses chance. Each node
        derives its own generator from it and from its place, so a tree does not depend on the
        order in which nodes are worked on.

    Returns
    -------
    Tree
        With the oriented leaf order.

    Examples
    --------
    >>> from crank.criteria import get_criterion
    >>> from crank.plugins.stump import Stump
    >>> from crank.ranks import rank
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> ranks = rank(np.array([10.0, 30.0, 20.0, 40.0]))
    >>> options = {"max_depth": 1, "min_samples_leaf": 1}
    >>> tree = grow(TrainingMatrix(X, (0,)), ranks, Stump(), get_criterion("kendall"), **options)
    >>> tree.nodes[0].split.rule.describe(["x"]), tree.score(X).tolist()
    ('x > 1.5', [1.0, 2.0, 2.0, 2.0])
    """
    splitter = bind(learner, data)
    try:
        return _grow(splitter, ranks, criterion, max_depth, min_samples_leaf, seed)
    finally:
        splitter.close()


def _grow(
    splitter: Splitter,
    ranks: Ranks,
    criterion: Criterion,
    max_depth: int,
    min_leaf: int,
    seed: Callable[[], int],
) -> Tree:
    passes = splitter.passes(ranks)
    n = len(ranks.row)
    level = Level(np.arange(n, dtype=np.int32), np.array([0, n], dtype=np.intp))
    sketch = _Sketch(passes)
    here = sketch.add(level, depth=0, places=[0])
    for depth in range(max_depth):
        open_ = _splittable(ranks, level, min_leaf)
        if not open_.any():
            break
        level = passes.keep(level, open_)
        here = [i for i, kept in zip(here, open_.tolist(), strict=True) if kept]
        places = [sketch.place[i] for i in here]

        def rng(k: int, depth: int = depth, places: list[int] = places) -> np.random.Generator:
            return np.random.default_rng([seed(), depth, places[k]])

        score = passes.scores(level, criterion)
        found = splitter.split(LevelTask(level, score, ranks, criterion.objective, min_leaf, rng))
        split = np.array([s is not None for s in found.splits])
        if not split.any():
            break
        children = passes.partition(level, found.left, split)
        level = children.level
        parents = [k for k, s in enumerate(found.splits) if s is not None]
        below = [2 * places[k] + side for side in (0, 1) for k in parents]
        born = sketch.add(level, depth + 1, below)
        for k, left, right in zip(parents, born, born[len(parents) :], strict=False):
            gains = float(children.gain_kendall[k]), float(children.gain_iauc[k])
            sketch.split[here[k]] = (found.splits[k], left, right, *gains)
        here = born
    return Tree(sketch.nodes(), max(sketch.depth), ranks.pairs, ranks.triples)


MANY_ROWS = 2**16
"""Rows that wait for their cells to be summed up; levels of small data are best done at once."""


class _Sketch:
    """The nodes of a tree while it grows, in the order in which they were born."""

    def __init__(self, passes: Passes) -> None:
        self.passes = passes
        self.depth: list[int] = []
        self.place: list[int] = []
        self.about: list[tuple[int, float, float, float, float, float]] = []
        self.split: dict[int, tuple[Split | None, int, int, float, float]] = {}
        self.waiting: list[Level] = []

    def add(self, level: Level, depth: int, places: list[int]) -> list[int]:
        """Record the cells of a level; return their numbers."""
        first = len(self.depth)
        self.depth += [depth] * len(places)
        self.place += places
        self.waiting.append(level)
        if sum(len(level.position) for level in self.waiting) > MANY_ROWS:
            self.summarise()
        return list(range(first, len(self.depth)))

    def summarise(self) -> None:
        """Describe the cells of the levels that wait for it."""
        level = self.waiting[0]
        if len(self.waiting) > 1:
            position = np.concatenate([level.position for level in self.waiting])
            level = Level(position, edges(*(level.sizes for level in self.waiting)))
        summary = self.passes.summarise(level)
        self.about += zip(
            level.sizes.tolist(),
            summary.weight.tolist(),
            summary.quantile.tolist(),
            *summary.quartiles.T.tolist(),
            strict=True,
        )
        self.waiting = []

    def nodes(self) -> tuple[Node, ...]:
        """Return the nodes as the tree keeps them."""
        if self.waiting:
            self.summarise()
        leaf = (None, -1, -1, 0.0, 0.0)
        return tuple(
            Node(depth, place, *about, *self.split.get(i, leaf))
            for i, (depth, place, about) in enumerate(
                zip(self.depth, self.place, self.about, strict=True)
            )
        )


def _splittable(ranks: Ranks, level: Level, min_leaf: int) -> NDArray[np.bool_]:
    """Tell which nodes are large enough and have two distinct responses."""
    large: NDArray[np.bool_] = level.sizes >= 2 * min_leaf
    if not ranks.tied:
        return large
    lowest = ranks.group[level.position[level.starts]]
    highest = ranks.group[level.position[level.bounds[1:] - 1]]
    return np.asarray(large & (lowest != highest))
