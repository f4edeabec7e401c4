"""Scores of the levels of y in nodes that are known by counts, computed where the counts are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crank.cluster.counted import NodeCounts, counts_of, unit_scores
from crank.cluster.layers import CountTask, LevelCounts, Scored, SumTask
from crank.cluster.units import Units
from crank.criteria import Scores
from crank.ranks import Ranks


@dataclass(frozen=True)
class Scoring:
    """How the nodes of a tree are scored: the same in all layers.

    Attributes
    ----------
    ranks : Ranks
        Of the levels that occur.
    position : ndarray of int32
        Position of each level in the ranks, −1 without rows.
    units : Units
        Of the weights.
    scores : callable
        The criterion's.
    bits : int
        Scores are whole numbers of so many bits.
    min_leaf : int
        Smallest number of rows of a leaf.
    """

    ranks: Ranks
    position: NDArray[np.int32]
    units: Units
    scores: Scores
    bits: int
    min_leaf: int

    def can_split(self, node: NodeCounts) -> bool:
        """Tell whether a node is large enough and has two distinct responses."""
        return node.rows >= 2 * self.min_leaf and not node.pure


def score_counts(
    counts: LevelCounts, tasks: Sequence[CountTask], scorings: Sequence[Scoring]
) -> list[SumTask]:
    """Score the nodes that were counted; each tree has its scoring."""
    found = []
    for task, rows in zip(tasks, counts.rows, strict=True):
        scoring = scorings[task.tree]
        cells = slice(task.first, task.first + task.slots * task.levels)
        table = counts.mass[cells].reshape(task.slots, task.levels)
        nodes = [
            counts_of(mass, size, scoring.position, scoring.units)
            for mass, size in zip(table, rows.tolist(), strict=True)
        ]
        found.append(score_nodes(task, nodes, scoring))
    return found


def score_nodes(task: CountTask, nodes: Sequence[NodeCounts], scoring: Scoring) -> SumTask:
    """Score the levels of nodes, as whole numbers times a power of two for each node.

    Nodes that cannot be split are left out.
    """
    among = [k for k, node in enumerate(nodes) if scoring.can_split(node)]
    known = [nodes[k] for k in among]
    heaviest = scoring.units.heaviest
    table = np.zeros((len(known), task.levels))
    exponent = np.zeros(len(known), dtype=np.intp)
    level = np.flatnonzero(scoring.position >= 0)
    units = unit_scores(scoring.scores, scoring.ranks, known)
    for k, (unit, node) in enumerate(zip(units, known, strict=True)):
        largest = float(np.abs(unit).max()) * heaviest
        if largest > 0.0:
            exponent[k] = scoring.bits - int(np.frexp(largest)[1])
        scaled = np.ldexp(unit, int(exponent[k]))
        table[k, level[node.position]] = np.rint(scaled) if heaviest == 1.0 else scaled
    slot = np.full(task.slots + 1, -1, dtype=np.int32)  # the last is that of nodes without one
    slot[among] = np.arange(len(among))
    routes = replace(task.routes, slot=slot[task.routes.slot])
    scored = Scored(np.array(among, dtype=np.intp), exponent)
    return SumTask(routes, task.shift, len(known), table, scored)
