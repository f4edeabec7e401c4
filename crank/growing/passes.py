"""The grower's own passes over a layer: scores, partition with gains, summaries of the cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from crank.criteria import ROUNDING, Criterion
from crank.kernels.cuts import Layer
from crank.mass import LocalMass, running_sums
from crank.metrics.figures import IAUC, KENDALL, Figure, figures
from crank.ranks import Ranks


@dataclass(frozen=True)
class Children:
    """The layer below a split one.

    Attributes
    ----------
    layer : Layer
        First the left children of the split nodes, in their order, then the right ones.
    gains : mapping of str to ndarray of shape (nodes,)
        By figure, the gain of every node of the layer above; 0 for those that were not split.
    """

    layer: Layer
    gains: Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Summary:
    """What is known of each cell before it is split; see `crank.growing.tree.Node`."""

    weight: NDArray[np.float64]
    quantile: NDArray[np.float64]
    quartiles: NDArray[np.float64]


class Passes:
    """The passes in NumPy, one call for all nodes of a layer.

    Parameters
    ----------
    ranks : Ranks
    """

    def __init__(self, ranks: Ranks) -> None:
        self.ranks = ranks
        self.figures = figures(of_trees=True)
        self.mass: LocalMass | None = None

    def scores(self, layer: Layer, criterion: Criterion) -> NDArray[np.float64]:
        """Score the rows of each node by the criterion."""
        self.mass = LocalMass(self.ranks, layer)
        return criterion.scores(self.ranks, layer, self.mass)

    def partition(
        self, layer: Layer, left: NDArray[np.bool_], split: NDArray[np.bool_]
    ) -> Children:
        """Part the split nodes; being stable, the partition keeps every child in y order.

        Parameters
        ----------
        layer : Layer
            The one that was scored last.
        left : ndarray of bool
            Side of each of its rows.
        split : ndarray of bool, shape (nodes,)
            Which of its nodes are split.
        """
        n_left = np.add.reduceat(left, layer.starts, dtype=np.intp)
        gains = self._gains(layer, left, n_left)
        n_left = n_left[split]
        n_right = layer.sizes[split] - n_left
        right = ~left if split.all() else ~left & layer.spread_out(split)
        # several times as fast as indexing with a mask that no processor can foresee
        position = np.concatenate([layer.position.compress(side) for side in (left, right)])
        return Children(Layer(position, edges(n_left, n_right), int(n_left.sum())), gains)

    def _gains(
        self, layer: Layer, left: NDArray[np.bool_], n_left: NDArray[np.intp]
    ) -> dict[str, NDArray[np.float64]]:
        """Sum the scores of each figure over the left sides."""
        known: dict[str, NDArray[np.float64]] = {}
        if self.ranks.are_positions:  # closed forms of the sums (theory §4), in whole numbers
            inside = np.add.reduceat(layer.within * left, layer.starts)
            position = layer.position.astype(np.int64)
            total = np.add.reduceat(position, layer.starts).astype(np.float64)
            sums = np.add.reduceat(position * left, layer.starts)
            kendall = (2 * inside + n_left * (1 - layer.sizes)).astype(np.float64)
            iauc = layer.sizes * sums.astype(np.float64) - n_left * total - kendall
            known = {KENDALL.name: kendall, IAUC.name: iauc}
        for figure in self.figures:
            if figure.name not in known:
                known[figure.name] = self.gain(figure, layer, left)
        return known

    def gain(self, figure: Figure, layer: Layer, left: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Sum the scores of a figure over the left side of each node of the layer scored last."""
        assert self.mass is not None
        assert figure.node_scores is not None
        scores = figure.node_scores(self.ranks, layer, self.mass)
        return np.add.reduceat(scores * left, layer.starts)

    def keep(self, layer: Layer, kept: NDArray[np.bool_]) -> Layer:
        """Drop nodes from a layer."""
        if kept.all():
            return layer
        nodes = np.flatnonzero(kept).tolist()
        bounds = layer.bounds.tolist()
        position = np.concatenate([layer.position[bounds[k] : bounds[k + 1]] for k in nodes])
        n_from_left = sum(bounds[k + 1] - bounds[k] for k in nodes if bounds[k] < layer.n_from_left)
        return Layer(position, edges(layer.sizes[kept]), n_from_left)

    def summarise(self, layer: Layer) -> Summary:
        """Weigh the cells of a layer, and locate their responses."""
        ranks, starts = self.ranks, layer.starts
        if ranks.are_positions:
            mass = layer.sizes.astype(np.float64)
            middle = 2.0 * np.add.reduceat(layer.position.astype(np.float64), starts) + mass
            quartiles = interpolated_quartiles(ranks, layer)
        else:
            weight = ranks.weight[layer.position]
            mass = np.add.reduceat(weight, starts)
            ends = ranks.below[layer.position] + ranks.upto[layer.position]
            middle = np.add.reduceat(weight * ends, starts)
            quartiles = self._quartiles(layer, weight)
        return Summary(mass, middle / (2.0 * ranks.total * mass), quartiles)

    def _quartiles(self, layer: Layer, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Quartiles of each cell; with weights, where the running weight reaches them."""
        if self.ranks.unweighted:
            return interpolated_quartiles(self.ranks, layer)
        running = running_sums(weight, layer)
        at = [
            start + np.searchsorted(running[start:end], running[end - 1] * (QUARTILES - ROUNDING))
            for start, end in pairwise(layer.bounds.tolist())
        ]
        return np.asarray(self.ranks.y[layer.position[np.array(at)]])


def edges(*sizes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the bounds of nodes of these sizes.

    Examples
    --------
    >>> edges(np.array([3, 2]), np.array([4])).tolist()
    [0, 3, 5, 9]
    """
    joined = np.concatenate(((0,), *sizes))
    return joined.cumsum(out=joined)


QUARTILES = np.array([0.25, 0.5, 0.75])


def interpolated_quartiles(ranks: Ranks, layer: Layer) -> NDArray[np.float64]:
    """Quartiles of each cell without weights: R's type 7."""
    starts, sizes = layer.starts[:, None], layer.sizes[:, None]
    at = (sizes - 1) * QUARTILES
    low = at.astype(np.intp)
    lower = ranks.y[layer.position[starts + low]]
    upper = ranks.y[layer.position[starts + np.minimum(low + 1, sizes - 1)]]
    return np.asarray(lower + (at - low) * (upper - lower))
