"""How y, the design's columns and the raw columns are spread over all partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.cluster.engine import Cluster
from crank.cluster.formula import Learned
from crank.cluster.rows import Rows, read_rows
from crank.cluster.sketch import (
    FloatArray,
    Numbers,
    Parts,
    Refinement,
    count_numbers,
    count_refined,
    cut,
    refine_all,
)
from crank.cluster.units import Units
from crank.errors import DataError
from crank.frames.profile import BINS, MOST_VALUES, ColumnProfile
from crank.ranks import MOST_UNITS

Y_LEVELS = 2**16
"""Levels of y at most."""

ROWS_A_LEVEL = 8
"""Rows of a level of y, about, where y has more distinct values than levels."""

X_BINS = 255
"""Bins of a column at most, besides that of missing values."""

MOST_ROWS = 2**31 - 1
"""Rows that 32-bit counts can hold."""


@dataclass(frozen=True)
class Columns:
    """What is counted in every partition: y, columns of the design, raw columns of numbers.

    Attributes
    ----------
    learned : Learned
    smallest : float or None
        Smallest weight; None if rows are not weighted.
    """

    learned: Learned
    smallest: float | None

    @property
    def numeric(self) -> list[int]:
        """Columns of the design that hold numbers, not codes of categories."""
        return [j for j, names in enumerate(self.learned.design.levels) if names is None]

    @property
    def raw(self) -> list[str]:
        """Raw columns of numbers or dates that are not columns of the design as they are."""
        known = set(self.learned.design.names)
        return [
            v.name
            for v in self.learned.design.variables
            if v.kind != "category" and (v.name not in known or v.kind != "number")
        ]

    @property
    def categories(self) -> list[str]:
        """Raw columns of categories."""
        return [v.name for v in self.learned.design.variables if v.kind == "category"]

    def levels(self, name: str) -> tuple[Any, ...]:
        """All levels of a raw column of categories, in their order."""
        column = self.learned.survey.columns[name]
        return column.declared or tuple(sorted(column.levels))

    def most(self) -> list[int]:
        """Distinct values that are told apart: of y, then of `numeric`, then of `raw`."""
        return [Y_LEVELS, *([X_BINS] * len(self.numeric)), *([4 * BINS] * len(self.raw))]

    def parts(self) -> list[int]:
        """Parts into which columns of more values are cut; those of y have some rows each."""
        some = self.learned.survey.used // ROWS_A_LEVEL
        return [min(Y_LEVELS, max(some, X_BINS)), *self.most()[1:]]

    def values(self, frame: Any) -> tuple[list[FloatArray], Rows]:
        """Read the columns of one partition."""
        rows = read_rows(frame, self.learned.asked)
        y, X = design_of(rows, self.learned)
        kinds = {v.name: v.kind for v in self.learned.design.variables}
        raw = [
            rows.table.days(name) if kinds[name] == "date" else rows.table.numeric(name)
            for name in self.raw
        ]
        columns = [y, *(X[:, j] for j in self.numeric), *raw]
        return [np.asarray(c, dtype=np.float64) for c in columns], rows


def design_of(rows: Rows, learned: Learned) -> tuple[FloatArray, NDArray[Any]]:
    """Compute the response and the design of one partition's rows."""
    if not rows.table.n_rows:  # an empty partition may have columns of no type
        return np.empty(0), np.empty((0, len(learned.design.names)))
    return learned.response.values(rows.table), learned.design.matrix(rows.table)


@dataclass(frozen=True)
class Counted:
    """Counts of one partition, or the sum of several."""

    numbers: tuple[Numbers, ...]
    codes: tuple[NDArray[np.int64], ...]
    whole: bool

    def __add__(self, other: Counted) -> Counted:
        return Counted(
            tuple(a + b for a, b in zip(self.numbers, other.numbers, strict=True)),
            tuple(a + b for a, b in zip(self.codes, other.codes, strict=True)),
            self.whole and other.whole,
        )


def count_columns(frame: Any, columns: Columns) -> Counted:
    """Count one partition."""
    values, rows = columns.values(frame)
    found = [count_numbers(x, k) for x, k in zip(values, columns.most(), strict=True)]
    codes = []
    for name in columns.categories:
        levels = columns.levels(name)
        code = np.empty(0, dtype=np.int32)
        if rows.table.n_rows:
            code = rows.table.codes(name, levels)[0]
        codes.append(np.bincount(code + 1, minlength=len(levels) + 1).astype(np.int64))
    whole = True
    if rows.weight is not None and columns.smallest is not None:
        with np.errstate(over="ignore"):
            ratio = np.minimum(rows.weight / columns.smallest, MOST_UNITS)
        near = np.rint(ratio)
        whole = bool(((near < MOST_UNITS) & (np.abs(ratio - near) <= 1e-12 * near)).all())
    return Counted(tuple(found), tuple(codes), whole)


