"""Choose the penalty of a linear ranker by cross-validation, and judge the fit by held-out rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from crank.criteria import require_distinct
from crank.design.slopes import Slopes
from crank.errors import DataError
from crank.fitting.bounded import Bounds
from crank.fitting.columns import check_columns, check_spreads, extremes, standardised
from crank.fitting.folds import some_rows
from crank.fitting.linear import WIDEST, Groups, fit_linear, settled
from crank.fitting.pairs import Floats, Pairs, mean_loss
from crank.fitting.selection import Selection, select
from crank.growing.matrix import FloatArray
from crank.kernels.links import LINKS
from crank.rankers.linear import LinearOptions, LinearRanker
from crank.rankers.penalty import PenaltyPath
from crank.rankers.validation import Estimate
from crank.ranks import Ranks

RIDGES = 10.0 ** np.linspace(-5.0, 1.0, 25)
"""At the lightest nothing is shrunk; at the heaviest next to nothing is left."""
LASSOS, LIGHTEST = 40, 1e-4
"""How many penalties there are from the least that leaves no column, and where they end."""
ENOUGH = 1e-5
"""Coefficients that only choose a penalty need no more digits."""
MOST_JUDGED = 50_000
"""Rows that are dealt out to folds: more would take minutes and tell no more."""
FEW_PAIRS = 40_000
"""Samples with no more pairs of rows are summed pair by pair here."""


@dataclass(frozen=True)
class FittedLinear:
    """A linear ranker and what held-out rows say of how it was made.

    Attributes
    ----------
    ranker : LinearRanker
    crossvalidated : mapping of Estimate
        By name; empty if no cross-validation was asked for, or if some fold cannot be fitted.
    n_judged : int or None
        Rows that were dealt out to folds, if not all were.
    """

    ranker: LinearRanker
    crossvalidated: Mapping[str, Estimate]
    n_judged: int | None = None


def fit_judged(
    X: FloatArray,
    ranks: Ranks,
    *,
    options: LinearOptions,
    groups: Groups | None = None,
    names: Sequence[str] = (),
    judge: bool = True,
    slopes: Slopes | None = None,
) -> FittedLinear:
    """Choose a penalty if it is to be chosen, fit, and cross-validate the procedure.

    Of many rows a random part is dealt out to folds. Coefficients of so many hardly differ from
    those of all, and their figures have standard errors of their own.

    Parameters
    ----------
    X, ranks, options, groups, names, slopes
        As in `crank.fitting.linear.fit_linear`.
    judge : bool
        Whether to cross-validate a fit whose penalty is given.
    """
    require_distinct(ranks)
    check_spreads(*extremes(X), names)
    check_columns(X.shape[1])
    rng = np.random.default_rng(options.random_state)
    fit = partial(fit_linear, X, ranks, options=options, groups=groups, names=names, slopes=slopes)
    if not options.chosen and not (judge and options.cv is not None):
        return FittedLinear(fit(), {})
    part = judged_part(X, ranks, groups, rng)
    if options.chosen:
        penalties = penalty_grid(part.X, part.ranks, options)
        found = cross_validate(part, options, penalties, rng, slopes)
        path = PenaltyPath(
            penalties,
            coefficient_path(part.X, part.ranks, options, penalties, slopes)[0],
            -found.heldout,
            found.kendall,
            found.step,
            found.step_1se,
        )
        return FittedLinear(fit(path=path), found.crossvalidated, part.n_judged)
    ranker = fit()
    try:
        found = cross_validate(part, options, np.array([ranker.penalty]), rng, slopes)
    except DataError:  # too few rows, or a fold that has no estimate
        return FittedLinear(ranker, {})
    return FittedLinear(ranker, found.crossvalidated, part.n_judged)


class Part(NamedTuple):
    """The rows that are dealt out to folds."""

    X: FloatArray
    ranks: Ranks
    groups: Groups | None
    n_judged: int | None


def judged_part(
    X: FloatArray, ranks: Ranks, groups: Groups | None, rng: np.random.Generator
) -> Part:
    """Take all rows, or a random part of many, numbered anew; groups stay whole."""
    labels = None if groups is None else groups[ranks.row]
    keep = some_rows(len(ranks.row), MOST_JUDGED, labels, rng)
    if keep.all():
        return Part(X, ranks, groups, None)
    rows = ranks.row[keep]
    number = None if labels is None else np.unique(labels[keep], return_inverse=True)[1]
    part = replace(ranks.subset(keep), row=np.arange(len(rows)))
    return Part(X[rows], part, number, len(rows))


def penalty_grid(X: FloatArray, ranks: Ranks, options: LinearOptions) -> Floats:
    """List the penalties to try, the lightest first."""
    if not options.l1_ratio:
        return RIDGES
    columns = standardised(X, ranks.weight, ranks.row, all_varying=True)
    pairs = Pairs(columns.Z, ranks, LINKS[options.link], 0.0, WIDEST)
    score = np.abs(pairs.newton(np.zeros(columns.Z.shape[1]))[0])
    most = float(score.max(initial=0.0)) / (ranks.total**2 / 2.0 * options.l1_ratio)
    return np.asarray((most or 1.0) * np.geomspace(LIGHTEST, 1.0, LASSOS))


def cross_validate(
    part: Part,
    options: LinearOptions,
    penalties: Floats,
    rng: np.random.Generator,
    slopes: Slopes | None = None,
) -> Selection:
    """Hold each fold out in turn and score it by coefficients at every penalty."""
    assert options.cv is not None
    link, (X, ranks, groups, _) = LINKS[options.link], part

    def scores(train: Ranks, test: Ranks) -> Floats:
        coef, centre = coefficient_path(X, train, options, penalties, slopes)
        return np.asarray((X[test.row] - centre) @ np.nan_to_num(coef).T)

    def less_loss(score: Floats, test: Ranks) -> float:
        return -mean_loss(score, test, link, width_for(test))

    return select(
        scores,
        ranks,
        cv=options.cv,
        rng=rng,
        labels=None if groups is None else groups.astype(np.intp),
        judge=less_loss,
        one_se=options.penalty == "1se",
    )


def coefficient_path(
    X: FloatArray,
    ranks: Ranks,
    options: LinearOptions,
    penalties: Floats,
    slopes: Slopes | None = None,
) -> tuple[Floats, Floats]:
    """Fit at every penalty, from the heaviest to the lightest, each from where the last one ended.

    Returns
    -------
    coef : ndarray of shape (penalties, p)
        NaN for columns without a coefficient.
    centre : ndarray of shape (p,)
    """
    require_distinct(ranks)
    columns = standardised(X, ranks.weight, ranks.row, all_varying=float(penalties.min()) > 0.0)
    bounds = Bounds.of(slopes, columns.kept, columns.scale)
    start = Pairs(columns.Z, ranks, LINKS[options.link], 0.0, width_for(ranks), bounds=bounds)
    coef = np.full((len(penalties), X.shape[1]), np.nan)
    b = np.zeros(len(columns.kept))
    for k in range(len(penalties) - 1, -1, -1):
        ridge, lasso = options.shares(float(penalties[k]), ranks.total)
        b = settled(replace(start, ridge=ridge, lasso=lasso), b, (), ENOUGH)
        coef[k, columns.kept] = b / columns.scale
    return coef, columns.centre


def width_for(ranks: Ranks) -> float:
    """Width of the grid on which pairs are summed while a penalty is being chosen."""
    return 0.0 if len(ranks.row) ** 2 <= FEW_PAIRS else WIDEST
