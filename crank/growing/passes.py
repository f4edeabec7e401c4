"""The grower's own passes over a level: scores, partition with gains, summaries of the cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from crank.criteria import ROUNDING, Criterion
from crank.kernels.cuts import Level
from crank.mass import LocalMass, running_sums
from crank.metrics.figures import IAUC, KENDALL, Figure, figures
from crank.ranks import Ranks


@dataclass(frozen=True)
class Children:
    """The level below a split one.

    Attributes
    ----------
    level : Level
        First the left children of the split nodes, in their order, then the right ones.
    gains : mapping of str to ndarray of shape (nodes,)
        By figure, the gain of every node of the level above; 0 for those that were not split.
    """

    level: Level
    gains: Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Summary:
    """What is known of each cell before it is split; see `crank.growing.tree.Node`."""

    weight: NDArray[np.float64]
    quantile: NDArray[np.float64]
    quartiles: NDArray[np.float64]


class Passes:
    """The passes in NumPy, one call for all nodes of a level.

    Parameters
    ----------
    ranks : Ranks
    """

    def __init__(self, ranks: Ranks) -> None:
        self.ranks = ranks
        self.figures = figures(of_trees=True)
        self.mass: LocalMass | None = None

    def scores(self, level: Level, criterion: Criterion) -> NDArray[np.float64]:
        """Score the rows of each node by the criterion."""
        self.mass = LocalMass(self.ranks, level)
        return criterion.scores(self.ranks, level, self.mass)

    def partition(
        self, level: Level, left: NDArray[np.bool_], split: NDArray[np.bool_]
    ) -> Children:
        """Part the split nodes; being stable, the partition keeps every child in y order.

        Parameters
        ----------
        level : Level
            The one that was scored last.
        left : ndarray of bool
            Side of each of its rows.
        split : ndarray of bool, shape (nodes,)
            Which of its nodes are split.
        """
        n_left = np.add.reduceat(left, level.starts, dtype=np.intp)
        gains = self._gains(level, left, n_left)
        n_left = n_left[split]
        n_right = level.sizes[split] - n_left
        right = ~left if split.all() else ~left & level.spread_out(split)
        # several times as fast as indexing with a mask that no processor can foresee
        position = np.concatenate([level.position.compress(side) for side in (left, right)])
        return Children(Level(position, edges(n_left, n_right), int(n_left.sum())), gains)

    def _gains(
        self, level: Level, left: NDArray[np.bool_], n_left: NDArray[np.intp]
    ) -> dict[str, NDArray[np.float64]]:
        """Sum the scores of each figure over the left sides."""
        known: dict[str, NDArray[np.float64]] = {}
        if self.ranks.are_positions:  # closed forms of the sums (theory §4), in whole numbers
            inside = np.add.reduceat(level.within * left, level.starts)
            position = level.position.astype(np.int64)
            total = np.add.reduceat(position, level.starts).astype(np.float64)
            sums = np.add.reduceat(position * left, level.starts)
            kendall = (2 * inside + n_left * (1 - level.sizes)).astype(np.float64)
            iauc = level.sizes * sums.astype(np.float64) - n_left * total - kendall
            known = {KENDALL.name: kendall, IAUC.name: iauc}
        for figure in self.figures:
            if figure.name not in known:
                known[figure.name] = self.gain(figure, level, left)
        return known

    def gain(self, figure: Figure, level: Level, left: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Sum the scores of a figure over the left side of each node of the level scored last."""
        assert self.mass is not None
        assert figure.node_scores is not None
        scores = figure.node_scores(self.ranks, level, self.mass)
        return np.add.reduceat(scores * left, level.starts)

    def keep(self, level: Level, kept: NDArray[np.bool_]) -> Level:
        """Drop nodes from a level."""
        if kept.all():
            return level
        nodes = np.flatnonzero(kept).tolist()
        bounds = level.bounds.tolist()
        position = np.concatenate([level.position[bounds[k] : bounds[k + 1]] for k in nodes])
        n_from_left = sum(bounds[k + 1] - bounds[k] for k in nodes if bounds[k] < level.n_from_left)
        return Level(position, edges(level.sizes[kept]), n_from_left)

    def summarise(self, level: Level) -> Summary:
        """Weigh the cells of a level, and locate their responses."""
        ranks, starts = self.ranks, level.starts
        if ranks.are_positions:
            mass = level.sizes.astype(np.float64)
            middle = 2.0 * np.add.reduceat(level.position.astype(np.float64), starts) + mass
            quartiles = interpolated_quartiles(ranks, level)
        else:
            weight = ranks.weight[level.position]
            mass = np.add.reduceat(weight, starts)
            ends = ranks.below[level.position] + ranks.upto[level.position]
            middle = np.add.reduceat(weight * ends, starts)
            quartiles = self._quartiles(level, weight)
        return Summary(mass, middle / (2.0 * ranks.total * mass), quartiles)

    def _quartiles(self, level: Level, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Quartiles of each cell; with weights, where the running weight reaches them."""
        if self.ranks.unweighted:
            return interpolated_quartiles(self.ranks, level)
        running = running_sums(weight, level)
        at = [
            start + np.searchsorted(running[start:end], running[end - 1] * (QUARTILES - ROUNDING))
            for start, end in pairwise(level.bounds.tolist())
        ]
        return np.asarray(self.ranks.y[level.position[np.array(at)]])


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


def interpolated_quartiles(ranks: Ranks, level: Level) -> NDArray[np.float64]:
    """Quartiles of each cell without weights: R's type 7."""
    starts, sizes = level.starts[:, None], level.sizes[:, None]
    at = (sizes - 1) * QUARTILES
    low = at.astype(np.intp)
    lower = ranks.y[level.position[starts + low]]
    upper = ranks.y[level.position[starts + np.minimum(low + 1, sizes - 1)]]
    return np.asarray(lower + (at - low) * (upper - lower))
