"""Numbers and tables as JSON that a page reads: NaN is null, infinities are words."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

DIGITS = 6
"""Significant digits of what is drawn; what is computed with keeps all of them."""


def number(value: Any) -> float | None:
    """Write a number for drawing, null if there is none.

    Examples
    --------
    >>> number(0.123456789), number(float("nan"))
    (0.123457, None)
    """
    value = float(value)
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def numbers(values: Iterable[Any]) -> list[float | None]:
    """Write numbers for drawing."""
    return [number(value) for value in values]


def table(frame: pd.DataFrame) -> dict[str, Any]:
    """Write a table: names, whether a column holds numbers, and rows.

    Examples
    --------
    >>> table(pd.DataFrame({"term": ["x"], "n": [3]}))
    {'columns': ['term', 'n'], 'numeric': [False, True], 'rows': [['x', 3]]}
    """
    numeric = [bool(pd.api.types.is_numeric_dtype(frame[name])) for name in frame.columns]
    return {
        "columns": [str(name) for name in frame.columns],
        "numeric": numeric,
        "rows": [[_cell(value) for value in row] for row in frame.itertuples(index=False)],
    }


def _cell(value: Any) -> Any:
    if value is None or value is pd.NA:
        return None
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None if value != value else str(value)
    return str(value)
