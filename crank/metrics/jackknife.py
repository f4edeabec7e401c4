"""The influence of each row on a rank figure: the jackknife.

Every figure is a smooth function θ of the case weights, so the influence of row i is
u_i = w_i ∂θ/∂w_i and the variance is Σ u_i²; of the difference of two scores, Σ (u_i − u'_i)². For
`kendall` these are the numbers of R's ``survival::concordance`` (theory §7). The uniform IAUC needs
a correction at thresholds with few rows on one side, see `_uniform_pull`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crank.kernels.order import FloatArray, dot, group_sums
from crank.metrics.direct import after, before, direct_sums
from crank.metrics.pairs import kendall_rate
from crank.metrics.profile import Weighting, concordant_weight, integrated, threshold_auc
from crank.metrics.sample import Sample

DOMINATED = 1e-6
"""Share of pairs of different rows below which a side counts as one row, its heaviest."""


def kendall_influences(sample: Sample) -> tuple[float, FloatArray]:
    """Return d_τ and the influence of each row on it."""
    rate = kendall_rate(sample)
    comparable = (sample.below + sample.above)[sample.y_rank]
    pairs = dot(sample.mass, sample.below)
    concordant = sample.won_below + sample.won_above
    return rate, sample.weight * (concordant - rate * comparable) / pairs


def iauc_influences(sample: Sample, weighting: Weighting) -> tuple[float, FloatArray]:
    """Return the IAUC and the influence of each row on it: differentiate the profile's mean.

    A row acts as a lower member, a higher member and a threshold. A threshold t weighs ``each[t]``
    for every pair around it, so a pair weighs the sum of ``each`` strictly between its responses:
    the running sum just below the higher one minus that at the lower one (theory §3).
    """
    rank, weight = sample.y_rank, sample.weight
    concordant = concordant_weight(sample)
    auc, mean = threshold_auc(sample, concordant), integrated(sample, weighting, concordant)
    pull = _triple_pull(sample, mean) if weighting == "triple" else _uniform_pull(sample, auc, mean)
    as_lower, as_higher = _as_members(sample, pull)
    owed_lower = pull.lower * sample.above * pull.expected_lower
    owed_higher = pull.higher * sample.below * pull.expected_higher
    at_threshold = pull.own * (np.nan_to_num(auc) - mean)
    constant = at_threshold - after(owed_lower) - before(owed_higher)
    return mean, weight * (as_lower + as_higher + constant[rank]) / pull.total


def _as_members(sample: Sample, pull: _Pull) -> tuple[FloatArray, FloatArray]:
    """Sum the weight of the concordant pairs in which a row is the lower, and the higher member."""
    rank, weight = sample.y_rank, sample.weight
    if sample.wide:
        sums = direct_sums(rank, sample.score_rank, weight, pull.lower, pull.higher)
        return sums.lower, sums.higher
    upto_lower, upto_higher = np.cumsum(pull.lower), np.cumsum(pull.higher)
    under_lower, under_higher = upto_lower - pull.lower, upto_higher - pull.higher
    values = np.stack((weight * under_lower[rank], weight * upto_higher[rank]))
    below = sample.order.below(values)
    above = after(sample.mass * under_lower)[rank]
    won_above = sample.concordant_above(values[:1], below[:1], above)[0]
    as_lower = won_above - upto_lower[rank] * sample.won_above
    as_higher = under_higher[rank] * sample.won_below - below[1] / 2.0
    return as_lower, as_higher


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
    return _Pull(each, each, expected, expected, pairs, dot(each, pairs))


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
    rows = np.argsort(sample.y_rank, kind="stable")
    weight, rank = sample.weight[rows], sample.y_rank[rows]
    alike = np.zeros(len(weight))  # pairs of rows that are counted as one
    if sample.copies is not None:
        copies = sample.copies[rows]
        alike = weight**2 * (copies - 1.0) / (2.0 * copies)
    factors, expected = [], []
    for mass, crossed in (
        (sample.below, before(group_sums(rank, weight * before(weight) + alike, len(pairs)))),
        (sample.above, after(group_sums(rank, weight * after(weight) + alike, len(pairs)))),
    ):
        # 1 − 1/k for Kish's k = (Σ w)² / Σ w², without a difference
        rest = np.divide(2.0 * crossed, mass**2, out=np.zeros_like(mass), where=mass > 0.0)
        several = rest > DOMINATED
        factors.append(np.divide(1.0, rest, out=np.ones_like(rest), where=several))
        expected.append(np.where(several & usable, auc, mean))
    return _Pull(
        lower=each * factors[0],
        higher=each * factors[1],
        expected_lower=expected[0],
        expected_higher=expected[1],
        own=usable.astype(np.float64),
        total=dot(each, pairs),
    )
