"""Compiled: sums of scores by bin, and the best cut that can be read off them.

Counting and choosing are functions apart. `search_columns` does one after the other for a column
and a node while the sums are in cache; `count_columns` and `choose_cuts` do them apart, so that
sums over several blocks of rows can be added in between. There is no subtraction of siblings, as
in boosting: a row's score belongs to its node (theory §4).

Weights and the factors' ``order`` are None where there are none: numba then compiles only what is
left. Arguments are few and arrays are not sliced, because both take long to compile. All parts of
the kernels are in this file, because numba's cache looks at a change of the kernel's own file only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crank.kernels.bin_tables import (
    COLUMN,
    FACTOR,
    FOUND,
    GRAIN,
    KIND,
    MASS,
    N_BINS,
    NOISE,
    ROUNDING,
    TOTAL,
    WIDTH,
)
from crank.kernels.bins import MISSING_BIN
from crank.kernels.chance import MEAN_SIZE
from crank.kernels.compiler import kernel, kernel_part

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bounds = NDArray[np.intp]
Bins = NDArray[np.uint8]


@kernel
def search_columns(
    bins: Bins,
    columns: Bounds,
    first: int,
    last: int,
    index: Ints,
    bounds: Bounds,
    score: Floats,
    weight: Floats | None,
    nodes: Floats,
    variance: bool,
    min_leaf: int,
    sums: Floats,
    counts: Ints,
    masses: Floats | None,
    work: Floats,
    order: Bounds | None,
    gain: Floats,
    bound: Floats,
    found: Ints,
) -> None:
    """Find the best cut of each column in each node.

    Each call works on the pairs of columns from ``first`` to before ``last`` with sums of its own,
    so the results do not depend on how columns are dealt out to threads. Two columns share a pass
    over the rows: reading a row's score and place costs as much as counting it. For numbers
    ``found``, column after column and node after node, holds the last bin of the low side, the
    next bin that has rows, the rows of the low side, whether it takes the missing values, whether
    it is the left side, and how many are missing. For categories ``bound[column, node]`` is the
    gain of the best subset if any were allowed.
    """
    for pair in range(first, last):
        i = 2 * pair
        j = min(i + 1, len(columns) - 1)
        for k in range(len(bounds) - 1):
            for b in range(2 * WIDTH):
                sums[b] = 0.0
                counts[b] = 0
                if masses is not None:
                    masses[b] = 0.0
            _count(
                bins,
                np.uint64(columns[i, COLUMN]),
                np.uint64(columns[j, COLUMN]),
                index,
                np.uint64(bounds[k]),
                np.uint64(bounds[k + 1]),
                score,
                weight,
                np.uint64(0),
                np.uint64(WIDTH),
                sums,
                counts,
                masses,
            )
            for c in range(i, j + 1):
                _choose(
                    columns,
                    c,
                    nodes,
                    k,
                    bounds[k + 1] - bounds[k],
                    variance,
                    min_leaf,
                    WIDTH * (c - i),
                    sums,
                    counts,
                    masses,
                    work,
                    order,
                    gain,
                    bound,
                    found,
                )


@kernel
def count_columns(
    bins: Bins,
    columns: Bounds,
    first: int,
    last: int,
    index: Ints,
    bounds: Bounds,
    score: Floats,
    weight: Floats | None,
    sums: Floats,
    counts: Ints,
    masses: Floats | None,
) -> None:
    """Add the rows of each node to the sums of the columns from ``first`` to before ``last``.

    The sums are those of column after column, node after node, bin after bin.
    """
    n_nodes = len(bounds) - 1
    spare = len(columns) * n_nodes * WIDTH
    for i in range(first, last, 2):
        j = min(i + 1, last - 1)
        for k in range(n_nodes):
            _count(
                bins,
                np.uint64(columns[i, COLUMN]),
                np.uint64(columns[j, COLUMN]),
                index,
                np.uint64(bounds[k]),
                np.uint64(bounds[k + 1]),
                score,
                weight,
                np.uint64((i * n_nodes + k) * WIDTH),
                np.uint64((j * n_nodes + k) * WIDTH if j > i else spare),
                sums,
                counts,
                masses,
            )


@kernel
def choose_cuts(
    columns: Bounds,
    first: int,
    last: int,
    sizes: Bounds,
    nodes: Floats,
    variance: bool,
    min_leaf: int,
    sums: Floats,
    counts: Ints,
    masses: Floats | None,
    work: Floats,
    order: Bounds | None,
    gain: Floats,
    bound: Floats,
    found: Ints,
) -> None:
    """Find the best cut of each column in each node from the sums of `count_columns`."""
    for c in range(first, last):
        for k in range(len(sizes)):
            _choose(
                columns,
                c,
                nodes,
                k,
                sizes[k],
                variance,
                min_leaf,
                (c * len(sizes) + k) * WIDTH,
                sums,
                counts,
                masses,
                work,
                order,
                gain,
                bound,
                found,
            )


@kernel_part
def _count(
    bins: Bins,
    a: np.uint64,
    b: np.uint64,
    index: Ints,
    start: np.uint64,
    end: np.uint64,
    score: Floats,
    weight: Floats | None,
    to_a: np.uint64,
    to_b: np.uint64,
    sums: Floats,
    counts: Ints,
    masses: Floats | None,
) -> None:
    """Add rows to the sums of two columns, which begin at ``to_a`` and ``to_b``.

    All numbers are unsigned: of others numba asks whether they count from the end.
    """
    for p in range(start, end):
        i, v = np.uint64(index[p]), score[p]
        x, y = to_a + np.uint64(bins[a, i]), to_b + np.uint64(bins[b, i])
        sums[x] += v
        counts[x] += 1
        sums[y] += v
        counts[y] += 1
        if weight is not None and masses is not None:
            masses[x] += weight[p]
            masses[y] += weight[p]


@kernel_part
def _choose(
    columns: Bounds,
    c: int,
    nodes: Floats,
    k: int,
    rows: int,
    variance: bool,
    min_leaf: int,
    at: int,
    sums: Floats,
    counts: Ints,
    masses: Floats | None,
    work: Floats,
    order: Bounds | None,
    gain: Floats,
    bound: Floats,
    found: Ints,
) -> None:
    """Find the best cut of one column in one node; its sums begin at ``at``."""
    j = columns[c, COLUMN]
    if order is not None and columns[c, KIND] == FACTOR:
        gain[j, k], bound[j, k] = _best_subset(
            nodes, k, rows, variance, min_leaf, at, sums, counts, masses, work, order
        )
        return
    gain[j, k] = _best_threshold(
        columns, c, nodes, k, rows, variance, min_leaf, at, sums, counts, masses, work, j, found
    )


@kernel_part
def _value(low: float, low_mass: float, total: float, mass: float, variance: bool) -> float:
    """Value of cutting off a low side; the same figures as in `crank.kernels.exact`."""
    if not variance:
        return abs(2.0 * low - total)
    if low_mass <= 0.0 or low_mass >= mass:
        return 0.0
    return low * low * (mass / (low_mass * (mass - low_mass)))


@kernel_part
def _best_threshold(
    columns: Bounds,
    c: int,
    nodes: Floats,
    k: int,
    rows: int,
    variance: bool,
    min_leaf: int,
    at: int,
    sums: Floats,
    counts: Ints,
    masses: Floats | None,
    work: Floats,
    j: int,
    found: Ints,
) -> float:
    """Try every cut with the missing values on the high side, then, if any, on the low side.

    A column with a direction is cut only where its high values are on the side that this says;
    missing values may be parted from all others either way.
    """
    n_bins, direction = columns[c, N_BINS], columns[c, KIND]
    total, mass, rounding = nodes[k, TOTAL], nodes[k, MASS], nodes[k, ROUNDING]
    best_of_all = 0.0
    n_missing = int(counts[at + MISSING_BIN])
    for missing_low in range(2 if n_missing > 0 else 1):
        low, low_mass, n_low = 0.0, 0.0, 0
        if missing_low:
            low, n_low = sums[at + MISSING_BIN], n_missing
            if masses is not None:
                low_mass = masses[at + MISSING_BIN]
        n_before = n_low
        best = 0.0
        for b in range(n_bins):
            low += sums[at + b]
            n_low += int(counts[at + b])
            if masses is None:
                low_mass = float(n_low)
            else:
                low_mass += masses[at + b]
            value = 0.0
            if n_low > n_before and n_low >= min_leaf and rows - n_low >= min_leaf:
                parts_numbers = missing_low or rows - n_low > n_missing
                if not (parts_numbers and direction * (2.0 * low - total) > 0.0):
                    value = _value(low, low_mass, total, mass, variance)
            work[b] = value
            if value > best:
                best = value
        if best <= best_of_all + missing_low * rounding:
            continue
        best_of_all = best
        low, n_low = 0.0, 0
        if missing_low:
            low, n_low = sums[at + MISSING_BIN], n_missing
        for b in range(n_bins):
            low += sums[at + b]
            n_low += int(counts[at + b])
            if work[b] > 0.0 and work[b] >= best - rounding:
                after = b + 1
                while after < n_bins and counts[at + after] == 0:
                    after += 1
                place = FOUND * (j * len(nodes) + k)
                found[place] = b
                found[place + 1] = after if after < n_bins else MISSING_BIN
                found[place + 2] = n_low
                found[place + 3] = missing_low
                found[place + 4] = 2.0 * low > total
                found[place + 5] = n_missing
                break
    return best_of_all


@kernel_part
def _best_subset(
    nodes: Floats,
    k: int,
    rows: int,
    variance: bool,
    min_leaf: int,
    at: int,
    sums: Floats,
    counts: Ints,
    masses: Floats | None,
    work: Floats,
    order: Bounds,
) -> tuple[float, float]:
    """Sort the levels by mean score, the missing values being one; the best subset is a prefix.

    Return the gain of the best prefix that is allowed, and of the best of all, less what so many
    levels gain by chance (`crank.kernels.chance`).
    """
    total, mass, grain = nodes[k, TOTAL], nodes[k, MASS], nodes[k, GRAIN]
    present, sizes = 0, 0.0
    for b in range(WIDTH):
        if counts[at + b] == 0:
            continue
        sizes += np.sqrt(counts[at + b] * (1.0 - counts[at + b] / rows))
        level_mass = float(counts[at + b]) if masses is None else masses[at + b]
        mean = np.rint(sums[at + b] / level_mass / grain)
        place = present
        while place > 0 and work[place - 1] < mean:
            work[place], order[place] = work[place - 1], order[place - 1]
            place -= 1
        work[place], order[place] = mean, at + b
        present += 1
    best, most, left, left_mass, n_left = 0.0, 0.0, 0.0, 0.0, 0
    for place in range(present - 1):
        b = order[place]
        left += sums[b]
        n_left += counts[b]
        if masses is None:
            left_mass = float(n_left)
        else:
            left_mass += masses[b]
        if 2.0 * left > total:
            value = _value(left, left_mass, total, mass, variance)
            most = max(most, value)
            if n_left >= min_leaf and rows - n_left >= min_leaf:
                best = max(best, value)
    if variance:
        chance = MEAN_SIZE**2 * (present - 1.0) - 1.0
    else:
        chance = MEAN_SIZE * (sizes - np.sqrt(rows))
    chance = nodes[k, NOISE] * max(chance, 0.0)
    return max(best - chance, 0.0), max(most - chance, 0.0)
