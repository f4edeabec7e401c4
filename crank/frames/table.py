"""Named raw columns of any data frame, read one at a time: the one way in for data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.errors import DataError, absent_column, listed
from crank.frames.columns import (
    LARGEST_WHOLE,
    MISSING_CODE,
    MISSING_TEXT,
    UNSEEN_CODE,
    Coded,
    Column,
    Kind,
    LevelValue,
    Mixed,
    Unusable,
    as_floats,
    exceeds_floats,
    factorize,
    kind_of,
    lost_digits,
    nulls,
    objects,
)
from crank.frames.dates import as_dates, as_days, days_of_text, ticks
from crank.frames.sources import source_of
from crank.frames.unusable import unusable_dtype, unusable_objects
from crank.texts import HALF, broken


class Table:
    """Raw columns of a data frame by name, each read when it is asked for.

    Examples
    --------
    >>> table = Table.read({"carat": [0.3, None], "cut": ["Ideal", "Fair"]})
    >>> table.names, table.n_rows
    (('carat', 'cut'), 2)
    >>> table.numeric("carat")
    array([0.3, nan])
    >>> table.codes("cut")
    (array([1, 0], dtype=int32), ('Fair', 'Ideal'))
    """

    def __init__(
        self,
        names: tuple[str, ...],
        n_rows: int,
        column: Callable[[str], Column],
        dtype: Callable[[str], str],
        index: NDArray[np.intp] | None = None,
    ) -> None:
        self.names = names
        self.n_rows = n_rows
        self._known = frozenset(names)
        self._kinds: dict[str, Kind | None] = {}
        self._read, self._dtype, self._index = column, dtype, index

    @classmethod
    def read(cls, data: Any) -> Table:
        """Wrap pandas, polars, pyarrow, anything narwhals reads, or a dict of columns.

        Examples
        --------
        >>> import pandas as pd
        >>> Table.read(pd.DataFrame({"x": [1, 2, 3]})).numeric("x")
        array([1., 2., 3.])
        """
        if isinstance(data, Table):
            return data
        if isinstance(data, list) and data and all(isinstance(row, Mapping) for row in data):
            names = dict.fromkeys(str(name) for row in data for name in row)
            return cls.of_records(data, list(names))
        return cls(*source_of(data))

    @classmethod
    def of_records(
        cls,
        rows: Sequence[Mapping[str, Any]],
        names: Sequence[str],
        problems: dict[int, str] | None = None,
    ) -> Table:
        """Read some columns of rows that are dicts.

        Parameters
        ----------
        rows : sequence of mappings
        names : sequence of str
            The columns that are needed.
        problems : dict, optional
            Where to note rows that lack a column which others have; without it they are an error.

        Examples
        --------
        >>> rows = [{"x": 1.5, "g": "a"}, {"x": None, "g": "b"}]
        >>> Table.of_records(rows, ["x"]).numeric("x")
        array([1.5, nan])
        """
        columns = {}
        for name in names:
            lacking = [k for k, row in enumerate(rows) if name not in row]
            if len(lacking) == len(rows) > 0:
                raise unknown_column(name, list(rows[0]))
            if lacking and problems is None:
                raise DataError(f"row {lacking[0]} lacks the column {name!r}.").at(lacking[0])
            if problems is not None:
                for k in lacking:
                    problems.setdefault(k, f"it lacks the column {name!r}")
            columns[name] = objects([row.get(name) for row in rows])
        return cls(tuple(names), len(rows), lambda n: columns[n], lambda n: "object")

    def require(self, name: str) -> None:
        """Raise unless the table has this column."""
        if name not in self._known:
            raise unknown_column(name, self.names)

    def dtype(self, name: str) -> str:
        """Name the column's type as its data frame calls it."""
        return self._dtype(name)

    def kind(self, name: str) -> Kind:
        """Say what a column holds; a column of nothing but nulls counts as numbers."""
        known = self._kinds.get(name)  # without reading the column once more
        return known or self._kind(self._column(name), name) or "number"

    def numeric(self, name: str) -> NDArray[np.floating[Any]]:
        """Return the column as float64 (float32 stays float32), missing values as NaN."""
        column = self._column(name)
        kind = self._kind(column, name)
        if kind != "category" and kind != "date":
            assert isinstance(column, np.ndarray)
            try:
                return as_floats(column)
            except OverflowError:
                raise _too_large(name) from None
        if nulls(column).all():
            return np.full(self.n_rows, np.nan)
        if kind == "date":
            raise DataError(
                f"column {name!r} holds dates (dtype {self.dtype(name)}) where numbers are needed. "
                f"Give the numbers that the model was fitted on."
            )
        raise DataError(
            f"column {name!r} holds categories (dtype {self.dtype(name)}) where numbers are "
            f"needed. Convert the column to numbers, for example with pd.to_numeric."
        )

    def days(self, name: str) -> NDArray[np.float64]:
        """Return a column of dates as days since 1970-01-01 UTC, missing ones as NaN.

        Text in ISO format is read as dates.

        Examples
        --------
        >>> from datetime import date
        >>> Table.read({"day": [date(1970, 1, 2), None]}).days("day")
        array([ 1., nan])
        >>> Table.read({"day": ["1970-01-02T12:00"]}).days("day")
        array([1.5])
        """
        column = self._column(name)
        kind = self._kind(column, name)
        if kind == "date":
            assert isinstance(column, np.ndarray)
            return as_days(as_dates(column))
        if nulls(column).all():
            return np.full(self.n_rows, np.nan)
        codes, values = factorize(column, kind)
        try:
            days: NDArray[np.float64] = np.array([*map(days_of_text, values), np.nan])
            return np.asarray(days[codes])
        except (TypeError, ValueError):
            raise DataError(
                f"column {name!r} has dtype {self.dtype(name)} where dates are needed. Convert the "
                f"column to dates, for example with pd.to_datetime, or write dates as 2020-12-31."
            ) from None

    def dates(self, name: str) -> NDArray[np.datetime64]:
        """Return a column of dates as NumPy's; text in ISO format is read as dates."""
        column = self._column(name)
        if self._kind(column, name) == "date":
            assert isinstance(column, np.ndarray)
            return as_dates(column)
        days = self.days(name)
        return as_dates(np.round(days * 86_400e6).astype("datetime64[us]"))

    def exact(self, name: str) -> NDArray[Any] | None:
        """Return whole numbers or times that floats may not tell apart; None for all others.

        Where there is no value the result is of no use.
        """
        column = self._column(name)
        kind = self._kind(column, name)
        if isinstance(column, Coded) or kind not in ("number", "date"):
            return None
        if kind == "date":
            return ticks(as_dates(column))[0]
        if column.dtype == object:
            whole = objects([v if isinstance(v, int) else 0 for v in column.tolist()])
            return whole if any(abs(v) > LARGEST_WHOLE for v in whole.tolist()) else None
        return column if column.dtype.kind in "iu" and exceeds_floats(column) else None

    def values(self, name: str) -> list[Any]:
        """Return the column as Python values, missing ones as None."""
        column = self._column(name)
        absent = nulls(column).tolist()
        if isinstance(column, Coded):
            return [
                None if null else column.levels[k]
                for k, null in zip(column.codes, absent, strict=True)
            ]
        return [None if null else v for v, null in zip(column.tolist(), absent, strict=True)]

    def is_ordered(self, name: str) -> bool:
        """Say whether a column declares levels in an order: an ordered categorical, an Enum."""
        column = self.declared(name)
        return column is not None and column.ordered

    def declared(self, name: str) -> Coded | None:
        """Return a column that declares its levels, such as a pandas categorical; else None."""
        column = self._column(name)
        return column if isinstance(column, Coded) else None

    def codes(
        self, name: str, levels: Sequence[LevelValue] | None = None
    ) -> tuple[NDArray[np.int32], tuple[LevelValue, ...]]:
        """Write each value as the number of its level: -1 is missing, -2 is none of ``levels``.

        Without ``levels`` they are what the column declares (a pandas categorical or an Enum, in
        its order, absent ones included, as R and formulaic keep them), else its sorted values.
        Numbers match by value: 1.0 is the level 1.
        """
        column = self._column(name)
        try:
            found, values = factorize(column, self._kind(column, name))
        except OverflowError:
            raise _too_large(name) from None
        if values and isinstance(values[0], str) and MISSING_TEXT in values:
            raise DataError(
                f"column {name!r} holds the text {MISSING_TEXT!a}, which is reserved for missing "
                f"values. Write missing values as None."
            )
        if (half := broken(values)) is not None:
            raise DataError(
                f"column {name!a} holds the text {half!a}: {HALF}. Read the data again in their "
                "own encoding, or replace it."
            )
        if levels is None:
            return found.astype(np.int32), values
        self._same_type(name, values, levels)
        if any(type(v) is int and abs(v) >= LARGEST_WHOLE for v in levels):
            self.require_digits(name)
        number = {level: i for i, level in enumerate(levels)}
        table = np.array(
            [*(number.get(v, UNSEEN_CODE) for v in values), MISSING_CODE], dtype=np.int32
        )
        return table[found], tuple(levels)

    def require_digits(self, name: str) -> None:
        """Raise if categories of whole numbers may have been mixed up by becoming floats."""
        if lost_digits(self._column(name)):
            raise DataError(
                f"column {name!r} holds floating-point numbers from 2^53 on, which cannot tell "
                f"whole numbers apart. Read the column as int64 (Int64 in pandas if some are "
                f"missing), or as text."
            )

    def missing(self, name: str) -> NDArray[np.bool_]:
        """Mark the rows in which the column has no value."""
        return nulls(self._column(name))

    def rows(self, selector: NDArray[Any] | Sequence[int] | Sequence[bool]) -> Table:
        """Keep some rows, given by a boolean mask or by their numbers.

        Examples
        --------
        >>> table = Table.read({"x": [1.0, 2.0, 3.0]})
        >>> table.rows([True, False, True]).numeric("x")
        array([1., 3.])
        >>> table.rows([2, 2]).numeric("x")
        array([3., 3.])
        """
        chosen = np.asarray(selector)
        if chosen.dtype == np.bool_:
            if chosen.shape != (self.n_rows,):
                raise DataError(
                    f"a row mask has shape {chosen.shape}, but the data have {self.n_rows} rows. "
                    f"Give one True or False for each row."
                )
            chosen = np.flatnonzero(chosen)
        index = chosen.astype(np.intp, copy=False)
        base = np.arange(self.n_rows) if self._index is None else self._index
        return Table(self.names, index.size, self._read, self._dtype, base[index])

    def only(self, names: tuple[str, ...]) -> Table:
        """Keep some columns."""
        return Table(names, self.n_rows, self._read, self._dtype, self._index)

    def with_dates(self, names: Collection[str]) -> Table:
        """Read texts of some columns as dates, for ``as.Date(column)``.

        Examples
        --------
        >>> table = Table.read({"day": ["1970-01-03", None]})
        >>> table.kind("day"), table.with_dates(["day"]).kind("day")
        ('category', 'date')
        """
        texts = [name for name in dict.fromkeys(names) if self.kind(name) == "category"]
        if not texts:
            return self
        whole = Table(self.names, self.n_rows, self._read, self._dtype)
        dates = {name: whole.dates(name) for name in texts}
        found = Table(
            self.names,
            self.n_rows,
            lambda name: dates[name] if name in dates else self._read(name),
            self._dtype,
            self._index,
        )
        found._kinds = {name: kind for name, kind in self._kinds.items() if name not in dates}
        return found

    def supposing(self, kinds: Mapping[str, Kind]) -> Table:
        """Take columns to hold these kinds, where they hold nothing that says what they are."""
        found = Table(self.names, self.n_rows, self._read, self._dtype, self._index)
        found._kinds = {**self._kinds, **kinds}
        return found

    def position(self, row: int) -> int:
        """Return the number of a row in the data frame that the table was read from."""
        return row if self._index is None else int(self._index[row])

    def _column(self, name: str) -> NDArray[Any] | Coded:
        self.require(name)
        column = self._read(name)
        if isinstance(column, Unusable):
            raise unusable_dtype(name, self.dtype(name))
        if self._index is None:
            return column
        if isinstance(column, Coded):
            return Coded(column.codes[self._index], column.levels, column.ordered)
        return np.asarray(column[self._index])

    def _kind(self, column: NDArray[Any] | Coded, name: str) -> Kind | None:
        try:
            if name not in self._kinds:  # Python objects are read one by one to find out
                self._kinds[name] = kind_of(column)
            return self._kinds[name]
        except Mixed as types:
            raise unusable_objects(name, str(types)) from None

    def _same_type(
        self, name: str, values: Sequence[LevelValue], levels: Sequence[LevelValue]
    ) -> None:
        """Refuse to look for text among numbers or for numbers among text."""
        if not values or not levels:
            return
        holds_text, wants_text = (isinstance(some[0], str) for some in (values, levels))
        if holds_text == wants_text:
            return
        got, wanted = ("text", "numbers") if holds_text else ("numbers", "text")
        raise DataError(
            f"column {name!r} holds {got} (dtype {self.dtype(name)}) where {wanted} are expected. "
            f"Known levels: {listed(map(repr, levels))}. Convert the column to {wanted}."
        )


def unknown_column(name: str, names: Collection[str]) -> DataError:
    """Build the error for a column that the data lack."""
    return absent_column(f"column {name!r} of the formula", name, names)


def _too_large(name: str) -> DataError:
    return DataError(
        f"column {name!r} holds whole numbers that are too large for a floating point number "
        f"(about 1.8e308). Divide the column, or take its logarithm."
    )
