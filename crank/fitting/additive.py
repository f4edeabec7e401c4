"""Fit an additive ranker: choose how smooth its terms are, fit, and measure what is unsure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crank.criteria import require_distinct
from crank.design.penalties import ColumnPenalties
from crank.design.slopes import Slopes
from crank.fitting.bounded import Bounds, freedom_of
from crank.fitting.columns import Columns, check_columns, standardised
from crank.fitting.folds import some_rows
from crank.fitting.linear import Groups, first_width, refined, sandwich, settled, summarised
from crank.fitting.pairs import Floats, Pairs
from crank.fitting.smoothing import (
    HIGHEST,
    LOWEST,
    WIDTH,
    Penalty,
    Smoothed,
    choose_smoothing,
    independent,
    lost_freedom,
    penalised,
)
from crank.growing.matrix import FloatArray
from crank.kernels.links import LINKS, Link
from crank.rankers.additive import AdditiveOptions, AdditiveRanker
from crank.rankers.linear import LinearOptions, linear_score
from crank.ranks import Ranks

ROWS = 10_000
"""Smoothing is chosen on no more rows than this."""
FEWEST = 50
"""Fewer distinct rows do not choose their smoothing; it is `CAUTIOUS` for all terms."""
CAUTIOUS = 0.01


@dataclass(frozen=True)
class Sample:
    """What folds and fits share: the design in rank order, standardised, and its penalties.

    Attributes
    ----------
    columns : Columns
    ranks : Ranks
    penalty : Penalty
        Of the kept columns, in units of their standard deviations.
    groups : ndarray of int or None
        Group of each position.
    bounds : Bounds or None
        What coefficients of monotone terms obey.
    """

    columns: Columns
    ranks: Ranks
    penalty: Penalty
    groups: Groups | None
    bounds: Bounds | None = None

    def pairs(self, link: Link, width: float) -> Pairs:
        """See the sample as all its pairs, without a penalty."""
        return Pairs(self.columns.Z, self.ranks, link, 0.0, width, bounds=self.bounds)


def prepared(
    X: FloatArray,
    ranks: Ranks,
    penalties: ColumnPenalties,
    options: AdditiveOptions,
    groups: Groups | None,
    slopes: Slopes | None = None,
) -> Sample:
    """Standardise the columns and put the penalties in the same units."""
    size = options.penalty * penalties.size
    columns = standardised(X[ranks.row], ranks.weight, all_varying=bool(np.all(size > 0.0)))
    kept = columns.kept
    # a coefficient in its own unit is that of the standardised column over its scale
    unit = np.where(penalties.scaled[kept], 1.0, columns.scale**2)
    penalty = Penalty(
        penalties.bending[kept] / unit,
        size[kept] / unit,
        penalties.term[kept],
        penalties.caution[kept],
    )
    bounds = Bounds.of(slopes, kept, columns.scale)
    return Sample(columns, ranks, penalty, None if groups is None else groups[ranks.row], bounds)


def few_of(sample: Sample, seed: int, most: int = ROWS) -> NDArray[np.bool_]:
    """Choose a random part of many rows, by position; groups stay whole."""
    n = len(sample.ranks.row)
    return some_rows(n, most, sample.groups, np.random.default_rng(seed))


def subsample(sample: Sample, keep: NDArray[np.bool_]) -> Sample:
    """Take some rows of a sample, numbered anew."""
    if keep.all():
        return sample
    columns, labels = sample.columns, sample.groups
    number = None if labels is None else np.unique(labels[keep], return_inverse=True)[1]
    part = replace(columns, Z=columns.Z[keep])
    ranks = replace(sample.ranks.subset(keep), row=np.arange(len(part.Z)))
    return Sample(part, ranks, sample.penalty, number, sample.bounds)


def fit_additive(
    X: FloatArray,
    ranks: Ranks,
    penalties: ColumnPenalties,
    *,
    options: AdditiveOptions,
    groups: Groups | None = None,
    names: Sequence[str] = (),
    rugs: Mapping[str, Floats] | None = None,
    slopes: Slopes | None = None,
) -> AdditiveRanker:
    """Fit an additive ranker to arrays that have been checked.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Design without missing values.
    ranks : Ranks
        Of the responses of its rows.
    penalties : ColumnPenalties
        Of its columns.
    options : AdditiveOptions
    groups : ndarray of int, shape (n,), optional
        Number of each row's group, from 0: only groups are independent.
    names : sequence of str
        Of the columns, for messages.
    rugs : mapping of str to ndarray, optional
        Some training values of each factor of numbers.
    slopes : Slopes, optional
        Inequalities that the coefficients obey, for monotone terms.
    """
    require_distinct(ranks)
    check_columns(X.shape[1])
    sample = prepared(X, ranks, penalties, options, groups, slopes)
    if options.smoothing is None and has_few_rows(X, ranks):
        options = replace(options, pairs=0, smoothing=CAUTIOUS)
    if options.smoothing is None:
        found = tuned(sample, options)
    else:
        fixed = np.full(sample.penalty.n_terms, options.smoothing)
        found = Smoothed(np.zeros(len(sample.penalty.term)), fixed, fixed)
    return replace(solved(X, sample, found, options, names), rugs=rugs or {})


def has_few_rows(X: FloatArray, ranks: Ranks) -> bool:
    """Tell whether there are fewer than `FEWEST` distinct rows; copies say nothing new.

    Examples
    --------
    >>> from crank.ranks import rank
    >>> has_few_rows(np.zeros((100, 1)), rank(np.arange(100.0) // 3))
    True
    """
    if ranks.n_distinct >= FEWEST:
        return False
    whole = np.column_stack([ranks.group, X[ranks.row]])
    return all(
        len(np.unique(part, axis=0)) < FEWEST for part in (whole[:: len(X) // 1000 + 1], whole)
    )


def tuned(sample: Sample, options: AdditiveOptions) -> Smoothed:
    """Choose the smoothing of every term, on a part of many rows."""
    part = subsample(sample, few_of(sample, options.random_state))
    pairs = part.pairs(LINKS[options.link], WIDTH)
    found = choose_smoothing(pairs, part.penalty, part.groups)
    # the best smoothing of a larger sample is smaller, as variances are
    share = part.ranks.total / sample.ranks.total
    return replace(found, smoothing=np.clip(found.smoothing * share, LOWEST, HIGHEST))


def solved(
    X: FloatArray,
    sample: Sample,
    found: Smoothed,
    options: AdditiveOptions,
    names: Sequence[str],
) -> AdditiveRanker:
    """Fit all rows with a known smoothing."""
    columns, ranks = sample.columns, sample.ranks
    penalty = sample.penalty.per_column(found.smoothing)
    width = first_width(len(X))
    pairs = penalised(sample.pairs(LINKS[options.link], width), penalty)
    labels = [str(names[k]) if len(names) else f"column {k}" for k in columns.kept]
    b = settled(pairs, found.b, labels)
    if pairs.width and len(b):
        b, vcov = refined(pairs, b, sample.groups, labels)
    else:
        vcov, _ = sandwich(pairs, b, sample.groups)
    caution = sample.penalty.caution if options.smoothing is None else np.ones(len(b))
    known = precision(pairs, b, vcov, independent(pairs, sample.groups), caution)
    p, kept, scale = X.shape[1], columns.kept, columns.scale
    unit = np.outer(scale, scale)
    coef = _widened(b / scale, kept, p)
    score = linear_score(X, coef, columns.centre)[ranks.row]
    reference, share = summarised(score, ranks.weight)
    return AdditiveRanker(
        options=LinearOptions(options.link, options.penalty, monotone=options.monotone),
        coef=coef,
        vcov=_widened(known.vcov / unit, kept, p),
        centre=columns.centre,
        covariance=columns.covariance,
        reference=reference,
        share=share,
        n_groups=None if sample.groups is None else int(sample.groups.max()) + 1,
        smoothing=options.smoothing,
        column_penalty=_widened(penalty * scale**2, kept, p),
        freedom=_widened(known.freedom, kept, p),
        uncertainty=_widened(known.uncertainty / unit, kept, p),
        rugs={},
    )


def _widened(values: Floats, kept: NDArray[np.intp], p: int) -> Floats:
    """Put values of the kept columns into an array for all of them, NaN elsewhere."""
    whole = np.full((p,) * values.ndim, np.nan)
    whole[np.ix_(*[kept] * values.ndim)] = values
    return whole


@dataclass(frozen=True)
class Precision:
    """How sure penalised coefficients are.

    Attributes
    ----------
    vcov : ndarray of shape (k, k)
        Covariance around their mean: a sandwich.
    uncertainty : ndarray of shape (k, k)
        The same plus what the penalty's bias is expected to add.
    freedom : ndarray of shape (k,)
        Effective degrees of freedom.
    """

    vcov: Floats
    uncertainty: Floats
    freedom: Floats


def precision(pairs: Pairs, b: Floats, vcov: Floats, n: int, caution: Floats) -> Precision:
    """Measure bias and freedom at the solution.

    With information J, penalty P and the sum V of squared influences, coefficients vary by
    (J+P)⁻¹ V (J+P)⁻¹. A penalty is what a prior of variance P⁻¹ would be if V were J; V is about
    c J (pairs are not independent), so its bias adds c (J+P)⁻¹ P (J+P)⁻¹, as in Nychka (1988),
    and κ times as much where out of caution the penalty is κ times that of the prior.
    Influences on the rows that were fitted are too small: bands are wider by what the fit used
    of n independent rows.

    Inequalities that bind are no help here: a fit that obeys them is the nearest to one that need
    not, so it is no farther from a truth that obeys them, and the covariance of the latter is on
    the careful side. Degrees of freedom do count them.
    """
    if not len(b):
        empty = np.zeros((0, 0))
        return Precision(empty, empty, np.zeros(0))
    _, information = pairs.newton(b)
    inverse = np.linalg.inv(information)
    penalty = np.broadcast_to(pairs.ridge, len(b))
    freedom = freedom_of(pairs.bounds, b, information, penalty)[1]
    total = float(np.clip(1.0 - np.diagonal(inverse) * penalty, 0.0, 1.0).sum())
    # trace of (J+P)⁻¹V over that of (J+P)⁻¹J
    inflation = float(np.sum(vcov * information)) / total if total > 0.0 else 0.0
    vcov = (vcov + vcov.T) / 2.0
    uncertainty = vcov + inflation * (inverse * (penalty * caution)) @ inverse.T
    uncertainty *= lost_freedom(n, total) / 2.0
    return Precision(vcov, uncertainty + uncertainty.T, freedom)
