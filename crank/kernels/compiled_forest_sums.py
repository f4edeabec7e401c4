"""Compiled: packed sums of a node's columns, and the best cut from them.

Scores of spearman do not depend on the node, so the sums of a node are those of its two sides
together: only the smaller side is counted, the sums of the larger are what is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from crank.kernels.bags import LOW_BITS, SPEARMAN, WIDTH
from crank.kernels.bins import MISSING_BIN
from crank.kernels.compiled_forest_parts import (
    HIGH,
    LOW,
    LOW_IS_LEFT,
    LOW_MASK,
    MISSING_LOW,
    Bins,
    Floats,
    Ints,
    Keys,
    Places,
    Wide,
    draw_below,
)
from crank.kernels.compiled_prefetch import prefetch
from crank.kernels.compiled_running import EIGHT, sum_eight
from crank.kernels.compiler import kernel_part

AHEAD = np.uint64(8)
"""Rows between the one that is counted and the one whose memory is asked for."""

NEARLY = 1e-9
"""Far more than rounding can make of a value that is compared without its division."""

AllSums = NDArray[np.int64]
"""Of shape (slots, d × 256): packed sums of the nodes that wait, by column and bin."""

LOW_SHIFT, LOW_PART, SIGN = np.uint64(LOW_BITS), np.uint64(LOW_MASK), np.uint64(1 << 63)
EXPONENT, OFFSET = np.uint64(0x433 << 52), 2.0**52
"""A whole number below 2⁵² in the bits of a double after this exponent makes it 2⁵² more."""
SCORE_OFFSET = OFFSET + 2.0 ** (63 - LOW_BITS)
"""The same for scores, which are not negative once `SIGN` was added to what they are packed in."""


@intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
def as_double(context: Any, bits: Any) -> Any:
    """Read 64 bits as a double.

    Compilers turn 64-bit integers into doubles one by one, but mask, shift and subtract several at
    a time: so packed sums become doubles.
    """
    del context, bits

    def build(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del signature
        return builder.bitcast(arguments[0], target.get_value_type(types.float64))

    return types.float64(types.uint64), build


@kernel_part
def draws_in(packed: np.uint64) -> float:
    """Unpack the draws of a sum."""
    return as_double((packed & LOW_PART) | EXPONENT) - OFFSET  # type: ignore[no-any-return]


@kernel_part
def score_in(packed: np.uint64, centre: float) -> float:
    """Unpack the score of a sum that `SIGN` was added to, less a mean for each draw."""
    score = as_double((packed >> LOW_SHIFT) | EXPONENT) - SCORE_OFFSET
    return score - centre * draws_in(packed)  # type: ignore[no-any-return]


@kernel_part
def pack_scores(position: Ints, group: Ints, tied: bool, draws: Ints, value: Wide) -> int:
    """Pack twice the rank of each row of the bag, times its draws, with its draws; sum them up."""
    m, under, total = len(position), np.int64(0), np.int64(0)
    if not tied:
        for p in range(m):
            row = np.uint64(position[p])
            n = np.int64(draws[row])
            value[row] = (((2 * under + n) * n) << LOW_BITS) + n
            under += n
            total += value[row]
        return total  # type: ignore[return-value]  # numba's ints
    p = 0
    while p < m:
        past, inside = p, np.int64(0)
        while past < m and group[position[past]] == group[position[p]]:
            inside += draws[position[past]]
            past += 1
        for q in range(p, past):
            n = np.int64(draws[position[q]])
            value[position[q]] = (((2 * under + inside) * n) << LOW_BITS) + n
            total += value[position[q]]
        under += inside
        p = past
    return total  # type: ignore[return-value]  # numba's ints


@kernel_part
def whole_scores(
    criterion: int, position: Ints, first: int, last: int, group: Ints, packed: int, value: Wide
) -> tuple[float, float, float]:
    """Return the sum of a node's scores, of their sizes, and the mean to take off.

    Scores of spearman, `pack_scores`, are the same in every node but for their mean, and
    ``packed`` is their sum; those of kendall are packed anew.
    """
    rows = packed & LOW_MASK
    if criterion == SPEARMAN:
        total = packed >> LOW_BITS
        centre = total / rows
        # sizes need no sum: they bound rounding only, and the range bounds them
        lowest, highest = value[position[first]], value[position[last - 1]]
        low = (lowest >> LOW_BITS) / (lowest & LOW_MASK)
        high = (highest >> LOW_BITS) / (highest & LOW_MASK)
        return total - centre * rows, rows * (high - low), centre
    under, size, sum_of = np.int64(0), np.int64(0), np.int64(0)
    p = first
    while p < last:
        past, inside = p, np.int64(0)
        while past < last and group[position[past]] == group[position[p]]:
            inside += value[position[past]] & LOW_MASK
            past += 1
        score = 2 * under + inside - rows
        for q in range(p, past):
            n = value[position[q]] & LOW_MASK
            value[position[q]] = ((score * n) << LOW_BITS) + n
        sum_of += score * inside
        size += abs(score) * inside
        under += inside
        p = past
    return float(sum_of), float(size), 0.0


@kernel_part
def count_two(
    bins: Bins, a: int, b: int, position: Ints, first: int, last: int, value: Wide, packed: Wide
) -> None:
    """Add the rows of a node to the packed sums of two columns."""
    for x in range(2 * WIDTH):
        packed[x] = 0
    i, j, shift = np.uint64(a), np.uint64(b), np.uint64(WIDTH)
    for p in range(np.uint64(first), np.uint64(last)):
        row = np.uint64(position[p])
        v = value[row]
        packed[np.uint64(bins[i, row])] += v
        packed[np.uint64(bins[j, row]) + shift] += v


@kernel_part
def count_four(
    bins: Bins, columns: Places, position: Ints, first: int, last: int, value: Wide, packed: Wide
) -> None:
    """Do the same for two to four columns; the last one is counted again in place of others."""
    for x in range(4 * WIDTH):
        packed[x] = 0
    most = len(columns) - 1
    i, j = np.uint64(columns[0]), np.uint64(columns[1])
    k, m = np.uint64(columns[min(2, most)]), np.uint64(columns[most])
    at_j, at_k, at_m = np.uint64(WIDTH), np.uint64(2 * WIDTH), np.uint64(3 * WIDTH)
    for p in range(np.uint64(first), np.uint64(last)):
        row = np.uint64(position[p])
        v = value[row]
        packed[np.uint64(bins[i, row])] += v
        packed[np.uint64(bins[j, row]) + at_j] += v
        packed[np.uint64(bins[k, row]) + at_k] += v
        packed[np.uint64(bins[m, row]) + at_m] += v


@kernel_part
def count_all(
    by_row: Bins, position: Ints, first: int, last: int, value: Wide, sums: AllSums, slot: int
) -> None:
    """Add the rows of a node to the packed sums of all columns.

    The work on a row is longer than what a processor looks ahead: what will be read of a later row
    is asked for.
    """
    one, d = sums[slot], np.uint64(by_row.shape[1])
    for x in range(len(one)):
        one[x] = 0
    for p in range(np.uint64(first), np.uint64(last)):
        later = np.uint64(position[min(p + AHEAD, np.uint64(last - 1))])
        prefetch(value, later)
        prefetch(by_row, later * d)
        row = np.uint64(position[p])
        v = value[row]
        for j in range(d):
            one[j * np.uint64(WIDTH) + np.uint64(by_row[row, j])] += v


@kernel_part
def take_off(sums: AllSums, slot: int, part: int) -> None:
    """Take the sums of a part off those of the whole."""
    whole, less = sums[slot], sums[part]
    for x in range(len(whole)):
        whole[x] -= less[x]


@kernel_part
def largest(values: Floats, first: np.uint64, last: np.uint64) -> float:
    """Return the largest of some values that are not negative, 0 if there are none.

    Such doubles are in the order of their bits, read as whole numbers, of which compilers compare
    several at a time.
    """
    bits, most = values.view(np.int64), np.int64(0)
    for at in range(first, last):
        most = max(most, bits[at])
    return as_double(np.uint64(most))  # type: ignore[no-any-return]


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
    sides: Keys,
    values: Floats,
    to_beat: float,
    low_sides: Wide,
    found: Ints,
    j: int,
) -> float:
    """Find the best cut of a column as `find_cut` does, from sums that begin at a place.

    Scores and draws of all low sides are summed first, so that cuts can be valued several at a
    time; those of the best cut are kept in ``low_sides``. An empty bin has the value of the one
    before, and of cuts as good the first is taken: so empty bins need no test. Which cut it is
    matters only if it is as good as ``to_beat``. ``places``, ``sides`` and ``values`` are room for
    the sums of a factor's levels in their order, of low sides, and for the values of cuts.
    """
    missing = packed[at + MISSING_BIN]
    if factor:
        for b in range(n_bins):
            places[b] = packed[at + order[b]]
        packed, at = places, 0
    start, stop, highest = 0, n_bins, n_bins - 1
    if at_random or direction != 0:
        lowest = 0
        while lowest < n_bins and packed[at + lowest] == 0:
            lowest += 1
        while highest >= 0 and packed[at + highest] == 0:
            highest -= 1
        if at_random:
            if lowest >= highest:
                return 0.0
            start = lowest + draw_below(stream, highest - lowest)
            stop = start + 1
    mass, chosen = float(rows), 0.0
    fewest, most = np.uint64(min_leaf), np.uint64(rows - min_leaf)
    for missing_low in range(2 if missing != 0 else 1):
        both = SIGN + np.uint64(missing if missing_low else 0)
        base = np.uint64(at)
        summed, past = np.uint64(0), np.uint64(stop)
        while summed + np.uint64(EIGHT) <= past:
            both = sum_eight(packed, base + summed, sides, summed, both)
            summed += np.uint64(EIGHT)
        while summed < past:
            both += np.uint64(packed[base + summed])
            sides[summed] = both
            summed += np.uint64(1)
        # no index is negative: said so, loops need not ask, and take several at a time
        first, last, one = np.uint64(start), np.uint64(stop), np.uint64(1)
        while first < last and sides[first] & LOW_PART < fewest:
            first += one
        while last > first and sides[last - one] & LOW_PART > most:
            last -= one
        if variance and missing == 0 and to_beat > 2.0 * error:
            # a division takes longer than all of this, and few columns have a cut that matters
            enough, better = (1.0 - NEARLY) * (to_beat - 2.0 * error), np.int64(0)
            for b in range(first, last):
                low, low_mass = score_in(sides[b], centre), draws_in(sides[b])
                better += low * low * mass > enough * (low_mass * (mass - low_mass))
            if better == 0:
                return 0.0
        if variance:
            for b in range(first, last):
                low, low_mass = score_in(sides[b], centre), draws_in(sides[b])
                values[b] = low * low * (mass / (low_mass * (mass - low_mass)))
        else:
            for b in range(first, last):
                values[b] = abs(2.0 * score_in(sides[b], centre) - total)
        if direction != 0:
            for b in range(first, last if missing_low else min(last, np.uint64(highest))):
                if direction * (2.0 * score_in(sides[b], centre) - total) > 0.0:
                    values[b] = 0.0
        best = largest(values, first, last)
        if best <= chosen + missing_low * error:
            continue
        if best < to_beat - 2.0 * error:  # whichever it is, another column is better
            chosen = best
            continue
        while values[first] < best - error or values[first] <= 0.0:
            first += one
        chosen, low_sides[j] = values[first], np.int64(sides[first] - SIGN)
        found[j, LOW], found[j, MISSING_LOW] = first, missing_low
        found[j, LOW_IS_LEFT] = 2.0 * score_in(sides[first], centre) > total
        after = found[j, LOW] + 1
        while after < n_bins and packed[at + after] == 0:
            after += 1
        found[j, HIGH] = after if after < n_bins else MISSING_BIN
    return chosen
