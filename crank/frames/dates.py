"""Dates as numbers: days since 1970-01-01, times of day as fractions, time zones as UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

_TICKS = {  # of each unit in a day
    "D": 1,
    "h": 24,
    "m": 24 * 60,
    "s": 24 * 60 * 60,
    "ms": 24 * 60 * 60 * 10**3,
    "us": 24 * 60 * 60 * 10**6,
    "ns": 24 * 60 * 60 * 10**9,
}
_NOT_A_TIME = np.iinfo(np.int64).min  # how NumPy stores NaT


def as_dates(column: NDArray[Any]) -> NDArray[np.datetime64]:
    """Return dates as NumPy's, in a unit that divides the day.

    Parameters
    ----------
    column : ndarray of datetime64, or of objects that are dates, datetimes or nulls
    """
    if column.dtype == object:
        column = np.array([_instant(value) for value in column.tolist()], dtype="datetime64[us]")
    unit, step = np.datetime_data(column.dtype)
    if unit in _TICKS and step == 1:
        return column
    return column.astype("datetime64[D]" if unit in ("Y", "M", "W") else "datetime64[ns]")


def _instant(value: Any) -> Any:
    """Take a Python date, datetime or timestamp as UTC; anything else is no time."""
    if isinstance(value, datetime):
        if type(value).__name__ == "NaTType":
            return None
        return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    return value if hasattr(value, "isoformat") or isinstance(value, np.datetime64) else None


def ticks(dates: NDArray[np.datetime64]) -> tuple[NDArray[np.int64], int]:
    """Return dates as whole numbers of their unit since 1970-01-01, and its number in a day."""
    return dates.view(np.int64), _TICKS[np.datetime_data(dates.dtype)[0]]


def as_days(dates: NDArray[np.datetime64]) -> NDArray[np.float64]:
    """Count days since 1970-01-01, NaN for missing dates.

    Examples
    --------
    >>> as_days(np.array(["1970-01-02", "2020-01-01T12:00", "NaT"], dtype="datetime64[s]"))
    array([1.00000e+00, 1.82625e+04,         nan])
    """
    whole, per_day = ticks(dates)
    days, rest = np.divmod(whole, per_day)  # whole days are exact, whatever the unit
    return np.where(whole == _NOT_A_TIME, np.nan, days + rest / per_day)


def days_of_text(text: object) -> float:
    """Count days since 1970-01-01 of a date or time in ISO format.

    Raises
    ------
    TypeError, ValueError
        It is not a text, or not a date.

    Examples
    --------
    >>> days_of_text("1970-01-02"), days_of_text("1970-01-02T12:00:00+12:00")
    (1.0, 1.0)
    """
    if not isinstance(text, str):
        raise TypeError(text)
    instant = _instant(datetime.fromisoformat(text.strip()))
    return float(as_days(np.array([instant], dtype="datetime64[us]"))[0])
