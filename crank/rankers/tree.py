"""The tree as a ranker: grown, validated, pruned, its leaves in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crank.growing.matrix import FloatArray
from crank.growing.tree import Tree
from crank.metrics.figures import Figure
from crank.rankers.base import Ranker
from crank.rankers.options import TreeOptions
from crank.rankers.pruning import PruningPath
from crank.rankers.validation import Validation
from crank.rankers.votes import tree_shapley

_NODE_FIELD = {
    "quantile": "quantile",
    "median": "y_median",
    "lower": "y_lower",
    "upper": "y_upper",
}


@dataclass(frozen=True)
class LearnerInfo:
    """Which split learner made the tree, and how it was set.

    Attributes
    ----------
    name : str
    params : mapping
    takes_missing, takes_categories : bool
    distribution, version : str
        What it was installed from when the tree was grown or its file was written; empty if it
        was not installed, or in files of earlier versions.
    contract : int
        The version of the contract of split learners that it keeps.
    """

    name: str
    params: Mapping[str, Any]
    takes_missing: bool
    takes_categories: bool
    distribution: str = ""
    version: str = ""
    contract: int = 1


@dataclass(frozen=True)
class TreeRanker(Ranker):
    """An oriented ranking tree with its history.

    Attributes
    ----------
    tree : Tree
        Pruned and with its leaves in their final order.
    pruning : PruningPath
        Of the tree as grown.
    options : TreeOptions
    learner : LearnerInfo
    validation : Validation or None
        What cross-validation said; None if none was run.
    pruned_by : str
        How the tree came to its size, in words.
    criterion : str
        By which it was grown: the one that was asked for, or that "auto" chose.
    because : str
        Why "auto" chose it; empty if it was asked for.
    """

    kind: ClassVar[str] = "tree"
    predictions: ClassVar[tuple[str, ...]] = ("score", "leaf", *_NODE_FIELD)

    tree: Tree
    pruning: PruningPath
    options: TreeOptions
    learner: LearnerInfo
    validation: Validation | None = None
    pruned_by: str = "none"
    criterion: str = "crank"
    because: str = ""

    @property
    def figure(self) -> Figure:
        """The figure by which it is pruned."""
        return self.pruning.figure

    @property
    def takes_missing(self) -> bool:
        """Whether its learner does."""
        return self.learner.takes_missing

    @property
    def made_by(self) -> str:
        """Name the learner."""
        return f"learner {self.learner.name!r}"

    def training_figure(self, figure: Figure) -> float:
        """Figure of the tree on its training rows; NaN if it is not known.

        Gains give it in the order from left to right; in the order by rank it is kept with the
        pruning path, except by files that older versions wrote.
        """
        if self.tree.leaves == self.tree.oriented_leaves:
            return self.tree.figure(figure)
        known = self.pruning.by_rank.get(figure.name)
        step = self.pruning.step_with_leaves(self.tree.n_leaves)
        on_path = self.pruning.steps[step].n_leaves == self.tree.n_leaves
        return known[step] if known is not None and on_path else float("nan")

    def predict(self, X: FloatArray, type: str = "score") -> NDArray[Any]:
        """Route rows to their leaves and look up what is asked of these."""
        leaf = self.tree.apply(X, self.options.n_jobs)
        return leaf if type == "leaf" else self.leaf_values(type)[leaf]

    def contributions(self, X: FloatArray) -> tuple[NDArray[np.float64], float]:
        """Return the Shapley values of the tree, if all splits test one column each."""
        return tree_shapley(self.tree, self.tree.scores, X)

    def leaf_values(self, type: str = "score") -> NDArray[np.float64]:
        """Return what `predict` gives for each leaf, best first."""
        if type == "score":
            return self.tree.scores
        cells = (self.tree.nodes[i] for i in self.tree.leaves)
        return np.array([getattr(cell, _NODE_FIELD[type]) for cell in cells])
