"""Compiled: one tree of a forest, whole, over bins that all trees share.

The oracle is `crank.kernels.forest`, which grows the same tree, bit for bit, in NumPy. Where scores
and weights are whole numbers, the score and the draws of a row are packed into one: a row costs one
addition a column, and sums are exact.
"""

from __future__ import annotations

import numpy as np

from crank.kernels.bags import LOW_BITS, SPEARMAN, WIDTH
from crank.kernels.bins import MISSING_BIN
from crank.kernels.compiled_forest_partition import (
    BLOCK,
    part_whole,
    rank_sum,
    repeats_of,
    triples_gained,
)
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
    draw_below,
    draw_row,
    find_cut,
    list_rows,
    mixed,
    node_scores,
    part_rows,
)
from crank.kernels.compiled_forest_sums import (
    count_all,
    count_four,
    count_two,
    pack_scores,
    take_off,
    whole_cut,
    whole_scores,
)
from crank.kernels.compiled_running import EIGHT
from crank.kernels.compiler import kernel
from crank.kernels.cuts import ROUNDING

SHARED_FROM = 64
"""Rows of a node from which the sums of its parent less its sibling's are quicker than counting."""
MOST_SLOTS, MOST_SUMS = 32, 2**20
"""Nodes that may wait with their sums, and numbers that these may be; others count anew."""


