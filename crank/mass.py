"""What each row of a layer sees of its own node: the weight below it, tied with it, above it."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from crank.kernels.cuts import Layer
from crank.ranks import Ranks


class LocalMass:
    """What each row of a layer sees of its own node; each array is made when it is first read.

    Parameters
    ----------
    ranks : Ranks
    layer : Layer
    weight : ndarray, optional
        Weight of each row of the layer, if it differs from node to node: a row that stands for
        all rows of one y has as many in each node. ``ranks`` must be weighted and not tied then.

    Examples
    --------
    >>> from crank.ranks import rank
    >>> root = Layer(np.arange(3, dtype=np.int32), np.array([0, 3]))
    >>> mass = LocalMass(rank(np.array([5.0, 7.0, 7.0])), root)
    >>> mass.below.tolist()
    [0.0, 1.0, 1.0]
    """

    def __init__(
        self, ranks: Ranks, layer: Layer, weight: NDArray[np.float64] | None = None
    ) -> None:
        self.ranks, self.layer, self._given = ranks, layer, weight

    @cached_property
    def start(self) -> NDArray[np.intp]:
        """First row of the node."""
        return self.layer.spread_out(self.layer.starts)

    @cached_property
    def end(self) -> NDArray[np.intp]:
        """One past the last row of the node."""
        return self.layer.spread_out(self.layer.bounds[1:])

    @cached_property
    def _ties(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        position = self.layer.position
        if not self.ranks.tied:
            first = np.arange(len(position))
            return first, first + 1
        group = self.ranks.group[position]
        new = np.ones(len(position), dtype=bool)
        np.not_equal(group[1:], group[:-1], out=new[1:])
        new[self.layer.starts] = True
        run = new.cumsum() - 1
        edges = np.append(np.flatnonzero(new), len(position))
        return edges[run], edges[run + 1]

    @property
    def first(self) -> NDArray[np.intp]:
        """First row tied with the row."""
        return self._ties[0]

    @property
    def past(self) -> NDArray[np.intp]:
        """One past the last row tied with the row."""
        return self._ties[1]

    @cached_property
    def weight(self) -> NDArray[np.float64]:
        """Weight of the row."""
        position = self.layer.position
        if self._given is not None:
            return self._given
        return np.ones(len(position)) if self.ranks.unweighted else self.ranks.weight[position]

    @cached_property
    def _running(self) -> NDArray[np.float64]:
        return running_sums(self.weight, self.layer)

    @cached_property
    def below(self) -> NDArray[np.float64]:
        """Weight of the rows of the node with a smaller y."""
        if self.ranks.are_positions:
            return self.layer.within.astype(np.float64)
        if self.ranks.unweighted:
            return (self.first - self.start).astype(np.float64)
        return self.sum_below(self._running)

    @cached_property
    def upto(self) -> NDArray[np.float64]:
        """Weight of the rows of the node with y not larger."""
        if self.ranks.are_positions:
            return self.below + 1.0
        if self.ranks.unweighted:
            return (self.past - self.start).astype(np.float64)
        return self._running[self.past - 1]

    @cached_property
    def total(self) -> NDArray[np.float64]:
        """Weight of the node."""
        if self.ranks.unweighted:
            return self.layer.spread_out(self.layer.sizes.astype(np.float64))
        return self._running[self.end - 1]

    def sum_below(self, running: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum over the rows of the node strictly below each row, from running sums."""
        before = np.empty(len(running) + 1)
        before[1:] = running
        before[self.layer.starts] = 0.0
        return before[self.first]

    def sum_above(self, running: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum over the rows of the node strictly above each row, from running sums."""
        return running[self.end - 1] - running[self.past - 1]


def running_sums(
    values: NDArray[np.float64], layer: Layer, whole: bool = False
) -> NDArray[np.float64]:
    """Add values up within each node.

    Node by node, because the rounding of a sum over the layer would swamp its smallest nodes;
    ``whole`` numbers, whose sums stay below 2⁵³, have no rounding and go in one sweep.
    """
    if whole:
        sums = values.cumsum()
        if len(layer.sizes) > 1:
            sums[layer.bounds[1] :] -= sums[layer.bounds[1:-1] - 1].repeat(layer.sizes[1:])
        return sums
    out = np.empty(len(values))
    edges = layer.bounds.tolist()
    for start, end in pairwise(edges):
        np.add.accumulate(values[start:end], out=out[start:end])
    return out
