"""Permutation importance on new data: what a raw column's shuffling costs, with standard errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crank.checks import check_alpha, generator, whole
from crank.design.expressions import columns_of
from crank.design.factors import Cross
from crank.design.spec import Block, DesignSpec
from crank.errors import DataError
from crank.frames.table import Table
from crank.frames.weights import read_weights
from crank.metrics.figures import IAUC, Figure, figure_of
from crank.metrics.profile import Weighting
from crank.progress import track
from crank.records.base import DesignedRecord, ModelRecord


def permutation_importance(
    model: ModelRecord,
    data: Any,
    *,
    metric: str | Figure | None = None,
    weighting: Weighting = "triple",
    repeats: int = 10,
    weights: Any = None,
    alpha: float = 0.05,
    unknown: Any = "error",
    random_state: int | None = 0,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Measure how much worse the model ranks when one raw column is shuffled.

    The column is shuffled in the table, so that all terms built from it move together.

    Parameters
    ----------
    model : RankingModel
    data : data frame
        Rows that the model has not seen, with their response.
    metric : {"iauc", "kendall"}, optional
        The figure that drops; by default the one that pruned the tree, else the IAUC.
    weighting : {"triple", "uniform"}
        Weighting of the IAUC.
    repeats : int
        Shuffles of each column.
    weights : str or array-like, optional
        Case weights.
    alpha : float
        One minus the confidence level.
    unknown : {"error", "missing"}
        What to do with a category level that training did not have.
    random_state : int or None
        Seeds the shuffles.
    progress : bool, optional
        By default a bar is shown on a terminal or in a notebook when it takes a while.

    Returns
    -------
    DataFrame
        A row for each raw column of the formula's right side, most important first: variable,
        importance (drop of the figure, mean over shuffles), se, ci_low, ci_high. The standard error
        holds for new samples of rows as for new shuffles; the model is given.

    Notes
    -----
    A shuffle makes a row of its own columns and of another row's value. To first order the drop is
    a sum of influences (theory §7), one for each such pair, so a data row acts twice, as receiver
    and as donor. Means over shuffles estimate both parts for each row; the variance is the sum of
    squares of their sum, less what the finite number of shuffles adds to these squares, plus the
    variance between shuffles over their number.

    Examples
    --------
    >>> import crank
    >>> sample = crank.datasets.regression(400, p=6, random_state=0).frame
    >>> m = crank.fit(sample[:200], "y ~ .", max_depth=3, prune=None)
    >>> m.permutation_importance(sample[200:])["variable"].tolist()[0]
    'x4'
    """
    default: Figure = getattr(model, "figure", IAUC)
    figure = figure_of(default if metric is None else metric, weighting)
    whole("repeats", repeats, 1)
    check_alpha(alpha)
    table = Table.read(data)
    y = model.response.values(table)
    w = read_weights(weights, table, data)
    known = ~np.isnan(y) if w is None else ~np.isnan(y) & ~np.isnan(w)
    if not known.any():
        raise DataError(
            f"the response {model.response.name!r} is missing in all {len(y)} rows of the data. "
            "Importance needs rows whose response is known."
        )
    table, y, w = table.rows(known), y[known], None if w is None else w[known]
    estimate, influence = figure.influence(y, model.values(table, unknown=unknown), w)
    rng = generator(random_state)
    scores = _rescored(model, table, unknown)

    def shuffles(name: str) -> Iterator[tuple[NDArray[np.intp], NDArray[Any]]]:
        score = scores(name)
        for _ in range(repeats):
            order = rng.permutation(table.n_rows)
            yield order, score(order)

    def rows() -> Iterator[dict[str, Any]]:
        for variable in model.variables:
            drops, parts = [], []
            for order, shuffled in shuffles(variable.name):
                now, moved = figure.influence(y, shuffled, w)
                drops.append(estimate - now)
                parts.append((order, influence - moved))
            se = _standard_error(parts, np.array(drops))
            yield {"variable": variable.name, "importance": float(np.mean(drops)), "se": se}

    found = track(rows(), len(model.variables), "permutation", show=progress)
    result = pd.DataFrame(list(found)).sort_values(
        "importance", ascending=False, kind="stable", ignore_index=True
    )
    reach = NormalDist().inv_cdf(1.0 - alpha / 2.0) * result["se"]
    return result.assign(ci_low=result["importance"] - reach, ci_high=result["importance"] + reach)


Rescore = Callable[[NDArray[np.intp]], NDArray[Any]]


def _rescored(model: ModelRecord, table: Table, unknown: str) -> Callable[[str], Rescore]:
    """Return what scores the table anew with one raw column in another order.

    A model with one design rebuilds only the design columns that read the raw column.
    """
    if not isinstance(model, DesignedRecord):
        return lambda name: (
            lambda order: model.values(_with_column(table, name, order), unknown=unknown)
        )
    X = model.matrix(table, unknown)

    def prepare(name: str) -> Rescore:
        part, columns = _reading(model.design, name)
        moved = X.copy(order="F")

        def score(order: NDArray[np.intp]) -> NDArray[Any]:
            moved[:, columns] = part.matrix(_with_column(table, name, order), unknown=unknown)
            return model.ranker.predict(moved)

        return score

    return prepare


def _reading(design: DesignSpec, name: str) -> tuple[DesignSpec, NDArray[np.intp]]:
    """Return the part of a design that reads a raw column, and which of its columns that is."""

    def reads(block: Block) -> bool:
        factors = (design.factors[i] for i in block.factors)
        steps = [
            part.steps for f in factors for part in (f.parts if isinstance(f, Cross) else (f,))
        ]
        return any(name in columns_of(one) for one in steps)

    touched = [reads(block) for block in design.blocks]
    widths = [design.width(block) for block in design.blocks]
    blocks = tuple(b for b, hit in zip(design.blocks, touched, strict=True) if hit)
    return replace(design, blocks=blocks), np.flatnonzero(np.repeat(touched, widths))


def _with_column(table: Table, name: str, order: NDArray[np.intp]) -> Table:
    """Return the table with one column in another order."""
    moved = table.rows(order)
    return Table(
        table.names,
        table.n_rows,
        lambda wanted: (moved if wanted == name else table)._column(wanted),
        table.dtype,
    )


def _standard_error(
    parts: list[tuple[NDArray[np.intp], NDArray[np.float64]]], drops: NDArray[np.float64]
) -> float:
    """Combine each row's influence on the drop as receiver and as donor (see Notes above)."""
    received = np.stack([influence for _, influence in parts])
    donated = np.empty_like(received)
    for row, (order, influence) in zip(donated, parts, strict=True):
        row[order] = influence
    variance = float(((received.mean(axis=0) + donated.mean(axis=0)) ** 2).sum())
    repeats = len(parts)
    if repeats > 1:
        noise = sum(float(each.var(axis=0, ddof=1).sum()) for each in (received, donated))
        between = float(drops.var(ddof=1))
        variance = max(variance - noise / repeats, 0.0) + between / repeats
    return float(np.sqrt(variance))
