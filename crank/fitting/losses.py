"""What a booster descends on: the logistic loss of all pairs, or squared error (theory §10)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.soft_ranks import soft_derivatives, soft_ranks
from crank.rankers.booster import BoosterOptions
from crank.ranks import Ranks

LEAST_SLOPE = 1e-3
"""Second derivatives are not taken to be smaller: where scores have parted, steps stay finite."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairLoss:
    """The logistic loss of all pairs of rows, each with a target, over the number of rows.

    With all targets at σ(t_i − t_j), the gradient at row i is its soft rank among the scores minus
    its soft rank among the t: no pair need be written down.

    Attributes
    ----------
    target : ndarray of shape (n,)
        Soft rank of each row among the targets.
    weight : ndarray of shape (n,)
        Case weights with mean 1.

    Examples
    --------
    >>> loss = PairLoss(np.array([0.5, 1.5]), np.ones(2))
    >>> gradient, slope = loss.derivatives(np.zeros(2))
    >>> gradient.round(3).tolist(), slope.round(3).tolist()
    ([0.25, -0.25], [0.25, 0.25])
    """

    target: Floats
    weight: Floats

    def derivatives(self, score: Floats) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the first and second derivative of the loss in each row's score."""
        return soft_derivatives(score, self.weight, self.target, self.scale, LEAST_SLOPE)

    @cached_property
    def scale(self) -> Floats:
        """Weight of each row over the number of rows."""
        return np.asarray(self.weight / len(self.weight))


def pair_loss(ranks: Ranks, kappa: float) -> PairLoss:
    """Make the loss of the pairs of some rows, by position.

    Parameters
    ----------
    ranks : Ranks
    kappa : float
        The target of a pair is σ(κ (q_i − q_j)), q the places of y in its distribution, from 0 to
        1. A large κ asks for the order only; a small one for distances in rank as well.
    """
    mean = ranks.total / len(ranks.row)
    weight = ranks.weight / mean
    if np.isinf(kappa):
        target = (ranks.below + ranks.upto) / (2.0 * mean)
    else:
        target, _ = soft_ranks(kappa * ranks.quantile, weight)
    return PairLoss(target, weight)


def labels_of(ranks: Ranks, options: BoosterOptions) -> Floats:
    """Return what squared error is taken of, by position, with mean 0 and variance 1."""
    value = ranks.quantile if options.loss == "rank" else ranks.y
    largest = float(np.abs(value).max()) or 1.0
    value = value / largest  # so that no square overflows
    share = ranks.weight / ranks.total
    value = value - float((share * value).sum())
    spread = float(np.sqrt((share * value * value).sum()))
    return value / spread if spread > 0.0 else value
