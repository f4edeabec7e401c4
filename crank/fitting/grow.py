"""Grow one tree: criterion × split learner on one training matrix."""

from __future__ import annotations

from collections.abc import Callable

from crank.criteria import Criterion
from crank.growing.grow import grow_layers
from crank.growing.matrix import TrainingMatrix
from crank.growing.tree import Tree
from crank.plugins.base import SplitLearner
from crank.plugins.nodewise import bind
from crank.ranks import Ranks


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
    >>> import numpy as np
    >>> from crank.criteria import get_criterion
    >>> from crank.plugins.stump import Stump
    >>> from crank.ranks import rank
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> ranks = rank(np.array([10.0, 30.0, 20.0, 40.0]))
    >>> options = {"max_depth": 1, "min_samples_leaf": 1}
    >>> tree = grow(TrainingMatrix(X, (0,)), ranks, Stump(), get_criterion("kendall"), **options)
    >>> tree.nodes[0].split.rule.describe(["x"]), tree.score(X).tolist()
    ('x > 1.5 or missing', [1.0, 2.0, 2.0, 2.0])
    """
    splitter = bind(learner, data)
    try:
        return grow_layers(
            splitter, ranks, criterion, max_depth=max_depth, min_leaf=min_samples_leaf, seed=seed
        )
    finally:
        splitter.close()