@dataclass(frozen=True)
class RefinedCounts:
    """Counts in parts of cells, of several columns."""

    counts: tuple[NDArray[np.int64] | None, ...]

    def __add__(self, other: RefinedCounts) -> RefinedCounts:
        both = zip(self.counts, other.counts, strict=True)
        return RefinedCounts(tuple(None if a is None or b is None else a + b for a, b in both))


def count_cells(frame: Any, columns: Columns, wanted: Sequence[Refinement | None]) -> RefinedCounts:
    """Count one partition in parts of cells."""
    values, _ = columns.values(frame)
    return RefinedCounts(
        tuple(
            None if each is None else count_refined(x, each)
            for x, each in zip(values, wanted, strict=True)
        )
    )


@dataclass(frozen=True)
class Spread:
    """What the passes found.

    Attributes
    ----------
    y : Parts
        Levels of the response.
    n_tied : int
        Rows at the commonest y.
    bins : tuple of Parts or None
        For each column of the design; None for categories.
    units : Units
        Of the weights.
    profiles : mapping
    """

    y: Parts
    n_tied: int
    bins: tuple[Parts | None, ...]
    units: Units
    profiles: Mapping[str, ColumnProfile]


def spread_of(cluster: Cluster, learned: Learned) -> Spread:
    """Count all columns, refining where many rows are close together."""
    survey = learned.survey
    if survey.used > MOST_ROWS:
        raise DataError(
            f"the data has {survey.used} rows; at most {MOST_ROWS} can be counted. Fit a part of "
            "them: frame.sample(frac=0.5)."
        )
    smallest = None if survey.weight is None else survey.weight[0]
    columns = Columns(learned, smallest)
    first: Counted = cluster.sum(count_columns, columns)

    def count(wanted: Sequence[Refinement | None]) -> Sequence[NDArray[np.int64] | None]:
        found: RefinedCounts = cluster.sum(count_cells, columns, wanted)
        return found.counts

    found = refine_all(first.numbers, columns.parts(), count)
    y, numeric = found[0], found[1 : 1 + len(columns.numeric)]
    raw = found[1 + len(columns.numeric) :]
    bins: list[Parts | None] = [None] * len(learned.design.levels)
    for j, column in zip(columns.numeric, numeric, strict=True):
        bins[j] = cut(column, X_BINS) if column.n else Parts(np.empty(0), np.zeros(1), True)
    known = dict(zip(columns.raw, raw, strict=True))
    names = learned.design.names
    known |= {
        names[j]: column
        for j, column in zip(columns.numeric, numeric, strict=True)
        if names[j] not in known
    }
    counts = dict(zip(columns.categories, first.codes, strict=True))
    profiles = {
        v.name: category_profile(columns.levels(v.name), counts[v.name])
        if v.kind == "category"
        else numbers_profile(known[v.name], v.kind)
        for v in learned.design.variables
    }
    tied = y.counts if y.counts is not None else y.cells.count
    return Spread(
        cut(y, Y_LEVELS if y.distinct else columns.parts()[0]),
        int(tied.max()),
        tuple(bins),
        Units.of(survey.weight, first.whole, survey.used),
        profiles,
    )


def numbers_profile(column: Numbers, kind: Any) -> ColumnProfile:
    """Describe a column of numbers."""
    edges, counts = np.empty(0), np.zeros(0, dtype=np.int64)
    if column.n:
        edges = cut(column, BINS).edges
        at = column.values if column.values is not None else column.cells.high
        rows = column.counts if column.counts is not None else column.cells.count
        place = np.searchsorted(edges, at, side="left")
        counts = np.bincount(place, rows, len(edges) + 1).astype(np.int64)
    return ColumnProfile(
        kind=kind,
        n=column.n + column.missing,
        missing=column.missing,
        lowest=column.lowest if column.n else None,
        highest=column.highest if column.n else None,
        edges=tuple(edges.tolist()),
        levels=(),
        counts=(*(counts.tolist() or [0]), column.missing),
    )


def category_profile(levels: Sequence[Any], counts: NDArray[np.int64]) -> ColumnProfile:
    """Describe a column of categories; the missing values are counted first."""
    kept = np.arange(len(levels))
    if len(levels) > MOST_VALUES:
        kept = np.sort(np.argsort(-counts[1:], kind="stable")[:MOST_VALUES])
    listed = counts[1:][kept].tolist()
    return ColumnProfile(
        kind="category",
        n=int(counts.sum()),
        missing=int(counts[0]),
        lowest=None,
        highest=None,
        edges=(),
        levels=tuple(levels[k] for k in kept.tolist()),
        counts=(*listed, int(counts[1:].sum()) - sum(listed), int(counts[0])),
    )
