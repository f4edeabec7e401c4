"""Compiled: sums over all columns of a node at once, and the best cut from packed sums.

Scores of spearman do not depend on the node, so the sums of a node are those of its two sides
together: only the smaller side is counted, the sums of the larger are what is left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crank.kernels.bags import LOW_BITS, WIDTH
from crank.kernels.bins import MISSING_BIN
from crank.kernels.compiled_forest_parts import (
    HIGH,
    LOW,
    LOW_IS_LEFT,
    LOW_MASK,
    MISSING_LOW,
    Bins,
    Ints,
    Keys,
    Places,
    Wide,
    draw_below,
    value_of,
)
from crank.kernels.compiler import kernel_part

SLACK = 1.0 + 1e-12
"""A cut may be passed over without its exact value if it is worse by more than rounding."""

AllSums = NDArray[np.int64]
"""Of shape (slots, d × 256): packed sums of the nodes that wait, by column and bin."""


@kernel_part
def count_all(
    by_row: Bins, position: Ints, first: int, last: int, value: Wide, sums: AllSums, slot: int
) -> None:
    """Add the rows of a node to the packed sums of all columns."""
    one, d = sums[slot], by_row.shape[1]
    for x in range(len(one)):
        one[x] = 0
    for p in range(np.uint64(first), np.uint64(last)):
        row, v = np.uint64(position[p]), value[p]
        for j in range(np.uint64(d)):
            one[j * np.uint64(WIDTH) + np.uint64(by_row[row, j])] += v


@kernel_part
def take_off(sums: AllSums, slot: int, part: int) -> None:
    """Take the sums of a part off those of the whole."""
    whole, less = sums[slot], sums[part]
    for x in range(len(whole)):
        whole[x] -= less[x]


@kernel_part
def whole_cut(
    packed: Wide,
    at: int,
    order: Places,
    factor: bool,
    n_bins: int,
    direction: int,
    total: float,
    centre: float,
    rows: int,
    error: float,
    variance: bool,
    at_random: bool,
    min_leaf: int,
    stream: Keys,
    places: Wide,
    found: Ints,
    j: int,
) -> float:
    """Find the best cut of a column as `find_cut` does, from sums that begin at a place.

    An empty bin has the value of the one before, and of cuts as good the first is taken: so empty
    bins need no test. ``places`` is room for the sums of a factor's levels in their order.
    """
    missing = packed[at + MISSING_BIN]
    if factor:
        for b in range(n_bins):
            places[b] = packed[at + order[b]]
        packed, at = places, 0
    base, stop = np.uint64(at), np.uint64(n_bins)
    start, highest = np.uint64(0), n_bins - 1
    if at_random or direction != 0:
        lowest = 0
        while lowest < n_bins and packed[at + lowest] == 0:
            lowest += 1
        while highest >= 0 and packed[at + highest] == 0:
            highest -= 1
        if at_random:
            if lowest >= highest:
                return 0.0
            start = np.uint64(lowest + draw_below(stream, highest - lowest))
            stop = start + np.uint64(1)
    mass, most = float(rows), rows - min_leaf
    # infinite if there is nothing to compare with: then every cut gets its exact value
    scale = mass * SLACK if variance else np.inf
    chosen = 0.0
    for missing_low in range(2 if missing != 0 else 1):
        both = missing if missing_low else np.int64(0)
        best, taken = chosen + missing_low * error, 0
        for b in range(start):
            both += packed[base + b]
        for b in range(start, stop):
            both += packed[base + b]
            n_low = both & LOW_MASK
            if n_low < min_leaf:
                continue
            if n_low > most:
                break
            low_mass = float(n_low)
            low = float(both >> LOW_BITS) - centre * low_mass
            if low * low * scale < best * (low_mass * (mass - low_mass)):
                continue
            if direction * (2.0 * low - total) > 0.0 and (missing_low or np.intp(b) < highest):
                continue
            value = value_of(low, low_mass, total, mass, variance)
            if value > best and (taken == 0 or value > best + error):
                best, taken = value, 1
                found[j, LOW], found[j, MISSING_LOW] = np.intp(b), missing_low
                found[j, LOW_IS_LEFT] = 2.0 * low > total
        if taken > 0:
            chosen = best
    if chosen > 0.0:
        after = found[j, LOW] + 1
        while after < n_bins and packed[at + after] == 0:
            after += 1
        found[j, HIGH] = after if after < n_bins else MISSING_BIN
    return chosen


@kernel_part
def part_whole(
    bins: Bins,
    j: int,
    side: NDArray[np.bool_],
    position: Ints,
    first: int,
    last: int,
    group: Ints,
    tied: bool,
    value: Wide,
    out: Ints,
    spare: Wide,
) -> tuple[int, int, float]:
    """Do as `part_rows` does, in whole numbers; packed values go with their rows."""
    one, to_left, to_right = np.uint64(1), np.uint64(first), np.uint64(0)
    pairs, w_left, w_right = np.int64(0), np.int64(0), np.int64(0)
    on_left, on_right = np.int64(0), np.int64(0)
    column = np.uint64(j)
    before = group[position[first]]
    for p in range(np.uint64(first), np.uint64(last)):
        o, v = position[p], value[p]
        if tied and group[o] != before:
            pairs += on_left * w_right - on_right * w_left
            w_left += on_left
            w_right += on_right
            on_left, on_right = np.int64(0), np.int64(0)
            before = group[o]
        goes = np.uint64(side[np.uint64(bins[column, np.uint64(o)])])
        # both are written, one place moves on: nothing branches
        position[to_left], value[to_left] = o, v
        out[to_right], spare[to_right] = o, v
        to_left += goes
        to_right += one - goes
        n = v & LOW_MASK
        left = n * np.int64(goes)
        right = n - left
        if tied:
            on_left += left
            on_right += right
        else:
            pairs += left * w_right - right * w_left
            w_left += left
            w_right += right
    if tied:
        pairs += on_left * w_right - on_right * w_left
        w_left += on_left
    for p in range(to_right):
        position[to_left + p] = out[p]
        value[to_left + p] = spare[p]
    return np.intp(to_left), w_left, float(pairs)  # type: ignore[return-value]  # numba's ints