@kernel
def grow_tree(
    bins: Bins,
    by_row: Bins,
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
    shared: bool,
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
    gain_iauc: Floats,
    size_of: Ints,
    mass_of: Floats,
    mean_of: Floats,
) -> int:
    """Grow one tree; return the number of its nodes.

    ``position`` is filled with the rows of the bag, in the order of the leaves; the other arrays of
    rows are by position in y order. ``whole`` tells whether scores are whole numbers: then
    ``weight``, ``below`` and ``upto`` may be empty. ``by_row`` is ``bins`` the other way round;
    ``shared`` tells whether nodes share sums. ``rank[j, code]`` is the place of a factor's level in
    this tree's order of levels, ``order`` its inverse. The last arguments are filled node by node;
    ``span`` is where a node's rows lie.
    """
    d = len(columns)
    m, n_drawn = list_rows(draws, position)
    position = position[:m]
    depth, size = np.zeros(len(column), np.intp), np.zeros(len(column), np.intp)
    keys = np.zeros(len(column), np.uint64)
    stack = np.empty(len(column), np.intp)
    value = np.empty(len(draws) if whole else 0, np.int64)
    packed_of, low_sides = np.zeros(len(column), np.int64), np.zeros(d, np.int64)
    if whole:
        packed_of[0] = pack_scores(position, group, tied, draws, value)
    repeats = repeats_of(position, group, tied and whole, draws)
    # scores of kendall are packed anew in every node: its ranks in the bag are kept
    ranked = value >> LOW_BITS if criterion != SPEARMAN else value[:0]
    n_slots = min(MOST_SLOTS, MOST_SUMS // (d * WIDTH)) if whole and shared else 0
    kept, slot_of = np.empty((n_slots, d * WIDTH), np.int64), np.full(len(column), -1, np.intp)
    free, n_free = np.arange(n_slots), n_slots
    own, score = np.empty(0 if whole else m), np.empty(0 if whole else m)
    out = np.empty(m, np.int32)
    signed, counted = np.empty(int(BLOCK) + EIGHT, np.int32), np.zeros(5, np.int64)
    some, places = np.zeros(4 * WIDTH, np.int64), np.zeros(WIDTH, np.int64)
    sides, values = np.zeros(WIDTH, np.uint64), np.zeros(WIDTH)
    sums, masses = np.zeros(2 * WIDTH), np.zeros(2 * WIDTH)
    counts = np.zeros(2 * WIDTH, np.int32)
    s, w, c = np.zeros(WIDTH), np.zeros(WIDTH), np.zeros(WIDTH, np.int64)
    gains, found = np.zeros(d), np.zeros((d, 4), np.int32)
    n_missing = np.zeros(d, np.int64)
    pool, picked = np.arange(d), np.zeros(d, np.bool_)
    stream = np.zeros(1, np.uint64)
    side = np.zeros(WIDTH, np.bool_)
    # random thresholds are drawn between the draws of two columns and the next two
    at_once = 4 if whole and not at_random else 2
    n_nodes, waiting = 1, 1
    stack[0], keys[0] = 0, key
    span[0, 0], span[0, 1], size[0] = 0, m, n_drawn
    while waiting > 0:
        waiting -= 1
        k = stack[waiting]
        first, last = span[k, 0], span[k, 1]
        column[k] = -1
        stream[0] = keys[k]
        rows = size[k]
        if depth[k] >= max_depth or rows < 2 * min_leaf:
            continue
        slot = slot_of[k]
        if group[position[first]] == group[position[last - 1]]:
            if slot >= 0:
                free[n_free] = slot
                n_free += 1
            continue
        shift = 0.0
        if whole:
            mass = float(rows)
            total, spread, shift = whole_scores(
                criterion, position, first, last, group, packed_of[k], value
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
        parts_again = depth[k] + 1 < max_depth
        if slot < 0 and n_free > 0 and parts_again and last - first >= SHARED_FROM:
            n_free -= 1
            slot = free[n_free]
            count_all(by_row, position, first, last, value, kept, slot)
        while seen < d and (seen < max_features or best <= floor):
            take = min(2, d - seen)
            if seen < max_features:
                take = min(at_once, max_features - seen)
            if max_features < d:
                for i in range(seen, seen + take):
                    other = i + draw_below(stream, d - i)
                    pool[i], pool[other] = pool[other], pool[i]
            a, b = pool[seen], pool[seen + take - 1]
            if slot >= 0:
                pass
            elif whole and take > 2:
                count_four(bins, pool[seen : seen + take], position, first, last, value, some)
            elif whole:
                count_two(bins, a, b, position, first, last, value, some)
            else:
                count_rows(
                    bins, a, b, position, first, last, score, own, draws, sums, masses, counts
                )
            for i in range(take):
                j = pool[seen + i]
                n_bins = columns[j, N_BINS]
                picked[j] = True
                if whole:
                    packed, start = (some, i * WIDTH) if slot < 0 else (kept[slot], j * WIDTH)
                    gains[j] = whole_cut(
                        packed,
                        start,
                        order[j],
                        columns[j, FACTOR] == 1,
                        n_bins,
                        columns[j, DIRECTION],
                        total,
                        shift,
                        rows,
                        error,
                        variance,
                        at_random,
                        min_leaf,
                        stream,
                        places,
                        sides,
                        values,
                        best,
                        low_sides,
                        found,
                        j,
                    )
                    n_missing[j] = packed[start + MISSING_BIN] & LOW_MASK
                    best = max(best, gains[j])
                    continue
                for x in range(WIDTH):
                    at = i * WIDTH + (order[j, x] if columns[j, FACTOR] and x < n_bins else x)
                    if x < n_bins or x == MISSING_BIN:
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
                n_missing[j] = c[MISSING_BIN]
                best = max(best, gains[j])
            seen += take
        if max_features < d:  # the next node draws from the columns in their order
            for i in range(d):
                pool[i] = i
        if best <= floor:
            if slot >= 0:
                free[n_free] = slot
                n_free += 1
            continue
        j = 0
        while not picked[j] or gains[j] < best - error:
            j += 1
        low_is_left = found[j, LOW_IS_LEFT] == 1
        for x in range(WIDTH):
            place = rank[j, x] if columns[j, FACTOR] else x
            side[x] = (place <= found[j, LOW]) == low_is_left
        side[MISSING_BIN] = (found[j, MISSING_LOW] == 1) == low_is_left
        left = np.int64(0)
        if whole:
            left = low_sides[j] if low_is_left else packed_of[k] - low_sides[j]
            drawn_left = left & LOW_MASK
            middle, pairs, often = part_whole(
                bins,
                j,
                side,
                position,
                first,
                last,
                group,
                tied,
                draws,
                repeats,
                drawn_left,
                out,
                signed,
                counted,
            )
            gain[k] = float(pairs)
            rank_left, rank_all = left >> LOW_BITS, packed_of[k] >> LOW_BITS
            if criterion != SPEARMAN:
                rank_left = rank_sum(ranked, position, first, middle)
                rank_all = rank_left + rank_sum(ranked, position, middle, last)
            gain_iauc[k] = triples_gained(drawn_left, rows, rank_left, rank_all, often)
        else:
            middle, drawn_left, gain[k], gain_iauc[k] = part_rows(
                bins,
                j,
                side,
                position,
                first,
                last,
                group,
                tied,
                draws,
                own,
                below,
                upto,
                out,
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
            packed_of[child] = left if i == 0 else packed_of[k] - left
            span[child, 0] = first if i == 0 else middle
            span[child, 1] = middle if i == 0 else last
            keys[child] = mixed(keys[k] + (TO_LEFT if i == 0 else TO_RIGHT))
            stack[waiting] = child
            waiting += 1
        if slot >= 0:
            big = n_nodes if 2 * middle > first + last else n_nodes + 1
            small = 2 * n_nodes + 1 - big
            enough = span[big, 1] - span[big, 0] >= SHARED_FROM and size[big] >= 2 * min_leaf
            free[n_free] = slot
            n_free += 1
            if parts_again and enough and n_free > 1:
                other = free[n_free - 2]
                ends = span[small]
                count_all(by_row, position, ends[0], ends[1], value, kept, other)
                take_off(kept, slot, other)
                slot_of[big] = slot
                n_free -= 1
                if size[small] >= 2 * min_leaf:
                    slot_of[small] = other
                    n_free -= 1
        n_nodes += 2
    for k in range(n_nodes):
        size_of[k] = size[k]
        if column[k] < 0:
            stream[0] = ~keys[k]
            sums_of = draw_row(stream, position, span[k, 0], span[k, 1], draws, weight, vote)
            drawn[k], mass_of[k], mean_of[k] = sums_of
    return n_nodes
