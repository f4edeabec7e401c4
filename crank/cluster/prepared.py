"""A partition as the passes read it: bins of X, levels of y, weights in units, folds.

Of every row there is a byte a column, two for y and one a drawing of folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.cluster.content import mixed, row_keys
from crank.cluster.engine import Cluster
from crank.cluster.formula import Learned
from crank.cluster.packing import bytes_of, writable
from crank.cluster.rows import read_rows
from crank.cluster.sketch import Parts
from crank.cluster.spread import Spread, design_of
from crank.cluster.tally import FloatArray
from crank.cluster.units import Units
from crank.kernels.bins import MISSING_BIN
from crank.kernels.compiled_bins import bin_rows
from crank.kernels.compiled_rows import bin_ends

TILE = 128
"""Rows that are binned at a time: their columns stay in the first cache."""

HEAVY = 1024
"""Rows of one content that are more than this part of all are dealt out one by one."""

FEW_ROWS = 2**17
"""Below so many rows in all, the client looks at every content."""


@dataclass(frozen=True)
class Plan:
    """How rows become bins, levels and units."""

    learned: Learned
    y: Parts
    bins: tuple[Parts | None, ...]
    levels: tuple[int, ...]
    units: Units

    @classmethod
    def of(cls, learned: Learned, spread: Spread) -> Plan:
        """Make the plan of what the passes found."""
        levels = tuple(0 if names is None else len(names) for names in learned.design.levels)
        return cls(learned, spread.y, spread.bins, levels, spread.units)

    @property
    def wide(self) -> list[int]:
        """Columns with more levels than bins."""
        return [j for j, k in enumerate(self.levels) if k > MISSING_BIN]

    @property
    def n_bins(self) -> NDArray[np.intp]:
        """Bins in use of each column."""
        found = [
            len(parts.value) if parts is not None else min(k, MISSING_BIN)
            for parts, k in zip(self.bins, self.levels, strict=True)
        ]
        return np.array(found, dtype=np.intp)

    def edges(self) -> FloatArray:
        """Edges of all columns as compiled code reads them."""
        table = np.full((len(self.levels), MISSING_BIN + 1), np.inf)
        for j, parts in enumerate(self.bins):
            inner = np.arange(max(0.0, self.levels[j] - 1.0)) if parts is None else parts.edges
            if j not in self.wide:
                table[j, : len(inner)] = inner
        return table


@dataclass(frozen=True)
class Prepared:
    """One partition.

    Attributes
    ----------
    bins : ndarray of uint8, shape (columns, n)
    wide : ndarray of int32, shape (wide columns, n)
        Codes of the categories with many levels, the number of levels for a missing one.
    level : ndarray of uint16, shape (n,)
    weight : ndarray of float64, shape (n,), or None
        Whole numbers.
    low, high : ndarray of shape (columns, 256)
        Smallest and largest value in each bin.
    key : ndarray of uint64, shape (n,), or None
        Hash of each row's content, until folds are dealt.
    fold : ndarray of uint8, shape (repeats, n), or None
    """

    bins: NDArray[np.uint8]
    wide: NDArray[np.int32]
    level: NDArray[np.uint16]
    weight: FloatArray | None
    low: FloatArray
    high: FloatArray
    key: NDArray[np.uint64] | None = None
    fold: NDArray[np.uint8] | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.level)

    def writable(self) -> Prepared:
        """Return the partition as compiled code takes it; see `crank.cluster.packing.writable`."""
        return replace(
            self,
            bins=writable(self.bins),
            wide=writable(self.wide),
            level=writable(self.level),
            weight=None if self.weight is None else writable(self.weight),
        )

    def __sizeof__(self) -> int:
        return bytes_of(*vars(self).values())


def prepare(frame: Any, plan: Plan, keyed: bool) -> Prepared:
    """Bin one partition."""
    rows = read_rows(frame, plan.learned.asked)
    y, X = design_of(rows, plan.learned)
    n, d = len(y), len(plan.levels)
    bins = np.zeros((d, n), dtype=np.uint8)
    narrow = np.array([j for j in range(d) if j not in plan.wide], dtype=np.intp)
    none = np.zeros(d, dtype=bool)
    fill = bin_rows(str(X.dtype))
    fill(X, 0, n, TILE, plan.edges(), narrow, none, bins, none.copy())
    wide = np.empty((len(plan.wide), n), dtype=np.int32)
    for k, j in enumerate(plan.wide):
        wide[k] = np.where(np.isnan(X[:, j]), plan.levels[j], X[:, j])
    weight = plan.units.whole(rows.weight)
    low = np.full((d, MISSING_BIN + 1), np.inf)
    high = np.full((d, MISSING_BIN + 1), -np.inf)
    cut = [j for j, parts in enumerate(plan.bins) if parts is not None and not parts.discrete]
    bin_ends(bins, X.T, np.array(cut, dtype=np.intp), low, high)
    return Prepared(
        bins,
        wide,
        plan.y.of(y).astype(np.uint16),
        weight,
        low,
        high,
        row_keys(y, X, *([] if weight is None else [weight])) if keyed else None,
    )


@dataclass(frozen=True)
class Repeated:
    """Contents that many rows have, and how many of each are in the partitions before each one."""

    key: NDArray[np.uint64]
    before: list[NDArray[np.int64]]


def repeated(cluster: Cluster, n: int) -> Repeated:
    """Find contents that many of all n rows have.

    Rows of the same content that are many, such as those of a few categories, would all go to one
    fold: they are numbered over all partitions and dealt out in turn. Which of them goes where does
    not matter, for nothing tells them apart.
    """
    most = max(1, n // HEAVY)
    found = cluster.gather(candidates, n)
    keys, place = np.unique(np.concatenate([key for key, _ in found]), return_inverse=True)
    known = np.bincount(place, np.concatenate([count for _, count in found]), len(keys))
    common = keys[known > most] if n < FEW_ROWS else keys
    counts = np.array(cluster.gather(occurrences, common), dtype=np.int64)
    heavy = counts.sum(axis=0) > most
    before = np.cumsum(counts[:, heavy], axis=0) - counts[:, heavy]
    return Repeated(common[heavy], list(before))


def deal(cluster: Cluster, n: int, folds: int, seeds: Sequence[int]) -> Cluster:
    """Deal the rows of all partitions out to folds, by their content."""
    many = repeated(cluster, n)
    return cluster.keep(dealt, many.key, folds, tuple(seeds), each=many.before)


def candidates(part: Prepared, n: int) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
    """List contents that may be too many rows of all n: they are common here, or elsewhere."""
    assert part.key is not None
    key, count = np.unique(part.key, return_counts=True)
    common = count > (0 if n < FEW_ROWS else len(part.key) // HEAVY)
    return key[common], count[common]


def occurrences(part: Prepared, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Count the rows of some contents."""
    assert part.key is not None
    place = np.searchsorted(keys, part.key)
    place[place == len(keys)] = 0
    known = keys[place] == part.key if len(keys) else np.zeros(len(place), dtype=bool)
    return np.bincount(place[known], minlength=len(keys)).astype(np.int64)


