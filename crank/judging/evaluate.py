"""A model on data that it has not seen: figures with standard errors and intervals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crank.design.spec import Variable
from crank.errors import OptionError
from crank.frames.partitioned import is_dask
from crank.frames.table import Table
from crank.metrics.figures import figures
from crank.metrics.inference import Concordance, figure_concordance
from crank.records.base import ModelRecord
from crank.records.scored import Scored, known_rows, scored_rows


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
    if is_dask(data):
        return evaluate_partitions(
            model, data, weights=weights, groups=groups, alpha=alpha, unknown=unknown
        )
    known = scored_rows(model, data, weights=weights, groups=groups, unknown=unknown)
    return estimates(known, alpha)


def evaluate_partitions(
    model: ModelRecord, data: Any, *, weights: Any, groups: Any, alpha: float, unknown: str
) -> pd.DataFrame:
    """Evaluate a Dask data frame from counts of its responses and scores."""
    from crank.cluster.scoring import counted_scores

    if groups is not None:
        raise OptionError(
            "groups= cannot be used with a Dask data frame. Leave it out, or evaluate a sample."
        )
    known = counted_scores(model, data, weights, unknown)
    rows = {}
    distinct = len(np.unique(known.y))
    for figure in figures():
        if figure.members <= max(distinct, 2):
            found = figure_concordance(
                figure, known.y, known.score, weights=known.weight, alpha=alpha, copies=known.copies
            )
            rows[figure.name] = _row(found, known.n)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("metric")


def evaluate_pieces(
    model: ModelRecord,
    pieces: Iterable[tuple[Table, NDArray[Any]]],
    *,
    weights: str | None = None,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Evaluate rows and their scores that come piece by piece.

    Only responses, weights and scores are held.
    """
    kept = [*model.response.variables, *([Variable(weights, "number")] if weights else [])]
    columns: dict[str, list[Any]] = {variable.name: [] for variable in kept}
    scores = []
    for table, values in pieces:
        scores.append(values)
        for variable in kept:
            columns[variable.name].append(_raw(table, variable))
    rows = {name: np.concatenate(parts) for name, parts in columns.items()}
    known = known_rows(model, Table.read(rows), rows, np.concatenate(scores), weights=weights)
    return estimates(known, alpha)


def _raw(table: Table, variable: Variable) -> Any:
    """Take a column of a piece as it is, or whole numbers that floats could not tell apart."""
    if variable.kind == "date":
        return table.dates(variable.name)
    exact, values = table.exact(variable.name), table.numeric(variable.name)
    if exact is None:
        return values
    whole = exact.astype(object)
    whole[np.isnan(values)] = None
    return whole


def estimates(known: Scored, alpha: float) -> pd.DataFrame:
    """Estimate every figure of responses and scores."""
    distinct = len(np.unique(known.y))
    rows = {}
    for figure in figures():
        if figure.members > max(distinct, 2):
            continue
        found = figure.concordance(
            known.y, known.score, known.weights, groups=known.groups, alpha=alpha
        )
        rows[figure.name] = _row(found, found.n)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("metric")


def _row(found: Concordance, n: int) -> dict[str, float]:
    return {
        "estimate": found.estimate,
        "se": found.se,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "n": n,
    }
