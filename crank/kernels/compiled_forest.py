"""Compiled: one tree of a forest, whole, over bins that all trees share.

The oracle is `crank.kernels.forest`, which grows the same tree, bit for bit, in NumPy. Where scores
and weights are whole numbers, the score and the draws of a row are packed into one: a row costs one
addition a column, and sums are exact.
"""

from __future__ import annotations

import numpy as np

from crank.kernels.bags import LOW_BITS, WIDTH
from crank.kernels.compiled_forest_parts import (
    DIRECTION,
    FACTOR,
    LOW,
    LOW_IS_LEFT,
    LOW_MASK,
    MISSING_LOW,
    N_BINS,
    TO_LEFT,
    TO_RIGHT,
    Bins,
    Floats,
    Ints,
    Places,
    count_rows,
    count_whole,
    draw_below,
    draw_row,
    find_cut,
    mixed,
    node_scores,
    part_rows,
    whole_scores,
)
from crank.kernels.compiler import kernel
from crank.kernels.cuts import ROUNDING
from crank.kernels.forest_bins import MISSING


@kernel
def grow_tree(
    bins: Bins,
    columns: Places,
    rank: Places,
    order: Places,
    position: Ints,
    group: Ints,
    tied: bool,
    draws: Ints,
    weight: Floats,
    below: Floats,
    upto: Floats,
    vote: Floats,
    whole: bool,
    criterion: int,
    variance: bool,
    at_random: bool,
    max_depth: int,
    min_leaf: int,
    max_features: int,
    rounding: float,
    least: float,
    key: np.uint64,
    column: Ints,
    cut: Ints,
    children: Ints,
    span: Places,
    drawn: Ints,
    gain: Floats,
    size_of: Ints,
    mass_of: Floats,
    mean_of: Floats,
) -> int:
    """Grow one tree; return the number of its nodes.

    ``position`` are the rows of the bag in y order, and in the end in the order of the leaves; the
    other arrays of rows are by position; ``whole`` tells whether scores are whole numbers.
    ``rank[j, code]`` is the place of a factor's level in this tree's order of levels, ``order`` its
    inverse. The last arguments are filled node by node; ``span`` is where a node's rows lie.
    """
    m, d = len(position), len(columns)
    packed = np.empty(len(draws) if whole else 0, np.int64)
    if whole:
        for p in range(m):
            o = position[p]
            n = np.int64(draws[o])
            packed[o] = ((np.int64(below[o] + upto[o]) * n) << LOW_BITS) + n
    depth, size = np.zeros(len(column), np.intp), np.zeros(len(column), np.intp)
    keys = np.zeros(len(column), np.uint64)
    stack = np.empty(len(column), np.intp)
    value = np.empty(m if whole else 0, np.int64)
    own, score = np.empty(0 if whole else m), np.empty(0 if whole else m)
    out = np.empty(m, np.int32)
    both = np.zeros(2 * WIDTH, np.int64)
    sums, masses = np.zeros(2 * WIDTH), np.zeros(2 * WIDTH)
    counts = np.zeros(2 * WIDTH, np.int32)
    s, w, c = np.zeros(WIDTH), np.zeros(WIDTH), np.zeros(WIDTH, np.int64)
    gains, found = np.zeros(d), np.zeros((d, 4), np.int32)
    n_missing = np.zeros(d, np.int64)
    pool, picked = np.arange(d), np.zeros(d, np.bool_)
    stream = np.zeros(1, np.uint64)
    side = np.zeros(WIDTH, np.bool_)
    n_nodes, waiting = 1, 1
    stack[0], keys[0] = 0, key
    span[0, 0], span[0, 1] = 0, m
    for p in range(m):
        size[0] += draws[position[p]]
    while waiting > 0:
        waiting -= 1
        k = stack[waiting]
        first, last = span[k, 0], span[k, 1]
        column[k] = -1
        stream[0] = keys[k]
        rows = size[k]
        if depth[k] >= max_depth or rows < 2 * min_leaf:
            continue
        if group[position[first]] == group[position[last - 1]]:
            continue
        shift = 0.0
        if whole:
            mass = float(rows)
            total, spread, shift = whole_scores(
                criterion, position, first, last, group, draws, packed, rows, value
            )
        else:
            mass, total, spread = node_scores(
                criterion,
                position,
                first,
                last,
                group,
                weight,
                below,
                upto,
                rounding,
                least,
                own,
                score,
            )
        error = ROUNDING * (spread * spread / mass if variance else spread)
        floor = error + (0.0 if variance else abs(total))
        for j in range(d):
            picked[j] = False
        best, seen = 0.0, 0
        while seen < d and (seen < max_features or best <= floor):
            take = min(2, d - seen)
            if seen < max_features:
                take = min(take, max_features - seen)
            if max_features < d:
                for i in range(seen, seen + take):
                    other = i + draw_below(stream, d - i)
                    pool[i], pool[other] = pool[other], pool[i]
            a, b = pool[seen], pool[seen + take - 1]
            if whole:
                count_whole(bins, a, b, position, first, last, value, both)
            else:
                count_rows(
                    bins, a, b, position, first, last, score, own, draws, sums, masses, counts
                )
            for i in range(take):
                j = pool[seen + i]
                n_bins = columns[j, N_BINS]
                for x in range(WIDTH):
                    at = i * WIDTH + (order[j, x] if columns[j, FACTOR] and x < n_bins else x)
                    if x >= n_bins and x != MISSING:
                        continue
                    if whole:
                        c[x] = both[at] & LOW_MASK
                        w[x] = float(c[x])
                        s[x] = float(both[at] >> LOW_BITS) - shift * w[x]
                    else:
                        s[x], w[x], c[x] = sums[at], masses[at], counts[at]
                gains[j] = find_cut(
                    n_bins,
                    columns[j, DIRECTION],
                    total,
                    mass,
                    rows,
                    error,
                    variance,
                    at_random,
                    min_leaf,
                    s,
                    w,
                    c,
                    stream,
                    found,
                    j,
                )
                n_missing[j] = c[MISSING]
                best = max(best, gains[j])
                picked[j] = True
            seen += take
        if max_features < d:  # the next node draws from the columns in their order
            for i in range(d):
                pool[i] = i
        if best <= floor:
            continue
        j = 0
        while not picked[j] or gains[j] < best - error:
            j += 1
        low_is_left = found[j, LOW_IS_LEFT] == 1
        for x in range(WIDTH):
            place = rank[j, x] if columns[j, FACTOR] else x
            side[x] = (place <= found[j, LOW]) == low_is_left
        side[MISSING] = (found[j, MISSING_LOW] == 1) == low_is_left
        middle, drawn_left, gain[k] = part_rows(
            bins, j, side, position, first, last, group, tied, draws, value, own, out
        )
        column[k] = j
        for x in range(4):
            cut[k, x] = found[j, x]
        if n_missing[j] == 0:  # with the majority
            cut[k, MISSING_LOW] = (2 * drawn_left > rows) == low_is_left
        for i in range(2):
            child = n_nodes + i
            children[k, i] = child
            depth[child] = depth[k] + 1
            size[child] = drawn_left if i == 0 else rows - drawn_left
            span[child, 0] = first if i == 0 else middle
            span[child, 1] = middle if i == 0 else last
            keys[child] = mixed(keys[k] + (TO_LEFT if i == 0 else TO_RIGHT))
            stack[waiting] = child
            waiting += 1
        n_nodes += 2
    for k in range(n_nodes):
        if column[k] < 0:
            stream[0] = ~keys[k]
            sums_of = draw_row(stream, position, span[k, 0], span[k, 1], weight, vote)
            drawn[k], mass_of[k], mean_of[k] = sums_of
            size_of[k] = size[k]
    return n_nodes
