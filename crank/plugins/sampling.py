"""Weighted samples of a node's rows, for classifiers that are slow or take no weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def systematic_counts(
    label: NDArray[np.float64],
    weight: NDArray[np.float64],
    size: int,
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """Draw ``size`` rows in proportion to weight, and say how often each was drawn.

    The draw is systematic: equal steps along the cumulated weight of the rows, sorted by label
    and shuffled within. So each row comes up within one of its expected number of times, and
    each label has its due share; a label with weight is never left out.

    Parameters
    ----------
    label : ndarray of shape (m,)
    weight : ndarray of shape (m,)
        Not negative, not all 0.
    size : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int, shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> label, weight = np.array([1.0, -1.0, 1.0]), np.array([2.0, 1.0, 0.0])
    >>> systematic_counts(label, weight, 3, np.random.default_rng(0)).tolist()
    [2, 1, 0]
    """
    order = np.lexsort((rng.permutation(len(label)), label))
    mass = np.cumsum(weight[order])
    steps = np.floor(mass * (size / mass[-1]) + rng.random())
    counts = np.empty(len(label), dtype=np.intp)
    counts[order] = np.diff(steps, prepend=0.0).astype(np.intp)
    for side in (-1.0, 1.0):
        own = np.where(label == side, weight, 0.0)
        if own.any() and not counts[label == side].any():
            counts[np.argmax(own)] = 1
    return counts
