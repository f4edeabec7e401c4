"""Compiled: the partition of a node's rows, and what it gains, where scores are whole numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiled_forest_parts import Bins, Ints, Wide
from crank.kernels.compiled_running import EIGHT, count_left
from crank.kernels.compiler import kernel_part

BLOCK = np.uint64(1024)
"""Rows that are parted before they are counted: their draws stay in the first cache."""


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
    draws: Ints,
    repeats: Wide,
    drawn_left: int,
    out: Ints,
    signed: Ints,
    counts: Wide,
) -> tuple[int, int, int]:
    """Part the rows of a node, stably; return where the right side begins, and two counts.

    First the concordant pairs less the discordant ones: the sum, over draws on the left, of the
    draws below and of those up to it, less the draws on the left times all (theory §4). Then the
    same where a pair counts as often as the bag has its two responses, ``repeats`` by dense rank of
    y; without ties a response has the draws of its row. ``signed`` and ``counts`` are room for what
    `count_left` reads and counts.
    """
    begin, end, column = np.uint64(first), np.uint64(last), np.uint64(j)
    to_left = begin
    upto, often_under = np.int64(0), np.int64(0)  # draws so far, and each times its repeats
    ranks, often, often_left = np.int64(0), np.int64(0), np.int64(0)
    if tied:
        before, inside, on_left = group[position[first]], np.int64(0), np.int64(0)
        for p in range(begin, end + np.uint64(1)):
            row = np.uint64(position[p]) if p < end else np.uint64(0)
            if p == end or group[row] != before:  # a run of ties has ended
                times = repeats[before]
                upto += inside
                ranks += on_left * (2 * upto - inside)
                often += on_left * (times * upto + often_under)
                often_left += on_left * times
                often_under += inside * times
                if p == end:
                    break
                before, inside, on_left = group[row], np.int64(0), np.int64(0)
            goes = side[np.uint64(bins[column, row])]
            position[to_left] = row
            out[p - to_left] = row
            to_left += np.uint64(goes)
            inside += draws[row]
            on_left += draws[row] if goes else 0
    else:
        counts[:] = 0
        at = begin
        while at < end:
            stop = min(at + BLOCK, end)
            for p in range(at, stop):
                o = position[p]
                row = np.uint64(o)
                goes = side[np.uint64(bins[column, row])]
                n = draws[row]
                # both are written, one place moves on: nothing branches
                position[to_left] = o
                out[p - to_left] = o
                signed[p - at] = n if goes else -n
                to_left += np.uint64(goes)
            rows = stop - at
            signed[rows : rows + np.uint64(EIGHT)] = 0
            count_left(signed, np.int64(rows), counts)
            at = stop
        upto, often_under = counts[0], counts[1]
        ranks, often, often_left = 2 * counts[2] - counts[4], counts[3], counts[4]
    for p in range(end - to_left):
        position[to_left + p] = out[p]
    pairs = ranks - drawn_left * upto
    often = 2 * often - often_left * upto - drawn_left * often_under
    return np.intp(to_left), pairs, often  # type: ignore[return-value]  # numba's ints


@kernel_part
def triples_gained(left: int, rows: int, rank_left: int, rank_all: int, often: int) -> float:
    """Weigh each pair of a split by the draws strictly between its responses (theory §3).

    Between two mean ranks of the bag lie these draws and half of those at either response. ``left``
    and ``rows`` are draws; ``rank_left`` and ``rank_all`` sums of twice the mean rank of each,
    ``often`` the last count of `part_whole`.
    """
    return 0.5 * float(rank_left * rows - rank_all * left - often)


@kernel_part
def repeats_of(position: Ints, group: Ints, tied: bool, draws: Ints) -> Wide:
    """Count how often the bag has each response, by dense rank of y; empty without ties."""
    repeats = np.zeros(group[-1] + 1 if tied else 0, np.int64)
    if tied:
        for p in range(len(position)):
            repeats[group[position[p]]] += draws[position[p]]
    return repeats


@kernel_part
def rank_sum(ranked: Wide, position: Ints, first: int, last: int) -> int:
    """Add up what the rows of a side have."""
    total = np.int64(0)
    for p in range(first, last):
        total += ranked[position[p]]
    return total  # type: ignore[return-value]  # numba's ints
