"""Standard errors, confidence intervals and paired tests of rank figures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from crank.checks import check_alpha
from crank.frames.alignment import check_aligned
from crank.kernels.order import FloatArray, IntArray, group_sums
from crank.metrics.figures import Figure, figure_of
from crank.metrics.groups import check_several, read_groups
from crank.metrics.intervals import (
    Evidence,
    Spread,
    difference_test,
    evidence,
    rate_interval,
    spread,
)
from crank.metrics.profile import Weighting
from crank.metrics.sample import Sample


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
    n_groups : int or None
        Groups of rows, if standard errors are clustered.
    figure : Figure
        Which one; `metric` and `weighting` name it.
    alpha : float

    Examples
    --------
    >>> found = concordance([1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 4, 3, 7, 5, 8, 6], metric="kendall")
    >>> round(found.estimate, 4), found.n, found.metric
    (0.8571, 8, 'kendall')
    """

    estimate: float
    se: float
    ci_low: float
    ci_high: float
    n: int
    figure: Figure
    alpha: float
    n_groups: int | None = None

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return self.figure.metric

    @property
    def weighting(self) -> Weighting | None:
        """Weighting of the IAUC; None for kendall."""
        return self.figure.weighting

    def __str__(self) -> str:
        return (
            f"{self.figure.full_label} {self.estimate:.4f}, se {self.se:.4f}, "
            f"{100 * (1 - self.alpha):g}% CI [{self.ci_low:.4f}, {self.ci_high:.4f}], "
            f"{_rows(self.n, self.n_groups)}"
        )


@dataclass(frozen=True)
class Comparison:
    """A paired comparison of two scores on the same rows.

    Attributes
    ----------
    difference, se : float
        Figure of the first score minus that of the second, and its standard error.
    z, pvalue : float
        Two-sided test of no difference by Student's t. The p-value is never 0: the smallest
        number of double precision, 2⁻¹⁰²², stands for anything below it.
    ci_low, ci_high : float
        Confidence interval of the difference, of level 1 − alpha, within [−1, 1].
    n : int
        Rows with positive weight.
    n_groups : int or None
        Groups of rows, if standard errors are clustered.
    figure : Figure
        Which one; `metric` and `weighting` name it.
    alpha : float

    Examples
    --------
    >>> y = [1, 2, 3, 4, 5, 6, 7, 8]
    >>> found = compare(y, [1, 2, 4, 3, 7, 5, 8, 6], [2, 1, 4, 3, 7, 5, 8, 6], metric="kendall")
    >>> round(found.difference, 4), found.pvalue > 0.05
    (0.0357, True)
    """

    difference: float
    se: float
    z: float
    pvalue: float
    ci_low: float
    ci_high: float
    n: int
    figure: Figure
    alpha: float
    n_groups: int | None = None

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return self.figure.metric

    @property
    def weighting(self) -> Weighting | None:
        """Weighting of the IAUC; None for kendall."""
        return self.figure.weighting

    def __str__(self) -> str:
        p = f"p {self.pvalue:.3g}" if self.pvalue > 1e-300 else "p < 1e-300"
        return (
            f"{self.figure.full_label} difference {self.difference:.4f}, "
            f"se {self.se:.4f}, z {self.z:.3f}, {p}, "
            f"{100 * (1 - self.alpha):g}% CI [{self.ci_low:.4f}, {self.ci_high:.4f}], "
            f"{_rows(self.n, self.n_groups)}"
        )


def concordance(
    y: ArrayLike,
    s: ArrayLike,
    *,
    metric: str | Figure = "iauc",
    weighting: Weighting = "triple",
    weights: ArrayLike | None = None,
    groups: Any = None,
    alpha: float = 0.05,
) -> Concordance:
    """Estimate `iauc` or `kendall` with standard error and confidence interval, in O(n log n).

    The interval is symmetric on the logit scale, so it stays within [0, 1], and takes its
    quantile from Student's t, with fewer degrees of freedom the fewer rows make up the variance.
    The variance that it uses is at least that of independent pairs, so heavy ties do not make a
    point of it. A perfect or a reversed ranking leaves no variance to estimate; its interval is
    the exact binomial one of the disjoint pairs (for the IAUC, triples) of rows, all of which
    agree.

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
    groups : array-like of shape (n,), optional
        Labels of rows that belong together, such as visits of one patient: only groups are
        independent then. The estimate stays as it is; influences are added up within a group
        before they are squared, as by R's ``concordance(cluster=)``.
    alpha : float
        One minus the confidence level.

    Returns
    -------
    Concordance

    Examples
    --------
    >>> y, s = [1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 4, 3, 7, 5, 8, 6]
    >>> print(concordance(y, s, metric="kendall"))
    d_τ 0.8571, se 0.0714, 95% CI [0.6017, 0.9597], n 8
    """
    figure = figure_of(metric, weighting)
    return figure_concordance(figure, y, s, weights=weights, groups=groups, alpha=alpha)


