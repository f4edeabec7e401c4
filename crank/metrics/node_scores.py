"""A figure's pairs within a node, summed up for each row: a split's gain is the sum of its left.

Scores are antisymmetric over pairs, so pairs inside one side of a split cancel (theory §4).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crank.kernels.cuts import Layer
from crank.mass import LocalMass, running_sums
from crank.ranks import Ranks

IAUC_ROUNDING = 1e-14
"""Scores of the IAUC below this share of the squared total weight are rounding."""


def kendall_scores(ranks: Ranks, layer: Layer, mass: LocalMass) -> NDArray[np.float64]:
    """Weight of the node below a row minus weight above it: the sum is C − D of the split."""
    score = mass.below + mass.upto - mass.total
    return score if ranks.unweighted else mass.weight * score


def iauc_scores(ranks: Ranks, layer: Layer, mass: LocalMass) -> NDArray[np.float64]:
    """Weigh each pair by the weight of the whole sample strictly between its two responses.

    The pair weight is L of the higher minus H of the lower (theory §3), so ties need no care.
    """
    if ranks.are_positions:  # m (R − mean R) less the kendall score (theory §4), in whole numbers
        position = layer.position.astype(np.float64)
        total = layer.spread_out(np.add.reduceat(position, layer.starts))
        score: NDArray[np.float64] = mass.total * position - total
        return score - kendall_scores(ranks, layer, mass)
    low, high = ranks.below[layer.position], ranks.upto[layer.position]
    if ranks.unweighted:
        below = mass.sum_below(running_sums(high, layer, whole=True))
        above = mass.sum_above(running_sums(low, layer, whole=True))
        return low * mass.below - below - above + high * (mass.total - mass.upto)
    below = mass.sum_below(running_sums(mass.weight * high, layer))
    above = mass.sum_above(running_sums(mass.weight * low, layer))
    score = low * mass.below - below - above + high * (mass.total - mass.upto)
    # nothing lies between neighbouring values: what is left there is rounding, not a score
    score[np.abs(score) <= IAUC_ROUNDING * ranks.total**2] = 0.0
    return mass.weight * score
