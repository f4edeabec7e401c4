"""Confidence intervals and p-values that do not collapse in small or heavily tied samples.

Three things guard them (docs/theory §8): the spread of the squared influences gives the degrees of
freedom of Student's t; no variance is taken to be smaller than that of independent pairs; and
where every pair agrees, the disjoint ones are counted by the exact binomial distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from crank.kernels.order import FloatArray, dot
from crank.metrics.student import SMALLEST, quantile, two_sided

ROUNDING = 1e-13
"""Standard errors and differences below it are rounding."""


@dataclass(frozen=True)
class Spread:
    """How far a figure is uncertain, from the influences of its independent units.

    Attributes
    ----------
    variance : float
        Sum of the squared influences.
    df : float
        Degrees of freedom of that sum (Satterthwaite): few if few units make it up.
    units : float
        Number of independent units, rows or groups; unequal weights make them fewer (Kish).
    pairs : float
        Number of pairs of units that bear the figure, at least 1.
    sets : float
        Number of disjoint pairs or triples of units with distinct responses, at least 1.
    """

    variance: float
    df: float
    units: float
    pairs: float
    sets: float

    @property
    def se(self) -> float:
        """Standard error."""
        return math.sqrt(self.variance)


@dataclass(frozen=True)
class Evidence:
    """How many units, pairs and sets there are to judge by; see `Spread`."""

    units: float
    pairs: float
    sets: float


@dataclass(frozen=True)
class Counted:
    """What figures of one sample know of its weights and ties.

    Attributes
    ----------
    units : float
        Number of independent units; see `Spread`.
    apart : float
        Share of pairs whose y differ, half of them at most.
    largest : tuple of float
        Shares of the two commonest y, or of the only one.
    """

    units: float
    apart: float
    largest: tuple[float, ...]

    def evidence(self, members: int, bearing: float = 1.0) -> Evidence:
        """Count what is independent for a figure; see the function of that name."""
        # a set takes each y once: the commonest values run out of partners
        left = [
            (1.0 - sum(self.largest[: k + 1])) / (members - 1 - k)
            for k in range(min(members - 1, len(self.largest)))
        ]
        sets = self.units * min(1.0 / members, *left)
        return Evidence(self.units, max(bearing * self.units**2 * self.apart, 1.0), max(sets, 1.0))


def counted(weight: FloatArray, mass: FloatArray, copies: FloatArray | None = None) -> Counted:
    """Take from weights and ties what figures need, whichever it is; as `evidence`."""
    share = mass / mass.sum()
    common = min(2, len(share))
    largest = np.sort(np.partition(share, -common)[-common:])[::-1]
    apart = (1.0 - dot(share, share)) / 2.0
    return Counted(effective_number(weight, copies), apart, tuple(largest.tolist()))


def evidence(
    weight: FloatArray,
    mass: FloatArray,
    members: int,
    bearing: float = 1.0,
    copies: FloatArray | None = None,
) -> Evidence:
    """Count what is independent in a sample.

    Parameters
    ----------
    weight : ndarray
        Weight of each unit, row or group.
    mass : ndarray
        Weight at each distinct y.
    members : int
        Rows that the figure compares at a time, all of different y: 2 for pairs, 3 for triples.
    bearing : float
        Share of the pairs that bear the figure: ½ for the uniform IAUC, whose outer thresholds
        rest on few of them.
    copies : ndarray, optional
        Units of equal weight that each unit stands for.

    Examples
    --------
    >>> evidence(np.ones(8), np.ones(8), 2)
    Evidence(units=8.0, pairs=28.0, sets=4.0)
    >>> evidence(np.ones(8), np.array([7.0, 1.0]), 2)  # only one row differs from the others
    Evidence(units=8.0, pairs=7.0, sets=1.0)
    """
    return counted(weight, mass, copies).evidence(members, bearing)


def spread(influences: FloatArray, known: Evidence, copies: FloatArray | None = None) -> Spread:
    """Measure the spread of influences, one for each independent unit or for several alike."""
    return spread_of(moments(influences, copies), known)


def spread_of(found: tuple[float, float, float], known: Evidence) -> Spread:
    """Measure the spread by the moments of the influences."""
    units, variance, fourth = found
    df = degrees_of_freedom(units, variance, fourth)
    return Spread(variance, df, known.units, known.pairs, known.sets)


def moments(influences: FloatArray, copies: FloatArray | None) -> tuple[float, float, float]:
    """Count units, and sum the squares and fourth powers of their influences.

    An influence of several copies of a unit is the sum of theirs, which are equal.
    """
    squares = influences**2
    if copies is None:
        return len(squares), float(squares.sum()), dot(squares, squares)
    each = squares / copies
    return float(copies.sum()), float(each.sum()), float((each**2 / copies).sum())


def effective_number(weight: FloatArray, copies: FloatArray | None = None) -> float:
    """Count units that weigh differently as so many equal ones (Kish).

    Examples
    --------
    >>> effective_number(np.array([1.0, 1.0, 2.0])), effective_number(np.array([5.0, 0.0]))
    (2.6666666666666665, 1.0)
    """
    if copies is None and weight.min() == weight.max():
        return float(len(weight))
    scaled = weight / weight.max()
    squares = dot(scaled, scaled) if copies is None else (scaled**2 / copies).sum()
    return float(scaled.sum() ** 2 / squares)


def degrees_of_freedom(n: float, variance: float, fourth: float) -> float:
    """Match mean and variance of a sum of squares to those of a multiple of χ² (Satterthwaite).

    Parameters
    ----------
    n : float
        Number of units.
    variance, fourth : float
        Sum of the squares, and of their squares.
    """
    if variance <= ROUNDING**2:
        return n - 1.0
    noise = (fourth / variance**2 - 1.0 / n) * n / (n - 1.0)
    return n - 1.0 if noise <= 2.0 / (n - 1.0) else max(2.0 / noise, 1.0)


def rate_interval(estimate: float, around: Spread, alpha: float) -> tuple[float, float]:
    """Return a confidence interval, of level 1 − alpha, for a rate of concordant pairs or triples.

    Examples
    --------
    >>> low, high = rate_interval(0.5, Spread(0.01, math.inf, 90.0, 4005.0, 45.0), 0.05)
    >>> round(low, 3), round(high, 3)
    (0.313, 0.687)
    >>> low, high = rate_interval(0.9545, Spread(0.0, 99.0, 100.0, 4950.0, 50.0), 0.05)
    >>> round(low, 3), round(high, 3)
    (0.948, 0.96)
    """
    se = math.sqrt(max(around.variance, estimate * (1.0 - estimate) / around.pairs))
    return logit_interval(estimate, se, alpha, around.sets, around.df)


def logit_interval(
    estimate: float, se: float, alpha: float, sets: float, df: float = math.inf
) -> tuple[float, float]:
    """Return a confidence interval for a rate, symmetric on the logit scale.

    Parameters
    ----------
    estimate, se, alpha : float
    sets : float
        Independent sets of rows that all agree, if the estimate is 0 or 1.
    df : float
        Degrees of freedom of the standard error.

    Examples
    --------
    >>> low, high = logit_interval(0.5, 0.1, 0.05, 30)
    >>> round(low, 3), round(high, 3)
    (0.313, 0.687)
    """
    if estimate in (0.0, 1.0):
        far = (alpha / 2.0) ** (1.0 / sets)
        return (far, 1.0) if estimate else (0.0, 1.0 - far)
    centre = math.log(estimate / (1.0 - estimate))
    reach = quantile(1.0 - alpha / 2.0, df) * se / (estimate * (1.0 - estimate))
    return _logistic(centre - reach), _logistic(centre + reach)


def _logistic(x: float) -> float:
    return 0.5 * (1.0 + math.tanh(x / 2.0))


@dataclass(frozen=True)
class DifferenceTest:
    """A test of no difference, and the confidence interval of the difference."""

    statistic: float
    pvalue: float
    low: float
    high: float


def difference_test(
    difference: float, around: Spread, alpha: float, *, same: bool
) -> DifferenceTest:
    """Test a difference of two rates on the same sample.

    Parameters
    ----------
    difference : float
    around : Spread
        Of the difference.
    alpha : float
        One minus the confidence level.
    same : bool
        Whether both scores order all rows alike: they never differ then.
    """
    if same:
        return DifferenceTest(0.0, 1.0, difference, difference)
    size = min(abs(difference), 1.0)
    least = max(size * (1.0 - size), 1.0 / around.pairs) / around.pairs
    se = math.sqrt(max(around.variance, least))
    statistic = difference / se if size > ROUNDING else 0.0
    # swapping the two scores of some units has 2^units outcomes: no test on them gets lower
    pvalue = max(two_sided(statistic, around.df), 2.0 ** (1.0 - around.units), SMALLEST)
    reach = quantile(1.0 - alpha / 2.0, around.df) * se
    low, high = max(difference - reach, -1.0), min(difference + reach, 1.0)
    if 1.0 - size <= ROUNDING:
        # one score is perfect, the other reversed
        far = 2.0 * (alpha / 2.0) ** (1.0 / around.sets) - 1.0
        low, high = (min(low, far), 1.0) if difference > 0 else (-1.0, max(high, -far))
    return DifferenceTest(statistic, min(pvalue, 1.0), low, high)
