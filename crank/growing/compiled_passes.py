"""The grower's own passes over a layer, compiled: for large data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crank.criteria import ROUNDING, Criterion
from crank.growing.passes import QUARTILES, Children, Passes, Summary, edges, interpolated_quartiles
from crank.kernels import compiled_layer as compiled
from crank.kernels.cuts import Layer
from crank.kernels.threads import Threads
from crank.mass import LocalMass
from crank.metrics.figures import IAUC, KENDALL
from crank.metrics.node_scores import IAUC_ROUNDING
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
        # None has numba leave out what ranks without ties or weights do not need
        self.group = None if ranks.are_positions else ranks.group
        self.weight = None if ranks.unweighted else ranks.weight

    def scores(self, layer: Layer, criterion: Criterion) -> NDArray[np.float64]:
        """Score the rows of each node by the criterion."""
        self.mass = LocalMass(self.ranks, layer)
        number = compiled.CRITERIA.get(criterion.name)
        if number is None:
            return super().scores(layer, criterion)
        r = self.ranks
        score = np.empty(len(layer.position))
        least = -1.0 if r.unweighted else IAUC_ROUNDING * r.total**2
        position, bounds = layer.position, layer.bounds

        def run(first: int, last: int) -> None:
            if self.group is None:
                compiled.score_untied_nodes(number, position, bounds, first, last, score)
                return
            compiled.score_nodes(
                number,
                position,
                bounds,
                first,
                last,
                self.group,
                self.weight,
                r.below,
                r.upto,
                ROUNDING,
                least,
                score,
            )

        self.threads.run(run, self.threads.chunks(len(layer.starts)))
        return score

    def partition(
        self, layer: Layer, left: NDArray[np.bool_], split: NDArray[np.bool_]
    ) -> Children:
        """Part the split nodes; being stable, the partition keeps every child in y order."""
        r, nodes = self.ranks, len(layer.starts)
        n_left = np.add.reduceat(left, layer.starts, dtype=np.intp)[split]
        n_right = layer.sizes[split] - n_left
        bounds = edges(n_left, n_right)
        to_left = np.full(nodes, -1, dtype=np.intp)
        to_right = np.full(nodes, -1, dtype=np.intp)
        to_left[split], to_right[split] = np.split(bounds[:-1], 2)
        out = np.empty(bounds[-1], dtype=np.int32)
        gains = {figure.name: np.zeros(nodes) for figure in (KENDALL, IAUC)}
        self.threads.run(
            lambda first, last: compiled.partition_nodes(
                layer.position,
                layer.bounds,
                first,
                last,
                left,
                to_left,
                to_right,
                self.group,
                self.weight,
                r.below,
                r.upto,
                out,
                gains[KENDALL.name],
                gains[IAUC.name],
            ),
            self.threads.chunks(nodes),
        )
        for figure in self.figures:
            if figure.name not in gains:
                gains[figure.name] = self.gain(figure, layer, left)
        return Children(Layer(out, bounds, int(n_left.sum())), gains)

    def summarise(self, layer: Layer) -> Summary:
        """Weigh the cells of a layer, and locate their responses."""
        r, nodes = self.ranks, len(layer.starts)
        if r.are_positions:  # sums of positions, which NumPy takes as fast
            return super().summarise(layer)
        mass, middle = np.empty(nodes), np.empty(nodes)
        at = np.empty(nodes * len(QUARTILES), dtype=np.intp)
        self.threads.run(
            lambda first, last: compiled.summarise_nodes(
                layer.position,
                layer.bounds,
                first,
                last,
                self.weight,
                r.below,
                r.upto,
                mass,
                middle,
                QUARTILES - ROUNDING,
                at,
            ),
            self.threads.chunks(nodes),
        )
        if r.unweighted:
            quartiles = interpolated_quartiles(r, layer)
        else:
            quartiles = r.y[layer.position[at]].reshape(nodes, -1)
        return Summary(mass, middle / (2.0 * r.total * mass), quartiles)
