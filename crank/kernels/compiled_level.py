"""Compiled: the grower's passes over the nodes of a level (see `crank.passes`).

Rows of a node come in y order, so ties are runs and the rows below a row are those before it.
Each call works on the nodes from ``first`` to before ``last``; nodes are independent, hence the
results do not depend on how they are dealt out to threads. If ranks are ``plain``, without ties
or weights, they are the positions themselves and nothing else is read; if they are ``even``, every
weight is 1 and no weight is read.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiler import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bounds = NDArray[np.intp]

CRITERIA = {"crank": 0, "kendall": 1, "iauc": 2, "spearman": 3}
"""Criteria that `score_nodes` knows, by number."""


@kernel
def score_nodes(
    criterion: int,
    plain: bool,
    even: bool,
    position: Ints,
    bounds: Bounds,
    first: int,
    last: int,
    group: Ints,
    weight: Floats,
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
        if plain:
            _score_plain(criterion, position, bounds[k], bounds[k + 1], score)
        else:
            _score_node(
                criterion,
                even,
                position[bounds[k] : bounds[k + 1]],
                group,
                weight,
                below,
                upto,
                rounding,
                least,
                score[bounds[k] : bounds[k + 1]],
            )


@kernel
def _score_plain(criterion: int, position: Ints, start: int, end: int, score: Floats) -> None:
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


@kernel
def _score_node(
    criterion: int,
    even: bool,
    position: Ints,
    group: Ints,
    weight: Floats,
    below: Floats,
    upto: Floats,
    rounding: float,
    least: float,
    score: Floats,
) -> None:
    m = len(position)
    mass = float(m)
    if not even:
        mass = 0.0
        for p in range(m):
            mass += weight[position[p]]
    if criterion == 0:
        if even:
            cut = _even_median_cut(position, group)
        else:
            cut = _median_cut(position, group, weight, mass, rounding)
        for p in range(m):
            w = 1.0 if even else weight[position[p]]
            score[p] = w if p >= cut else -w
        return
    lows = 0.0
    if criterion >= 2:
        for p in range(m):
            o = position[p]
            w = 1.0 if even else weight[o]
            lows += w * (below[o] if criterion == 2 else 0.5 * (below[o] + upto[o]))
    under, highs = 0.0, 0.0
    p = 0
    while p < m:
        o = position[p]
        past, tied = p, 0.0
        while past < m and group[position[past]] == group[o]:
            tied += 1.0 if even else weight[position[past]]
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
            score[q] = value if even else value * weight[position[q]]
        under += tied
        p = past


@kernel
def _median_cut(position: Ints, group: Ints, weight: Floats, mass: float, rounding: float) -> int:
    """First row above the distinct value nearest to half of the mass, the upper of two as near."""
    m = len(position)
    nearest = np.inf
    cut = m
    for turn in range(2):
        cut, under = m, 0.0
        for p in range(m - 1):
            under += weight[position[p]]
            if group[position[p + 1]] != group[position[p]]:
                off = abs(2.0 * under - mass)
                if turn == 0:
                    nearest = min(nearest, off)
                elif off <= nearest + rounding * mass:
                    cut = p + 1
    return cut


@kernel
def _even_median_cut(position: Ints, group: Ints) -> int:
    """Find the same cut without weights, from the middle outwards."""
    m = len(position)
    high = (m + 1) // 2
    while high < m and group[position[high]] == group[position[high - 1]]:
        high += 1
    low = m // 2
    while low > 0 and group[position[low]] == group[position[low - 1]]:
        low -= 1
    if high == m or (low > 0 and m - 2 * low < 2 * high - m):
        return low if low > 0 else m
    return high


@kernel
def partition_nodes(
    plain: bool,
    even: bool,
    position: Ints,
    bounds: Bounds,
    first: int,
    last: int,
    left: NDArray[np.bool_],
    to_left: Bounds,
    to_right: Bounds,
    group: Ints,
    weight: Floats,
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
            low, high = (float(o), float(o + 1)) if plain else (below[o], upto[o])
            tied = o if plain else group[o]
            on_left, on_right = 0.0, 0.0
            while True:
                w = 1.0 if even else weight[o]
                goes = left[p]
                out[i if goes else j] = o
                i += goes
                j += not goes
                on_left += w * goes
                on_right += w * (not goes)
                p += 1
                if plain or p == end:
                    break
                o = position[p]
                if group[o] != tied:
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
    plain: bool,
    even: bool,
    position: Ints,
    bounds: Bounds,
    first: int,
    last: int,
    weight: Floats,
    below: Floats,
    upto: Floats,
    mass: Floats,
    middle: Floats,
    law: Floats,
    at: Bounds,
) -> None:
    """Weigh each node, sum its weighted ranks, and find the rows at given shares of its mass."""
    shares = len(law)
    for k in range(first, last):
        start, end = bounds[k], bounds[k + 1]
        w, m = 0.0, 0.0
        if plain:
            w = float(end - start)
            for p in range(start, end):
                m += 2.0 * position[p] + 1.0
        else:
            for p in range(start, end):
                o = position[p]
                one = 1.0 if even else weight[o]
                w += one
                m += one * (below[o] + upto[o])
        mass[k], middle[k] = w, m
        p, under = start, weight[position[start]]
        for q in range(shares):
            while p < end - 1 and under < w * law[q]:
                p += 1
                under += weight[position[p]]
            at[k * shares + q] = p
