"""Fit an additive ranker: choose how smooth it is, fit its columns, measure what is left unsure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crank.criteria import require_distinct
from crank.design.penalties import ColumnPenalties
from crank.fitting.columns import Columns, check_columns, standardised
from crank.fitting.estimate import Judged, pooled_estimate
from crank.fitting.folds import fold_count, grouped_folds, stratified_folds
from crank.fitting.linear import Groups, first_width, refined, sandwich, settled, summarised
from crank.fitting.pairs import Floats, Pairs
from crank.fitting.smoothing import Choice, Fold, choose_smoothing, folds_of, penalised
from crank.growing.matrix import FloatArray
from crank.kernels.links import LINKS
from crank.metrics.figures import figures
from crank.rankers.additive import AdditiveOptions, AdditiveRanker
from crank.rankers.linear import LinearOptions, linear_score
from crank.rankers.validation import Estimate
from crank.ranks import Ranks

ROWS = 10_000
"""Smoothing is chosen on no more rows than this."""
FEWEST = 50
"""Below so many rows smoothing is not chosen but `CAUTIOUS`."""
CAUTIOUS = 0.01


@dataclass(frozen=True)
class Sample:
    """What folds and fits share: the design in rank order, standardised, and its penalties.

    Attributes
    ----------
    columns : Columns
    ranks : Ranks
    bending, ridge : ndarray of shape (k,)
        Of the kept columns, in units of their standard deviations.
    groups : ndarray of int or None
        Group of each position.
    folds : ndarray of int or None
        Fold in which each position is held out, -1 for none, if they were given.
    """

    columns: Columns
    ranks: Ranks
    bending: Floats
    ridge: Floats
    groups: Groups | None
    folds: NDArray[np.intp] | None = None


def prepared(
    X: FloatArray,
    ranks: Ranks,
    penalties: ColumnPenalties,
    options: AdditiveOptions,
    groups: Groups | None,
) -> Sample:
    """Standardise the columns and put the penalties in the same units."""
    size = options.penalty * penalties.size
    columns = standardised(X[ranks.row], ranks.weight, all_varying=bool(np.all(size > 0.0)))
    kept = columns.kept
    # a coefficient in its own unit is that of the standardised column over its scale
    unit = np.where(penalties.scaled[kept], 1.0, columns.scale**2)
    return Sample(
        columns,
        ranks,
        penalties.bending[kept] / unit,
        size[kept] / unit,
        None if groups is None else groups[ranks.row],
    )


def fit_additive(
    X: FloatArray,
    ranks: Ranks,
    penalties: ColumnPenalties,
    *,
    options: AdditiveOptions,
    groups: Groups | None = None,
    names: Sequence[str] = (),
    rugs: Mapping[str, Floats] | None = None,
    folds: NDArray[np.intp] | None = None,
) -> tuple[AdditiveRanker, dict[str, Estimate]]:
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
        Number of each row's group, from 0; folds keep groups whole, and only groups are
        independent.
    names : sequence of str
        Of the columns, for messages.
    rugs : mapping of str to ndarray, optional
        Some training values of each factor of numbers.
    folds : ndarray of int, shape (n,), optional
        Number of the fold in which each row is held out, -1 for none; drawn by default.

    Returns
    -------
    ranker : AdditiveRanker
    crossvalidated : dict of Estimate
        Held-out figures; in each fold the smoothing is what the other folds choose. Empty if the
        smoothing was given.
    """
    require_distinct(ranks)
    check_columns(X.shape[1])
    sample = prepared(X, ranks, penalties, options, groups)
    if folds is not None:
        sample = replace(sample, folds=folds[ranks.row])
    smoothing, start = options.smoothing, np.zeros(len(sample.bending))
    held: dict[str, Estimate] = {}
    if smoothing is None:
        smoothing, start, held = tuned(sample, options)
    ranker = solved(X, sample, smoothing, options, names, start)
    return replace(ranker, rugs=rugs or {}), held


def tuned(sample: Sample, options: AdditiveOptions) -> tuple[float, Floats, dict[str, Estimate]]:
    """Choose the smoothing; return it, coefficients to start from, and held-out figures."""
    part = some_rows(sample, options.random_state)
    start = np.zeros(len(sample.bending))
    small = part.folds is None and len(part.ranks.row) < FEWEST
    if not sample.bending.any() or small or part.ranks.n_distinct < 4:
        return CAUTIOUS, start, {}
    folds = dealt(part, options)
    choice = choose_smoothing(part.columns.Z, folds, part.bending, part.ridge)
    share = part.ranks.total / sample.ranks.total
    best = choice.best
    # the best smoothing of a larger sample is smaller, as variances are
    return (
        choice.grid[best] * share,
        choice.coefs[:, best].mean(axis=0),
        held_out(choice, folds, part),
    )


