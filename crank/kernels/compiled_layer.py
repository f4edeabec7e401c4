"""Compiled: the grower's passes over the nodes of a layer (see `crank.growing.passes`).

Rows of a node come in y order, so ties are runs and the rows below a row are those before it.
Each call works on the nodes from ``first`` to before ``last``; nodes are independent, hence the
results do not depend on how they are dealt out to threads. ``weight`` is None if every weight is
1; ``group`` is None if there are no ties either: the ranks are then the positions themselves, and
nothing else is read. numba compiles only what is left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiler import kernel, kernel_part

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bounds = NDArray[np.intp]

CRITERIA = {"crank": 0, "kendall": 1, "iauc": 2, "spearman": 3}
"""Criteria that `score_nodes` knows, by number."""


@kernel
def score_nodes(
    criterion: int,
    position: Ints,
    bounds: Bounds,
    first: int,
    last: int,
    group: Ints,
    weight: Floats | None,
    below: Floats,
    upto: Floats,
    rounding: float,
    least: float,
    score: Floats,
) -> None:
    """Score the rows of each node, case weights included (theory §4).

    IAUC scores up to ``least`` are rounding, not a score.
    """
    for k in range(first, last):
        _score_node(
            criterion,
            position,
            bounds[k],
            bounds[k + 1],
            group,
            weight,
            below,
            upto,
            rounding,
            least,
            score,
        )


@kernel
def score_untied_nodes(
    criterion: int, position: Ints, bounds: Bounds, first: int, last: int, score: Floats
) -> None:
    """Do the same where there are neither ties nor weights."""
    for k in range(first, last):
        start, end = bounds[k], bounds[k + 1]
        m, total = end - start, 0.0
        if criterion >= 2:
            for p in range(start, end):
                total += position[p]
        for p in range(start, end):
            i = p - start
            kendall = float(2 * i + 1 - m)
            if criterion == 0:
                score[p] = 1.0 if 2 * i >= m else -1.0
            elif criterion == 1:
                score[p] = kendall
            elif criterion == 2:
                score[p] = float(m) * position[p] - total - kendall
            else:
                score[p] = position[p] - total / m


@kernel_part
def _score_node(
    criterion: int,
    position: Ints,
    start: int,
    end: int,
    group: Ints,
    weight: Floats | None,
    below: Floats,
    upto: Floats,
    rounding: float,
    least: float,
    score: Floats,
) -> None:
    mass = float(end - start)
    if weight is not None:
        mass = 0.0
        for p in range(start, end):
            mass += weight[position[p]]
    if criterion == 0:
        if weight is None:
            cut = _unweighted_median_cut(position, start, end, group)
        else:
            cut = _median_cut(position, start, end, group, weight, mass, rounding)
        for p in range(start, end):
            w = 1.0 if weight is None else weight[position[p]]
            score[p] = w if p >= cut else -w
        return
    lows = 0.0
    if criterion >= 2:
        for p in range(start, end):
            o = position[p]
            w = 1.0 if weight is None else weight[o]
            lows += w * (below[o] if criterion == 2 else 0.5 * (below[o] + upto[o]))
    under, highs = 0.0, 0.0
    p = start
    while p < end:
        o = position[p]
        past, tied = p, 0.0
        while past < end and group[position[past]] == group[o]:
            tied += 1.0 if weight is None else weight[position[past]]
            past += 1
        if criterion == 1:
            value = 2.0 * under + tied - mass
        elif criterion == 2:
            lows -= tied * below[o]
            value = below[o] * under - highs - lows + upto[o] * (mass - under - tied)
            highs += tied * upto[o]
            if abs(value) <= least:
                value = 0.0
        else:
            value = 0.5 * (below[o] + upto[o]) - lows / mass
        for q in range(p, past):
            score[q] = value if weight is None else value * weight[position[q]]
        under += tied
        p = past


@kernel_part
def _median_cut(
    position: Ints,
    start: int,
    end: int,
    group: Ints,
    weight: Floats,
    mass: float,
    rounding: float,
) -> int:
    """First row above the distinct value nearest to half of the mass, the upper of two as near."""
    nearest = np.inf
    cut = end
    for look in range(2):
        cut, under = end, 0.0
        for p in range(start, end - 1):
            under += weight[position[p]]
            if group[position[p + 1]] != group[position[p]]:
                off = abs(2.0 * under - mass)
                if look == 0:
                    nearest = min(nearest, off)
                elif off <= nearest + rounding * mass:
                    cut = p + 1
    return cut


@kernel_part
def _unweighted_median_cut(position: Ints, start: int, end: int, group: Ints) -> int:
    """Find the same cut without weights, from the middle outwards."""
    m = end - start
    high = start + (m + 1) // 2
    while high < end and group[position[high]] == group[position[high - 1]]:
        high += 1
    low = start + m // 2
    while low > start and group[position[low]] == group[position[low - 1]]:
        low -= 1
    # rows below the middle of the lower cut, and above that of the upper one
    if high == end or (low > start and start + end - 2 * low < 2 * high - start - end):
        return low if low > start else end
    return high


@kernel
def partition_nodes(
    position: Ints,
    bounds: Bounds,
    first: int,
    last: int,
    left: NDArray[np.bool_],
    to_left: Bounds,
    to_right: Bounds,
    group: Ints | None,
    weight: Floats | None,
    below: Floats,
    upto: Floats,
    out: Ints,
    gain_kendall: Floats,
    gain_iauc: Floats,
) -> None:
    """Part the rows of each split node, stably, and sum the gains of its pairs and triples.

    A node is split if ``to_left`` is not negative: where its left rows go in ``out``. A pair
    weighs L of its higher minus H of its lower response in the IAUC (theory §3); pairs of rows
    with the same response count nothing, so sums move on when a run of ties ends.
    """
    for k in range(first, last):
        i, j = to_left[k], to_right[k]
        if i < 0:
            continue
        pairs, triples = 0.0, 0.0
        # weight, and weight times H, of the rows below on either side
        w_left, w_right, h_left, h_right = 0.0, 0.0, 0.0, 0.0
        p, end = bounds[k], bounds[k + 1]
        while p < end:
            o = position[p]
            if group is None:
                low, high = float(o), float(o + 1)
            else:
                low, high = below[o], upto[o]
            run = o
            on_left, on_right = 0.0, 0.0
            while True:
                w = 1.0 if weight is None else weight[o]
                goes = left[p]
                out[i if goes else j] = o
                i += goes
                j += not goes
                on_left += w * goes
                on_right += w * (not goes)
                p += 1
                if group is None:
                    break
                if p == end:
                    break
                o = position[p]
                if group[o] != group[run]:
                    break
            pairs += on_left * w_right - on_right * w_left
            triples += on_left * (low * w_right - h_right) - on_right * (low * w_left - h_left)
            w_left += on_left
            w_right += on_right
            h_left += on_left * high
            h_right += on_right * high
        gain_kendall[k] = pairs
        gain_iauc[k] = triples


@kernel
def summarise_nodes(
    position: Ints,
    bounds: Bounds,
    first: int,
    last: int,
    weight: Floats | None,
    below: Floats,
    upto: Floats,
    mass: Floats,
    middle: Floats,
    shares: Floats,
    at: Bounds,
) -> None:
    """Weigh each node, sum its weighted ranks, and find the rows at given shares of its mass."""
    for k in range(first, last):
        start, end = bounds[k], bounds[k + 1]
        w, m = 0.0, 0.0
        for p in range(start, end):
            o = position[p]
            one = 1.0 if weight is None else weight[o]
            w += one
            m += one * (below[o] + upto[o])
        mass[k], middle[k] = w, m
        if weight is not None:
            p, under = start, weight[position[start]]
            for q in range(len(shares)):
                while p < end - 1 and under < w * shares[q]:
                    p += 1
                    under += weight[position[p]]
                at[k * len(shares) + q] = p
