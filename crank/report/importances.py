"""The importance of terms as a table: one form for every kind of model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from crank.errors import OptionError


def sums_by_term(terms: Iterable[str], values: Iterable[float]) -> dict[str, float]:
    """Add up the values of the columns of each term, in the terms' order."""
    sums: dict[str, float] = {}
    for term, value in zip(terms, values, strict=True):
        sums[term] = sums.get(term, 0.0) + value
    return sums


def table_of_shares(importance: Mapping[str, float]) -> pd.DataFrame:
    """Tabulate the importance of each term, the largest first, and its share of the whole."""
    table = pd.DataFrame({"term": list(importance), "importance": list(importance.values())})
    table = table.sort_values("importance", ascending=False, kind="stable", ignore_index=True)
    whole = table["importance"].sum()
    table["share"] = table["importance"] / whole if whole > 0.0 else 0.0
    return table


def refuse_metric(metric: object, meaning: str) -> None:
    """Raise if a metric was asked for where importance has one meaning only."""
    if metric is not None:
        raise OptionError(
            f"metric={metric!r} is not allowed: importance in {meaning}. "
            "permutation_importance takes a metric."
        )