def figure_concordance(
    figure: Figure,
    y: ArrayLike,
    s: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    groups: Any = None,
    alpha: float = 0.05,
    copies: FloatArray | None = None,
    sample: Sample | None = None,
) -> Concordance:
    """Do what `concordance` does for any figure.

    ``copies`` counts the rows, of equal weight, that each row stands for; ``weights`` are those
    of all of them then. ``sample`` is what another figure read from the same arguments: what it
    sorted and summed is not done again.
    """
    check_alpha(alpha)
    if sample is None:
        sample = figure.read(y, s, weights)
    if copies is not None:
        sample = replace(sample, copies=copies)
    estimate, influences = figure.influences(sample)
    if copies is not None:
        known = figure_evidence(figure, sample.weight, sample.mass, copies)
        around = spread(influences, known, copies)
        return described(figure, estimate, around, round(copies.sum()), alpha)
    labels = _labels(groups, y, sample)
    around = _spread(figure, influences, sample, labels)
    return described(figure, estimate, around, sample.n, alpha, _count(labels))


def described(
    figure: Figure,
    estimate: float,
    around: Spread,
    n: int,
    alpha: float,
    n_groups: int | None = None,
) -> Concordance:
    """Give a figure its interval."""
    low, high = rate_interval(estimate, around, alpha)
    return Concordance(estimate, around.se, low, high, n, figure, float(alpha), n_groups)


def _labels(groups: Any, y: Any, sample: Sample) -> IntArray | None:
    """Give the groups numbers; those whose rows all weigh 0 are left out."""
    if groups is None:
        return None
    check_aligned(groups, y, "groups", "y")
    number = read_groups(groups, sample.n_given)[sample.kept]
    check_several(number)
    return np.unique(number, return_inverse=True)[1].astype(np.int64)


def _count(labels: IntArray | None) -> int | None:
    return None if labels is None else int(labels.max()) + 1


def _spread(
    figure: Figure, influences: FloatArray, sample: Sample, labels: IntArray | None
) -> Spread:
    weight = sample.weight
    if labels is not None:
        count = int(labels.max()) + 1
        influences, weight = (group_sums(labels, part, count) for part in (influences, weight))
    return spread(influences, figure_evidence(figure, weight, sample.mass))


def figure_evidence(
    figure: Figure, weight: FloatArray, mass: FloatArray, copies: FloatArray | None = None
) -> Evidence:
    """Count what is independent, for a figure, among units of some weight."""
    return evidence(weight, mass, members=figure.members, bearing=figure.bearing, copies=copies)


def compare(
    y: ArrayLike,
    s1: ArrayLike,
    s2: ArrayLike,
    *,
    metric: str | Figure = "iauc",
    weighting: Weighting = "triple",
    weights: ArrayLike | None = None,
    groups: Any = None,
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
    metric, weighting, weights, groups, alpha
        As in `concordance`.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> y = [1, 2, 3, 4, 5, 6, 7, 8]
    >>> good, poor = [1, 2, 4, 3, 7, 5, 8, 6], [4, 8, 1, 6, 2, 7, 3, 5]
    >>> result = compare(y, good, poor, metric="kendall")
    >>> round(result.difference, 4), round(result.pvalue, 2)
    (0.3571, 0.07)
    >>> compare(y, good, good).pvalue
    1.0
    """
    figure = figure_of(metric, weighting)
    check_alpha(alpha)
    first = figure.read(y, s1, weights, "s1")
    second = figure.read(y, s2, weights, "s2")
    estimate1, influences1 = figure.influences(first)
    estimate2, influences2 = figure.influences(second)
    difference = estimate1 - estimate2
    labels = _labels(groups, y, first)
    around = _spread(figure, influences1 - influences2, first, labels)
    same = np.array_equal(first.score_rank, second.score_rank)
    test = difference_test(difference, around, alpha, same=same)
    return Comparison(
        difference=difference,
        se=around.se,
        z=test.statistic,
        pvalue=test.pvalue,
        ci_low=test.low,
        ci_high=test.high,
        n=first.n,
        figure=figure,
        alpha=float(alpha),
        n_groups=_count(labels),
    )


def _rows(n: int, n_groups: int | None) -> str:
    return f"n {n}" if n_groups is None else f"n {n} in {n_groups} groups"


def influence(
    y: ArrayLike,
    s: ArrayLike,
    *,
    metric: str | Figure = "iauc",
    weighting: Weighting = "triple",
    weights: ArrayLike | None = None,
) -> FloatArray:
    """Influence of each row on `iauc` or `kendall`.

    For `kendall` and the triple IAUC it is the weight w_i times the derivative of the figure by w_i
    (the infinitesimal jackknife), and all influences add up to 0. For the uniform IAUC it is what
    leaving the row out would take away, (1 − 1/(n − 2)) (θ − θ₍₋ᵢ₎) if nothing ties in y and
    weights are equal: thresholds with few rows on one side make the derivative too small. The sum
    of squares is the variance that `concordance` reports, and that of the squared differences
    between two scores the variance that `compare` uses.

    Parameters
    ----------
    y, s, metric, weighting, weights
        As in `concordance`.

    Returns
    -------
    ndarray of float64, shape (n,)
        0 for rows of weight 0.

    Examples
    --------
    >>> influence([1, 2, 3, 4], [1, 2, 4, 3], metric="kendall").round(4).tolist()
    [0.0833, 0.0833, -0.0833, -0.0833]
    """
    return figure_of(metric, weighting).influence(y, s, weights)[1]
