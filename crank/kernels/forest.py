"""One tree of a forest in NumPy, node by node: small forests, and the oracle of the compiled one.

A factor's levels are put into the order of their mean rank in the bag, once a tree, and cut like
numbers: so a split is a threshold for numbers and factors alike, and rows out of the bag have no
part in the order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crank.kernels.bags import SPEARMAN, WIDTH, Bag, BagTree, Floats, Growth, Ints, level_orders
from crank.kernels.bins import MISSING_BIN
from crank.kernels.cuts import ROUNDING
from crank.kernels.forest_bins import ForestBins
from crank.kernels.random_stream import Stream, child_keys


def grow_bag(bins: ForestBins, bag: Bag, growth: Growth, vote: Floats, key: int) -> BagTree:
    """Grow one tree in NumPy."""
    rank, order, known = level_orders(bins, bag, vote)
    position = bag.position
    column, cut, children, drawn = [-1], [[0] * 4], [[0, 0]], [0]
    gain, gain_iauc = [0.0], [0.0]
    span, depth, keys = [[0, len(position)]], [0], [key]
    size, mass, mean = [0], [0.0], [0.0]
    stack = [0]
    while stack:
        k = stack.pop()
        first, last = span[k]
        rows = position[first:last].copy()
        size[k] = int(bag.draws[rows].sum())
        found = _split(bins, bag, growth, rows, depth[k], Stream(keys[k]), order)
        if found is None:
            drawn[k] = _drawn(Stream(~keys[k]), rows, bag.weight[rows])
            mass[k] = float(np.cumsum(bag.weight[rows])[-1])
            mean[k] = float(np.cumsum(bag.weight[rows] * vote[rows])[-1]) / mass[k]
            continue
        j, low, high, missing_low, low_is_left, n_missing = found
        place = rank[j] if bins.levels[j] else np.arange(WIDTH)
        side = (place <= low) == low_is_left
        side[MISSING_BIN] = missing_low == low_is_left
        left = side[bins.bins[j, rows]]
        if not n_missing:
            draws = bag.draws[rows]
            missing_low = bool(2 * draws[left].sum() > draws.sum()) == low_is_left
        column[k], cut[k] = j, [low, high, int(missing_low), int(low_is_left)]
        gain[k], gain_iauc[k] = split_gains(bag, rows, left)
        position[first:last] = np.concatenate((rows[left], rows[~left]))
        middle = first + int(np.count_nonzero(left))
        ends = ([first, middle], [middle, last])
        for s, (end, key_of) in enumerate(zip(ends, child_keys(keys[k]), strict=True)):
            stack.append(len(column))
            children[k][s] = len(column)
            column.append(-1)
            cut.append([0] * 4)
            children.append([0, 0])
            drawn.append(0)
            gain.append(0.0)
            gain_iauc.append(0.0)
            size.append(0)
            mass.append(0.0)
            mean.append(0.0)
            span.append(end)
            depth.append(depth[k] + 1)
            keys.append(key_of)
    return BagTree(
        column=np.array(column, dtype=np.int32),
        cut=np.array(cut, dtype=np.int32),
        children=np.array(children, dtype=np.int32),
        span=np.array(span, dtype=np.intp),
        drawn=np.array(drawn, dtype=np.int32),
        gain=np.array(gain),
        gain_iauc=np.array(gain_iauc),
        size=np.array(size, dtype=np.int32),
        mass=np.array(mass),
        mean=np.array(mean),
        position=position,
        rank=known,
    )


def _drawn(stream: Stream, rows: Ints, weight: Floats) -> int:
    wanted = float(np.cumsum(weight)[-1]) * ((stream.below(2**30) + 0.5) / 2.0**30)
    reached = np.flatnonzero(np.subtract.accumulate(np.append(wanted, weight))[1:] <= 0.0)
    return int(rows[reached[0]]) if len(reached) else int(rows[-1])


@dataclass(frozen=True)
class _Facts:
    """What is known of a node that is searched; see `crank.kernels.cuts.ScoredLayer`."""

    total: float
    centre: float
    mass: float
    draws: int
    error: float
    floor: float


@dataclass(frozen=True)
class _Histogram:
    """Scores, weights and draws by bin, or by place in the order of a factor's levels."""

    s: Floats
    w: Floats
    c: NDArray[np.int64]


Cut = tuple[int, int, bool, bool, int]
"""Low bin, next bin, where missing values go, whether low is left, how many are missing."""
NOTHING: tuple[float, Cut] = (0.0, (0, 0, False, False, 0))


