"""The grower's own passes over a level, compiled: for large data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crank.criteria import IAUC_ROUNDING, ROUNDING, Criterion
from crank.kernels import compiled_level as compiled
from crank.kernels.cuts import Level
from crank.kernels.threads import Threads
from crank.passes import QUARTILES, Children, Passes, Summary, edges, interpolated_quartiles
from crank.ranks import Ranks


class CompiledPasses(Passes):
    """The same passes as in NumPy, each in one sweep over the rows.

    Parameters
    ----------
    ranks : Ranks
    threads : Threads
        Nodes are dealt out to them.
    """

    def __init__(self, ranks: Ranks, threads: Threads) -> None:
        super().__init__(ranks)
        self.threads = threads

    def scores(self, level: Level, criterion: Criterion) -> NDArray[np.float64]:
        """Score the rows of each node by the criterion."""
        number = compiled.CRITERIA.get(criterion.name)
        if number is None:
            return super().scores(level, criterion)
        r = self.ranks
        score = np.empty(len(level.position))
        least = -1.0 if r.unweighted else IAUC_ROUNDING * r.total**2
        self.threads.run(
            lambda first, last: compiled.score_nodes(
                number,
                r.plain,
                r.unweighted,
                level.position,
                level.bounds,
                first,
                last,
                r.group,
                r.weight,
                r.below,
                r.upto,
                ROUNDING,
                least,
                score,
            ),
            self.threads.chunks(len(level.starts)),
        )
        return score

    def partition(
        self, level: Level, left: NDArray[np.bool_], split: NDArray[np.bool_]
    ) -> Children:
        """Part the split nodes; being stable, the partition keeps every child in y order."""
        r, nodes = self.ranks, len(level.starts)
        n_left = np.add.reduceat(left, level.starts, dtype=np.intp)[split]
        n_right = level.sizes[split] - n_left
        bounds = edges(n_left, n_right)
        to_left = np.full(nodes, -1, dtype=np.intp)
        to_right = np.full(nodes, -1, dtype=np.intp)
        to_left[split], to_right[split] = np.split(bounds[:-1], 2)
        out = np.empty(bounds[-1], dtype=np.int32)
        gain_kendall, gain_iauc = np.zeros(nodes), np.zeros(nodes)
        self.threads.run(
            lambda first, last: compiled.partition_nodes(
                r.plain,
                r.unweighted,
                level.position,
                level.bounds,
                first,
                last,
                left,
                to_left,
                to_right,
                r.group,
                r.weight,
                r.below,
                r.upto,
                out,
                gain_kendall,
                gain_iauc,
            ),
            self.threads.chunks(nodes),
        )
        return Children(Level(out, bounds, int(n_left.sum())), gain_kendall, gain_iauc)

    def summarise(self, level: Level) -> Summary:
        """Weigh the cells of a level, and locate their responses."""
        r, nodes = self.ranks, len(level.starts)
        mass, middle = np.empty(nodes), np.empty(nodes)
        at = np.empty(nodes * len(QUARTILES), dtype=np.intp)
        law = np.empty(0) if r.unweighted else QUARTILES - ROUNDING
        self.threads.run(
            lambda first, last: compiled.summarise_nodes(
                r.plain,
                r.unweighted,
                level.position,
                level.bounds,
                first,
                last,
                r.weight,
                r.below,
                r.upto,
                mass,
                middle,
                law,
                at,
            ),
            self.threads.chunks(nodes),
        )
        if r.unweighted:
            quartiles = interpolated_quartiles(r, level)
        else:
            quartiles = r.y[level.position[at]].reshape(nodes, -1)
        return Summary(mass, middle / (2.0 * r.total * mass), quartiles)
