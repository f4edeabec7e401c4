"""The rows of one partition that a fit uses, and what the driver must know of all partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.errors import DataError, listed
from crank.formula import ParsedFormula, read_subset
from crank.frames.columns import Coded, Kind, LevelValue
from crank.frames.table import Table
from crank.frames.weights import read_weights

MOST_LEVELS = 2**20
"""A category with more levels names rows."""


@dataclass(frozen=True)
class Asked:
    """What a fit wants of each partition.

    Attributes
    ----------
    parsed : ParsedFormula
    weights, subset : str or None
        A column's name; a condition.
    na_action : {"drop", "raise"}
    takes_missing : bool
        Whether predictors may be missing.
    levels_of : tuple of str
        Columns of which all values must be known, categories aside.
    """

    parsed: ParsedFormula
    weights: str | None = None
    subset: str | None = None
    na_action: str = "drop"
    takes_missing: bool = True
    levels_of: tuple[str, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        """The raw columns of both sides of the formula."""
        return tuple(dict.fromkeys((*self.parsed.response_variables, *self.parsed.variables)))

    @property
    def required(self) -> tuple[str, ...]:
        """The columns without which a row cannot be used."""
        if self.takes_missing:
            return self.parsed.response_variables
        return self.variables


@dataclass(frozen=True)
class Rows:
    """The rows of a partition that can be used, and the count of those that cannot."""

    table: Table
    weight: NDArray[np.float64] | None
    seen: int
    dropped: int
    missing: Mapping[str, int]
    absent: Mapping[str, int]


def read_rows(frame: Any, asked: Asked) -> Rows:
    """Apply subset, weights and the rule for missing values to one partition."""
    table = Table.read(frame).with_dates(asked.parsed.dates)
    weight = read_weights(asked.weights, table)
    if asked.subset is not None:
        kept = read_subset(asked.subset, table, part=True)
        table = table.rows(kept)
        weight = None if weight is None else weight[kept]
    seen = table.n_rows
    here = np.ones(seen, dtype=bool) if weight is None else weight != 0.0
    gaps = {name: table.missing(name) for name in asked.variables}
    counted = {
        name: int(np.count_nonzero(gaps[name] if weight is None else gaps[name] & here))
        for name in asked.parsed.variables
        if name not in asked.parsed.response_variables
    }
    lacking = {f"column {name!r}": gaps[name] & here for name in asked.required}
    if weight is not None:
        lacking["the weights"] = np.isnan(weight)
    if asked.na_action == "raise":
        for what, mask in lacking.items():
            if mask.any():
                raise DataError(
                    f"{what} is missing in {int(mask.sum())} of {int(here.sum())} rows, the first "
                    f"is row {table.position(int(np.flatnonzero(mask)[0]))}. Fill them, or use "
                    "na_action='drop'."
                )
    unusable = np.zeros(seen, dtype=bool)
    for mask in lacking.values():
        unusable |= mask
    kept = ~unusable & here
    every = bool(kept.all())  # then no column need be copied
    return Rows(
        table if every else table.rows(kept),
        weight if weight is None or every else weight[kept],
        seen,
        int((unusable & here).sum()),
        counted,
        {what: int(mask.sum()) for what, mask in lacking.items()},
    )


@dataclass(frozen=True)
class ColumnSeen:
    """What partitions hold in a raw column.

    Attributes
    ----------
    kind : str or None
        None if there is nothing but nulls.
    dtype : str
    levels : frozenset
        Values of a category, or of a column whose values were asked for.
    declared : tuple or None
        Levels in the order that the column declares.
    ordered : bool
    where : str
        The first partition that holds something in it.
    """

    kind: Kind | None
    dtype: str
    levels: frozenset[LevelValue] = frozenset()
    declared: tuple[LevelValue, ...] | None = None
    ordered: bool = False
    where: str = ""

    def joined(self, other: ColumnSeen, name: str) -> ColumnSeen:
        """Say what two partitions hold together, or refuse what does not go together."""
        kinds = {kind for kind in (self.kind, other.kind) if kind is not None}
        if kinds == {"number", "boolean"}:
            kinds = {"number"}
        if len(kinds) > 1:
            one, two = (f"{c.kind} ({c.dtype}) in {c.where}" for c in (self, other))
            raise DataError(
                f"column {name!r} holds {one} and {two}. Convert it to one type before fitting: "
                f"frame[{name!r}].astype(...)."
            )
        levels = self.levels | other.levels
        if len(levels) > MOST_LEVELS:
            raise DataError(
                f"column {name!r} has more than {MOST_LEVELS} levels: it seems to name rows. Leave "
                "it out, or join rare levels."
            )
        declared = self.declared if self.declared == other.declared else None
        if self.kind is None or other.kind is None:
            declared = self.declared or other.declared
        if declared is None and (self.ordered or other.ordered):
            one, two = (f"{listed(c.declared or ())} in {c.where}" for c in (self, other))
            raise DataError(
                f"the ordered levels of column {name!r} differ: {one}; {two}. Give all partitions "
                "the same levels: frame.categorize()."
            )
        known = self if self.kind is not None else other
        return ColumnSeen(
            next(iter(kinds), None),
            known.dtype,
            levels,
            declared,
            self.ordered or other.ordered,
            known.where,
        )

    def stand_in(self, n: int) -> Any:
        """Make a column that declares the same, with every level in it."""
        if self.declared is not None:
            codes = np.full(n, -1, dtype=np.int32)
            codes[: len(self.declared)] = np.arange(len(self.declared))
            return Coded(codes, self.declared, self.ordered)
        if self.kind == "date":
            column = np.full(n, np.datetime64("NaT", "us"))
            days = sorted(self.levels) or ["1970-01-01"]
            column[: len(days)] = np.array(days, dtype="datetime64[us]")
            return column
        if self.kind == "category" or any(type(v) is int for v in self.levels):
            column = np.full(n, None, dtype=object)
            column[: len(self.levels)] = sorted(self.levels)
            return column
        if self.kind == "boolean":
            return np.resize(np.array([False, True]), n)
        column = np.full(n, np.nan)
        column[: len(self.levels)] = sorted(self.levels)
        return column


@dataclass(frozen=True)
class Survey:
    """What all partitions hold, before anything is learned; sums of it know all partitions."""

    seen: int
    used: int
    dropped: int
    missing: Mapping[str, int]
    absent: Mapping[str, int]
    columns: Mapping[str, ColumnSeen]
    weight: tuple[float, float] | None = None

    def __add__(self, other: Survey) -> Survey:
        weight = self.weight
        if self.weight is not None and other.weight is not None:
            weight = (
                min(self.weight[0], other.weight[0]),
                max(self.weight[1], other.weight[1]),
            )
        return replace(
            self,
            seen=self.seen + other.seen,
            used=self.used + other.used,
            dropped=self.dropped + other.dropped,
            missing={k: v + other.missing[k] for k, v in self.missing.items()},
            absent={k: v + other.absent[k] for k, v in self.absent.items()},
            columns={k: v.joined(other.columns[k], k) for k, v in self.columns.items()},
            weight=weight,
        )

    def check(self, asked: Asked) -> None:
        """Refuse rows from which nothing can be learned."""
        if not self.seen:
            where = f"subset {asked.subset!r} is true in no row" if asked.subset else "no rows"
            raise DataError(f"the data has {where}. Fitting needs at least two.")
        for what, count in self.absent.items():
            if count == self.seen:
                raise DataError(f"{what} is missing in all {self.seen} rows: nothing to fit.")
        if self.used < 2:
            idle = self.seen - self.used - self.dropped
            others = f", {idle} of weight 0" if idle else ""
            raise DataError(
                f"{self.used} row{'s' * (self.used != 1)} left to fit "
                f"({self.dropped} dropped for missing values{others}). Ranking needs at least two."
            )

    def stand_in(self) -> Table:
        """Make a small table with the columns' kinds and all their levels, for the formula."""
        sizes = [len(c.declared or c.levels) for c in self.columns.values()]
        n = max(2, *sizes)
        made = {name: column.stand_in(n) for name, column in self.columns.items()}
        return Table(tuple(made), n, lambda name: made[name], lambda name: self.columns[name].dtype)


