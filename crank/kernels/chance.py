"""What a factor gains by chance: the more levels, the more of the best subset is luck.

Where the response has nothing to do with a factor, the sum of scores of a level of n_l rows is
about normal with variance v · n_l (1 − n_l / n), v being the variance of scores in the node. The
best subset takes every positive sum, so it gains the sum of their sizes: √(2/π) · Σ √(v n_l (1 −
n_l / n)), which grows with the square root of the number of levels. The variance explained grows
with their number: (2/π) (levels − 1) v. Two levels are cut in one way, as a number at a given
place; what more levels gain beyond two is taken off before columns are compared.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.cuts import FloatArray, Objective

MEAN_SIZE = math.sqrt(2.0 / math.pi)
"""Mean absolute value of a standard normal variable."""


def chance_gain(
    count: NDArray[np.integer[Any]], noise: FloatArray, objective: Objective
) -> FloatArray:
    """Return what the best subset of a factor without meaning gains on average, beyond two levels.

    Parameters
    ----------
    count : ndarray of int, shape (nodes, levels)
        Rows of each level.
    noise : ndarray of shape (nodes,)
        From `crank.kernels.cuts.noise_of`.

    Examples
    --------
    >>> chance_gain(np.array([[50, 50], [1, 99]]), np.ones(2), "sum").tolist()
    [0.0, 0.0]
    >>> chance_gain(np.full((1, 100), 10), np.ones(1), "sum").round(1).tolist()
    [225.8]
    """
    if objective == "sum":
        rows = count.sum(axis=1, keepdims=True)
        sizes = np.sqrt(count * (1.0 - count / rows)).sum(axis=1)
        return np.asarray(noise * MEAN_SIZE * np.maximum(sizes - np.sqrt(rows[:, 0]), 0.0))
    levels = (count > 0).sum(axis=1)
    return np.asarray(noise * np.maximum(MEAN_SIZE**2 * (levels - 1.0) - 1.0, 0.0))
