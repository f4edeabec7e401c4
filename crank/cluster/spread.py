"""How y, the design's columns and the raw columns are spread over all partitions, in one pass.

Distinct values are counted as long as they are few. Of columns with many, the rows whose content
hashes lowest are a sample that does not depend on partitions, and its quantiles are where they are
cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.cluster.content import Sampled, hash_more, joined, lowest, row_keys
from crank.cluster.engine import Cluster
from crank.cluster.formula import Learned, guessed, learn_formula
from crank.cluster.rows import Asked, Rows, Survey, read_rows, survey_of
from crank.cluster.sketch import Parts, cut_counted, cut_sample
from crank.cluster.tally import FloatArray, Tally, tally
from crank.cluster.units import Units
from crank.errors import DataError
from crank.frames.profile import BINS, MOST_VALUES, SAMPLE, ColumnProfile
from crank.ranks import MOST_UNITS

SAMPLE_Y = 2**16
"""Rows of which y is looked at where it has many values: four for each level."""

Y_LEVELS = 2**16
"""Levels of y at most, each a distinct value."""

CUT_LEVELS = 2**14
"""Levels of y where it has more distinct values than that: quantiles of a sample."""

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

    def values(self, rows: Rows) -> tuple[list[FloatArray], NDArray[Any]]:
        """Read the columns of one partition; also return the design."""
        y, X = design_of(rows, self.learned)
        kinds = {v.name: v.kind for v in self.learned.design.variables}
        raw = [
            rows.table.days(name) if kinds[name] == "date" else rows.table.numeric(name)
            for name in self.raw
        ]
        columns = [y, *(X[:, j] for j in self.numeric), *raw]
        return [np.asarray(c, dtype=np.float64) for c in columns], X


def design_of(rows: Rows, learned: Learned) -> tuple[FloatArray, NDArray[Any]]:
    """Compute the response and the design of one partition's rows."""
    if not rows.table.n_rows:  # an empty partition may have columns of no type
        return np.empty(0), np.empty((0, len(learned.design.names)))
    return learned.response.values(rows.table), learned.design.matrix(rows.table)


@dataclass(frozen=True)
class Column(Tally):
    """A column's tally, with a sample of its rows for where it has many values."""

    sample: Sampled

    def joined(self, other: Column, sample: Sampled) -> Column:
        """Say what two partitions hold together, of which there is a sample."""
        return Column(**vars(self.with_counts_of(other)), sample=sample)

    def parts(self, most: int) -> Parts:
        """Cut the column: at its distinct values if they are known and few, else at quantiles."""
        if self.values is None or len(self.values) > most:
            return cut_sample(self.sample.value, most)
        if not self.n:
            return Parts(np.empty(0), np.zeros(1), True)
        return Parts(self.values[:-1], self.values, True)

    @property
    def n_tied(self) -> int:
        """Rows at the commonest value, by the sample if there are many values."""
        if self.counts is not None:
            return int(self.counts.max())
        _, counts = np.unique(self.sample.value, return_counts=True)
        return int(counts.max()) * self.n // int(counts.sum())


@dataclass(frozen=True)
class Counted:
    """What is counted of one partition, or the sum of several; ``content`` sums rows' hashes."""

    columns: tuple[Column, ...]
    codes: tuple[NDArray[np.int64], ...]
    whole: bool
    content: int

    def __add__(self, other: Counted) -> Counted:
        one, two = self.columns, other.columns
        samples = joined([c.sample for c in one], [c.sample for c in two])
        return Counted(
            tuple(a.joined(b, s) for a, b, s in zip(one, two, samples, strict=True)),
            tuple(a + b for a, b in zip(self.codes, other.codes, strict=True)),
            self.whole and other.whole,
            (self.content + other.content) % 2**64,
        )


def count_columns(frame: Any, columns: Columns) -> Counted:
    """Count one partition."""
    return count_rows(read_rows(frame, columns.learned.asked), columns)


def count_rows(rows: Rows, columns: Columns) -> Counted:
    """Count the rows of one partition."""
    values, X = columns.values(rows)
    key = row_keys(values[0], X, *values[1 + len(columns.numeric) :])
    sizes = [SAMPLE_Y] + [SAMPLE] * (len(values) - 1)
    rows_of = {size: lowest(key, size) for size in set(sizes)}
    drawn = {size: (key[some], some) for size, some in rows_of.items()}
    found = [
        _column(x, most, key, size, drawn[size])
        for x, most, size in zip(values, columns.most(), sizes, strict=True)
    ]
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
    if rows.weight is not None:
        hash_more(rows.weight[None], key)
    return Counted(tuple(found), tuple(codes), whole, int(key.sum(dtype=np.uint64)))


