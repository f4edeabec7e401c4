"""Student's t distribution without SciPy, whose import takes longer than a small fit."""

from __future__ import annotations

import math
from functools import lru_cache

SMALLEST = 2.0**-1022
"""Stands for every p-value below it: none is printed as 0."""

NEARLY_NORMAL = 1e5
"""Degrees of freedom from which Wallace's formula has ten digits, and gamma functions have not."""


def two_sided(t: float, df: float) -> float:
    """Probability of a value at least as far from 0, never 0; with infinite df the normal one.

    Examples
    --------
    >>> round(two_sided(2.0, 5), 6), round(two_sided(1.959964, math.inf), 6)
    (0.101939, 0.05)
    >>> two_sided(40.0, math.inf) > 0
    True
    """
    t = abs(t)
    if math.isinf(t):
        found = 0.0
    elif df > NEARLY_NORMAL:
        found = math.erfc(_as_normal(t, df) / math.sqrt(2.0))
    else:
        # the smaller of x and 1 − x has all its digits
        x, rest = df / (df + t * t), t * t / (df + t * t)
        found = _beta_ratio(df / 2.0, 0.5, x, rest)
    return max(found, SMALLEST)


def upper_tail(z: float) -> float:
    """Probability that a normal deviate exceeds z, never 0.

    Examples
    --------
    >>> round(upper_tail(-1.0), 6), upper_tail(9.0) > 0
    (0.841345, True)
    """
    return max(math.erfc(z / math.sqrt(2.0)) / 2.0, SMALLEST)


@lru_cache(maxsize=256)
def quantile(probability: float, df: float) -> float:
    """Value that Student's t exceeds with one minus this probability.

    Parameters
    ----------
    probability : float
        Between ½ and 1.
    df : float
        Degrees of freedom, above 0, not necessarily whole.

    Examples
    --------
    >>> round(quantile(0.975, 4), 6), round(quantile(0.975, math.inf), 6)
    (2.776445, 1.959964)
    """
    from statistics import NormalDist

    z = NormalDist().inv_cdf(probability)
    if math.isinf(df):
        return z
    # the tail is convex and z lies below the quantile: Newton's steps rise to it and never pass it
    tail, t = 2.0 * (1.0 - probability), z
    half = math.lgamma((df + 1.0) / 2.0) - math.lgamma(df / 2.0) - math.log(df * math.pi) / 2.0
    for _ in range(100):
        slope = 2.0 * math.exp(half - (df + 1.0) / 2.0 * math.log1p(t * t / df))
        step = (two_sided(t, df) - tail) / slope
        t += step
        if abs(step) <= 1e-12 * t:
            break
    return t


def _as_normal(t: float, df: float) -> float:
    """Turn t into a normal deviate (Wallace 1959)."""
    if math.isinf(df):
        return t
    return (8.0 * df + 1.0) / (8.0 * df + 3.0) * math.sqrt(df * math.log1p(t * t / df))


def _beta_ratio(a: float, b: float, x: float, rest: float) -> float:
    """Regularised incomplete beta function at x = 1 − rest, by its continued fraction."""
    if x == 0.0 or rest == 0.0:
        return float(rest == 0.0)
    log_front = (
        math.lgamma(a + b)
        - math.lgamma(a)
        - math.lgamma(b)
        + a * (math.log(x) if x < 0.5 else math.log1p(-rest))
        + b * (math.log(rest) if rest < 0.5 else math.log1p(-x))
    )
    if x < (a + 1.0) / (a + b + 2.0):
        return math.exp(log_front) * _fraction(a, b, x) / a
    return 1.0 - math.exp(log_front) * _fraction(b, a, rest) / b


def _fraction(a: float, b: float, x: float) -> float:
    """Evaluate the continued fraction by Lentz's method."""
    tiny = 1e-300
    d = 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1.0), tiny)
    c, value = 1.0, d
    for m in range(1, 100_000):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0)),
        ):
            d = 1.0 / _away_from_zero(1.0 + numerator * d, tiny)
            c = _away_from_zero(1.0 + numerator / c, tiny)
            value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return value


def _away_from_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny
