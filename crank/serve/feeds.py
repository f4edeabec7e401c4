"""Raw columns as the tensors that a graph takes; bad rows are refused, or marked one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.design.reader import surely_finite
from crank.errors import DataError
from crank.frames.columns import MISSING_TEXT
from crank.frames.dates import as_dates, as_days, days_of_text
from crank.frames.table import Table
from crank.serve.graphfile import NUMBER, TEXT, GraphFile

NARROW: Mapping[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(int64)": np.int64,
    "tensor(bool)": np.bool_,
}
Feeds = dict[str, NDArray[Any]]


def read_feeds(table: Table, file: GraphFile) -> Feeds:
    """Read a tensor of shape [N, 1] for each input; what does not fit is a `DataError`."""
    return {name: _read(table, name, file).reshape(-1, 1) for name in file.types}


def check_finite(feeds: Mapping[str, NDArray[Any]]) -> None:
    """Refuse infinite numbers, as `predict` does."""
    for name, values in feeds.items():
        if values.dtype.kind != "f" or surely_finite(values):
            continue
        infinite = np.isinf(values)
        if infinite.any():
            raise DataError(
                f"column {name!r} holds infinite values. Replace them by numbers, or by "
                "missing values (NaN)."
            ).at(int(np.flatnonzero(infinite)[0]))


def salvaged_feeds(table: Table, file: GraphFile, problems: dict[int, str]) -> Feeds:
    """Read what can be read, and note for each row that cannot what is wrong with it."""
    return {name: _salvaged(table, name, file, problems).reshape(-1, 1) for name in file.types}


def _read(table: Table, name: str, file: GraphFile) -> NDArray[Any]:
    type_ = file.types[name]
    if type_ == TEXT:
        return _text(table, name, file.columns[name].get("missing", ""))
    if file.columns[name]["kind"] == "date":
        return table.days(name)
    values = _double(table, name)
    return values if type_ == NUMBER else _narrowed(values, NARROW[type_], name)


def _double(table: Table, name: str) -> NDArray[np.float64]:
    """Read a column of numbers."""
    try:
        return table.numeric(name).astype(np.float64, copy=False)
    except DataError:
        codes, levels = table.codes(name)
        if any(isinstance(level, str) for level in levels):
            raise
        return np.array([*map(float, levels), np.nan])[codes]  # categories of numbers


def _narrowed(values: NDArray[np.float64], dtype: Any, name: str) -> NDArray[Any]:
    """Convert to the type that the file declares, if that loses nothing."""
    narrow, fits = _narrow(values, dtype)
    if not fits.all():
        raise DataError(
            f"column {name!r} does not fit the type {np.dtype(dtype).name} that the file "
            "declares for it (a missing value fits floating-point types only). Convert the "
            f"column, or export with types={{{name!r}: 'double'}}."
        )
    return narrow


def _narrow(values: NDArray[np.float64], dtype: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    with np.errstate(invalid="ignore", over="ignore"):
        narrow = values.astype(dtype)
    back = narrow.astype(np.float64)
    return narrow, (back == values) | (np.isnan(back) & np.isnan(values))


def _text(table: Table, name: str, mark: str) -> NDArray[np.object_]:
    """Read a column of text, a missing value as the file's mark for it."""
    codes, levels = table.codes(name)
    if levels and not isinstance(levels[0], str):
        raise DataError(
            f"column {name!r} holds numbers (dtype {table.dtype(name)}) where text is expected. "
            "Convert the column to text."
        )
    texts: NDArray[np.object_] = np.array([*levels, mark], dtype=object)
    return texts[codes]


def _salvaged(table: Table, name: str, file: GraphFile, problems: dict[int, str]) -> NDArray[Any]:
    type_ = file.types[name]
    if type_ == TEXT:
        mark = file.columns[name].get("missing", "")
        return _each(table, name, _as_text(mark), mark, "text", problems, object)
    if file.columns[name]["kind"] == "date":
        return _each(table, name, _as_day, math.nan, "a date", problems, np.float64)
    values = _each(table, name, _as_number, math.nan, "a number", problems, np.float64)
    if type_ == NUMBER:
        return values
    narrow, fits = _narrow(values, NARROW[type_])
    for row in np.flatnonzero(~fits).tolist():
        problems.setdefault(row, f"column {name!r} does not fit {np.dtype(NARROW[type_]).name}")
    return np.where(fits, narrow, np.zeros(1, narrow.dtype))


def _each(
    table: Table,
    name: str,
    read: Callable[[Any], Any],
    absent: Any,
    needed: str,
    problems: dict[int, str],
    dtype: Any,
) -> NDArray[Any]:
    """Read value by value; a row that cannot be read gets a missing one and its reason."""
    found = np.empty(table.n_rows, dtype=dtype)
    for row, value in enumerate(table.values(name)):
        try:
            found[row] = absent if value is None else read(value)
        except (TypeError, ValueError, OverflowError):
            found[row] = absent
            got = repr(value) if len(repr(value)) < 60 else type(value).__name__
            problems.setdefault(row, f"column {name!r} holds {got}, where {needed} is needed")
    return found


def _as_number(value: Any) -> float:
    if isinstance(value, str | bytes):
        raise TypeError(value)
    number = float(value)
    if math.isinf(number):
        raise ValueError(value)
    return number


def _as_text(mark: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if isinstance(value, float) and math.isnan(value):
            return mark
        if not isinstance(value, str) or value == MISSING_TEXT:
            raise TypeError(value)
        value.encode()  # half of a character cannot be written
        return value

    return read


def _as_day(value: Any) -> float:
    if isinstance(value, date | datetime | np.datetime64):
        return float(as_days(as_dates(np.array([value], dtype=object)))[0])
    return days_of_text(value)
