"""Fields of a CSV file as columns: numbers to the last bit, text as it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.datafiles.expected import Expected
from crank.errors import DataError
from crank.frames.columns import LARGEST_WHOLE

MISSING_MARKS = frozenset(
    [
        *("", "NA", "N/A", "n/a", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None", "<NA>"),
        *("#N/A", "#N/A N/A", "#NA", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
    ]
)
"""What pandas takes for a missing value, so that fitting and scoring agree."""

_BOOLEANS = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0}


def as_column(fields: Sequence[str], expected: Expected, name: str, first_row: int) -> NDArray[Any]:
    """Turn the fields of one column into an array.

    Parameters
    ----------
    fields : sequence of str
    expected : Expected
    name : str
        Of the column, for messages.
    first_row : int
        Number of the first field's row in the file, for messages.

    Examples
    --------
    >>> as_column(["1.5", "NA"], Expected("number"), "x", 1)
    array([1.5, nan])
    >>> as_column(["01", "NA"], Expected("text"), "zip", 1)
    array(['01', None], dtype=object)
    """
    if expected.type == "text":
        marks = MISSING_MARKS - expected.texts
        column = np.empty(len(fields), dtype=object)
        column[:] = [None if field in marks else field for field in fields]
        return column
    if expected.type == "date":
        return _dates(fields, name, first_row)
    if expected.type == "whole":
        return _whole(fields, name, first_row)
    if expected.type == "number":
        try:
            # Python's float() reads 1_000, which no data file means
            if "_" not in "\n".join(fields):
                return np.fromiter(map(float, fields), np.float64, len(fields))
        except ValueError:
            pass
        return _parsed(fields, name, first_row, None)
    return _parsed(fields, name, first_row, _BOOLEANS)


def _dates(fields: Sequence[str], name: str, first_row: int) -> NDArray[np.object_]:
    """Read dates and times in ISO format, missing ones as None."""
    column = np.empty(len(fields), dtype=object)
    for k, field in enumerate(fields):
        try:
            absent = field in MISSING_MARKS or field == "NaT"
            column[k] = None if absent else datetime.fromisoformat(field.strip())
        except ValueError:
            raise _wrong(field, name, first_row + k, "a date such as 2020-12-31") from None
    return column


def _whole(fields: Sequence[str], name: str, first_row: int) -> NDArray[np.object_]:
    """Read whole numbers of any size, missing ones as None."""
    column = np.empty(len(fields), dtype=object)
    for k, field in enumerate(fields):
        try:
            column[k] = None if field in MISSING_MARKS else _exact(field)
        except ValueError:
            needed = "a whole number, digit by digit"
            raise _wrong(field, name, first_row + k, needed) from None
    return column


def _exact(field: str) -> int | float:
    if "_" in field:
        raise ValueError(field)
    try:
        return int(field)
    except ValueError:
        number = float(field)
        if abs(number) >= LARGEST_WHOLE:
            raise
        return int(number) if number.is_integer() else number


def _parsed(
    fields: Sequence[str], name: str, first_row: int, words: Mapping[str, float] | None
) -> NDArray[np.float64]:
    """Read fields one by one, missing ones as NaN; say where one cannot be read."""
    column = np.empty(len(fields))
    for k, field in enumerate(fields):
        if field in MISSING_MARKS:
            column[k] = np.nan
            continue
        try:
            if words is not None:
                column[k] = words[field.strip().lower()]
            elif "_" in field:
                raise ValueError
            else:
                column[k] = float(field)
        except (KeyError, ValueError):
            needed = "a number" if words is None else "true or false"
            raise _wrong(field, name, first_row + k, needed) from None
    return column


def _wrong(field: str, name: str, row: int, needed: str) -> DataError:
    return DataError(
        f"column {name!r} holds {field[:60]!r} in row {row} (counted from 1, below the header), "
        f"where the model needs {needed}. Correct the file, or leave the field empty if the "
        f"value is missing."
    )