def turns(
    key: NDArray[np.uint64], before: NDArray[np.int64], heavy: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Count the rows of the same heavy content before each row, in all partitions; 0 for others."""
    turn = np.zeros(len(key), dtype=np.uint64)
    if len(heavy):
        place = np.minimum(np.searchsorted(heavy, key), len(heavy) - 1)
        rows = np.flatnonzero(heavy[place] == key)
        rows = rows[np.argsort(place[rows], kind="stable")]
        here = np.bincount(place[rows], minlength=len(heavy))
        within = np.arange(len(rows)) - np.repeat(np.cumsum(here) - here, here)
        turn[rows] = within + before[place[rows]]
    return turn


def dealt(
    part: Prepared,
    before: NDArray[np.int64],
    heavy: NDArray[np.uint64],
    folds: int,
    seeds: tuple[int, ...],
) -> Prepared:
    """Give each row of a partition its folds; see `turns`."""
    key = part.key
    assert key is not None
    fold = np.empty((len(seeds), part.n), dtype=np.uint8)
    turn = turns(key, before, heavy)
    for r, seed in enumerate(seeds):
        first = mixed(key ^ np.uint64(seed)) >> np.uint64(16)
        fold[r] = (first + turn) % np.uint64(folds)
    return replace(part, key=None, fold=fold)


def numbered(part: Prepared, before: NDArray[np.int64], heavy: NDArray[np.uint64]) -> Prepared:
    """Tell rows of the same content apart, if they are many, by their hashes."""
    key = part.key
    assert key is not None
    turn = turns(key, before, heavy)
    return replace(part, key=np.where(turn > 0, mixed(key ^ mixed(turn)), key))


@dataclass(frozen=True)
class Extremes:
    """Smallest and largest value in each bin, and the sum of squared weights, over partitions."""

    low: FloatArray
    high: FloatArray
    squares: float

    def __add__(self, other: Extremes) -> Extremes:
        return Extremes(
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.squares + other.squares,
        )


def extremes(part: Prepared) -> Extremes:
    """Read them off one partition."""
    squares = 0.0 if part.weight is None else float((part.weight**2).sum())
    return Extremes(part.low, part.high, squares)


def bin_values(plan: Plan, found: Extremes) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and the largest value of each bin; of categories, the codes."""
    low, high = found.low.copy(), found.high.copy()
    for j, parts in enumerate(plan.bins):
        if parts is None or parts.discrete:
            value = np.arange(MISSING_BIN + 1.0) if parts is None else parts.value
            size = min(len(value), MISSING_BIN)
            low[j, :size] = high[j, :size] = value[:size]
    low[:, MISSING_BIN] = high[:, MISSING_BIN] = np.nan
    return low, high
