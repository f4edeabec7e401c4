"""Grow several trees at once, layer by layer, from sums over partitions.

The tree of all rows and those without each fold take the same passes: two a layer, or a few more
where their tables would not fit into a worker's memory at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from crank.cluster.counted import NodeCounts, unit_scores
from crank.cluster.cuts import Chooser
from crank.cluster.engine import Cluster
from crank.cluster.layers import (
    SCORE_BITS,
    LayerSums,
    LevelCounts,
    SumTask,
    count_levels,
    sum_scores,
)
from crank.cluster.saplings import Sapling
from crank.criteria import Criterion
from crank.kernels.bin_tables import WIDTH

MOST_CELLS = 2**21
"""Cells of tables that a pass fills: 16 MB of counts."""

MOST_SLOTS = 2**14
"""Nodes of one tree in a pass."""

Task = tuple[Sapling, list[int]]


def count_nodes(cluster: Cluster, wanted: Sequence[Task]) -> None:
    """Count the responses of nodes of several trees, and tell the trees."""
    for batch in _batches(wanted, lambda sapling: len(sapling.levels.value)):
        tasks, first = [], 0
        for sapling, nodes in batch:
            tasks.append(sapling.task(nodes, first))
            first += len(nodes) * len(sapling.levels.value)
        found: LevelCounts = cluster.sum(count_levels, tasks)
        for (sapling, nodes), task, rows in zip(batch, tasks, found.rows, strict=True):
            cells = slice(task.first, task.first + task.slots * task.levels)
            table = found.mass[cells].reshape(task.slots, task.levels)
            sapling.learn(nodes, table, rows)


def grow_saplings(
    cluster: Cluster,
    saplings: Sequence[Sapling],
    criterion: Criterion,
    chooser: Chooser,
    *,
    max_depth: int,
    heaviest: float,
    rows: int,
    done: Callable[[], None],
) -> None:
    """Grow trees whose roots are counted, until no split improves or the limits are reached.

    Parameters
    ----------
    cluster : Cluster
        Of `Prepared` partitions.
    saplings : sequence of Sapling
    criterion : Criterion
    chooser : Chooser
    max_depth : int
    heaviest : float
        Largest weight, in units.
    rows : int
        Of all partitions.
    done : callable
        Called after each layer.
    """
    bits = min(SCORE_BITS, 62 - rows.bit_length())
    for _ in range(max_depth):
        wanted = [(sapling, sapling.open(chooser.min_leaf)) for sapling in saplings]
        wanted = [(sapling, nodes) for sapling, nodes in wanted if nodes]
        found: dict[int, dict[int, object]] = {id(sapling): {} for sapling, _ in wanted}
        columns = chooser.columns
        cells = len(columns) * WIDTH + sum(k + 1 for k in chooser.wide_levels)
        for batch in _batches(wanted, lambda s, c=cells: max(c, len(s.levels.value))):  # type: ignore[misc]
            scored = [_scored(*one, criterion, heaviest, bits) for one in batch]
            tasks = [task for task, _ in scored]
            sums: LayerSums = cluster.sum(sum_scores, tasks, columns, chooser.wide_levels)
            for (sapling, nodes), (_, exponent), own in zip(batch, scored, sums.trees, strict=True):
                splits = chooser.choose(own, exponent)
                for index, split in zip(nodes, splits, strict=True):
                    if split is not None:
                        found[id(sapling)][index] = split
        for sapling in saplings:
            sapling.fresh = []
        for sapling, nodes in wanted:
            sapling.split(found[id(sapling)], nodes)  # type: ignore[arg-type]
        done()
        grown = [(sapling, sapling.uncounted) for sapling in saplings if sapling.fresh]
        if not grown:
            return
        count_nodes(cluster, grown)
        for sapling, _ in grown:
            sapling.value_splits()


def _scored(
    sapling: Sapling, nodes: list[int], criterion: Criterion, heaviest: float, bits: int
) -> tuple[SumTask, NDArray[np.intp]]:
    """Score the levels of nodes, as whole numbers times a power of two for each node."""
    ranks = sapling.ranks
    assert ranks is not None
    counts = [sapling.nodes[index].counts for index in nodes]
    known: list[NodeCounts] = [each for each in counts if each is not None]
    units = unit_scores(criterion.scores, ranks, known)
    table = np.zeros((len(nodes), len(sapling.levels.value)))
    exponent = np.zeros(len(nodes), dtype=np.intp)
    level = _levels(sapling)
    for k, (unit, node) in enumerate(zip(units, known, strict=True)):
        largest = float(np.abs(unit).max()) * heaviest
        if largest > 0.0:
            exponent[k] = bits - int(np.frexp(largest)[1])
        scaled = np.ldexp(unit, int(exponent[k]))
        table[k, level[node.position]] = np.rint(scaled) if heaviest == 1.0 else scaled
    routes = sapling.routes(nodes)
    return SumTask(routes, sapling.levels.shift, len(nodes), table), exponent


def _levels(sapling: Sapling) -> NDArray[np.intp]:
    """Level of each position of the sapling's ranks."""
    assert sapling.position is not None
    return np.flatnonzero(sapling.position >= 0)


def _batches(wanted: Sequence[Task], cells: Callable[[Sapling], int]) -> Iterator[list[Task]]:
    """Deal nodes out to passes whose tables are small enough, trees and nodes in their order."""
    batch: list[Task] = []
    used = 0
    for sapling, nodes in wanted:
        each = cells(sapling)
        rest = list(nodes)
        while rest:
            room = min(max((MOST_CELLS - used) // each, 0), MOST_SLOTS)
            if room == 0 and batch:
                yield batch
                batch, used = [], 0
                continue
            taken, rest = rest[: max(room, 1)], rest[max(room, 1) :]
            batch.append((sapling, taken))
            used += len(taken) * each
    if batch:
        yield batch
