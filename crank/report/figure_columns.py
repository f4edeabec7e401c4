"""Figures with their standard errors, as columns of a table of one row."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from crank.metrics.figures import figures
from crank.rankers.validation import Estimate
from crank.records.provenance import TrainingInfo


def figure_columns(known: Mapping[str, Estimate], prefix: str = "") -> dict[str, object]:
    """Give every figure of a tree two columns, NaN where it is not known."""
    row: dict[str, object] = {}
    for name in (figure.name for figure in figures(of_trees=True)):
        found = known.get(name)
        row[prefix + name] = found.estimate if found else np.nan
        row[f"{prefix}{name}_se"] = found.se if found else np.nan
    return row


def training_columns(training: TrainingInfo) -> dict[str, object]:
    """Give the figures of the training rows, then the cross-validated ones."""
    return figure_columns(training.figures) | figure_columns(training.crossvalidated, "cv_")