def _column(
    x: FloatArray,
    most: int,
    key: NDArray[np.uint64],
    size: int,
    drawn: tuple[NDArray[np.uint64], NDArray[np.intp]],
) -> Column:
    """Count a column; ``drawn`` are the hashes of a sample and its rows, if no value is missing."""
    n = len(x)
    if np.isnan(x.sum()):  # a sum takes no room; it may be NaN without one, of infinite parts
        missing = np.isnan(x)
        x, key = x[~missing], key[~missing]
        some = lowest(key, size)
        drawn = key[some], some
    value = x[drawn[1]]
    value += 0.0  # −0.0 is 0.0
    sample = Sampled(drawn[0], value, size)
    return Column(**vars(tally(x, n - len(x), most)), sample=sample)


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
    fingerprint : str
        Digest of the rows, whatever their order.
    """

    y: Parts
    n_tied: int
    bins: tuple[Parts | None, ...]
    units: Units
    profiles: Mapping[str, ColumnProfile]
    fingerprint: str


@dataclass(frozen=True)
class Looked:
    """What partitions hold, and their counts if they hold what was guessed."""

    survey: Survey
    counted: Counted | None

    def __add__(self, other: Looked) -> Looked:
        both = None
        if self.counted is not None and other.counted is not None:
            both = self.counted + other.counted
        return Looked(self.survey + other.survey, both)


def look(frame: Any, where: str, columns: Columns) -> Looked:
    """Survey one partition and count it, if its columns are of the kinds that were guessed."""
    learned = columns.learned
    rows = read_rows(frame, learned.asked)
    found = survey_of(rows, where, learned.asked)
    guess = learned.survey.columns
    kinds = {None} if found.used == 0 else set()
    if any(column.kind not in {guess[k].kind, *kinds} for k, column in found.columns.items()):
        return Looked(found, None)
    return Looked(found, count_rows(rows, columns))


def learn_all(cluster: Cluster, asked: Asked, meta: Any, *, native: bool) -> tuple[Learned, Spread]:
    """Learn a formula and how its columns are spread, in one pass if types tell enough.

    Else there is one for the kinds and levels of columns, one or more for each term that learns
    from numbers, and one for the counts.
    """
    guess = guessed(asked, meta, native=native)
    if guess is not None:
        looked: Looked = cluster.sum(look, Columns(guess, None), each=cluster.where)
        looked.survey.check(asked)
        if looked.counted is not None:
            learned = replace(guess, survey=looked.survey)
            return learned, spread_by(looked.counted, Columns(learned, None))
    learned = learn_formula(cluster, asked, native=native)
    return learned, spread_of(cluster, learned)


def spread_of(cluster: Cluster, learned: Learned) -> Spread:
    """Count all columns."""
    weight = learned.survey.weight
    columns = Columns(learned, None if weight is None else weight[0])
    return spread_by(cluster.sum(count_columns, columns), columns)


def spread_by(counted: Counted, columns: Columns) -> Spread:
    """Cut y and the columns where the counts say."""
    learned, survey = columns.learned, columns.learned.survey
    if survey.used > MOST_ROWS:
        raise DataError(
            f"the data has {survey.used} rows; at most {MOST_ROWS} can be counted. Fit a part of "
            "them: frame.sample(frac=0.5)."
        )
    y, numeric = counted.columns[0], counted.columns[1 : 1 + len(columns.numeric)]
    raw = counted.columns[1 + len(columns.numeric) :]
    bins: list[Parts | None] = [None] * len(learned.design.levels)
    for j, column in zip(columns.numeric, numeric, strict=True):
        bins[j] = column.parts(X_BINS)
    known = dict(zip(columns.raw, raw, strict=True))
    names = learned.design.names
    known |= {
        names[j]: column
        for j, column in zip(columns.numeric, numeric, strict=True)
        if names[j] not in known
    }
    counts = dict(zip(columns.categories, counted.codes, strict=True))
    profiles = {
        v.name: category_profile(columns.levels(v.name), counts[v.name])
        if v.kind == "category"
        else numbers_profile(known[v.name], v.kind)
        for v in learned.design.variables
    }
    some = min(CUT_LEVELS, max(survey.used // ROWS_A_LEVEL, X_BINS))
    return Spread(
        y.parts(Y_LEVELS if y.values is not None else some),
        y.n_tied,
        tuple(bins),
        Units.of(survey.weight, counted.whole, survey.used),
        profiles,
        f"rows:{survey.used:x}-{counted.content:016x}",
    )


def numbers_profile(column: Column, kind: Any) -> ColumnProfile:
    """Describe a column of numbers: counts are of the sample if there are many values."""
    edges, counts, missing = np.empty(0), np.zeros(0, dtype=np.int64), column.missing
    if column.n:
        at, rows = column.values, column.counts
        if at is None or rows is None:
            at, rows = np.unique(column.sample.value, return_counts=True)
            missing = round(missing * (len(column.sample.value) / column.n))
        edges = cut_counted(at, rows, BINS).edges
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
        counts=(*(counts.tolist() or [0]), missing),
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
