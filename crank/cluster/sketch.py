"""How numbers in partitions are spread: distinct values if they are few, else counts in cells.

A cell is a range of doubles whose bit patterns begin alike. Cells that hold many rows are parted
and counted again. Counts are whole numbers and cells come from the counts alone, so that nothing
depends on how rows are dealt out to partitions, and there is no error but the width of a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crank.cluster.tally import FloatArray, Tally, tally

Keys = NDArray[np.uint64]

FIRST_BITS = 16
"""Bits of the cells that are counted first: sign, exponent and four digits of the fraction."""

MOST_BITS = 16
"""Bits by which a cell is refined at once."""

ROOM = 64
"""Cells, for each part that is wanted, that may be counted in one pass if that saves another."""

SHARE = 0.5
"""A cell may hold this share of a part; more is refined, to an eighth of it on average."""

_TOP = np.uint64(1 << 63)


def keys_of(values: FloatArray) -> Keys:
    """Write numbers as whole ones in the same order; −0.0 is 0.0.

    Examples
    --------
    >>> keys = keys_of(np.array([-1.0, -0.0, 0.0, 2.5]))
    >>> bool(keys[0] < keys[1] == keys[2] < keys[3]), values_of(keys).tolist()
    (True, [-1.0, 0.0, 0.0, 2.5])
    """
    bits = (np.ascontiguousarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    return np.where(bits & _TOP, ~bits, bits | _TOP)


def values_of(keys: Keys) -> FloatArray:
    """Turn what `keys_of` returned back into numbers."""
    bits = np.where(keys & _TOP, keys & ~_TOP, ~keys)
    return np.ascontiguousarray(bits, dtype=np.uint64).view(np.float64)


@dataclass(frozen=True)
class Cells:
    """Ranges of keys, increasing, and the rows in each.

    Attributes
    ----------
    low : ndarray of uint64
        Smallest key of each.
    bits : ndarray of uint8
        A cell holds 2^bits keys.
    count : ndarray of int64
    """

    low: Keys
    bits: NDArray[np.uint8]
    count: NDArray[np.int64]

    def __add__(self, other: Cells) -> Cells:
        """Add counts of cells of one resolution, each of which may be in one or both."""
        low, place = np.unique(np.concatenate((self.low, other.low)), return_inverse=True)
        count = np.zeros(len(low), dtype=np.int64)
        np.add.at(count, place, np.concatenate((self.count, other.count)))
        bits = np.empty(len(low), dtype=np.uint8)
        bits[place] = np.concatenate((self.bits, other.bits))
        return Cells(low, bits, count)

    @property
    def high(self) -> FloatArray:
        """Largest number of each cell."""
        return values_of(self.low + ((np.uint64(1) << self.bits.astype(np.uint64)) - np.uint64(1)))

    @property
    def middle(self) -> FloatArray:
        """A number in the middle of each cell."""
        half = (np.uint64(1) << self.bits.astype(np.uint64)) >> np.uint64(1)
        return values_of(self.low + half)


@dataclass(frozen=True)
class Numbers(Tally):
    """A column's tally, with counts in cells for where it has many values."""

    cells: Cells

    def __add__(self, other: Numbers) -> Numbers:
        return Numbers(**vars(self.with_counts_of(other)), cells=self.cells + other.cells)


def count_numbers(x: FloatArray, most: int) -> Numbers:
    """Count the numbers of one partition, NaN for missing ones.

    Examples
    --------
    >>> both = count_numbers(np.array([2.0, np.nan]), 2) + count_numbers(np.array([2.0, 1.0]), 2)
    >>> both.values.tolist(), both.counts.tolist(), both.missing
    ([1.0, 2.0], [1, 2], 1)
    """
    known = x[~np.isnan(x)]
    prefix, count = np.unique(keys_of(known) >> np.uint64(64 - FIRST_BITS), return_counts=True)
    cells = Cells(
        prefix << np.uint64(64 - FIRST_BITS),
        np.full(len(prefix), 64 - FIRST_BITS, dtype=np.uint8),
        count.astype(np.int64),
    )
    return Numbers(**vars(tally(known, len(x) - len(known), most)), cells=cells)


@dataclass(frozen=True)
class Refinement:
    """Cells that are to be parted, and into how many bits each."""

    low: Keys
    bits: NDArray[np.uint8]
    by: NDArray[np.uint8]

    @property
    def start(self) -> NDArray[np.int64]:
        """Number of the first part of each cell, and of all parts at the end."""
        return np.concatenate(([0], np.cumsum(np.int64(1) << self.by.astype(np.int64))))


def refinement(cells: Cells, parts: int) -> Refinement | None:
    """Choose the cells that hold too many rows for a cut into so many parts; None if none does."""
    allowed = max(2.0, SHARE * float(cells.count.sum()) / parts)
    heavy = (cells.count > allowed) & (cells.bits > 0)
    if not heavy.any():
        return None
    bits = cells.bits[heavy]
    wanted = np.ceil(np.log2(cells.count[heavy] / allowed)) + 3.0
    by = np.minimum(wanted, MOST_BITS)
    # what room is left saves passes where values are tied or very close together
    spare = np.floor(np.log2(min(ROOM * parts, 2**18) / np.exp2(by).sum()))
    by = np.minimum(np.minimum(by + max(spare, 0.0), MOST_BITS), bits).astype(np.uint8)
    return Refinement(cells.low[heavy], bits, by)


