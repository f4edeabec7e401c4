"""A linear model as plain data: what is read of its ranker, by the names that users know."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crank.frames.profile import BINS, ColumnProfile
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

    @property
    def n_units(self) -> int:
        """Independent observations: groups if errors are clustered, else rows."""
        groups = self.ranker.n_groups
        return self.training.n if groups is None else groups

    @property
    def error_df(self) -> float:
        """Degrees of freedom of standard errors; NaN if there are too few observations."""
        left = self.n_units - self.ranker.total_freedom - 1.0
        return left if left > 0.0 else math.nan

    @cached_property
    def vcov_corrected(self) -> NDArray[np.float64]:
        """Covariance of the coefficients, corrected for small samples.

        Without one observation the information is smaller, and standard errors larger by the
        factor n / (n − p − 1): theory §9.
        """
        return self.ranker.vcov * (self.n_units / self.error_df) ** 2

    @property
    def score_profile(self) -> ColumnProfile:
        """How the scores of the training rows were spread, from those that are kept."""
        ranker, n = self.ranker, self.training.n
        below = np.rint(np.cumsum(ranker.share) * n).astype(np.int64)
        ends = np.unique(np.searchsorted(below, np.arange(1, BINS + 1) * n // BINS))
        inner = ends[ends < len(below) - 1]
        middle = (ranker.reference[inner] + ranker.reference[inner + 1]) / 2.0
        counts = np.diff(np.concatenate(([0], below[inner], [n])))
        return ColumnProfile(
            kind="number",
            n=n,
            missing=0,
            lowest=float(ranker.reference[0]),
            highest=float(ranker.reference[-1]),
            edges=tuple(middle.tolist()),
            levels=(),
            counts=(*map(int, counts), 0),
        )
