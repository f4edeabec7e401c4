"""Grow several trees at once, layer by layer, from sums over partitions.

The tree of all rows and those without each fold take the same passes: one a layer, which counts
nodes and sums their scores, or a few where tables would not fit into a worker's memory at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from crank.cluster.cuts import Chooser, Found
from crank.cluster.engine import Cluster
from crank.cluster.layers import (
    SCORE_BITS,
    CountTask,
    LayerSums,
    LevelCounts,
    count_levels,
    sum_scores,
)
from crank.cluster.saplings import Sapling
from crank.cluster.scores import Scoring, score_counts, score_nodes
from crank.criteria import Criterion

MOST_CELLS = 2**21
"""Cells of tables that a pass fills: 16 MB of counts."""

MOST_SLOTS = 2**14
"""Nodes of one tree in a pass."""

Task = tuple[Sapling, list[int]]


def count_nodes(
    cluster: Cluster, wanted: Sequence[Task], meanwhile: Callable[[], None] = lambda: None
) -> None:
    """Count the responses of nodes of several trees, and tell the trees.

    Of children only the left ones are wanted. ``meanwhile`` is called while partitions are counted.
    """
    for batch in _batches(wanted, lambda sapling: len(sapling.levels.value)):
        tasks = _tasks(batch)
        wait = cluster.sum_later(count_levels, tasks)
        meanwhile()
        _learn(batch, tasks, wait(), siblings=True)


def grow_saplings(
    cluster: Cluster,
    saplings: Sequence[Sapling],
    criterion: Criterion,
    chooser: Chooser,
    *,
    max_depth: int,
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
    rows : int
        Of all partitions.
    done : callable
        Called after each layer.
    """
    if max_depth < 1:
        return
    bits = min(SCORE_BITS, 62 - rows.bit_length())
    scorings = [sapling.scoring(criterion.scores, bits, chooser.min_leaf) for sapling in saplings]
    behind = Behind()
    found = _split_roots(cluster, saplings, scorings, chooser)
    shared = cluster.share(scorings) if found else None
    for depth in range(max_depth):
        if depth:
            found = _split_layer(cluster, saplings, shared, chooser, behind)
        for tree, sapling in enumerate(saplings):
            sapling.split({node: split for (k, node), split in found.items() if k == tree})
        done()
        if not found:
            break
    else:
        grown = [(sapling, sapling.uncounted) for sapling in saplings if sapling.fresh]
        count_nodes(cluster, grown, behind.catch_up)
    behind.catch_up()
    for sapling in saplings:
        sapling.value_splits()


class Behind:
    """What the client has still to learn of the last pass: it does so while the next one runs."""

    def __init__(self) -> None:
        self.batch: list[Task] = []
        self.tasks: list[CountTask] = []
        self.counts: LevelCounts | None = None

    def catch_up(self) -> None:
        """Tell the trees of the last pass."""
        if self.counts is not None:
            _learn(self.batch, self.tasks, self.counts, siblings=False)
            for sapling, _ in self.batch:
                sapling.value_splits()
            self.counts = None


def _split_roots(
    cluster: Cluster, saplings: Sequence[Sapling], scorings: Sequence[Scoring], chooser: Chooser
) -> dict[tuple[int, int], Found]:
    """Split the roots, which are counted, by tree and node."""
    found: dict[tuple[int, int], Found] = {}
    for batch in _batches([(sapling, [0]) for sapling in saplings], chooser.cells):
        tasks = _tasks(batch, saplings)
        scored = [
            score_nodes(task, [saplings[task.tree].counts(0)], scorings[task.tree])
            for task in tasks
        ]
        sums = cluster.sum(sum_scores, scored, chooser.columns, chooser.wide_levels)
        found |= _chosen(batch, tasks, sums, chooser)
    return found


def _split_layer(
    cluster: Cluster,
    saplings: Sequence[Sapling],
    shared: Any,
    chooser: Chooser,
    behind: Behind,
) -> dict[tuple[int, int], Found]:
    """Split the youngest nodes of all trees, by tree and node."""
    found: dict[tuple[int, int], Found] = {}
    fresh = [(sapling, sapling.fresh) for sapling in saplings if sapling.fresh]
    for batch in _batches(fresh, chooser.cells):
        tasks = _tasks(batch, saplings)
        wait = cluster.sum_twice(
            count_levels,
            tasks,
            score_counts,
            shared,
            sum_scores,
            chooser.columns,
            chooser.wide_levels,
        )
        behind.catch_up()
        behind.batch, behind.tasks = batch, tasks
        behind.counts, sums = wait()
        found |= _chosen(batch, tasks, sums, chooser)
    return found


def _chosen(
    batch: Sequence[Task], tasks: Sequence[CountTask], sums: LayerSums, chooser: Chooser
) -> dict[tuple[int, int], Found]:
    """Choose the splits of a pass, where there are any."""
    found: dict[tuple[int, int], Found] = {}
    each = zip(batch, tasks, sums.trees, sums.scored, strict=True)
    for (_, nodes), task, own, scored in each:
        if len(scored.among):
            splits = chooser.choose(own, scored.exponent)
            for k, split in zip(scored.among.tolist(), splits, strict=True):
                if split is not None:
                    found[task.tree, nodes[k]] = split
    return found


def _tasks(batch: Sequence[Task], saplings: Sequence[Sapling] = ()) -> list[CountTask]:
    """Ask for the responses of nodes; ``saplings`` are numbered, if it matters which is which."""
    number = {id(sapling): k for k, sapling in enumerate(saplings)}
    tasks, first = [], 0
    for sapling, nodes in batch:
        tasks.append(sapling.task(nodes, first, number.get(id(sapling), 0)))
        first += len(nodes) * len(sapling.levels.value)
    return tasks


def _learn(
    batch: Sequence[Task], tasks: Sequence[CountTask], found: LevelCounts, *, siblings: bool
) -> None:
    """Tell trees what was counted."""
    for (sapling, nodes), task, rows in zip(batch, tasks, found.rows, strict=True):
        cells = slice(task.first, task.first + task.slots * task.levels)
        table = found.mass[cells].reshape(task.slots, task.levels)
        sapling.learn(nodes, table, rows, siblings=siblings)


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
