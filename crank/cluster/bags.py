"""Bags of rows in partitions: drawn by hashes of the rows, brought together for one tree each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

import numpy as np
from numpy.typing import NDArray

from crank.cluster.content import mixed
from crank.cluster.prepared import Prepared
from crank.cluster.tally import FloatArray
from crank.fitting.bag_trees import CRITERIA, grow_compiled
from crank.fitting.tree_votes import votes_of
from crank.kernels.bags import MOST_WHOLE, Bag, Growth
from crank.kernels.forest import grow_bag
from crank.kernels.forest_bins import ForestBins
from crank.rankers.votes import ColumnTrees

MOST_DRAWS = MOST_WHOLE - 2**14
"""Draws of a bag, on average, at most: their number is random, and sums up to 2²⁰ are packed."""

MOST_TIMES = 16
"""A row is drawn for a tree less often than that."""

VOTED = 2**14
"""Rows that trees vote for at a time."""

JUDGED = 0xD1B54A32D192ED03
"""Makes the hash by which rows are judged another one than those by which they are drawn."""


@dataclass(frozen=True)
class Drawing:
    """How rows are drawn: each by itself, so that bags do not depend on partitions.

    Attributes
    ----------
    share : float
        Draws of a row on average.
    bootstrap : bool
        Whether a row can be drawn more than once: as often as a Poisson number says.
    """

    share: float
    bootstrap: bool

    def draws(self, key: NDArray[np.uint64], seed: int) -> NDArray[np.int32]:
        """Return how often each row is drawn for a tree.

        Examples
        --------
        >>> key = mixed(np.arange(10_000, dtype=np.uint64))
        >>> draws = Drawing(1.0, True).draws(key, 7)
        >>> round(float(draws.mean()), 1), round(float((draws == 0).mean()), 2)
        (1.0, 0.37)
        """
        salt = mixed(np.array([seed], dtype=np.uint64))
        chance = (mixed(key ^ salt) >> np.uint64(11)) / 2.0**53
        if not self.bootstrap:
            return (chance < self.share).astype(np.int32)
        term = exp(-self.share)
        upto = [term]
        for k in range(1, MOST_TIMES):
            term *= self.share / k
            upto.append(upto[-1] + term)
        return np.searchsorted(np.array(upto), chance, side="right").astype(np.int32)


@dataclass(frozen=True)
class Drawn:
    """The rows of one partition in the bag of one tree."""

    bins: NDArray[np.uint8]
    level: NDArray[np.uint16]
    weight: FloatArray | None
    key: NDArray[np.uint64]
    draws: NDArray[np.int32]


def draw_rows(part: Prepared, seed: int, drawing: Drawing) -> Drawn:
    """Draw rows of one partition."""
    assert part.key is not None
    draws = drawing.draws(part.key, seed)
    rows = np.flatnonzero(draws)
    return Drawn(
        part.bins[:, rows],
        part.level[rows],
        None if part.weight is None else part.weight[rows],
        part.key[rows],
        draws[rows].astype(np.int32),
    )


@dataclass(frozen=True)
class Grower:
    """What the growing of each tree needs to know besides its bag.

    Attributes
    ----------
    growth : Growth
    n_bins, levels : ndarray of int, shape (d,)
    low, high : ndarray of shape (d, 256)
        Smallest and largest value in each bin.
    vote : ndarray of float64
        Of each level of y.
    rung : ndarray of int32
        Of each level of y.
    scale : float
        Weight of one unit.
    """

    growth: Growth
    n_bins: NDArray[np.intp]
    levels: NDArray[np.intp]
    low: FloatArray
    high: FloatArray
    vote: FloatArray
    rung: NDArray[np.int32]
    scale: float

    def grow(self, pieces: Sequence[Drawn], seed: int) -> ColumnTrees:
        """Grow a tree from its bag, whose rows are put into an order of their own."""
        level = np.concatenate([piece.level for piece in pieces])
        order = np.lexsort((np.concatenate([piece.key for piece in pieces]), level))
        level = level[order]
        together = np.concatenate([piece.bins for piece in pieces], axis=1)
        bins = ForestBins(
            np.ascontiguousarray(together[:, order]),
            self.n_bins,
            self.low,
            self.high,
            self.levels,
        )
        weight = None
        if pieces[0].weight is not None:
            known = [piece.weight for piece in pieces if piece.weight is not None]
            weight = np.concatenate(known)[order] * self.scale
        group = np.unique(level, return_inverse=True)[1].astype(np.int32)
        draws = np.concatenate([piece.draws for piece in pieces])[order]
        bag = Bag(draws, weight, group)
        grow = grow_compiled if self.growth.criterion in CRITERIA.values() else grow_bag
        tree = grow(bins, bag, self.growth, self.vote[level], seed)
        return votes_of(tree, bag, bins, self.rung[level], bool(self.growth.direction.any()))


@dataclass(frozen=True)
class Voted:
    """Votes of the trees so far for rows that their bags lack, and the number of these trees.

    If there are very many rows, some of them are judged, by their hashes: ``rows``.
    """

    rows: NDArray[np.intp]
    votes: NDArray[np.int64]
    voters: NDArray[np.int32]


def no_votes(part: Prepared, share: float) -> Voted:
    """Begin; a share of the rows is judged."""
    assert part.key is not None
    rows = np.flatnonzero((mixed(part.key ^ np.uint64(JUDGED)) >> np.uint64(11)) / 2.0**53 < share)
    return Voted(rows, np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.int32))


def add_votes(
    part: Prepared,
    so_far: Voted,
    trees: Sequence[tuple[int, ColumnTrees]],
    drawing: Drawing,
    value: FloatArray,
) -> Voted:
    """Let trees, each with its seed, vote; ``value`` stands for the values of each bin."""
    assert part.key is not None
    votes, voters = so_far.votes.copy(), so_far.voters.copy()
    columns = np.arange(len(part.bins))[:, None]
    for first in range(0, len(votes), VOTED):
        here = so_far.rows[first : first + VOTED]
        X = np.ascontiguousarray(value[columns, part.bins[:, here]].T)
        for seed, tree in trees:
            absent = np.flatnonzero(drawing.draws(part.key[here], seed) == 0)
            votes[first + absent] += tree.votes(X, absent)
            voters[first + absent] += 1
    return Voted(so_far.rows, votes, voters)


@dataclass(frozen=True)
class OutOfBag:
    """What is judged of one partition: the rows that some bag lacks."""

    y: FloatArray
    score: FloatArray
    weight: FloatArray | None


def out_of_bag(part: Prepared, voted: Voted, value: FloatArray, scale: float) -> OutOfBag:
    """Take the mean votes of one partition; ``value`` is the response of each level."""
    known = voted.voters > 0
    rows = voted.rows[known]
    return OutOfBag(
        value[part.level[rows]],
        voted.votes[known] / voted.voters[known],
        None if part.weight is None else part.weight[rows] * scale,
    )


class JudgeVotes:
    """Reads what `out_of_bag` left of a partition."""

    def read(self, part: OutOfBag) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Return y, score and weight."""
        return part.y, part.score, part.weight
