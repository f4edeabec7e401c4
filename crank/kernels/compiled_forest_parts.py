"""Compiled: the parts of growing one tree of a forest: scores, counts, cuts, partition, draws.

`crank.kernels.compiled_forest` puts them together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crank.kernels.bags import LOW_BITS, WIDTH
from crank.kernels.bins import MISSING_BIN
from crank.kernels.compiled_layer import _score_node
from crank.kernels.compiler import kernel_part
from crank.kernels.random_stream import LEFT, MIX_1, MIX_2, RIGHT, STEP

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Wide = NDArray[np.int64]
Keys = NDArray[np.uint64]
Places = NDArray[np.intp]
Bins = NDArray[np.uint8]

N_BINS, DIRECTION, FACTOR = 0, 1, 2
"""What is known of a column."""
LOW, HIGH, MISSING_LOW, LOW_IS_LEFT = 0, 1, 2, 3
"""What is known of a cut."""
_STEP, _MIX_1, _MIX_2 = np.uint64(STEP), np.uint64(MIX_1), np.uint64(MIX_2)
TO_LEFT, TO_RIGHT = np.uint64(LEFT), np.uint64(RIGHT)
_27, _30, _31, _32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
LOW_MASK = (1 << LOW_BITS) - 1


@kernel_part
def mixed(state: np.uint64) -> np.uint64:
    """Scramble 64 bits; see `crank.kernels.random_stream`."""
    state = (state ^ (state >> _30)) * _MIX_1
    state = (state ^ (state >> _27)) * _MIX_2
    return state ^ (state >> _31)


@kernel_part
def draw_below(stream: Keys, n: int) -> int:
    """Draw one of 0, …, n − 1; see `crank.kernels.random_stream`."""
    stream[0] += _STEP
    return np.intp(((mixed(stream[0]) >> _32) * np.uint64(n)) >> _32)  # type: ignore[return-value]  # numba's ints


@kernel_part
def list_rows(draws: Ints, position: Ints) -> tuple[int, int]:
    """List the rows that were drawn; return how many they are, and how many draws."""
    m, drawn = np.uint64(0), 0
    for row in range(len(draws)):
        position[m] = row  # written anyway, kept if drawn: nothing branches
        m += np.uint64(draws[row] > 0)
        drawn += draws[row]
    return np.intp(m), drawn  # type: ignore[return-value]  # numba's ints


@kernel_part
def weight_of(row: int, draws: Ints, weight: Floats) -> float:
    """Return the weight of a row, its draws if there are no others."""
    return weight[row] if len(weight) > 0 else float(draws[row])


@kernel_part
def draw_row(
    stream: Keys,
    position: Ints,
    first: int,
    last: int,
    draws: Ints,
    weight: Floats,
    vote: Floats,
) -> tuple[int, float, float]:
    """Draw a row of a leaf with a probability in proportion to its weight.

    Return it with the leaf's weight and mean vote.
    """
    mass, total = 0.0, 0.0
    for p in range(first, last):
        w = weight_of(position[p], draws, weight)
        mass += w
        total += w * vote[position[p]]
    wanted = mass * ((draw_below(stream, 2**30) + 0.5) / 2.0**30)
    for p in range(first, last):
        wanted -= weight_of(position[p], draws, weight)
        if wanted <= 0.0:
            return int(position[p]), mass, total / mass
    return int(position[last - 1]), mass, total / mass


@kernel_part
def node_scores(
    criterion: int,
    position: Ints,
    first: int,
    last: int,
    group: Ints,
    weight: Floats,
    below: Floats,
    upto: Floats,
    rounding: float,
    least: float,
    own: Floats,
    score: Floats,
) -> tuple[float, float, float]:
    """Weigh and score the rows of a node; return their mass, the sum of scores and of sizes."""
    _score_node(
        criterion, position, first, last, group, weight, below, upto, rounding, least, score
    )
    mass, total, spread = 0.0, 0.0, 0.0
    for p in range(first, last):
        own[p] = weight[position[p]]
        mass += own[p]
        total += score[p]
        spread += abs(score[p])
    return mass, total, spread


@kernel_part
def count_rows(
    bins: Bins,
    a: int,
    b: int,
    position: Ints,
    first: int,
    last: int,
    score: Floats,
    own: Floats,
    draws: Ints,
    sums: Floats,
    masses: Floats,
    counts: Ints,
) -> None:
    """Add the rows of a node to the sums of two columns."""
    for k in range(2 * WIDTH):
        sums[k], masses[k], counts[k] = 0.0, 0.0, 0
    i, j, shift = np.uint64(a), np.uint64(b), np.uint64(WIDTH)
    for p in range(np.uint64(first), np.uint64(last)):
        row = np.uint64(position[p])
        x, y = np.uint64(bins[i, row]), np.uint64(bins[j, row]) + shift
        sums[x] += score[p]
        masses[x] += own[p]
        counts[x] += draws[row]
        sums[y] += score[p]
        masses[y] += own[p]
        counts[y] += draws[row]


@kernel_part
def value_of(low: float, low_mass: float, total: float, mass: float, variance: bool) -> float:
    """Value of cutting off a low side; the same figures as in `crank.kernels.exact`."""
    if not variance:
        return abs(2.0 * low - total)
    if low_mass <= 0.0 or low_mass >= mass:
        return 0.0
    return low * low * (mass / (low_mass * (mass - low_mass)))


@kernel_part
def find_cut(
    n_bins: int,
    direction: int,
    total: float,
    mass: float,
    rows: int,
    error: float,
    variance: bool,
    at_random: bool,
    min_leaf: int,
    s: Floats,
    w: Floats,
    c: Wide,
    stream: Keys,
    found: Ints,
    j: int,
) -> float:
    """Find the best cut of a column, or value one that is drawn between its extreme bins.

    Missing values are tried on the high side and, if there are any, on the low side. A column with
    a direction is cut only where its high values are on the side that this says. Of cuts as good
    the first is taken.
    """
    lowest, highest = 0, n_bins - 1
    while lowest < n_bins and c[lowest] == 0:
        lowest += 1
    while highest >= 0 and c[highest] == 0:
        highest -= 1
    start, stop = lowest, highest
    if at_random:
        if lowest >= highest:
            return 0.0
        start = lowest + draw_below(stream, highest - lowest)
        stop = start
    chosen = 0.0
    for missing_low in range(2 if c[MISSING_BIN] > 0 else 1):
        low, low_mass, n_low = 0.0, 0.0, 0
        if missing_low:
            low, low_mass, n_low = s[MISSING_BIN], w[MISSING_BIN], c[MISSING_BIN]
        best, at = chosen + missing_low * error, -1
        for b in range(lowest, stop + 1):
            if c[b] == 0 and b < start:
                continue
            low += s[b]
            low_mass += w[b]
            n_low += c[b]
            if b < start or n_low < min_leaf or rows - n_low < min_leaf:
                continue
            if (missing_low or b < highest) and direction * (2.0 * low - total) > 0.0:
                continue
            value = value_of(low, low_mass, total, mass, variance)
            if value > best and (at < 0 or value > best + error):
                best, at = value, b
                found[j, LOW], found[j, MISSING_LOW] = b, missing_low
                found[j, LOW_IS_LEFT] = 2.0 * low > total
        if at >= 0:
            chosen = best
    if chosen > 0.0:
        after = found[j, LOW] + 1
        while after < n_bins and c[after] == 0:
            after += 1
        found[j, HIGH] = after if after < n_bins else MISSING_BIN
    return chosen


@kernel_part
def part_rows(
    bins: Bins,
    j: int,
    side: NDArray[np.bool_],
    position: Ints,
    first: int,
    last: int,
    group: Ints,
    tied: bool,
    draws: Ints,
    own: Floats,
    below: Floats,
    upto: Floats,
    out: Ints,
) -> tuple[int, int, float, float]:
    """Part the rows of a node, stably; count its concordant pairs less its discordant ones.

    Return where the right side begins, the draws on the left, the count of pairs, and the same with
    each pair weighed by what the bag has between its responses (theory §3). Pairs of rows with the
    same response count nothing: sums move on when a run of ties ends.
    """
    to_left, to_right = first, 0
    n_left, pairs, triples = 0, 0.0, 0.0
    w_left, w_right = 0.0, 0.0
    upto_left, upto_right = 0.0, 0.0
    on_left, on_right = 0.0, 0.0
    column = np.uint64(j)
    position_before = position[first]
    for p in range(first, last):
        o = position[p]
        if tied and group[o] != group[position_before]:
            under, over = below[position_before], upto[position_before]
            pairs += on_left * w_right - on_right * w_left
            triples += on_left * (under * w_right - upto_right)
            triples -= on_right * (under * w_left - upto_left)
            w_left += on_left
            w_right += on_right
            upto_left += on_left * over
            upto_right += on_right * over
            on_left, on_right = 0.0, 0.0
        position_before = o
        goes = side[np.uint64(bins[column, np.uint64(o)])]
        n, w = np.int64(draws[o]), own[p]
        # both are written, one place moves on: nothing branches
        position[to_left] = o
        out[to_right] = o
        to_left += goes
        to_right += not goes
        n_left += n * goes
        if tied:
            on_left += w * goes
            on_right += w * (not goes)
        else:
            if goes:
                pairs += w * w_right
                triples += w * (below[o] * w_right - upto_right)
                w_left += w
                upto_left += w * upto[o]
            else:
                pairs -= w * w_left
                triples -= w * (below[o] * w_left - upto_left)
                w_right += w
                upto_right += w * upto[o]
    if tied:
        under = below[position_before]
        pairs += on_left * w_right - on_right * w_left
        triples += on_left * (under * w_right - upto_right)
        triples -= on_right * (under * w_left - upto_left)
    for p in range(to_right):
        position[to_left + p] = out[p]
    return to_left, n_left, pairs, triples
