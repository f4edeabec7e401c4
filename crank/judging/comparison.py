"""Models against each other on the same rows: paired tests of which ranks better."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crank import metrics
from crank.errors import DataError, OptionError
from crank.metrics.figures import figure_of
from crank.records.base import ModelRecord
from crank.records.scored import scored_rows
from crank.report.summary import html_table


@dataclass(frozen=True)
class ModelComparison:
    """Estimates of each model, and a paired test of each pair.

    Attributes
    ----------
    metric : str
    n : int
        Rows on which all models were judged.
    estimates : DataFrame
        Columns model, estimate, se, ci_low, ci_high; best first.
    tests : DataFrame
        Columns model_1, model_2, difference, se, z, pvalue, ci_low, ci_high and, for more than
        two models, pvalue_adjusted (Holm).

    Examples
    --------
    >>> import crank
    >>> train, test = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
    >>> deeper = m.update(train.frame, max_depth=3)
    >>> found = crank.compare({"two": m, "three": deeper}, data=test.frame)
    >>> found.estimates[["model", "estimate"]].round(3)
       model  estimate
    0  three     0.938
    1    two     0.877
    """

    metric: str
    n: int
    estimates: pd.DataFrame
    tests: pd.DataFrame

    def __str__(self) -> str:
        return (
            f"Paired comparison of {self.metric} on {self.n} rows\n\n"
            f"{self.estimates.to_string(index=False, float_format='{:.4g}'.format)}\n\n"
            f"{self.tests.to_string(index=False, float_format='{:.4g}'.format)}"
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        title = f"<h4>Paired comparison of {html.escape(self.metric)} on {self.n} rows</h4>"
        return f"<div>{title}{html_table(self.estimates)}{html_table(self.tests)}</div>"


def compare(
    *models: ModelRecord | Mapping[str, ModelRecord],
    data: Any,
    metric: Literal["iauc", "kendall"] = "iauc",
    weighting: Literal["triple", "uniform"] = "triple",
    weights: Any = None,
    groups: Any = None,
    alpha: float = 0.05,
    unknown: Literal["error", "missing"] = "error",
) -> ModelComparison:
    """Test which of several models ranks better, on rows that none of them has seen.

    Parameters
    ----------
    *models : RankingModel
        Two or more, or one mapping of names to models.
    data : data frame
        Rows to judge on.
    metric : {"iauc", "kendall"}
    weighting : {"triple", "uniform"}
        Of the IAUC.
    weights : str or array-like, optional
        Case weights.
    groups : str or array-like, optional
        Rows that belong together, by a column's name or one label a row; standard errors are
        clustered by group.
    alpha : float
        One minus the confidence level.
    unknown : {"error", "missing"}
        What to do with category levels that training did not have.

    Returns
    -------
    ModelComparison

    Examples
    --------
    >>> import crank
    >>> train, test = crank.datasets.paper_sample()
    >>> small = crank.fit(train.frame, "y ~ x", max_depth=1, prune=None)
    >>> large = crank.fit(train.frame, "y ~ x", max_depth=3, prune=None)
    >>> result = crank.compare({"small": small, "large": large}, data=test.frame)
    >>> result.estimates["model"].tolist(), bool(result.tests["pvalue"][0] < 1e-6)
    (['large', 'small'], True)
    """
    named = _named(models)
    figure = figure_of(metric, weighting)
    how: dict[str, Any] = {"metric": metric, "weighting": weighting, "alpha": alpha}
    first = next(iter(named.values()))
    known = {
        name: scored_rows(model, data, weights=weights, groups=groups, unknown=unknown)
        for name, model in named.items()
    }
    y, how["weights"], how["groups"] = next(
        (rows.y, rows.weights, rows.groups) for rows in known.values()
    )
    scores = {name: rows.score for name, rows in known.items()}
    for name, model in named.items():
        if not _ranked_alike(y, known[name].y):
            raise DataError(
                f"model {name!r} ranks {model.response.name!r}, the first one "
                f"{first.response.name!r}, and they order the rows differently. "
                "Compare models of one response."
            )
    estimates = []
    for name, score in scores.items():
        found = metrics.concordance(y, score, **how)
        estimates.append((name, found.estimate, found.se, found.ci_low, found.ci_high))
    tests = []
    for one, two in combinations(scores, 2):
        test = metrics.compare(y, scores[one], scores[two], **how)
        tests.append(
            (one, two, test.difference, test.se, test.z, test.pvalue, test.ci_low, test.ci_high)
        )
    table = pd.DataFrame(
        tests,
        columns=["model_1", "model_2", "difference", "se", "z", "pvalue", "ci_low", "ci_high"],
    )
    if len(named) > 2:
        table["pvalue_adjusted"] = holm(table["pvalue"].to_numpy())
    return ModelComparison(
        metric=figure.text if figure.weighting is None else figure.full_label,
        n=len(y),
        estimates=pd.DataFrame(
            estimates, columns=["model", "estimate", "se", "ci_low", "ci_high"]
        ).sort_values("estimate", ascending=False, kind="stable", ignore_index=True),
        tests=table,
    )


def holm(pvalues: NDArray[np.float64]) -> NDArray[np.float64]:
    """Adjust p-values for their number by Holm's step-down rule, as R's ``p.adjust``.

    Examples
    --------
    >>> import numpy as np
    >>> holm(np.array([0.01, 0.04, 0.03])).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(pvalues, kind="stable")
    steps = np.maximum.accumulate(pvalues[order] * np.arange(len(pvalues), 0, -1))
    adjusted = np.empty(len(pvalues))
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def _named(models: tuple[Any, ...]) -> dict[str, ModelRecord]:
    if len(models) == 1 and isinstance(models[0], Mapping):
        named = dict(models[0])
    else:
        named = {f"m{k}": model for k, model in enumerate(models, 1)}
    wrong = [type(model).__name__ for model in named.values() if not isinstance(model, ModelRecord)]
    if wrong or len(named) < 2:
        raise OptionError(
            f"compare takes two or more models; got {len(named)}"
            + (f", among them a {wrong[0]}" if wrong else "")
            + ". Give fitted models, or a dict of names and models."
        )
    return named


def _ranked_alike(y: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Tell whether two responses order the rows alike: log(y) and y do."""
    if y.shape != other.shape:
        return False
    one, two = (np.unique(values, return_inverse=True)[1] for values in (y, other))
    return np.array_equal(one, two)
