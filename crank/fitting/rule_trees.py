"""One tree of a forest by any split learner: the ordinary grower on the rows of the bag."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.criteria import Criterion
from crank.fitting.bag_trees import Ints, TreeMaker
from crank.fitting.tree_votes import non_increasing, votes_by_values
from crank.growing.grow import grow_layers
from crank.growing.matrix import TrainingMatrix
from crank.growing.rule import SplitRule
from crank.plugins.base import SplitLearner
from crank.plugins.nodewise import NodeWiseSplitter, bind
from crank.rankers.forest import ForestOptions
from crank.rankers.votes import GRID, RuleTrees
from crank.ranks import Ranks, rank


def rule_trees(
    data: TrainingMatrix,
    ranks: Ranks,
    rung: Ints,
    learner: SplitLearner,
    criterion: Criterion,
    options: ForestOptions,
) -> TreeMaker:
    """Return what grows a tree of the learner's rules from a bag."""
    vote = GRID * ranks.quantile
    some = options.features_of(data.X.shape[1])
    # what is measured once for all trees is of all rows, whichever bag comes first
    first = bind(learner, data)
    first.measure(ranks)
    first.close()

    def make(draws: Ints, seed: int, voting: bool) -> tuple[RuleTrees, NDArray[np.int64] | None]:
        drawn = np.flatnonzero(draws)
        weight = draws[drawn].astype(np.float64) * ranks.weight[drawn]
        own = replace(rank(ranks.y[drawn], weight), row=ranks.row[drawn])
        splitter = bind(learner, data)
        if isinstance(splitter, NodeWiseSplitter) and some < data.X.shape[1]:
            splitter = SomeColumns(splitter, some)
        try:
            tree = grow_layers(
                splitter,
                own,
                criterion,
                max_depth=options.max_depth,
                min_leaf=options.leaf_of(len(ranks.row)),
                seed=lambda: seed % 2**32,
            )
        finally:
            splitter.close()
        leaf = tree.apply(data.X[own.row])
        mass = np.bincount(leaf, weights=weight, minlength=tree.n_leaves).astype(np.float64)
        mean = np.bincount(leaf, weights=weight * vote[drawn], minlength=tree.n_leaves) / mass
        if any(data.monotone):
            mean = non_increasing(mean, mass)
        rng = np.random.default_rng(seed)
        chosen = []
        for k in range(len(mass)):
            inside = leaf == k
            chosen.append(rng.choice(drawn[inside], p=weight[inside] / weight[inside].sum()))
        votes = np.rint(mean).astype(np.int32)
        trees = RuleTrees((tree,), (votes,), (rung[np.array(chosen)],))
        return trees, votes_by_values(trees, data.X, ranks.row, draws) if voting else None

    return make


class SomeColumns(NodeWiseSplitter):
    """Let a learner see some columns of each node, drawn at random; others are made constant."""

    def __init__(self, splitter: NodeWiseSplitter, some: int) -> None:
        super().__init__(splitter.learner, splitter.data)
        self.inside, self.some = splitter, some

    def gather(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Take rows as the splitter itself does."""
        return self.inside.gather(rows)

    def decide(self, rule: SplitRule, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ask a rule for decision values; what it was not shown does not change them."""
        return self.inside.decide(rule, X)

    def fit(
        self,
        X: NDArray[np.float64],
        label: NDArray[np.float64],
        weight: NDArray[np.float64],
        rng: np.random.Generator,
    ) -> Any:
        """Hide the columns that were not drawn."""
        hidden = rng.permutation(X.shape[1])[self.some :]
        X = X.copy()
        X[:, hidden] = 0.0
        return self.inside.fit(X, label, weight, rng)
