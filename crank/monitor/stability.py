"""The population stability index of two samples, with its sampling error.

Over parts with shares p and q, the index is Σ (q − p) log(q / p). Of two samples of one population
it is not 0: times nm/(n + m) it is nearly χ² with one degree of freedom less than there are parts,
which gives what chance adds and a test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crank.metrics.student import SMALLEST

HALF = 0.5
"""Added to every count, so that an empty part has a finite share in the index."""


@dataclass(frozen=True)
class Stability:
    """How far two samples lie apart.

    Attributes
    ----------
    index : float
        Population stability index.
    se : float
        Its standard error.
    chance : float
        Its mean if both samples came from one population.
    pvalue : float
        Of the χ² test that they do.
    """

    index: float
    se: float
    chance: float
    pvalue: float


def stability(before: NDArray[np.int64], now: NDArray[np.int64]) -> Stability:
    """Compare two tables of counts over the same parts; parts that both lack do not count.

    Examples
    --------
    >>> found = stability(np.array([500, 500]), np.array([300, 700]))
    >>> round(found.index, 3), round(found.se, 3), found.pvalue < 1e-9
    (0.169, 0.037, True)
    >>> same = stability(np.array([500, 500]), np.array([510, 490]))
    >>> round(same.index, 4), round(same.chance, 4), round(same.pvalue, 2)
    (0.0004, 0.002, 0.65)
    """
    present = (before > 0) | (now > 0)
    n, m, df = int(before.sum()), int(now.sum()), int(present.sum()) - 1
    if df < 1 or not n or not m:
        return Stability(0.0, 0.0, 0.0, 1.0)
    p = before[present] + HALF
    q = now[present] + HALF
    p, q = p / p.sum(), q / q.sum()
    ratio = np.log(q / p)
    rate = 1.0 / n + 1.0 / m
    # the index moves by these when a share does; shares are multinomial
    of_q, of_p = ratio + 1.0 - p / q, -ratio + 1.0 - q / p
    spread = _variance(q, of_q) / m + _variance(p, of_p) / n
    index = float(((q - p) * ratio).sum())
    se = math.sqrt(spread + 2.0 * df * rate**2)
    return Stability(index, se, df * rate, _homogeneity(before[present], now[present]))


def _variance(share: NDArray[np.float64], value: NDArray[np.float64]) -> float:
    return float((share * value**2).sum() - (share * value).sum() ** 2)


def _homogeneity(before: NDArray[np.int64], now: NDArray[np.int64]) -> float:
    """Return the p-value of Pearson's test that two rows of counts have the same shares."""
    from scipy.special import chdtrc

    n, m = before.sum(), now.sum()
    expected = (before + now) / (n + m)
    chi2 = (before - n * expected) ** 2 / (n * expected) + (now - m * expected) ** 2 / (
        m * expected
    )
    return max(float(chdtrc(len(before) - 1, chi2.sum())), SMALLEST)
