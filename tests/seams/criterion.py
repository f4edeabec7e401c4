"""A toy criterion: is y among the top tenth of the whole sample?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crank.criteria import Criterion
from crank.kernels.cuts import Layer
from crank.mass import LocalMass
from crank.metrics.figures import KENDALL
from crank.ranks import Ranks


def top_scores(ranks: Ranks, layer: Layer, mass: LocalMass) -> NDArray[np.float64]:
    top = (ranks.below[layer.position] >= 0.9 * ranks.total).astype(np.float64)
    share = np.add.reduceat(mass.weight * top, layer.starts) / np.add.reduceat(
        mass.weight, layer.starts
    )
    return np.asarray(mass.weight * (top - layer.spread_out(share)))


TOP = Criterion("top", "the top tenth against the rest", top_scores, KENDALL)
