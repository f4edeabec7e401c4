"""A model on data that it has not seen: figures with standard errors and intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crank import metrics
from crank.design.table import Table
from crank.design.weights import read_weights
from crank.errors import DataError

if TYPE_CHECKING:
    from crank.model import RankingModel

FIGURES = (
    ("kendall", {"metric": "kendall"}),
    ("iauc", {"metric": "iauc"}),
    ("iauc_uniform", {"metric": "iauc", "weighting": "uniform"}),
)


def scored(
    model: RankingModel, data: Any, *, weights: Any = None, unknown: Any = "error"
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64] | None]:
    """Return y, the model's score and the weights of the rows whose response is known."""
    table = Table.read(data)
    y = model.response.values(table)
    w = read_weights(weights, table)
    known = ~np.isnan(y) if w is None else ~np.isnan(y) & ~np.isnan(w)
    if not known.any():
        raise DataError(
            f"the response {model.response.name!r} is missing in all {len(y)} rows of the data. "
            "Evaluation needs rows whose response is known."
        )
    score = model.predict(table, unknown=unknown)
    return y[known], score[known], None if w is None else w[known]


def evaluate(
    model: RankingModel, data: Any, *, weights: Any, alpha: float, unknown: Any
) -> pd.DataFrame:
    """Estimate d_τ and both IAUCs with standard errors and confidence intervals."""
    y, score, w = scored(model, data, weights=weights, unknown=unknown)
    rows = {}
    for name, how in FIGURES:
        if how["metric"] == "iauc" and len(np.unique(y)) < 3:
            continue
        found = metrics.concordance(y, score, weights=w, alpha=alpha, **how)  # type: ignore[arg-type]  # literal strings above
        rows[name] = {
            "estimate": found.estimate,
            "se": found.se,
            "ci_low": found.ci_low,
            "ci_high": found.ci_high,
            "n": found.n,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("metric")