def survey(frame: Any, where: str, asked: Asked) -> Survey:
    """Look at one partition."""
    return survey_of(read_rows(frame, asked), where, asked)


def survey_of(rows: Rows, where: str, asked: Asked) -> Survey:
    """Say what the rows of one partition hold."""
    weight = None
    if rows.weight is not None:
        some = rows.weight if len(rows.weight) else np.array([np.inf])
        highest = float(some.max()) if len(rows.weight) else 0.0
        weight = (float(some.min()), highest)
    return Survey(
        rows.seen,
        rows.table.n_rows,
        rows.dropped,
        rows.missing,
        rows.absent,
        {
            name: replace(
                _column_seen(
                    rows.table, name, name in asked.levels_of, whole=rows.missing.get(name) == 0
                ),
                where=where,
            )
            for name in asked.variables
        },
        weight,
    )


def _column_seen(table: Table, name: str, values: bool, *, whole: bool) -> ColumnSeen:
    empty = not table.n_rows or (not whole and bool(table.missing(name).all()))
    kind = None if empty else table.kind(name)
    column = table.declared(name)
    if column is not None:
        return ColumnSeen(
            "category", table.dtype(name), frozenset(column.levels), column.levels, column.ordered
        )
    if kind is None:
        return ColumnSeen(None, table.dtype(name))
    if kind == "category" or values:
        table.require_digits(name)
        return ColumnSeen(kind, table.dtype(name), frozenset(table.codes(name)[1]))
    return ColumnSeen(kind, table.dtype(name))
