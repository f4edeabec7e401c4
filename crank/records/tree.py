"""A tree model as plain data: what is read of its ranker, by the names that users know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crank.frames.profile import ColumnProfile
from crank.growing.tree import Tree
from crank.metrics.figures import Figure
from crank.rankers.options import TreeOptions
from crank.rankers.pruning import PruningPath
from crank.rankers.tree import LearnerInfo, TreeRanker
from crank.rankers.validation import Validation
from crank.records.base import DesignedRecord
from crank.records.call import Call, Shown


@dataclass(frozen=True, repr=False, kw_only=True)
class TreeRecord(DesignedRecord):
    """A formula, a design and an oriented ranking tree.

    Attributes
    ----------
    ranker : TreeRanker
    """

    kind: ClassVar[str] = TreeRanker.kind

    ranker: TreeRanker

    @property
    def tree(self) -> Tree:
        """The tree, pruned and with its leaves in order."""
        return self.ranker.tree

    @property
    def pruning(self) -> PruningPath:
        """The pruning path of the tree as grown."""
        return self.ranker.pruning

    @property
    def options(self) -> TreeOptions:
        """How the tree was grown, validated and pruned."""
        return self.ranker.options

    @property
    def criterion(self) -> str:
        """The criterion by which it was grown: never "auto"."""
        return self.ranker.criterion

    @property
    def learner(self) -> LearnerInfo:
        """The split learner that made it."""
        return self.ranker.learner

    @property
    def validation(self) -> Validation | None:
        """What cross-validation said; None if none was run."""
        return self.ranker.validation

    @property
    def pruned_by(self) -> str:
        """How the tree came to its size, in words."""
        return self.ranker.pruned_by

    @property
    def asked(self) -> Call:
        """The call that made it; of an older file, what its options tell of the call."""
        if self.call is not None:
            return self.call
        default = TreeOptions().to_dict()
        given = {k: v for k, v in self.options.to_dict().items() if v != default[k]}
        if self.learner.params:
            given = {"learner_params": dict(self.learner.params), **given}
        if self.training.weighted:
            given["weights"] = Shown("<weights>")
        return Call("crank.fit", self.formula, {"learner": self.learner.name, **given})

    @property
    def figure(self) -> Figure:
        """The figure by which it is pruned."""
        return self.ranker.figure

    @property
    def score_profile(self) -> ColumnProfile:
        """How many training rows each leaf has, by its score."""
        leaves = [self.tree.nodes[i].n for i in self.tree.leaves]
        order = np.argsort(self.tree.scores)
        scores = self.tree.scores[order].tolist()
        counts = [leaves[k] for k in order.tolist()]
        return ColumnProfile(
            kind="number",
            n=sum(counts),
            missing=0,
            lowest=scores[0],
            highest=scores[-1],
            edges=tuple(scores[:-1]),
            levels=(),
            counts=(*counts, 0),
        )