def some_rows(sample: Sample, seed: int) -> Sample:
    """Take a random part of many rows; groups stay whole."""
    n = len(sample.ranks.row)
    if n <= ROWS:
        return sample
    rng, labels = np.random.default_rng(seed), sample.groups
    unit = np.arange(n) if labels is None else labels
    keep = rng.random(int(unit.max()) + 1)[unit] < ROWS / n
    columns = sample.columns
    part = Columns(columns.Z[keep], columns.kept, columns.centre, columns.scale, columns.covariance)
    number = None if labels is None else np.unique(labels[keep], return_inverse=True)[1]
    folds = None if sample.folds is None else sample.folds[keep]
    return Sample(part, sample.ranks.subset(keep), sample.bending, sample.ridge, number, folds)


def dealt(sample: Sample, options: AdditiveOptions) -> list[Fold]:
    """Deal the rows out to folds."""
    ranks, rng = sample.ranks, np.random.default_rng(options.random_state)
    if sample.folds is not None:
        fold = sample.folds
    elif sample.groups is None:
        fold = stratified_folds(ranks, fold_count(ranks, options.cv), rng)
    else:
        count = fold_count(ranks, options.cv, sample.groups)
        fold = grouped_folds(ranks, sample.groups, count, rng)
    return folds_of(sample.columns.Z, ranks, LINKS[options.link], fold)


def held_out(choice: Choice, folds: Sequence[Fold], sample: Sample) -> dict[str, Estimate]:
    """Pool the figures of the folds, each with the smoothing that the others choose."""
    Z, found, judged = sample.columns.Z, {}, []
    for k, fold in enumerate(folds):
        b = choice.coefs[k, choice.without(k)]
        judged.append(Judged(Z[fold.held] @ b, fold.rows))
    n, labels = int(sample.ranks.row.max()) + 1, None
    if sample.groups is not None:
        labels = np.zeros(n, dtype=np.intp)
        labels[sample.ranks.row] = sample.groups
    for figure in figures(of_trees=True):
        each = pooled_estimate([judged], n, figure, labels)
        if each is not None:
            found[figure.name] = each
    return found


def solved(
    X: FloatArray,
    sample: Sample,
    smoothing: float,
    options: AdditiveOptions,
    names: Sequence[str],
    start: Floats,
) -> AdditiveRanker:
    """Fit all rows with a known smoothing."""
    columns, ranks = sample.columns, sample.ranks
    penalty = smoothing * sample.bending + sample.ridge
    width = first_width(len(X))
    pairs = penalised(Pairs(columns.Z, ranks, LINKS[options.link], 0.0, width), penalty)
    labels = [str(names[k]) if len(names) else f"column {k}" for k in columns.kept]
    b = settled(pairs, start, labels)
    if pairs.width and len(b):
        b, vcov = refined(pairs, b, sample.groups, labels)
    else:
        vcov, _ = sandwich(pairs, b, sample.groups)
    known = unsureness(pairs, b, vcov)
    p, kept, scale = X.shape[1], columns.kept, columns.scale
    unit = np.outer(scale, scale)
    coef = _widened(b / scale, kept, p)
    score = linear_score(X, coef, columns.centre)[ranks.row]
    reference, share = summarised(score, ranks.weight)
    return AdditiveRanker(
        options=LinearOptions(options.link, options.penalty),
        coef=coef,
        vcov=_widened(known.vcov / unit, kept, p),
        centre=columns.centre,
        covariance=columns.covariance,
        reference=reference,
        share=share,
        n_groups=None if sample.groups is None else int(sample.groups.max()) + 1,
        smoothing=smoothing,
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
class Unsureness:
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


def unsureness(pairs: Pairs, b: Floats, vcov: Floats) -> Unsureness:
    """Measure bias and freedom at the solution.

    With information J, penalty P and the sum V of squared influences, coefficients vary by
    (J+P)⁻¹ V (J+P)⁻¹. A penalty is what a prior of variance P⁻¹ would be if V were J; V is about
    c J (pairs are not independent), so its bias adds c (J+P)⁻¹ P (J+P)⁻¹, as in Nychka (1988).
    """
    if not len(b):
        empty = np.zeros((0, 0))
        return Unsureness(empty, empty, np.zeros(0))
    _, information = pairs.newton(b)
    inverse = np.linalg.inv(information)
    penalty = np.broadcast_to(pairs.ridge, len(b))
    freedom = np.clip(1.0 - np.diagonal(inverse) * penalty, 0.0, 1.0)
    total = float(freedom.sum())
    # trace of (J+P)⁻¹V over that of (J+P)⁻¹J
    inflation = float(np.sum(vcov * information)) / total if total > 0.0 else 0.0
    vcov = (vcov + vcov.T) / 2.0
    uncertainty = vcov + inflation * (inverse * penalty) @ inverse.T
    return Unsureness(vcov, (uncertainty + uncertainty.T) / 2.0, freedom)