def _split(
    bins: ForestBins,
    bag: Bag,
    growth: Growth,
    rows: Ints,
    depth: int,
    stream: Stream,
    order: NDArray[np.intp],
) -> tuple[int, int, int, bool, bool, int] | None:
    """Find the column and the cut of a node; None if it stays whole."""
    d, draws = len(bins.levels), int(bag.draws[rows].sum())
    if depth >= growth.max_depth or draws < 2 * growth.min_leaf:
        return None
    if bag.group[rows[0]] == bag.group[rows[-1]]:
        return None
    score, centre, spread = node_scores(bag, growth, rows)
    own = bag.weight[rows]
    mass = float(np.cumsum(own)[-1])
    total = float(np.cumsum(score)[-1]) - centre * (draws if centre else 0.0)
    error = ROUNDING * (spread * spread / mass if growth.variance else spread)
    floor = error + (0.0 if growth.variance else abs(total))
    facts = _Facts(total, centre, mass, draws, error, floor)
    pool, best, seen = list(range(d)), 0.0, 0
    found: dict[int, tuple[float, Cut]] = {}
    while seen < d and (seen < growth.max_features or best <= floor):
        take = min(2, d - seen)
        if seen < growth.max_features:
            take = min(take, growth.max_features - seen)
        if growth.max_features < d:
            for i in range(seen, seen + take):
                other = i + stream.below(d - i)
                pool[i], pool[other] = pool[other], pool[i]
        for j in pool[seen : seen + take]:
            code = bins.bins[j, rows]
            if bins.levels[j]:
                code = np.argsort(order[j])[code]
            c = np.bincount(code, weights=bag.draws[rows], minlength=WIDTH).astype(np.int64)
            w = np.bincount(code, weights=own, minlength=WIDTH).astype(np.float64)
            s = np.bincount(code, weights=score, minlength=WIDTH).astype(np.float64)
            found[j] = _cut(_Histogram(s, w, c), int(bins.n_bins[j]), j, facts, growth, stream)
            best = max(best, found[j][0])
        seen += take
    if best <= floor:
        return None
    j = min(j for j, (value, _) in found.items() if value >= best - error)
    return (j, *found[j][1])


def node_scores(bag: Bag, growth: Growth, rows: Ints) -> tuple[Floats, float, float]:
    """Score the rows of a node; return the scores, a mean to take off, and the sum of sizes.

    Whole ranks are summed as they are, and their mean is taken off the sums.
    """
    if growth.criterion == SPEARMAN and bag.is_whole(SPEARMAN):
        draws = bag.draws[rows]
        score = (bag.below[rows] + bag.upto[rows]) * draws
        centre = float(score.sum()) / float(draws.sum())
        ends = (score / draws)[[0, -1]]
        return score, centre, float(draws.sum() * (ends[1] - ends[0]))
    score = growth.scores(bag, rows)
    return score, 0.0, float(np.cumsum(np.abs(score))[-1])


def _cut(
    histogram: _Histogram, n_bins: int, j: int, facts: _Facts, growth: Growth, stream: Stream
) -> tuple[float, Cut]:
    """Find the best cut of a column, or value one that is drawn between its extreme bins."""
    s, w, c = histogram.s, histogram.w, histogram.c
    there = np.flatnonzero(c[:n_bins])
    if len(there) < (2 if growth.at_random else 1):
        return NOTHING
    lowest, highest = int(there[0]), int(there[-1])
    tried = np.arange(lowest, highest + 1)
    if growth.at_random:
        tried = np.array([lowest + stream.below(highest - lowest)])
    chosen, found = 0.0, NOTHING
    for missing_low in range(2 if c[MISSING_BIN] else 1):
        low, low_mass, n_low = (
            np.cumsum(np.append(part[MISSING_BIN] * missing_low, part[lowest : highest + 1]))[1:][
                tried - lowest
            ]
            for part in (s, w, c)
        )
        low = low - facts.centre * low_mass  # whole numbers until here
        allowed = (n_low >= growth.min_leaf) & (facts.draws - n_low >= growth.min_leaf)
        if not growth.at_random:
            allowed &= c[tried] > 0
        wrong = growth.direction[j] * (2.0 * low - facts.total) > 0.0
        allowed &= ~(wrong & ((tried < highest) | bool(missing_low)))
        value = np.where(allowed, _value(low, low_mass, facts, growth.variance), 0.0)
        best = float(value.max())
        if best <= chosen + missing_low * facts.error:
            continue
        at = int(np.flatnonzero((value > 0.0) & (value >= best - facts.error))[0])
        chosen, b = float(value[at]), int(tried[at])
        after = there[np.searchsorted(there, b + 1) :]
        high = int(after[0]) if len(after) else MISSING_BIN
        low_is_left = bool(2.0 * low[at] > facts.total)
        found = chosen, (b, high, bool(missing_low), low_is_left, int(c[MISSING_BIN]))
    return found if found is NOTHING else (found[0], (*found[1][:4], int(c[MISSING_BIN])))


def _value(low: Floats, low_mass: Floats, facts: _Facts, variance: bool) -> Floats:
    if not variance:
        return np.abs(2.0 * low - facts.total)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = low * low * (facts.mass / (low_mass * (facts.mass - low_mass)))
    return np.where((low_mass <= 0.0) | (low_mass >= facts.mass), 0.0, value)


def split_gains(bag: Bag, rows: Ints, left: NDArray[np.bool_]) -> tuple[float, float]:
    """Count the pairs that a split puts in order less those it reverses (theory §4).

    Return it with the same count of pairs that are weighed by what the bag has between their
    responses (theory §3).
    """
    own, group = bag.weight[rows], bag.group[rows]
    first = np.searchsorted(group, group)

    def sums_under(part: Floats) -> Floats:
        return np.append(0.0, np.cumsum(part))[first]

    pairs = triples = 0.0
    for mine, sign in ((left, 1.0), (~left, -1.0)):  # the later of two rows, and its side
        other = own * ~mine
        under, upto = sums_under(other), sums_under(other * bag.upto[rows])
        pairs += sign * float((own * mine * under).sum())
        triples += sign * float((own * mine * (bag.below[rows] * under - upto)).sum())
    return pairs, triples
