"""Fields of a CSV file as columns: numbers to the last bit, text as it stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.datafiles.expected import Expected
from crank.errors import DataError
from crank.frames.columns import LARGEST_WHOLE, Coded, Column

MISSING_MARKS = frozenset(
    [
        *("", "NA", "N/A", "n/a", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None", "<NA>"),
        *("#N/A", "#N/A N/A", "#NA", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
    ]
)
"""What pandas takes for a missing value, so that fitting and scoring agree."""

_BOOLEANS = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0}


def marks_of(expected: Expected, marks: frozenset[str] | None) -> frozenset[str]:
    """Say which fields of a column stand for a missing value.

    Parameters
    ----------
    expected : Expected
    marks : frozenset of str, optional
        What the user says; the usual marks by default, but for texts that the model knows.
    """
    if marks is not None:
        return marks | ({""} - expected.texts)
    return MISSING_MARKS - expected.texts


def as_column(
    fields: Sequence[str],
    expected: Expected,
    name: str,
    lines: Sequence[int],
    marks: frozenset[str] | None = None,
) -> NDArray[Any]:
    """Turn the fields of one column into an array.

    Parameters
    ----------
    fields : sequence of str
    expected : Expected
    name : str
        Of the column, for messages.
    lines : sequence of int
        The line of each field in the file, for messages.
    marks : frozenset of str, optional
        What stands for a missing value; see `marks_of`.

    Examples
    --------
    >>> as_column(["1.5", "NA"], Expected("number"), "x", [2, 3])
    array([1.5, nan])
    >>> as_column(["01", "NA"], Expected("text"), "zip", [2, 3])
    array(['01', None], dtype=object)
    """
    absent = marks_of(expected, marks)
    if expected.type == "text":
        column = np.empty(len(fields), dtype=object)
        column[:] = [None if field in absent else field for field in fields]
        return column
    if expected.type == "number" and marks is None:
        try:
            # Python's float() reads 1_000, which no data file means
            if "_" not in "\n".join(fields):
                return np.fromiter(map(float, fields), np.float64, len(fields))
        except ValueError:
            pass
    read, needed = _READERS[expected.type]
    values: list[Any] = []
    for k, field in enumerate(fields):
        try:
            values.append(None if field in absent else read(field))
        except (KeyError, ValueError):
            raise _wrong(field, name, lines[k], needed) from None
    if expected.type in ("date", "whole"):
        column = np.empty(len(fields), dtype=object)
        column[:] = values
        return column
    return np.array(values, dtype=np.float64)  # None becomes NaN


def coded_column(
    codes: NDArray[np.int32],
    levels: Sequence[str],
    expected: Expected,
    name: str,
    marks: frozenset[str] | None = None,
) -> Column:
    """Turn a column whose fields are numbered into what the model expects.

    Parameters
    ----------
    codes : array of int32, shape (n,)
    levels : sequence of str
        The field that each code stands for.
    expected : Expected
    name : str
    marks : frozenset of str, optional
        As for `as_column`.

    Examples
    --------
    >>> coded_column(np.array([0, 1, 0]), ["2.5", ""], Expected("number"), "x")
    array([2.5, nan, 2.5])
    """
    if expected.type == "text":
        absent = marks_of(expected, marks)
        missing = [k for k, level in enumerate(levels) if level in absent]
        if missing:
            codes = np.where(np.isin(codes, missing), np.int32(-1), codes)
        return Coded(codes, tuple(levels))
    values = as_column(levels, expected, name, [0] * len(levels), marks)
    return np.asarray(values[codes])


def _date(field: str) -> datetime | None:
    return None if field == "NaT" else datetime.fromisoformat(field.strip())


def _number(field: str) -> float:
    if "_" in field:
        raise ValueError(field)
    return float(field)


def _boolean(field: str) -> float:
    return _BOOLEANS[field.strip().lower()]


def _whole(field: str) -> int | float:
    """Read a whole number of any size, digit by digit; others as far as floats are exact."""
    if "_" in field:
        raise ValueError(field)
    try:
        return int(field)
    except ValueError:
        number = float(field)
        if abs(number) >= LARGEST_WHOLE:
            raise
        return int(number) if number.is_integer() else number


_READERS: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "number": (_number, "a number"),
    "whole": (_whole, "a whole number, digit by digit"),
    "boolean": (_boolean, "true or false"),
    "date": (_date, "a date such as 2020-12-31"),
}


def _wrong(field: str, name: str, line: int, needed: str) -> DataError:
    return DataError(
        f"column {name!r} holds {field[:60]!r} in line {line}, where the model needs {needed}. "
        f"Correct the file, or leave the field empty if the value is missing."
    )
