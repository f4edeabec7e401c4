"""Top-weighted concordance: pairs count the more, the higher the better row of the two ranks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crank.criteria import Criterion
from crank.kernels.cuts import Layer
from crank.mass import LocalMass, running_sums
from crank.metrics.figures import KENDALL
from crank.metrics.pairs import unit_ratio
from crank.metrics.sample import read_sample
from crank.ranks import Ranks

Array = NDArray[np.float64]

POWER = 4.0
"""A pair weighs the quantile of its higher response, to this power."""


def top_scores(ranks: Ranks, layer: Layer, mass: LocalMass) -> Array:
    """Sum the weights of the pairs that a row wins in its node, less those that it loses.

    The weight of a pair depends on the higher response's rank in the whole sample and not on the
    node, so gains add up over the tree.
    """
    # as the ranks of a forest's bags offer: below, upto and total, no more
    quantile = (ranks.below[layer.position] + ranks.upto[layer.position]) / (2.0 * ranks.total)
    high = quantile**POWER
    lost = mass.sum_above(running_sums(mass.weight * high, layer))
    return np.asarray(mass.weight * (high * mass.below - lost), dtype=np.float64)


TOP = Criterion(
    name="top",
    description="concordance, weighted towards the top",
    scores=top_scores,
    figure=KENDALL,
    additive=True,
)


def top_concordance(y: ArrayLike, s: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Rate of the pairs in the right order, each weighing its higher row's quantile⁴.

    1 for a perfect order, ½ for a random or constant one, 0 for a reversed one, in O(n log n).
    Of two rankings with as many errors, the one that errs among the largest responses loses more.

    Parameters
    ----------
    y, s : array-like of shape (n,)
        Responses, of at least two distinct values, and scores.
    weights : array-like of shape (n,), optional
        Case weights.

    Examples
    --------
    The same two neighbours swapped, at the bottom and at the top:

    >>> round(top_concordance([1, 2, 3, 4], [2, 1, 3, 4]), 3)
    0.994
    >>> round(top_concordance([1, 2, 3, 4], [1, 2, 4, 3]), 3)
    0.763
    """
    sample = read_sample(y, s, weights, distinct=2, purpose="top_concordance")
    high = ((sample.below + sample.mass / 2.0) / sample.mass.sum()) ** POWER
    won = float(sample.weight @ (high[sample.y_rank] * sample.won_below))
    return unit_ratio(won, float((high * sample.mass) @ sample.below))
