"""The influence of each row on a rank figure: the jackknife.

Every figure is a smooth function θ of the case weights, so the influence of row i is
u_i = w_i ∂θ/∂w_i and the variance is Σ u_i²; of the difference of two scores, Σ (u_i − u'_i)². For
`kendall` these are the numbers of R's ``survival::concordance`` (theory §7). The uniform IAUC needs
a correction at thresholds with few rows on one side, see `_uniform_pull`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from crank.errors import OptionError, did_you_mean, listed
from crank.kernels.order import FloatArray, group_sums
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

    A row acts as a lower member, a higher member and a threshold. A threshold t weighs ``each[t]``
    for every pair around it, so a pair weighs the sum of ``each`` strictly between its responses:
    the running sum just below the higher one minus that at the lower one (theory §3).
    """
    rank, weight = sample.y_rank, sample.weight
    auc, mean = threshold_auc(sample), integrated(sample, weighting)
    pull = _triple_pull(sample, mean) if weighting == "triple" else _uniform_pull(sample, auc, mean)
    upto_lower, upto_higher = np.cumsum(pull.lower), np.cumsum(pull.higher)
    under_lower, under_higher = upto_lower - pull.lower, upto_higher - pull.higher

    values = np.stack((weight * under_lower[rank], weight * upto_higher[rank]))
    sums = sample.order.below(values)
    above = _suffix_sums(sample.mass * under_lower)[rank]
    won_above = sample.concordant_above(values[:1], sums[:1], above)[0]
    as_lower = won_above - upto_lower[rank] * sample.won_above
    as_higher = under_higher[rank] * sample.won_below - sums[1] / 2.0

    owed_lower = pull.lower * sample.above * pull.expected_lower
    owed_higher = pull.higher * sample.below * pull.expected_higher
    at_threshold = pull.own * (np.nan_to_num(auc) - mean)
    constant = at_threshold - _suffix_sums(owed_lower) - (np.cumsum(owed_higher) - owed_higher)
    return mean, weight * (as_lower + as_higher + constant[rank]) / pull.total


@dataclass(frozen=True, eq=False)
class _Pull:
    """How the thresholds, one by one, respond to the weight of a row.

    Attributes
    ----------
    lower, higher : ndarray
        Weight of each pair around the threshold, for its lower and for its higher member.
    expected_lower, expected_higher : ndarray
        The rate of concordant pairs at which such a member leaves the figure as it is.
    own : ndarray
        Weight of the threshold's own AUC, for the rows at it.
    total : float
        What the weights of all thresholds add up to.
    """

    lower: FloatArray
    higher: FloatArray
    expected_lower: FloatArray
    expected_higher: FloatArray
    own: FloatArray
    total: float


def _triple_pull(sample: Sample, mean: float) -> _Pull:
    pairs = sample.below * sample.above
    each = np.where(pairs > 0.0, sample.mass, 0.0)
    expected = np.full(len(each), mean)
    return _Pull(each, each, expected, expected, pairs, float(each @ pairs))


def _uniform_pull(sample: Sample, auc: FloatArray, mean: float) -> _Pull:
    """Respond as if a row were left out.

    The derivative sees no variance in an AUC that rests on one row, and too little in one that
    rests on few: it would understate the variance by a tenth to a fifth at n = 100. Leaving out one
    of k rows moves their mean k / (k − 1) times as far; leaving out the only one removes the
    threshold. Unequal weights make rows fewer (Kish).
    """
    pairs = sample.below * sample.above
    usable = pairs > 0.0
    each = np.divide(sample.mass, pairs, out=np.zeros_like(pairs), where=usable)
    squares = group_sums(sample.y_rank, sample.weight**2, len(pairs))
    factors, expected = [], []
    for mass, square in (
        (sample.below, np.cumsum(squares) - squares),
        (sample.above, _suffix_sums(squares)),
    ):
        rest = 1.0 - np.divide(square, mass**2, out=np.ones_like(mass), where=mass > 0.0)
        several = rest > 1e-12
        factors.append(np.divide(1.0, rest, out=np.ones_like(rest), where=several))
        expected.append(np.where(several & usable, auc, mean))
    return _Pull(
        lower=each * factors[0],
        higher=each * factors[1],
        expected_lower=expected[0],
        expected_higher=expected[1],
        own=usable.astype(np.float64),
        total=float(each @ pairs),
    )


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
