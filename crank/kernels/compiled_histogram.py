"""Compiled: histograms of scores, and the best cut that can be read off them.

Each call works on the pairs of columns from ``first`` to before ``last`` with histograms of its
own, so the results do not depend on how columns are dealt out to threads. There is no subtraction
of siblings, as in boosting: a row's score belongs to its node (theory §4).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiled_bins import MISSING
from crank.kernels.compiler import kernel

Floats = NDArray[np.float64]
Bounds = NDArray[np.intp]
Bins = NDArray[np.uint8]

WIDTH = 256
"""Bins of a column, the one of the missing values included."""


@kernel
def search_columns(
    bins: Bins,
    columns: Bounds,
    first: int,
    last: int,
    n_bins: Bounds,
    categorical: NDArray[np.bool_],
    index: NDArray[np.int32],
    bounds: Bounds,
    score: Floats,
    weight: Floats,
    total: Floats,
    mass: Floats,
    rounding: Floats,
    grain: Floats,
    variance: bool,
    min_leaf: int,
    gain: Floats,
    found: NDArray[np.int32],
) -> None:
    """Find the best cut of each column in each node.

    Two columns share a pass over the rows: reading a row's score and place costs as much as
    counting it. ``weight`` is empty if every weight is 1. For numbers ``found[column, node]``
    holds the last bin of the low side, the next bin that has rows, the rows of the low side,
    whether it takes the missing values, whether it is the left side, and how many are missing.
    """
    weighted = len(weight) > 0
    sums, counts = np.empty(2 * WIDTH), np.empty(2 * WIDTH, np.int32)
    masses = np.empty(2 * WIDTH if weighted else 0)
    work, order = np.empty(WIDTH), np.empty(WIDTH, np.intp)
    for pair in range(first, last):
        a = columns[2 * pair]
        b = columns[min(2 * pair + 1, len(columns) - 1)]
        for k in range(len(bounds) - 1):
            start, end = bounds[k], bounds[k + 1]
            sums[:] = 0.0
            counts[:] = 0
            rows = slice(start, end)
            if weighted:
                masses[:] = 0.0
                _count_weighted(
                    bins[a], bins[b], index[rows], score[rows], weight[rows], sums, counts, masses
                )
            else:
                _count(bins[a], bins[b], index[rows], score[rows], sums, counts)
            for half in range(2 if b != a else 1):
                j = b if half else a
                here = slice(half * WIDTH, (half + 1) * WIDTH)
                s, c = sums[here], counts[here]
                w = masses[here] if weighted else masses
                if categorical[j]:
                    gain[j, k] = _best_subset(
                        s,
                        c,
                        w,
                        total[k],
                        mass[k],
                        end - start,
                        grain[k],
                        variance,
                        min_leaf,
                        work,
                        order,
                    )
                else:
                    gain[j, k] = _best_threshold(
                        s,
                        c,
                        w,
                        n_bins[j],
                        total[k],
                        mass[k],
                        end - start,
                        rounding[k],
                        variance,
                        min_leaf,
                        work,
                        found[j, k],
                    )


@kernel
def _count(
    a: Bins,
    b: Bins,
    index: NDArray[np.int32],
    score: Floats,
    sums: Floats,
    counts: NDArray[np.int32],
) -> None:
    # loops from 0 and unsigned indices: for others numba tests whether they count from the end
    for p in range(len(index)):
        i, v = np.uint32(index[p]), score[p]
        x, y = np.uint32(a[i]), np.uint32(b[i]) + np.uint32(WIDTH)
        sums[x] += v
        counts[x] += 1
        sums[y] += v
        counts[y] += 1


@kernel
def _count_weighted(
    a: Bins,
    b: Bins,
    index: NDArray[np.int32],
    score: Floats,
    weight: Floats,
    sums: Floats,
    counts: NDArray[np.int32],
    masses: Floats,
) -> None:
    for p in range(len(index)):
        i, v, w = np.uint32(index[p]), score[p], weight[p]
        x, y = np.uint32(a[i]), np.uint32(b[i]) + np.uint32(WIDTH)
        sums[x] += v
        counts[x] += 1
        masses[x] += w
        sums[y] += v
        counts[y] += 1
        masses[y] += w


@kernel
def _value(low: float, low_mass: float, total: float, mass: float, variance: bool) -> float:
    """Value of cutting off a low side; the same figures as in `crank.kernels.exact`."""
    if not variance:
        return abs(2.0 * low - total)
    if low_mass <= 0.0 or low_mass >= mass:
        return 0.0
    return low * low * (mass / (low_mass * (mass - low_mass)))


@kernel
def _best_threshold(
    sums: Floats,
    counts: NDArray[np.int32],
    masses: Floats,
    n_bins: int,
    total: float,
    mass: float,
    rows: int,
    rounding: float,
    variance: bool,
    min_leaf: int,
    work: Floats,
    found: NDArray[np.int32],
) -> float:
    """Try every cut with the missing values on the high side, then, if any, on the low side."""
    best_of_all = 0.0
    n_missing = counts[MISSING]
    for missing_low in range(2 if n_missing > 0 else 1):
        low, low_mass, n_low = 0.0, 0.0, 0
        if missing_low:
            low, n_low = sums[MISSING], n_missing
            low_mass = masses[MISSING] if len(masses) else float(n_missing)
        n_before = n_low
        best = 0.0
        for b in range(n_bins):
            low += sums[b]
            n_low += counts[b]
            low_mass = low_mass + masses[b] if len(masses) else float(n_low)
            work[b] = 0.0
            if n_low > n_before and n_low >= min_leaf and rows - n_low >= min_leaf:
                work[b] = _value(low, low_mass, total, mass, variance)
                best = max(best, work[b])
        if best <= best_of_all + (rounding if missing_low else 0.0):
            continue
        best_of_all = best
        low, n_low = (sums[MISSING], n_missing) if missing_low else (0.0, 0)
        for b in range(n_bins):
            low += sums[b]
            n_low += counts[b]
            if work[b] > 0.0 and work[b] >= best - rounding:
                after = b + 1
                while after < n_bins and counts[after] == 0:
                    after += 1
                found[0] = b
                found[1] = after if after < n_bins else MISSING
                found[2] = n_low
                found[3] = missing_low
                found[4] = 2.0 * low > total
                found[5] = n_missing
                break
    return best_of_all


@kernel
def _best_subset(
    sums: Floats,
    counts: NDArray[np.int32],
    masses: Floats,
    total: float,
    mass: float,
    rows: int,
    grain: float,
    variance: bool,
    min_leaf: int,
    work: Floats,
    order: Bounds,
) -> float:
    """Sort the levels by mean score, the missing values being one; the best subset is a prefix."""
    present = 0
    for b in range(WIDTH):
        if counts[b] == 0:
            continue
        mean = np.rint(sums[b] / (masses[b] if len(masses) else float(counts[b])) / grain)
        at = present
        while at > 0 and work[at - 1] < mean:
            work[at], order[at] = work[at - 1], order[at - 1]
            at -= 1
        work[at], order[at] = mean, b
        present += 1
    best, left, left_mass, n_left = 0.0, 0.0, 0.0, 0
    for at in range(present - 1):
        b = order[at]
        left += sums[b]
        n_left += counts[b]
        left_mass = left_mass + masses[b] if len(masses) else float(n_left)
        if n_left >= min_leaf and rows - n_left >= min_leaf and 2.0 * left > total:
            best = max(best, _value(left, left_mass, total, mass, variance))
    return best
