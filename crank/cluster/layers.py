"""The two passes over partitions for each layer: y by node, and sums of scores by bin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.cluster.packing import Packed, bytes_of, packed, unpacked, writable
from crank.cluster.prepared import Prepared
from crank.cluster.tally import FloatArray
from crank.kernels.bin_sums import added
from crank.kernels.bin_tables import WIDTH, Scratch
from crank.kernels.compiled_histogram import count_columns
from crank.kernels.compiled_routes import count_cells, route, sort_scores

BLOCK = 2**20
"""Rows of which scores are summed in doubles: 2²⁰ whole numbers of 33 bits add up exactly."""

TILE = 2**16
"""Rows that are routed at a time: their bins stay in cache."""

SCORE_BITS = 32
"""Scores are whole numbers of at most so many bits."""

HALF_BITS = 16
"""Squares are summed from halves of the scores, in whole numbers."""


@dataclass(frozen=True)
class Routes:
    """A tree as partitions need it: where each bin goes, and which rows are the tree's.

    Attributes
    ----------
    column, left, right : ndarray of int32
        Of each node; ``left`` is −1 for a leaf. Wide columns are numbered behind all others.
    start, side : ndarray
        ``side[start[k] + bin]`` tells whether a bin goes left.
    slot : ndarray of int32
        Place of each node among those that are counted, −1 for others.
    repeat, folds, inside : int, tuple of int, bool
        The tree's rows are those outside the folds of a drawing, or inside; all without folds.
    """

    column: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    start: NDArray[np.int64]
    side: NDArray[np.bool_]
    slot: NDArray[np.int32]
    repeat: int = 0
    folds: tuple[int, ...] = ()
    inside: bool = False

    def slots(self, part: Prepared, rows: slice, found: NDArray[np.int32]) -> NDArray[np.int32]:
        """Route some rows of a partition; −1 for rows that are not counted.

        ``found`` is room for so many rows or more.
        """
        slot = found[: rows.stop - rows.start]
        route(
            part.bins,
            part.wide,
            writable(self.column),
            writable(self.start),
            writable(self.side),
            writable(self.left),
            writable(self.right),
            writable(self.slot),
            rows.start,
            slot,
        )
        if self.folds:
            assert part.fold is not None
            among = np.isin(part.fold[self.repeat, rows], self.folds)
            slot[~among if self.inside else among] = -1
        return slot


@dataclass(frozen=True)
class CountTask:
    """Count y of some nodes of a tree.

    Attributes
    ----------
    routes : Routes
    first : int
        The cell at which the tree's first slot begins.
    shift : int
        Neighbouring levels of y are joined: 2^shift of them are one.
    levels : int
        Levels that are left.
    slots : int
    tree : int
        Number of the tree, if there are several.
    """

    routes: Routes
    first: int
    shift: int
    levels: int
    slots: int
    tree: int = 0


@dataclass(frozen=True)
class LevelCounts:
    """Rows (or weight) of each node by level of y, tree after tree, slot after slot.

    Attributes
    ----------
    mass : ndarray of int64
    rows : tuple of ndarray of int64
        For each tree, the rows of each slot.
    squares : ndarray of int64 or None
        Squared weights, in units of `square_unit`, if they were asked for.
    """

    mass: NDArray[np.int64]
    rows: tuple[NDArray[np.int64], ...]
    squares: NDArray[np.int64] | None = None

    def __add__(self, other: LevelCounts) -> LevelCounts:
        squares = None
        if self.squares is not None and other.squares is not None:
            squares = self.squares + other.squares
        rows = tuple(a + b for a, b in zip(self.rows, other.rows, strict=True))
        return LevelCounts(self.mass + other.mass, rows, squares)

    def __sizeof__(self) -> int:
        return bytes_of(*vars(self).values())

    def __reduce__(self) -> tuple[Any, ...]:
        squares = None if self.squares is None else packed(self.squares)
        return _level_counts, (packed(self.mass), self.rows, squares)


def _level_counts(
    mass: Packed, rows: tuple[NDArray[np.int64], ...], squares: Packed | None
) -> LevelCounts:
    return LevelCounts(unpacked(mass), rows, None if squares is None else unpacked(squares))


def square_unit(largest: float) -> float:
    """Return the unit of squared weights: their sums are whole numbers below 2⁶²."""
    return largest**2 / 2.0**30


def count_levels(
    part: Prepared, tasks: Sequence[CountTask], largest: float | None = None
) -> LevelCounts:
    """Count y in the nodes of all tasks; with ``largest``, the largest weight, squares as well."""
    cells = tasks[-1].first + tasks[-1].slots * tasks[-1].levels
    mass = np.zeros(cells, dtype=np.int64)
    rows = tuple(np.zeros(task.slots, dtype=np.int64) for task in tasks)
    squares = square = None
    if largest is not None and part.weight is not None:
        squares = np.zeros(cells, dtype=np.int64)
        square = np.maximum(np.rint(part.weight**2 / square_unit(largest)), 1.0)
    part = part.writable()
    found = np.empty(min(part.n, TILE), dtype=np.int32)
    for task, sizes in zip(tasks, rows, strict=True):
        here = slice(task.first, task.first + task.slots * task.levels)
        about = task.shift, task.levels
        for tile in _tiles(0, part.n, TILE):
            slot = task.routes.slots(part, tile, found)
            count_cells(slot, tile.start, part.level, *about, part.weight, mass[here], sizes)
            if squares is not None:
                nothing = np.zeros_like(sizes)
                count_cells(slot, tile.start, part.level, *about, square, squares[here], nothing)
    return LevelCounts(mass, rows, squares)


@dataclass(frozen=True)
class Scored:
    """Which of the nodes that were counted have scores, and in what unit.

    Attributes
    ----------
    among : ndarray of int
        Those that can be split, as places among all that were counted.
    exponent : ndarray of int
        Scores of each were multiplied by 2^exponent.
    """

    among: NDArray[np.intp]
    exponent: NDArray[np.intp]


@dataclass(frozen=True)
class SumTask:
    """Sum the scores of some nodes of a tree.

    Attributes
    ----------
    routes : Routes
    shift, slots : int
        See `CountTask`.
    score : ndarray of float64, shape (slots, levels)
        Score of a row of weight 1, by level of y, scaled to whole numbers of `SCORE_BITS` bits
        once it is multiplied by the weight.
    scored : Scored
    """

    routes: Routes
    shift: int
    slots: int
    score: FloatArray
    scored: Scored

    def __sizeof__(self) -> int:
        return bytes_of(self.score)

    def __reduce__(self) -> tuple[Any, ...]:
        return _sum_task, (self.routes, self.shift, self.slots, packed(self.score), self.scored)


def _sum_task(routes: Routes, shift: int, slots: int, score: Packed, scored: Scored) -> SumTask:
    return SumTask(routes, shift, slots, unpacked(score), scored)


@dataclass(frozen=True)
class SlotSums:
    """Sums of scores, in whole numbers, of the slots of a tree.

    Attributes
    ----------
    sums, counts : ndarray of int64 and int32, shape (narrow columns, slots, 256)
    masses : ndarray of int64, or None
        Weight by bin, if rows have any.
    sizes, total, spread : ndarray of int64, shape (slots,)
        Rows, sum of scores and of their sizes.
    squares : ndarray of int64, shape (3, slots)
        Sum of the squared high halves, of high times low, of the squared low halves.
    wide : tuple of (ndarray, ndarray, ndarray)
        The same as the first three, for each wide column, of shape (slots, levels + 1).
    """

    sums: NDArray[np.int64]
    counts: NDArray[np.int32]
    masses: NDArray[np.int64] | None
    sizes: NDArray[np.int64]
    total: NDArray[np.int64]
    spread: NDArray[np.int64]
    squares: NDArray[np.int64]
    wide: tuple[NDArray[np.int64], ...] = field(default=())

    def __add__(self, other: SlotSums) -> SlotSums:
        return added(self, other)


@dataclass(frozen=True)
class LayerSums:
    """The sums of several trees, and which of their nodes they are of."""

    trees: tuple[SlotSums, ...]
    scored: tuple[Scored, ...]

    def __add__(self, other: LayerSums) -> LayerSums:
        both = zip(self.trees, other.trees, strict=True)
        return LayerSums(tuple(a + b for a, b in both), self.scored)

    def __sizeof__(self) -> int:
        return sum(bytes_of(*vars(tree).values()) for tree in self.trees)


def sum_scores(
    part: Prepared,
    tasks: Sequence[SumTask],
    columns: NDArray[np.intp],
    wide_levels: Sequence[int],
) -> LayerSums:
    """Sum the scores of all tasks by column, node and bin.

    Parameters
    ----------
    part : Prepared
    tasks : sequence of SumTask
    columns : ndarray of int
        The narrow columns; see `crank.kernels.bin_tables.column_table`.
    wide_levels : sequence of int
        Number of levels of each wide column.
    """
    part, columns = part.writable(), writable(columns)
    room = Room.of(min(part.n, TILE), part.weight is not None)
    found: list[SlotSums] = []
    for task in tasks:
        blocks = [
            _sums(part, block, task, columns, wide_levels, room)
            for block in _tiles(0, max(part.n, 1), BLOCK)
        ]
        found.append(sum(blocks[1:], start=blocks[0]))
    return LayerSums(tuple(found), tuple(task.scored for task in tasks))


def _tiles(start: int, stop: int, size: int) -> Iterator[slice]:
    return (slice(k, min(k + size, stop)) for k in range(start, stop, size))


@dataclass(frozen=True)
class Room:
    """Where the rows of a tile are sorted; room that is used again need not be asked for."""

    slot: NDArray[np.int32]
    index: NDArray[np.int32]
    score: FloatArray
    weight: FloatArray | None

    @classmethod
    def of(cls, rows: int, weighted: bool) -> Room:
        """Make room for so many rows."""
        return cls(
            np.empty(rows, dtype=np.int32),
            np.empty(rows, dtype=np.int32),
            np.empty(rows),
            np.empty(rows) if weighted else None,
        )


def _sums(
    part: Prepared,
    block: slice,
    task: SumTask,
    columns: NDArray[np.intp],
    wide_levels: Sequence[int],
    room: Room,
) -> SlotSums:
    """Sum a block of rows; all numbers are whole and below 2⁵³."""
    weighted = part.weight is not None
    bounds = np.zeros(task.slots + 1, dtype=np.intp)
    sizes = np.zeros(task.slots, dtype=np.int64)
    sums = np.zeros((5, task.slots), dtype=np.int64)
    shape = (len(columns), task.slots, WIDTH)
    cells = Scratch.of((len(columns) * task.slots + 1) * WIDTH, weighted, False)
    wide = tuple(np.zeros((3, task.slots * (k + 1)), dtype=np.int64) for k in wide_levels)
    for tile in _tiles(block.start, min(block.stop, part.n), TILE):
        slot = task.routes.slots(part, tile, room.slot)
        sort_scores(
            slot,
            tile.start,
            part.level,
            task.shift,
            task.score,
            part.weight,
            HALF_BITS,
            bounds,
            room.index,
            room.score,
            room.weight,
            sums,
        )
        sizes += np.diff(bounds)
        if len(columns):
            count_columns(
                part.bins,
                columns,
                0,
                len(columns),
                room.index,
                bounds,
                room.score,
                room.weight,
                cells.sums,
                cells.counts,
                cells.masses,
            )
        for k, levels in enumerate(wide_levels):
            row = room.index[: bounds[-1]]
            cell = part.wide[k, row] + slot[row - tile.start] * np.int64(levels + 1)
            for total, each in zip(wide[k], (room.score, None, room.weight), strict=True):
                own = None if each is None else each[: bounds[-1]]
                total += np.bincount(cell, own, total.size).astype(np.int64)
    masses = None
    if cells.masses is not None:
        masses = cells.masses[:-WIDTH].astype(np.int64).reshape(shape)
    return SlotSums(
        cells.sums[:-WIDTH].astype(np.int64).reshape(shape),
        cells.counts[:-WIDTH].reshape(shape),
        masses,
        sizes,
        sums[0],
        sums[1],
        sums[2:],
        tuple(each.reshape(3, task.slots, -1) for each in wide),
    )
