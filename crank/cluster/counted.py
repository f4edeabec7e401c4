"""Nodes known by the counts of their levels of y: scores, gains and summaries from these alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.cluster.tally import FloatArray
from crank.cluster.units import Units
from crank.criteria import ROUNDING, Scores
from crank.growing.passes import QUARTILES, edges
from crank.kernels.cuts import Layer
from crank.mass import LocalMass
from crank.ranks import Ranks, rank_levels

SCORED = 2**14
"""Levels of nodes that are scored at a time."""


@dataclass(frozen=True)
class NodeCounts:
    """The responses of a node.

    Attributes
    ----------
    position : ndarray of int32
        Levels that occur, as positions in the tree's `Ranks`.
    count : ndarray of int32 or int64
        Rows at each, or their weight: whole numbers of ``scale``. They are what the client has
        most of, so they are kept as narrow as they are.
    scale : float
    rows : int
    """

    position: NDArray[np.int32]
    count: NDArray[np.int32] | NDArray[np.int64]
    scale: float
    rows: int

    @property
    def mass(self) -> FloatArray:
        """Rows at each level, or their weight in units."""
        return self.count.astype(np.float64) * self.scale

    def without(self, child: NodeCounts) -> NodeCounts:
        """Return what one child leaves to the other."""
        count: NDArray[Any] = self.count.copy()
        count[np.searchsorted(self.position, child.position)] -= child.count
        there = count > 0
        return NodeCounts(self.position[there], count[there], self.scale, self.rows - child.rows)

    @property
    def pure(self) -> bool:
        """Whether all responses are the same."""
        return len(self.position) < 2


def levels_ranked(
    value: FloatArray, mass: NDArray[np.int64], units: Units
) -> tuple[Ranks, NDArray[np.int32]]:
    """Rank the levels that have rows; also return the position of each level, −1 without rows."""
    there = mass > 0
    position = np.where(there, np.cumsum(there) - 1, -1).astype(np.int32)
    return rank_levels(
        value[there], mass[there].astype(np.float64) * units.scale, units.unit
    ), position


def counts_of(
    mass: NDArray[np.int64], rows: int, position: NDArray[np.int32], units: Units
) -> NodeCounts:
    """Read the counts of one node off a row of a table with all levels."""
    there = np.flatnonzero(mass)
    count: NDArray[Any] = mass[there]
    if int(count.max(initial=0)) < 2**31:
        count = count.astype(np.int32)
    return NodeCounts(position[there], count, units.scale, rows)


def unit_scores(scores: Scores, ranks: Ranks, nodes: Sequence[NodeCounts]) -> list[FloatArray]:
    """Score a row of weight 1 at each level of each node.

    Criteria score rows with their weight; here each row stands for all of one y in its node. Some
    nodes are scored at a time, so that the client needs little memory.
    """
    found: list[FloatArray] = []
    some: list[NodeCounts] = []
    for node in nodes:
        if some and sum(len(one.position) for one in some) + len(node.position) > SCORED:
            found += _unit_scores(scores, ranks, some)
            some = []
        some.append(node)
    return found + _unit_scores(scores, ranks, some) if some else found


def _unit_scores(scores: Scores, ranks: Ranks, nodes: Sequence[NodeCounts]) -> list[FloatArray]:
    layer = Layer(
        np.concatenate([node.position for node in nodes]),
        edges(np.array([len(node.position) for node in nodes], dtype=np.intp)),
    )
    mass = np.concatenate([node.mass for node in nodes])
    found = scores(ranks, layer, LocalMass(ranks, layer, mass)) / mass
    return np.split(found, layer.bounds[1:-1])


def gains(
    figures: Mapping[str, Scores],
    ranks: Ranks,
    parents: Sequence[NodeCounts],
    left: Sequence[NodeCounts],
) -> list[dict[str, float]]:
    """Sum the scores of figures over the left sides of splits, known by counts."""
    place = [
        np.searchsorted(node.position, side.position)
        for node, side in zip(parents, left, strict=True)
    ]
    units = {name: unit_scores(scores, ranks, parents) for name, scores in figures.items()}
    return [
        {name: float((unit[k][place[k]] * side.mass).sum()) for name, unit in units.items()}
        for k, side in enumerate(left)
    ]


def summary(
    ranks: Ranks, node: NodeCounts, unweighted: bool
) -> tuple[int, float, float, float, float, float]:
    """Describe a node as trees keep it: rows, weight, quantile, quartiles of y."""
    mass = node.mass
    ends = ranks.below[node.position] + ranks.upto[node.position]
    total, running = float(mass.sum()), np.cumsum(mass)
    quantile = float((mass * ends).sum()) / (2.0 * ranks.total * total)
    y = ranks.y[node.position]
    if unweighted:
        at = (node.rows - 1) * QUARTILES
        low = np.floor(at)
        lower = y[np.searchsorted(running, low, side="right")]
        upper = y[np.searchsorted(running, np.minimum(low + 1, node.rows - 1), side="right")]
        found = lower + (at - low) * (upper - lower)
    else:
        found = y[np.searchsorted(running, running[-1] * (QUARTILES - ROUNDING))]
    return (node.rows, total * ranks.unit, quantile, *found.tolist())
