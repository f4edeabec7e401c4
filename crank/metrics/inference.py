"""Standard errors, confidence intervals and paired tests of rank figures."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from crank.errors import OptionError
from crank.metrics.jackknife import Metric, check_metric, metric_sample, row_influences
from crank.metrics.profile import Weighting
from crank.metrics.sample import Sample

# standard errors and differences below it are rounding
NEGLIGIBLE = 1e-13


@dataclass(frozen=True)
class Concordance:
    """A rank figure with its uncertainty.

    Attributes
    ----------
    estimate, se : float
        The figure and its standard error.
    ci_low, ci_high : float
        Confidence interval of level 1 − alpha, within [0, 1].
    n : int
        Rows with positive weight.
    metric : {"iauc", "kendall"}
    weighting : {"triple", "uniform"} or None
        Weighting of the IAUC; None for kendall.
    alpha : float
    """

    estimate: float
    se: float
    ci_low: float
    ci_high: float
    n: int
    metric: Metric
    weighting: Weighting | None
    alpha: float

    def __str__(self) -> str:
        return (
            f"{_label(self.metric, self.weighting)} {self.estimate:.4f}, se {self.se:.4f}, "
            f"{100 * (1 - self.alpha):g}% CI [{self.ci_low:.4f}, {self.ci_high:.4f}], n {self.n}"
        )


@dataclass(frozen=True)
class Comparison:
    """A paired comparison of two scores on the same rows.

    Attributes
    ----------
    difference, se : float
        Figure of the first score minus that of the second, and its standard error.
    z, pvalue : float
        Test of no difference, two-sided, by the normal law.
    ci_low, ci_high : float
        Confidence interval of the difference, of level 1 − alpha, within [−1, 1].
    n : int
        Rows with positive weight.
    metric : {"iauc", "kendall"}
    weighting : {"triple", "uniform"} or None
        Weighting of the IAUC; None for kendall.
    alpha : float
    """

    difference: float
    se: float
    z: float
    pvalue: float
    ci_low: float
    ci_high: float
    n: int
    metric: Metric
    weighting: Weighting | None
    alpha: float

    def __str__(self) -> str:
        return (
            f"{_label(self.metric, self.weighting)} difference {self.difference:.4f}, "
            f"se {self.se:.4f}, z {self.z:.3f}, p {self.pvalue:.3g}, "
            f"{100 * (1 - self.alpha):g}% CI [{self.ci_low:.4f}, {self.ci_high:.4f}], n {self.n}"
        )


def concordance(
    y: ArrayLike,
    s: ArrayLike,
    *,
    metric: Metric = "iauc",
    weighting: Weighting = "triple",
    weights: ArrayLike | None = None,
    alpha: float = 0.05,
) -> Concordance:
    """Estimate `iauc` or `kendall` with standard error and confidence interval, in O(n log n).

    The interval is symmetric on the logit scale, so it stays within [0, 1]. A perfect or a reversed
    ranking leaves no variance to estimate; its interval is then the exact binomial one of the
    disjoint pairs (for the IAUC, triples) of rows, all of which agree.

    The figure is honest for a score that was not fitted on the same rows.

    Parameters
    ----------
    y : array-like of shape (n,)
        Responses: two distinct values or more for kendall, three for the IAUC.
    s : array-like of shape (n,)
        Scores.
    metric : {"iauc", "kendall"}
    weighting : {"triple", "uniform"}
        Weighting of the IAUC, see `iauc`; kendall has none.
    weights : array-like of shape (n,), optional
        Case weights. Multiplying all by a number changes nothing: a row is one observation,
        whatever its weight.
    alpha : float
        One minus the confidence level.

    Returns
    -------
    Concordance

    Examples
    --------
    >>> y, s = [1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 4, 3, 7, 5, 8, 6]
    >>> print(concordance(y, s, metric="kendall"))
    d_τ 0.8571, se 0.0714, 95% CI [0.6567, 0.9496], n 8
    """
    check_metric(metric, weighting)
    check_alpha(alpha)
    return sample_concordance(metric_sample(y, s, weights, metric, "s"), metric, weighting, alpha)


def sample_concordance(
    sample: Sample, metric: Metric, weighting: Weighting = "triple", alpha: float = 0.05
) -> Concordance:
    """Do what `concordance` does with a sample that was read before: several figures share it."""
    estimate, influences = row_influences(sample, metric, weighting)
    se = math.sqrt(float(influences @ influences))
    size = _independent_sets(sample, metric)
    low, high = logit_interval(estimate, se, alpha, size)
    return Concordance(
        estimate, se, low, high, sample.n, metric, _named(metric, weighting), float(alpha)
    )


def compare(
    y: ArrayLike,
    s1: ArrayLike,
    s2: ArrayLike,
    *,
    metric: Metric = "iauc",
    weighting: Weighting = "triple",
    weights: ArrayLike | None = None,
    alpha: float = 0.05,
) -> Comparison:
    """Test whether one score ranks better than another on the same rows.

    The analogue of DeLong's test for a continuous response: the covariance of the two figures comes
    from the influence of each row on both.

    Parameters
    ----------
    y : array-like of shape (n,)
        Responses.
    s1, s2 : array-like of shape (n,)
        The two scores of each row.
    metric, weighting, weights, alpha
        As in `concordance`.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> y = [1, 2, 3, 4, 5, 6, 7, 8]
    >>> good, poor = [1, 2, 4, 3, 7, 5, 8, 6], [4, 8, 1, 6, 2, 7, 3, 5]
    >>> result = compare(y, good, poor, metric="kendall")
    >>> round(result.difference, 4), result.pvalue < 0.05
    (0.3571, True)
    >>> compare(y, good, good).pvalue
    1.0
    """
    check_metric(metric, weighting)
    check_alpha(alpha)
    first = metric_sample(y, s1, weights, metric, "s1")
    second = metric_sample(y, s2, weights, metric, "s2")
    estimate1, influences1 = row_influences(first, metric, weighting)
    estimate2, influences2 = row_influences(second, metric, weighting)
    difference = estimate1 - estimate2
    apart = influences1 - influences2
    se = math.sqrt(float(apart @ apart))
    if se > NEGLIGIBLE:
        z = difference / se
    else:  # perfect, reversed or constant scores, or the same one twice
        z = math.copysign(math.inf, difference) if abs(difference) > NEGLIGIBLE else 0.0
    reach = _normal_quantile(1.0 - alpha / 2.0) * se
    return Comparison(
        difference=difference,
        se=se,
        z=z,
        pvalue=math.erfc(abs(z) / math.sqrt(2.0)),
        ci_low=max(difference - reach, -1.0),
        ci_high=min(difference + reach, 1.0),
        n=first.n,
        metric=metric,
        weighting=_named(metric, weighting),
        alpha=float(alpha),
    )


def logit_interval(estimate: float, se: float, alpha: float, size: float) -> tuple[float, float]:
    """Return a confidence interval for a rate, symmetric on the logit scale.

    Parameters
    ----------
    estimate, se, alpha : float
    size : float
        Independent sets of rows that all agree, if the estimate is 0 or 1.

    Examples
    --------
    >>> low, high = logit_interval(0.5, 0.1, 0.05, 30)
    >>> round(low, 3), round(high, 3)
    (0.313, 0.687)
    """
    if estimate in (0.0, 1.0):
        far = (alpha / 2.0) ** (1.0 / size)
        return (far, 1.0) if estimate else (0.0, 1.0 - far)
    centre = math.log(estimate / (1.0 - estimate))
    reach = _normal_quantile(1.0 - alpha / 2.0) * se / (estimate * (1.0 - estimate))
    return _logistic(centre - reach), _logistic(centre + reach)


def _logistic(x: float) -> float:
    return 0.5 * (1.0 + math.tanh(x / 2.0))


def _independent_sets(sample: Sample, metric: Metric) -> float:
    """Disjoint pairs or triples of rows; unequal weights make rows fewer (Kish)."""
    scaled = sample.weight / sample.weight.max()
    effective = float(scaled.sum() ** 2 / (scaled @ scaled))
    return max(effective / (2 if metric == "kendall" else 3), 1.0)


def _normal_quantile(probability: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(probability)


def _named(metric: Metric, weighting: Weighting) -> Weighting | None:
    return None if metric == "kendall" else weighting


def _label(metric: Metric, weighting: Weighting | None) -> str:
    return "d_τ" if metric == "kendall" else f"IAUC ({weighting})"


def check_alpha(alpha: object) -> None:
    """Raise unless alpha can be one minus a confidence level."""
    if not isinstance(alpha, int | float | np.floating) or not 0.0 < alpha < 1.0:
        raise OptionError(
            f"alpha must be a number between 0 and 1. Got {alpha!r}. "
            "It is one minus the confidence level: 0.05 for 95%."
        )
