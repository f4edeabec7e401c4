"""A blend as plain data: members that are records with designs of their own, and their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crank.design.spec import DesignSpec
from crank.frames.table import Table
from crank.records.base import DesignedRecord, ModelRecord


@dataclass(frozen=True, repr=False, kw_only=True)
class Member:
    """One model of a blend.

    Attributes
    ----------
    name : str
    weight : int
        How often it was chosen.
    coef : float
        What its score is multiplied by: the weight over the spread of its held-out scores.
    heldout : float
        Its own held-out figure.
    model : DesignedRecord
        Fitted to all rows.
    """

    name: str
    weight: int
    coef: float
    heldout: float
    model: DesignedRecord


@dataclass(frozen=True)
class LeftOut:
    """A recipe that has no part in a blend: why, and its held-out figure if it was fitted."""

    name: str
    because: str
    heldout: float = float("nan")


@dataclass(frozen=True, repr=False, kw_only=True)
class BlendRecord(ModelRecord):
    """A weighted sum of models of any kind.

    Attributes
    ----------
    members : tuple of Member
        The heaviest first.
    left_out : tuple of LeftOut
    metric : str
        Figure by which members were chosen.
    folds : int
        On which held-out scores were made.
    """

    kind: ClassVar[str] = "blend"

    members: tuple[Member, ...]
    left_out: tuple[LeftOut, ...]
    metric: str
    folds: int

    @property
    def designs(self) -> tuple[DesignSpec, ...]:
        """The designs of the members."""
        return tuple(member.model.design for member in self.members)

    @property
    def predictions(self) -> tuple[str, ...]:
        """Only the score: members agree on nothing else."""
        return ("score",)

    def values(self, table: Table, type: str = "score", unknown: str = "error") -> NDArray[Any]:
        """Add up the members' scores, each times its coefficient."""
        total = np.zeros(table.n_rows)
        for member in self.members:
            total += member.coef * member.model.values(table, "score", unknown)
        return total

    def contributions(
        self, table: Table, unknown: str = "error"
    ) -> tuple[dict[str, NDArray[np.float64]], float]:
        """Add up what terms contribute to the members, each times its coefficient."""
        found: dict[str, NDArray[np.float64]] = {}
        total = 0.0
        for member in self.members:
            parts, base = member.model.contributions(table, unknown)
            total += member.coef * base
            for term, values in parts.items():
                found[term] = found.get(term, 0.0) + member.coef * values
        return found, total
