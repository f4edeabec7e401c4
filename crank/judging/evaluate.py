"""A model on data that it has not seen: figures with standard errors and intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from crank.metrics.figures import figures
from crank.records.base import ModelRecord
from crank.records.scored import scored_rows


def evaluate(
    model: ModelRecord,
    data: Any,
    *,
    weights: Any,
    groups: Any,
    alpha: float,
    unknown: str,
) -> pd.DataFrame:
    """Estimate every figure that the responses allow, with standard error and interval."""
    known = scored_rows(model, data, weights=weights, groups=groups, unknown=unknown)
    distinct = len(np.unique(known.y))
    rows = {}
    for figure in figures():
        if figure.members > max(distinct, 2):
            continue
        found = figure.concordance(
            known.y, known.score, known.weights, groups=known.groups, alpha=alpha
        )
        rows[figure.name] = {
            "estimate": found.estimate,
            "se": found.se,
            "ci_low": found.ci_low,
            "ci_high": found.ci_high,
            "n": found.n,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("metric")
