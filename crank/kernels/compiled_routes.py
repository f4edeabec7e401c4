"""Compiled: rows of bins down a tree that says where every bin goes, and y and scores there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiler import kernel


@kernel
def route(
    bins: NDArray[np.uint8],
    wide: NDArray[np.int32],
    column: NDArray[np.int32],
    start: NDArray[np.int64],
    side: NDArray[np.bool_],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    slot: NDArray[np.int32],
    first: int,
    found: NDArray[np.int32],
) -> Any:
    """Find the slot of the node in which each row ends, of the rows from ``first`` on.

    Columns beyond those of ``bins`` are those of ``wide``. Node k asks ``side`` from ``start[k]``
    on whether a bin goes left; ``left[k]`` is −1 if it is no parent.
    """
    narrow = len(bins)
    for r in range(len(found)):
        i = first + r
        k = np.int32(0)
        while left[k] >= 0:
            c = column[k]
            code = np.int64(bins[c, i]) if c < narrow else np.int64(wide[c - narrow, i])
            k = left[k] if side[start[k] + code] else right[k]
        found[r] = slot[k]


@kernel
def count_cells(
    slot: NDArray[np.int32],
    first: int,
    level: NDArray[np.uint16],
    shift: int,
    levels: int,
    weight: NDArray[np.float64] | None,
    mass: NDArray[np.int64],
    rows: NDArray[np.int64],
) -> Any:
    """Add each row, or its whole weight, to the cell of its slot and level; below 0 is no slot.

    Slots are those of the rows from ``first`` on.
    """
    for r in range(len(slot)):
        if slot[r] < 0:
            continue
        s = np.int64(slot[r])
        rows[s] += 1
        cell = s * levels + (np.int64(level[first + r]) >> shift)
        if weight is None:
            mass[cell] += 1
        else:
            mass[cell] += np.int64(weight[first + r])


@kernel
def sort_scores(
    slot: NDArray[np.int32],
    first: int,
    level: NDArray[np.uint16],
    shift: int,
    table: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    half: int,
    bounds: NDArray[np.intp],
    index: NDArray[np.int32],
    score: NDArray[np.float64],
    own: NDArray[np.float64] | None,
    sums: NDArray[np.int64],
) -> Any:
    """Sort rows by slot, stably, and score them by slot and level, in whole numbers.

    Slots are those of the rows from ``first`` on; ``index`` numbers all rows. ``sums`` gets, for
    each slot, the sum of scores, of their sizes, of the squared high halves, of high times low
    halves and of the squared low ones; a low half has ``half`` bits.
    """
    bounds[:] = 0
    for r in range(len(slot)):
        if slot[r] >= 0:
            bounds[slot[r] + 1] += 1
    for s in range(len(bounds) - 1):
        bounds[s + 1] += bounds[s]
    place = bounds.copy()
    mask = (np.int64(1) << half) - 1
    for r in range(len(slot)):
        s = slot[r]
        if s < 0:
            continue
        p = place[s]
        place[s] += 1
        i = first + r
        value = table[s, np.int64(level[i]) >> shift]
        if weight is not None and own is not None:
            own[p] = weight[i]
            value = np.rint(value * weight[i])
        index[p], score[p] = i, value
        whole = np.int64(value)
        high, low = whole >> half, whole & mask
        sums[0, s] += whole
        sums[1, s] += abs(whole)
        sums[2, s] += high * high
        sums[3, s] += high * low
        sums[4, s] += low * low