def count_refined(x: FloatArray, wanted: Refinement) -> NDArray[np.int64]:
    """Count the numbers of one partition in the parts of the cells to be refined."""
    keys, start = keys_of(x[~np.isnan(x)]), wanted.start
    cell = np.searchsorted(wanted.low, keys, side="right") - 1
    inside = cell >= 0
    keys, cell = keys[inside], cell[inside]
    off = keys - wanted.low[cell]
    bits = wanted.bits[cell].astype(np.uint64)
    inside = (off >> bits) == 0
    off, cell, bits = off[inside], cell[inside], bits[inside]
    place = (off >> (bits - wanted.by[cell].astype(np.uint64))).astype(np.int64) + start[cell]
    return np.bincount(place, minlength=int(start[-1])).astype(np.int64)


def refined(cells: Cells, wanted: Refinement, count: NDArray[np.int64]) -> Cells:
    """Put the parts of the refined cells in their place, without those that are empty."""
    kept = ~np.isin(cells.low, wanted.low)
    parent = np.repeat(np.arange(len(wanted.low)), np.diff(wanted.start))
    bits = wanted.bits[parent] - wanted.by[parent]
    number = (np.arange(len(parent)) - wanted.start[parent]).astype(np.uint64)
    low = wanted.low[parent] + (number << bits.astype(np.uint64))
    full = count > 0
    low = np.concatenate((cells.low[kept], low[full]))
    order = np.argsort(low)
    return Cells(
        low[order],
        np.concatenate((cells.bits[kept], bits[full]))[order],
        np.concatenate((cells.count[kept], count[full]))[order],
    )


Count = Callable[[Sequence[Refinement | None]], Sequence[NDArray[np.int64] | None]]


def refine_all(columns: Sequence[Numbers], parts: Sequence[int], count: Count) -> list[Numbers]:
    """Refine cells, all columns in one pass, until each can be cut into so many parts.

    Parameters
    ----------
    columns : sequence of Numbers
        Those whose distinct values are known need no cells.
    parts : sequence of int
        For each column.
    count : callable
        Counts the rows of all partitions in the parts of cells; see `count_refined`.
    """
    found = list(columns)
    while True:
        wanted = [
            refinement(column.cells, k) if column.values is None else None
            for column, k in zip(found, parts, strict=True)
        ]
        if not any(wanted):
            return found
        for j, (each, counts) in enumerate(zip(wanted, count(wanted), strict=True)):
            if each is not None and counts is not None:
                found[j] = replace(found[j], cells=refined(found[j].cells, each, counts))


@dataclass(frozen=True)
class Parts:
    """A cut of numbers into parts of about equal size: levels of y, or bins of a column.

    Attributes
    ----------
    edges : ndarray
        The part of x is the number of edges below x.
    value : ndarray
        A value to stand for each part.
    discrete : bool
        Whether every part is one value.
    """

    edges: FloatArray
    value: FloatArray
    discrete: bool

    def of(self, x: FloatArray) -> NDArray[np.intp]:
        """Find the part of each number."""
        return np.searchsorted(self.edges, x, side="left")


def cut(column: Numbers, most: int) -> Parts:
    """Cut numbers into at most so many parts, each a distinct value if they are as few.

    Examples
    --------
    >>> cut(count_numbers(np.array([3.0, 1.0, 3.0]), 4), 4).edges.tolist()
    [1.0]
    """
    if column.values is not None and len(column.values) <= most:
        return Parts(column.values[:-1], column.values, True)
    if column.values is not None:
        assert column.counts is not None
        high = middle = column.values
        running = np.cumsum(column.counts)
    else:
        high, middle = column.cells.high, column.cells.middle
        running = np.cumsum(column.cells.count)
    return _cut_at(running, high, middle, (column.lowest, column.highest), most)


def cut_sample(x: FloatArray, most: int) -> Parts:
    """Cut numbers that a sample stands for into at most so many parts of about equal size.

    Examples
    --------
    >>> cut_sample(np.array([4.0, 1.0, 3.0, 3.0, 2.0]), 2).edges.tolist()
    [2.0]
    """
    return cut_counted(*np.unique(x, return_counts=True), most)


def cut_counted(values: FloatArray, counts: NDArray[np.int64], most: int) -> Parts:
    """Do the same with distinct values and the rows of each."""
    if len(values) <= most:
        return Parts(values[:-1], values if len(values) else np.zeros(1), False)
    ends = float(values[0]), float(values[-1])
    return _cut_at(np.cumsum(counts), values, values, ends, most)


def _cut_at(
    running: NDArray[np.int64],
    high: FloatArray,
    middle: FloatArray,
    span: tuple[float, float],
    most: int,
) -> Parts:
    """Cut where the running count passes equal shares; each count is up to one of ``high``."""
    n = int(running[-1])
    targets = np.arange(1, most, dtype=np.int64) * n // most
    last = np.unique(np.searchsorted(running, np.maximum(targets, 1), side="left"))
    last = last[last < len(running) - 1]
    ends = np.append(running[last], n)
    at = np.searchsorted(running, (np.concatenate(([0], ends[:-1])) + ends + 1) // 2, side="left")
    value = np.clip(middle[at], *span)
    return Parts(high[last], value, False)


def typical(column: Numbers, most: int) -> FloatArray:
    """Return at most about so many numbers, sorted, that are spread like all of a column.

    Smallest and largest are among them, and every distinct value if these are few.
    """
    if column.n == 0:
        return np.empty(0)
    if column.values is not None:
        assert column.counts is not None
        copies = column.counts
        if column.n > most:
            copies = np.maximum(1, np.rint(copies * (most / column.n)).astype(np.int64))
        return np.repeat(column.values, copies)
    running = np.cumsum(column.cells.count)
    at = np.searchsorted(running, (2 * np.arange(most) + 1) * column.n // (2 * most) + 1)
    middle = column.cells.middle[np.minimum(at, len(running) - 1)]
    found = np.clip(middle, column.lowest, column.highest)
    found[0], found[-1] = column.lowest, column.highest
    return found
