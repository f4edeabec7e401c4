"""A linear model as plain data: what is read of its ranker, by the names that users know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crank.rankers.linear import LinearOptions, LinearRanker
from crank.records.base import DesignedRecord


@dataclass(frozen=True, repr=False, kw_only=True)
class LinearRecord(DesignedRecord):
    """A formula, a design and a linear ranker.

    Attributes
    ----------
    ranker : LinearRanker
    """

    kind: ClassVar[str] = LinearRanker.kind

    ranker: LinearRanker

    @property
    def options(self) -> LinearOptions:
        """How it was fitted."""
        return self.ranker.options

    @property
    def aliased(self) -> tuple[str, ...]:
        """Columns without a coefficient: constant, or a combination of earlier ones."""
        found = zip(self.design.names, self.ranker.estimated.tolist(), strict=True)
        return tuple(name for name, estimated in found if not estimated)
