"""A booster as plain data: what is read of its ranker, by the names that users know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crank.rankers.booster import BoosterOptions, BoosterRanker
from crank.records.base import DesignedRecord


@dataclass(frozen=True, repr=False, kw_only=True)
class BoosterRecord(DesignedRecord):
    """A formula, a design and a booster.

    Attributes
    ----------
    ranker : BoosterRanker
    """

    kind: ClassVar[str] = BoosterRanker.kind

    ranker: BoosterRanker

    @property
    def options(self) -> BoosterOptions:
        """How it was fitted."""
        return self.ranker.options
