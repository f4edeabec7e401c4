"""Kendall's criterion d_τ: the rate of concordant pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from crank.kernels.order import dot
from crank.metrics.sample import Sample, read_sample


def kendall(y: ArrayLike, s: ArrayLike, *, weights: ArrayLike | None = None) -> float:
    """Rate of the pairs of rows that a score puts in the order of y.

    This is d_τ = P(s < s' | y < y') + ½ P(s = s' | y < y'): a reversed ranking scores 0, a random
    or constant one ½, a perfect one 1. Pairs with tied y do not count; a pair with tied scores
    counts one half. It takes O(n log n).

    2 d_τ − 1 is Somers' D of the score given y. It is Kendall's τ (τ_a) if no y ties, and all of
    τ's versions agree if nothing ties; the scores of a tree do tie, so its "τ" is Somers' D, which
    cannot reach 1. On a binary y, d_τ is the AUC. R's ``survival::concordance`` prints it.

    Parameters
    ----------
    y : array-like of shape (n,)
        Responses, of at least two distinct values.
    s : array-like of shape (n,)
        Scores; larger ones predict larger responses. Only their order matters.
    weights : array-like of shape (n,), optional
        Case weights; a pair weighs the product of its two.

    Returns
    -------
    float

    References
    ----------
    Clémençon and Achab, "Ranking Data with Continuous Labels through Oriented Recursive
    Partitions", NIPS 2017.

    Examples
    --------
    >>> kendall([1, 2, 3, 4], [10, 30, 20, 40])
    0.8333333333333334
    >>> kendall([1, 2, 3, 4], [4, 3, 2, 1])
    0.0
    """
    return kendall_rate(read_sample(y, s, weights, distinct=2, purpose="kendall"))


def kendall_rate(sample: Sample) -> float:
    """Compute d_τ of a sample that was read before."""
    # both in the order of rows: what is half of every term is half of the sum, however it is added
    whole = dot(sample.weight, sample.below[sample.y_rank])
    return unit_ratio(dot(sample.weight, sample.won_below), whole)


def unit_ratio(part: float, whole: float) -> float:
    """Divide a part by its whole; rounding must not hide that it is all or nothing.

    Weights that are not whole multiples of one another leave a few units in the last place.
    """
    ratio = part / whole
    return float(np.round(ratio)) if min(ratio, 1.0 - ratio) < 1e-14 else ratio
