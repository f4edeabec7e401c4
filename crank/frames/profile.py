"""What a sample held in a column: how many were missing, its range, and how values were spread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.frames.columns import Kind, LevelValue
from crank.frames.table import Table

BINS = 10
"""Parts of about equal size into which numbers are counted."""
MOST_VALUES = 255
"""So many distinct scores, or levels of a factor, are counted one by one."""
SAMPLE = 2**15
"""Rows that are counted, evenly spread, if there are more."""


@dataclass(frozen=True)
class ColumnProfile:
    """What a sample held in a column; no single row can be read off it.

    Attributes
    ----------
    kind : {"number", "boolean", "category", "date"}
    n, missing : int
        Rows, and those without a value.
    lowest, highest : float or None
        Range of numbers; of dates in days since 1970-01-01. None for categories, or if there are
        none.
    edges : tuple of float
        For numbers: the first bin holds those up to the first edge, the last those beyond the
        last one.
    levels : tuple
        For categories: those counted.
    counts : tuple of int
        Rows of each bin or level, in a sample of at most 32,768 rows; then those of other levels
        if the factor has too many, and last the missing ones.
    """

    kind: Kind
    n: int
    missing: int
    lowest: float | None
    highest: float | None
    edges: tuple[float, ...]
    levels: tuple[LevelValue, ...]
    counts: tuple[int, ...]

    def count(self, table: Table, name: str) -> NDArray[np.int64]:
        """Count the rows of other data in the same bins or levels; unknown ones come last.

        Examples
        --------
        >>> known = profile_of(Table.read({"g": ["a", "b", "a", None]}), "g", "category")
        >>> known.counts
        (2, 1, 0, 1)
        >>> known.count(Table.read({"g": ["a", "c", "c"]}), "g").tolist()
        [1, 0, 0, 0, 2]
        """
        if self.kind != "category":
            return self.count_numbers(_numbers(table, name, self.kind))
        code, _ = table.codes(name, self.levels)
        k = len(self.levels)
        others = self.counts[k] > 0  # of levels too many to be listed: none is unknown then
        place = np.where(code == -1, k + 1, np.where(code < -1, k if others else k + 2, code))
        return np.bincount(place, minlength=k + 3)

    def count_numbers(self, values: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
        """Count numbers in the bins, missing ones last but one; no number is unknown."""
        bins = len(self.edges) + 1
        place = np.searchsorted(np.asarray(self.edges), values, side="left")
        return np.bincount(np.where(np.isnan(values), bins, place), minlength=bins + 2)

    @property
    def labels(self) -> tuple[str, ...]:
        """Name the parts that `count` counts."""
        if self.kind == "category":
            return (*map(str, self.levels), "(other)", "(missing)", "(unknown)")
        ends = [f"{edge:.4g}" for edge in self.edges]
        first = [f"<= {ends[0]}"] if ends else ["(all)"]
        inner = [f"({low}, {high}]" for low, high in pairwise(ends)]
        last = [f"> {ends[-1]}"] if ends else []
        return (*first, *inner, *last, "(missing)", "(unknown)")


def profiles(table: Table, names: Iterable[str]) -> dict[str, ColumnProfile]:
    """Describe some columns of a table."""
    return {name: profile_of(table, name, table.kind(name)) for name in names}


def profile_of(table: Table, name: str, kind: Kind) -> ColumnProfile:
    """Describe a column.

    Examples
    --------
    >>> found = profile_of(Table.read({"x": [1.0, 2.0, 2.0, 9.0]}), "x", "number")
    >>> found.lowest, found.highest, found.edges, found.counts
    (1.0, 9.0, (1.0, 2.0), (1, 2, 1, 0))
    """
    if kind != "category":
        return number_profile(_numbers(table, name, kind), kind)
    code, levels = table.codes(name)
    counted = np.bincount(code[_spread(len(code))] + 1, minlength=len(levels) + 1)
    kept = range(len(levels))
    if len(levels) > MOST_VALUES:
        commonest = np.argsort(-counted[1:], kind="stable")[:MOST_VALUES]
        kept = sorted(commonest.tolist())  # type: ignore[assignment]
    counts = [int(counted[k + 1]) for k in kept]
    others = int(counted[1:].sum()) - sum(counts)
    return ColumnProfile(
        kind="category",
        n=len(code),
        missing=int((code == -1).sum()),
        lowest=None,
        highest=None,
        edges=(),
        levels=tuple(levels[k] for k in kept),
        counts=(*counts, others, int(counted[0])),
    )


def number_profile(
    values: NDArray[np.floating[Any]], kind: Kind = "number", most_values: int = BINS
) -> ColumnProfile:
    """Describe numbers, NaN for missing ones.

    Parameters
    ----------
    values : ndarray of shape (n,)
    kind : {"number", "boolean", "date"}
    most_values : int
        So few distinct values are counted one by one.
    """
    missing = np.isnan(values)
    n_missing = int(missing.sum())
    known = values if not n_missing else values[~missing]
    sample = np.sort(known[_spread(len(known))].astype(np.float64, copy=False))
    edges = _edges(sample, most_values)
    ends = [0, *sample.searchsorted(edges, side="right").tolist(), len(sample)]
    ordered = sample if len(sample) == len(known) else np.array([known.min(), known.max()])
    # the sample has as large a share of missing values as the column
    absent = round(n_missing * len(sample) / max(1, len(known))) if len(known) else n_missing
    return ColumnProfile(
        kind=kind,
        n=len(values),
        missing=n_missing,
        lowest=float(ordered[0]) if len(known) else None,
        highest=float(ordered[-1]) if len(known) else None,
        edges=tuple(edges.tolist()),
        levels=(),
        counts=(*(last - first for first, last in pairwise(ends)), absent),
    )


def _edges(sample: NDArray[np.float64], most_values: int) -> NDArray[np.float64]:
    """Cut sorted numbers between their distinct values if these are few, else at quantiles."""
    if not len(sample):
        return sample
    new = sample[1:] != sample[:-1]
    if np.count_nonzero(new) < most_values:
        return np.asarray(sample[:-1][new])
    cuts = sample[np.arange(1, BINS) * len(sample) // BINS]
    return np.asarray(cuts[cuts < np.append(cuts[1:], sample[-1])])


def _spread(n: int) -> slice | NDArray[np.intp]:
    """Choose at most so many rows as are counted, evenly spread."""
    return slice(None) if n <= SAMPLE else np.arange(SAMPLE) * n // SAMPLE


def _numbers(table: Table, name: str, kind: Kind) -> NDArray[np.floating[Any]]:
    return table.days(name) if kind == "date" else table.numeric(name)


def check_counts(profile: ColumnProfile) -> Sequence[str]:
    """List what contradicts itself in a profile that was read from a file."""
    wrong = []
    parts = len(profile.levels) + 2 if profile.kind == "category" else len(profile.edges) + 2
    if len(profile.counts) != parts:
        wrong.append(f"{len(profile.counts)} counts for {parts} parts")
    if any(low >= high for low, high in pairwise(profile.edges)):
        wrong.append("edges do not increase")
    if profile.missing > profile.n:
        wrong.append("more missing values than rows")
    return wrong
