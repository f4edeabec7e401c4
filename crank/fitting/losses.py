"""What a booster descends on: the logistic loss of all pairs, or squared error (theory §10)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crank.kernels.soft_ranks import soft_ranks
from crank.rankers.booster import BoosterOptions
from crank.ranks import Ranks

LEAST_SLOPE = 1e-3
"""The mean second derivative is not taken to be smaller: scores far apart still move finitely."""

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
    >>> loss.newton(np.zeros(2)).tolist()
    [-1.0, 1.0]
    """

    target: Floats
    weight: Floats

    def newton(self, score: Floats) -> Floats:
        """Return where Newton's step takes each row's score, by the mean second derivative.

        Half the squared distance to it has, up to that factor, the derivatives of the loss.
        """
        ranks, slopes = soft_ranks(score, self.weight)
        slope = float((self.weight * slopes).mean())
        return score - (ranks - self.target) / max(slope, LEAST_SLOPE * len(score))


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
