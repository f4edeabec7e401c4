"""The influence of each row on a rank figure: the infinitesimal jackknife.

Every figure is a smooth function θ of the case weights, so the influence of row i is
u_i = w_i ∂θ/∂w_i and the variance is Σ u_i²; of the difference of two scores, Σ (u_i − u'_i)². For
`kendall` these are the numbers of R's ``survival::concordance`` (theory §7).
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from crank.errors import OptionError, did_you_mean, listed
from crank.kernels.order import FloatArray
from crank.metrics.pairs import kendall_rate
from crank.metrics.profile import Weighting, check_weighting, integrated, threshold_auc
from crank.metrics.sample import Sample, read_sample

Metric = Literal["iauc", "kendall"]


def influence(
    y: ArrayLike,
    s: ArrayLike,
    *,
    metric: Metric = "iauc",
    weighting: Weighting = "triple",
    weights: ArrayLike | None = None,
) -> FloatArray:
    """Influence of each row on `iauc` or `kendall`: w_i times the derivative by its weight w_i.

    Influences add up to 0; the sum of their squares is the variance that `concordance` reports, and
    that of the squared differences between two scores the variance that `compare` uses.

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
    check_metric(metric, weighting)
    sample = metric_sample(y, s, weights, metric, "s")
    result = np.zeros(sample.n_given)
    result[sample.kept] = row_influences(sample, metric, weighting)[1]
    return result


def metric_sample(
    y: ArrayLike, s: ArrayLike, weights: ArrayLike | None, metric: Metric, score_name: str
) -> Sample:
    """Read the arguments that a metric is to be computed from."""
    distinct = 2 if metric == "kendall" else 3
    return read_sample(y, s, weights, distinct=distinct, purpose=metric, score_name=score_name)


def row_influences(
    sample: Sample, metric: Metric, weighting: Weighting
) -> tuple[float, FloatArray]:
    """Return a figure and the influence of each row of the sample on it."""
    if metric == "kendall":
        return _kendall_influences(sample)
    return _iauc_influences(sample, weighting)


def _kendall_influences(sample: Sample) -> tuple[float, FloatArray]:
    rate = kendall_rate(sample)
    comparable = (sample.below + sample.above)[sample.y_rank]
    pairs = sample.mass @ sample.below
    concordant = sample.won_below + sample.won_above
    return rate, sample.weight * (concordant - rate * comparable) / pairs


def _iauc_influences(sample: Sample, weighting: Weighting) -> tuple[float, FloatArray]:
    """Differentiate the weighted mean of the AUC profile.

    A row acts as a higher member, a lower member and a threshold. A threshold t weighs `each[t]`
    for every pair around it, so a pair weighs the sum of `each` strictly between its responses:
    the value of `upto` just below the higher one minus that at the lower one (theory §3).
    """
    rank, below, above, auc = sample.y_rank, sample.below, sample.above, threshold_auc(sample)
    mean = integrated(sample, weighting)
    inner = slice(1, -1)
    each, expected, own = np.zeros_like(auc), np.zeros_like(auc), np.zeros_like(auc)
    pairs = (below * above)[inner]
    if weighting == "triple":
        each[inner], expected[inner], own[inner] = sample.mass[inner], mean, pairs
    else:
        # dividing by the pairs of a threshold makes the derivative of AUC_t subtract AUC_t itself
        each[inner], expected[inner], own[inner] = sample.mass[inner] / pairs, auc[inner], 1.0
    total = float((each * below * above).sum())
    own[inner] *= auc[inner] - mean

    upto = np.cumsum(each)
    upto_lower = upto - each
    values = np.stack((sample.weight * upto[rank], sample.weight * upto_lower[rank]))
    sums = sample.order.below(values)
    as_higher = upto_lower[rank] * sample.won_below - sums[0] / 2.0
    weight_above = _suffix_sums(sample.mass * upto_lower)[rank]
    won_above = sample.concordant_above(values[1:], sums[1:], weight_above)[0]
    as_lower = won_above - upto[rank] * sample.won_above

    expected_higher = np.cumsum(each * below * expected) - each * below * expected
    expected_lower = _suffix_sums(each * above * expected)
    at_threshold = own - expected_higher - expected_lower
    return mean, sample.weight * (as_higher + as_lower + at_threshold[rank]) / total


def _suffix_sums(values: FloatArray) -> FloatArray:
    """Sum of the values after each one."""
    sums: FloatArray = np.cumsum(values[::-1])[::-1] - values
    return sums


def check_metric(metric: object, weighting: object) -> None:
    """Raise unless both names are known."""
    allowed = get_args(Metric)
    if metric not in allowed:
        raise OptionError(
            f"metric must be one of {listed(map(repr, allowed))}. Got {metric!r}."
            f"{did_you_mean(metric, allowed)}"
        )
    check_weighting(weighting)
