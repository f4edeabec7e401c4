"""A model's scores beside the responses of some data: what every judgement starts from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.errors import DataError, absent_column
from crank.frames.alignment import check_aligned
from crank.frames.table import Table
from crank.frames.weights import read_weights
from crank.records.base import ModelRecord


@dataclass(frozen=True)
class Scored:
    """The rows of some data whose response is known: y, the model's score, weights and groups."""

    y: NDArray[np.float64]
    score: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    groups: NDArray[Any] | None


def scored(
    model: ModelRecord, data: Any, *, weights: Any = None, unknown: str = "error"
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64] | None]:
    """Return y, the model's score and the weights of the rows whose response is known."""
    rows = scored_rows(model, data, weights=weights, unknown=unknown)
    return rows.y, rows.score, rows.weights


def scored_rows(
    model: ModelRecord,
    data: Any,
    *,
    weights: Any = None,
    groups: Any = None,
    unknown: str = "error",
) -> Scored:
    """Score the rows whose response and weight are known."""
    table = Table.read(data)
    score = model.values(table, unknown=unknown)
    return known_rows(model, table, data, score, weights=weights, groups=groups)


def known_rows(
    model: ModelRecord,
    table: Table,
    data: Any,
    score: NDArray[np.float64],
    *,
    weights: Any = None,
    groups: Any = None,
) -> Scored:
    """Keep the rows whose response and weight are known, of rows that are scored."""
    y = model.response.values(table)
    w = read_weights(weights, table, data)
    labels = group_labels(groups, table, data)
    known = ~np.isnan(y) if w is None else ~np.isnan(y) & ~np.isnan(w)
    if not known.any():
        raise DataError(
            f"the response {model.response.name!r} is missing in all {len(y)} rows of the data. "
            "Evaluation needs rows whose response is known."
        )
    return Scored(
        y[known],
        score[known],
        None if w is None else w[known],
        None if labels is None else labels[known],
    )


def group_labels(groups: Any, table: Table, data: Any) -> NDArray[Any] | None:
    """Return the label of each row's group, NaN where it is missing.

    Parameters
    ----------
    groups : str, array-like or None
        A column's name or one label a row.
    table : Table
    data : data frame
        What the table was read from.

    Examples
    --------
    >>> table = Table.read({"site": ["b", "a", "b"]})
    >>> group_labels("site", table, None).tolist()
    [1.0, 0.0, 1.0]
    """
    if groups is None:
        return None
    if isinstance(groups, str):
        if groups not in table.names:
            raise absent_column(f"groups column {groups!r}", groups, table.names)
        table.require_digits(groups)
        codes = table.codes(groups)[0]
        return np.where(codes < 0, np.nan, codes)
    check_aligned(groups, data, "groups")
    labels = np.asarray(groups)
    if labels.shape != (table.n_rows,):
        raise DataError(
            f"groups has shape {labels.shape}; the data has {table.n_rows} rows. "
            "Give one label a row, or the name of a column."
        )
    return labels
