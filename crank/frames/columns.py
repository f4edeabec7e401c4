"""What one raw column holds: its kind, its missing values, its levels."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crank.frames.dates import as_dates

if TYPE_CHECKING:
    import narwhals as nw

Kind: TypeAlias = Literal["number", "boolean", "category", "date"]
LevelValue: TypeAlias = str | int | float | bool

MISSING_CODE, UNSEEN_CODE = -1, -2  # what stands for a level's number where there is none

MISSING_TEXT = "\uffff"
"""Stands for a missing text where only texts can stand: Unicode promises that no text holds it."""
LARGEST_WHOLE = 2**53  # the float of this number is also that of the next
NULLS = frozenset({"NoneType", "NAType", "NaTType"})  # None, pandas.NA and NaT, by type name


@dataclass(frozen=True)
class Coded:
    """A column that declares its levels: codes into them, -1 for missing."""

    codes: NDArray[np.integer[Any]]
    levels: tuple[LevelValue, ...]
    ordered: bool = False


class Unusable:
    """A column that no formula can use, such as durations or lists."""


class Mixed(TypeError):
    """A column of Python objects of a type that no formula can use, or of several.

    The text lists them.
    """


Column: TypeAlias = "NDArray[Any] | Coded | Unusable"


def from_array(array: NDArray[Any]) -> Column:
    """Take a NumPy array as a column; fixed-width text becomes Python text."""
    if array.dtype.kind in "UT":
        return array.astype(object)
    return array if array.dtype.kind in "fiubOM" else Unusable()


def from_pandas(series: Any) -> Column:
    """Read a pandas series, directly where NumPy or pandas' own categories hold it."""
    import pandas as pd

    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return from_array(series.to_numpy())
    if isinstance(dtype, pd.CategoricalDtype):
        levels = np.asarray(dtype.categories, dtype=object).tolist()
        return Coded(series.array.codes, tuple(map(as_level, levels)), bool(dtype.ordered))
    if isinstance(dtype, pd.DatetimeTZDtype):
        return from_array(series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
    if isinstance(dtype, pd.StringDtype):
        return from_array(series.to_numpy(dtype=object))
    import narwhals

    return from_narwhals(narwhals.from_native(series, series_only=True))


def from_narwhals(series: nw.Series[Any]) -> Column:
    """Read a narwhals series, with its levels where it declares them."""
    import narwhals as nw

    dtype = series.dtype
    if isinstance(dtype, nw.Decimal):
        return series.cast(nw.Float64).to_numpy()
    if isinstance(dtype, nw.Int64 | nw.UInt64) and series.null_count():
        filled = series.fill_null(0).to_numpy()
        if exceeds_floats(filled):  # as floats they would be tied
            return objects(series.to_list())
    if dtype.is_numeric() or isinstance(dtype, nw.Boolean):
        return series.to_numpy()
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    if isinstance(dtype, nw.Date | nw.Datetime):
        return from_array(series.to_numpy())
    if isinstance(dtype, nw.Enum):
        # narwhals 1 lacks the attribute; with polars 2 the method leaves out absent levels
        declared = getattr(dtype, "categories", None) or series.cat.get_categories().to_list()
        levels = tuple(declared)
        return Coded(_look_up(series.to_list(), levels), levels, ordered=True)
    if isinstance(dtype, nw.String | nw.Categorical | nw.Object | nw.Unknown):
        return objects(series.to_list())
    return Unusable()


def objects(values: list[Any]) -> NDArray[np.object_]:
    """Make an array of Python values as they are."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def exceeds_floats(whole: NDArray[np.integer[Any]]) -> bool:
    """Say whether some of these whole numbers are too large to be told apart as floats."""
    return bool(whole.size and (whole.max() > LARGEST_WHOLE or whole.min() < -LARGEST_WHOLE))


def as_level(level: Any) -> LevelValue:
    """Keep a level that JSON can hold; write any other (an interval, a date) as text."""
    return level if isinstance(level, str | bool | int | float) else str(level)


def nulls(column: NDArray[Any] | Coded) -> NDArray[np.bool_]:
    """Mark the rows without a value."""
    if isinstance(column, Coded):
        return np.asarray(column.codes < 0)
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    if column.dtype.kind in "iub":
        return np.zeros(column.size, dtype=np.bool_)
    if column.dtype.kind == "M":
        return np.asarray(np.isnat(column))
    values = column.tolist()
    types = set(map(type, values))
    null = {t for t in types if t.__name__ in NULLS}
    # only NaN differs from itself; pandas.NA cannot be compared, so its type decides, and neither
    # can arrays, which are no single values
    whole = {
        t for t in types - null if hasattr(t, "__array_ufunc__") and not issubclass(t, np.generic)
    }
    if whole:
        return np.fromiter((type(v) in null for v in values), np.bool_, len(values))
    return np.fromiter((type(v) in null or v != v for v in values), np.bool_, len(values))


def kind_of(column: NDArray[Any] | Coded) -> Kind | None:
    """Say what a column holds; None where it holds nothing but untyped nulls."""
    if isinstance(column, Coded):
        return "category"
    if column.dtype.kind == "b":
        return "boolean"
    if column.dtype.kind in "fiu":
        return "number"
    if column.dtype.kind == "M":
        return "date"
    values = column.tolist()
    types = {t for t in set(map(type, values)) if t.__name__ not in NULLS}
    if float in types and not any(type(v) is float and v == v for v in values):
        types.remove(float)  # every float is a NaN
    if not types:
        return None
    if all(issubclass(t, str) for t in types):
        return "category"
    if all(issubclass(t, bool | np.bool_) for t in types):
        return "boolean"
    if all(issubclass(t, int | float | np.number) or t.__name__ == "Decimal" for t in types):
        return "number"
    if all(issubclass(t, date | np.datetime64) for t in types):
        return "date"
    raise Mixed(", ".join(sorted(t.__name__ for t in types)))


def as_floats(column: NDArray[Any]) -> NDArray[np.floating[Any]]:
    """Return numbers or booleans as floats, NaN where there is none; floats are not copied."""
    if column.dtype == np.float64 or column.dtype == np.float32:
        return column
    if column.dtype == object:
        pairs = zip(column.tolist(), nulls(column).tolist(), strict=True)
        return np.array([np.nan if null else float(v) for v, null in pairs], dtype=np.float64)
    return column.astype(np.float64)


def factorize(
    column: NDArray[Any] | Coded, kind: Kind | None
) -> tuple[NDArray[np.integer[Any]], tuple[LevelValue, ...]]:
    """Find each value's number among the declared levels, else among the sorted values."""
    if isinstance(column, Coded):
        return column.codes, column.levels
    if kind == "category":
        values = column.tolist()
        levels = tuple(sorted(v for v in set(values) if isinstance(v, str)))
        return _look_up(values, levels), levels
    if kind == "date":
        dates = as_dates(column)
        texts = objects([None if t == "NaT" else t for t in np.datetime_as_string(dates).tolist()])
        return factorize(texts, "category")
    if column.dtype == object and any(map(_is_large, column.tolist())):
        return _exactly(column)
    numbers = as_floats(column) if column.dtype == object else column
    present = ~nulls(numbers)
    distinct, inverse = np.unique(numbers[present], return_inverse=True)
    codes = np.full(column.size, MISSING_CODE, dtype=np.int32)
    codes[present] = inverse
    return codes, tuple(distinct.tolist())


def lost_digits(column: NDArray[Any] | Coded) -> bool:
    """Say whether floats of a column may each stand for several whole numbers."""
    if isinstance(column, Coded):
        return False
    if column.dtype == object:
        floats = [v for v in column.tolist() if isinstance(v, float)]
        column = np.array(floats, dtype=np.float64)
    if column.dtype.kind != "f":
        return False
    return bool(((np.abs(column) >= LARGEST_WHOLE) & np.isfinite(column)).any())


def _is_large(value: Any) -> bool:
    return isinstance(value, int | np.integer) and abs(int(value)) > LARGEST_WHOLE


def _exactly(column: NDArray[Any]) -> tuple[NDArray[np.int32], tuple[LevelValue, ...]]:
    """Factorize whole numbers that floats cannot tell apart."""
    values = [v.item() if isinstance(v, np.generic) else v for v in column.tolist()]
    absent = nulls(column).tolist()
    present = {v for v, null in zip(values, absent, strict=True) if not null}
    levels = tuple(sorted(present))
    for extreme in (levels[0], levels[-1]):
        float(extreme)  # raises OverflowError beyond all floats
    return _look_up(values, levels), levels


def _look_up(values: list[Any], levels: tuple[LevelValue, ...]) -> NDArray[np.int32]:
    number = {level: i for i, level in enumerate(levels)}
    return np.fromiter(map(number.get, values, repeat(MISSING_CODE)), np.int32, len(values))
