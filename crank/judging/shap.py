"""Shapley values: a model's score of a row, shared out among the terms of its formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from crank.checks import one_of
from crank.frames.table import Table
from crank.records.base import ModelRecord

BASE = "(base)"


def shap_table(model: ModelRecord, data: Any, unknown: str = "error") -> pd.DataFrame:
    """Share out each row's score among the terms: `RankingModel.shap`.

    Of trees, forests and boosters these are the Shapley values of Lundberg and others: a term that
    is not known is averaged over, in proportion to the training rows on either side of each split.
    They are exact, and for a booster equal to LightGBM's ``pred_contrib``. Of linear and additive
    models a term contributes what it adds to the score of the average training row. A blend's are
    the weighted sums of its members'. Trees whose splits are oblique have none.

    Parameters
    ----------
    model : ModelRecord
    data : data frame
        With the raw columns of the formula's right side.
    unknown : {"error", "missing"}
        What to do with a category level that training did not have.

    Returns
    -------
    DataFrame
        Columns row (0 for the first), term and shap; for each row also the term "(base)", the mean
        score that the others start from. Those of a row add up to its score.

    References
    ----------
    Lundberg, Erion & Lee (2018), Consistent individualized feature attribution for tree ensembles,
    arXiv:1802.03888.

    Examples
    --------
    >>> import crank
    >>> sample = crank.datasets.regression(200, random_state=0).frame
    >>> m = crank.forest(sample, "y ~ x1 + x2 + x3", n_trees=20)
    >>> found = m.shap(sample.head(2))
    >>> found["term"].tolist()
    ['(base)', 'x1', 'x2', 'x3', '(base)', 'x1', 'x2', 'x3']
    >>> added = found.groupby("row")["shap"].sum()
    >>> bool(np.allclose(added, m.predict(sample.head(2))))
    True
    """
    one_of("unknown", unknown, ("error", "missing"))
    table = Table.read(data)
    found, base = model.contributions(table, unknown)
    terms = [BASE, *found]
    values = np.column_stack((np.full(table.n_rows, base), *found.values()))
    return pd.DataFrame(
        {
            "row": np.repeat(np.arange(table.n_rows), len(terms)),
            "term": terms * table.n_rows,
            "shap": values.ravel(),
        }
    )
