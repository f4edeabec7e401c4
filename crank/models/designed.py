"""A model with one design matrix: every kind but blends, whose members have one each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crank.checks import one_of
from crank.frames.table import Table
from crank.growing.matrix import FloatArray
from crank.models.base import RankingModel
from crank.records.base import DesignedRecord, Unknown


@dataclass(frozen=True, repr=False, kw_only=True)
class DesignedModel(RankingModel, DesignedRecord):
    """A model with one design matrix."""

    def design_matrix(self, data: Any, *, unknown: Unknown = "error") -> FloatArray:
        """Build the design of new data, as it was built in training."""
        one_of("unknown", unknown, ("error", "missing"))
        return self.matrix(Table.read(data), unknown)
