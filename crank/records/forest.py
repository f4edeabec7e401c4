"""A forest model as plain data: what is read of its ranker, by the names that users know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from crank.rankers.forest import ForestOptions, ForestRanker
from crank.rankers.tree import LearnerInfo
from crank.rankers.validation import Estimate
from crank.records.base import DesignedRecord


@dataclass(frozen=True, repr=False, kw_only=True)
class ForestRecord(DesignedRecord):
    """A formula, a design and a forest.

    Attributes
    ----------
    ranker : ForestRanker
    """

    kind: ClassVar[str] = ForestRanker.kind

    ranker: ForestRanker

    @property
    def options(self) -> ForestOptions:
        """How the forest was grown."""
        return self.ranker.options

    @property
    def criterion(self) -> str:
        """The criterion by which trees were grown: never "auto"."""
        return self.ranker.criterion

    @property
    def learner(self) -> LearnerInfo:
        """The split learner that made them."""
        return self.ranker.learner

    @property
    def oob(self) -> Mapping[str, Estimate]:
        """Figures of the rows out of the bags, by name."""
        return self.ranker.oob

    @property
    def known_figures(self) -> tuple[str, Mapping[str, Estimate]]:
        """Those of the rows out of the bags."""
        return "out of bag", self.oob

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.ranker.trees)
