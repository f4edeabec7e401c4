"""One table's columns as a design reads them: finite, coded by level, the missing marked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.checks import one_of
from crank.design.expressions import Function, Mask, Steps, Value, columns_of, evaluate
from crank.design.operations import Floats
from crank.errors import DataError, listed
from crank.frames.columns import MISSING_CODE, UNSEEN_CODE, LevelValue
from crank.frames.table import Table

UNKNOWN = ("error", "missing")
FEW_ROWS = 100  # below, one call of NumPy on everything is faster than fewer bytes moved


class Reader:
    """Read the raw columns of a table for expressions and factors.

    ``unknown`` says what a category's value outside its learned levels is: an ``"error"``, or
    ``"missing"``.

    Examples
    --------
    >>> from crank.design.expressions import Step
    >>> reader = Reader(Table.read({"cut": ["Fair", "Odd"]}), unknown="missing")
    >>> reader.codes((Step("column", ("cut",)),), ("Fair", "Good"), "cut")
    array([ 0, -1], dtype=int32)
    """

    def __init__(
        self,
        table: Table,
        functions: Mapping[str, Function] | None = None,
        unknown: str = "error",
    ) -> None:
        self.table = table
        self.unknown = one_of("unknown", unknown, UNKNOWN)
        self._functions = functions or {}
        self._codes: dict[tuple[Steps, tuple[LevelValue, ...]], NDArray[np.int32]] = {}

    @property
    def n_rows(self) -> int:
        """Count the rows."""
        return self.table.n_rows

    def number(self, name: str) -> Value:
        """Read a column of numbers, refusing infinite ones."""
        values = self.table.numeric(name).astype(np.float64, copy=False)
        if surely_finite(values):
            return Value(values)
        infinite = np.isinf(values)
        if infinite.any():
            raise DataError(
                f"column {name!r} holds infinite values in {self._rows(infinite)}. Replace them by "
                f"numbers, or by missing values (NaN)."
            ).at(self._first(infinite))
        missing = np.isnan(values)
        return Value(values, missing if missing.any() else None)

    def days(self, name: str) -> Value:
        """Read a column of dates as days since 1970-01-01."""
        days = self.table.days(name)
        missing = np.isnan(days)
        return Value(days, missing if missing.any() else None)

    def among(self, name: str, texts: Sequence[str]) -> Value:
        """Say for each row whether a category is one of these."""
        codes, _ = self.table.codes(name, texts)
        missing = codes == MISSING_CODE
        return Value(codes >= 0, missing if missing.any() else None)

    def function(self, name: str) -> Function:
        """Find a function that the user gave."""
        return self._functions[name]

    def write(self, steps: Steps, term: str, out: Floats) -> None:
        """Write what `finished` returns; a column of single precision takes no other room."""
        if len(steps) == 1 and steps[0].op == "column":
            values = self.table.numeric(*steps[0].given)
            if surely_finite(values):
                out[:] = values
                return
        out[:] = self.finished(steps, term)

    def finished(self, steps: Steps, term: str) -> Floats:
        """Evaluate steps to a float for each row, NaN where and only where a value is missing."""
        if len(steps) == 1 and steps[0].op == "column":
            return self.number(*steps[0].given).values
        value = evaluate(steps, self)
        values = np.broadcast_to(value.values, (self.n_rows,)).astype(np.float64, copy=False)
        if value.missing is None and surely_finite(values):
            return values
        self._all_finite(values, value.missing, steps, term)
        return values if value.missing is None else np.where(value.missing, np.nan, values)

    def _all_finite(self, values: Floats, missing: Mask | None, steps: Steps, term: str) -> None:
        bad = ~np.isfinite(values)
        if missing is not None:
            bad &= ~missing
        if not bad.any():
            return
        row = int(np.flatnonzero(bad)[0])
        one = self.table.rows([row])
        at = ", ".join(f"{name} = {_shown(one, name)}" for name in columns_of(steps))
        raise DataError(
            f"the term {term!r} is not a finite number in {self._rows(bad)}, where {at}. "
            f"Logarithms need positive numbers, roots numbers that are not negative, divisors "
            f"must not be 0: change the term (log1p(x), say) or leave these rows out."
        ).at(self._first(bad))

    def _rows(self, marked: Mask) -> str:
        if marked.size == 1:
            return "this row"
        count = int(marked.sum())
        rows = "row" if count == 1 else "rows"
        return f"{count} {rows} (first: row {self._first(marked)}, counted from 0)"

    def _first(self, marked: Mask) -> int:
        return self.table.position(int(np.flatnonzero(marked)[0]))

    def distinct(self, read: Callable[[Reader], NDArray[Any]]) -> NDArray[Any]:
        """Return the values, sorted, that something read of the rows has."""
        return np.unique(read(self))

    def codes(self, steps: Steps, levels: tuple[LevelValue, ...], term: str) -> NDArray[np.int32]:
        """Write a category's values as numbers of its learned levels, -1 for missing."""
        key = steps, levels
        if key not in self._codes:
            self._codes[key] = self._read_codes(steps, levels, term)
        return self._codes[key]

    def _read_codes(
        self, steps: Steps, levels: tuple[LevelValue, ...], term: str
    ) -> NDArray[np.int32]:
        if steps[-1].op == "cut":  # the number of the interval is the code
            interval = self.finished(steps, term)
            return np.where(np.isnan(interval), MISSING_CODE, interval).astype(np.int32)
        if len(steps) == 1 and steps[0].op == "column":
            name = steps[0].given[0]
            source, table, what = name, self.table, f"column {name!r}"
        else:
            table = Table.read({term: self.finished(steps, term)})
            source, what = term, f"the term {term!r}"
        codes, _ = table.codes(source, levels)
        unseen = codes == UNSEEN_CODE
        if not unseen.any():
            return codes
        if self.unknown == "error":
            kept = table.rows(unseen)
            raise unseen_levels(what, kept.codes(source)[1], kept.codes(source)[0], levels)
        return np.where(unseen, np.int32(MISSING_CODE), codes)


def unseen_levels(
    what: str, values: Sequence[LevelValue], codes: NDArray[np.int32], levels: Sequence[object]
) -> DataError:
    """Build the error for a category's values that were not there at fit."""
    present = [repr(values[code]) for code in np.unique(codes)]
    return DataError(
        f"{what} has values that the model does not know: {listed(present)}. "
        f"Known levels: {listed(map(repr, levels))}. Correct or leave out these rows, or pass "
        f"unknown='missing' to treat such values as missing."
    )


def surely_finite(values: NDArray[np.floating[Any]]) -> bool:
    """Prove cheaply that all values are finite; False proves nothing."""
    if values.size < FEW_ROWS:
        return bool(np.isfinite(values).all())
    with np.errstate(all="ignore"):
        return bool(np.isfinite(values.sum()))


def _shown(row: Table, name: str) -> str:
    if row.kind(name) in ("number", "boolean"):
        return repr(float(row.numeric(name)[0]))
    codes, levels = row.codes(name)
    return repr(levels[codes[0]])
