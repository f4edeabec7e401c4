"""Where a model comes from: its learner and its training data, in so far as they are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crank.validate import Estimate


@dataclass(frozen=True)
class LearnerInfo:
    """Which split learner made the tree, and how it was set."""

    name: str
    params: Mapping[str, Any]
    takes_missing: bool
    takes_categories: bool


@dataclass(frozen=True)
class TrainingInfo:
    """What is kept of the training data: counts, not rows.

    Attributes
    ----------
    n, n_dropped : int
        Rows used, and rows left out because of missing values.
    weighted : bool
    figures, crossvalidated : dict of Estimate
        By name, "iauc" and "kendall". The first are optimistic: the tree has seen these rows.
    """

    n: int
    n_dropped: int
    weighted: bool
    figures: Mapping[str, Estimate]
    crossvalidated: Mapping[str, Estimate]
