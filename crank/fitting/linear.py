"""Fit a linear ranker: Newton's method on all pairs, and the variance of what it solves.

The probabilistic index model of Thas, De Neve, Clement & Ottoy (JRSS B 2012); theory §9.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crank.criteria import require_distinct
from crank.design.slopes import Slopes
from crank.errors import DataError, listed
from crank.fitting.bounded import Bounds, bounded_minimum
from crank.fitting.columns import check_columns, standardised
from crank.fitting.estimate import figures_of
from crank.fitting.pairs import Floats, Pairs
from crank.fitting.sparse import sparse_minimum
from crank.growing.matrix import FloatArray
from crank.kernels.links import LINKS
from crank.kernels.pair_sums import MOST_BINS, MOST_PAIRS
from crank.rankers.base import Ranker
from crank.rankers.linear import LinearOptions, LinearRanker
from crank.rankers.penalty import PenaltyPath
from crank.rankers.validation import Estimate
from crank.ranks import Ranks

MOST_STEPS, MOST_HALVINGS = 100, 40
SETTLED, ROUGHLY = 1e-8, 1e-4
"""A step of Newton's method is the last if it is smaller, relative to the coefficients."""
ACCURACY = 1e-6
"""The grid is refined until that moves no coefficient by more of its standard error."""
SPARSE_UNIT = 0.1
"""Stands for the standard error under a lasso, in units of a column's standard deviation."""
WIDEST, FINER = 1.0 / 16.0, 4.0
"""Width of the first grid, in units of the link, and how much finer the next one is."""
CELLS = 2**16
QUANTILES = 256
"""Training scores that are kept, for probabilities against a random training row."""
PATIENCE, NEARLY = 10, 1e-6
"""Steps after which a fit is suspected of separation, and how exact its direction must be."""
NEAR, SHORTER = 0.1, 0.2
"""Steps that use the information again: how long the first may be, how much shorter the next."""
LARGE, START = 100_000, 50_000
"""Samples of more rows start from the coefficients of some of them."""
REMEDY = "Give a penalty, such as penalty=0.001, or leave terms out."

Groups = NDArray[np.int64]


def fit_linear(
    X: FloatArray,
    ranks: Ranks,
    *,
    options: LinearOptions,
    groups: Groups | None = None,
    names: Sequence[str] = (),
    path: PenaltyPath | None = None,
    slopes: Slopes | None = None,
) -> LinearRanker:
    """Fit a linear ranker to arrays that have been checked.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Design without missing values.
    ranks : Ranks
        Of the responses of its rows.
    options : LinearOptions
    groups : ndarray of int, shape (n,), optional
        Number of each row's group, from 0; only groups are independent then.
    names : sequence of str
        Of the columns, for messages.
    path : PenaltyPath, optional
        What the penalty is chosen from, if it is to be chosen; see `crank.fitting.penalty`.
    slopes : Slopes, optional
        Inequalities that the coefficients obey, for a monotone score.

    Examples
    --------
    >>> from crank.ranks import rank
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = X @ [1.0, -0.5] + rng.logistic(size=200)
    >>> fit_linear(X, rank(y), options=LinearOptions()).coef.round(2).tolist()
    [0.79, -0.42]
    """
    require_distinct(ranks)
    check_columns(X.shape[1])
    ridge, lasso = options.shares(options.resolved(path), ranks.total)
    columns = standardised(X, ranks.weight, ranks.row, all_varying=ridge + lasso > 0.0)
    pairs = Pairs(
        columns.Z,
        ranks,
        LINKS[options.link],
        ridge=ridge,
        width=first_width(len(X)),
        lasso=lasso,
        bounds=Bounds.of(slopes, columns.kept, columns.scale),
    )
    labels = [str(names[k]) if len(names) else f"column {k}" for k in columns.kept]
    number = None if groups is None else groups[ranks.row]
    start, information = started(pairs)
    b = settled(pairs, start, labels, information=information)
    if pairs.width and len(b):
        b, vcov = refined(pairs, b, number, labels)
    else:
        vcov, _ = sandwich(pairs, b, number)
    if lasso:  # it chose columns by the same rows: no error would be true of its choice
        vcov = np.full_like(vcov, np.nan)

    p = X.shape[1]
    coef, spread = np.full(p, np.nan), np.full((p, p), np.nan)
    coef[columns.kept] = b / columns.scale
    spread[np.ix_(columns.kept, columns.kept)] = vcov / np.outer(columns.scale, columns.scale)
    reference, share = summarised(columns.Z @ b, ranks.weight)
    return LinearRanker(
        options=options,
        coef=coef,
        vcov=spread,
        centre=columns.centre,
        covariance=columns.covariance,
        reference=reference,
        share=share,
        n_groups=None if groups is None else int(groups.max()) + 1,
        path=path,
    )


def started(pairs: Pairs) -> tuple[Floats, Floats | None]:
    """Find where to start: in a large sample, by rows that span the order of y.

    Returns
    -------
    b : ndarray of shape (k,)
        The coefficients of some rows; 0 in a small sample.
    information : ndarray of shape (k, k) or None
        That of all rows there, as far as some can tell.
    """
    b, n = np.zeros(pairs.Z.shape[1]), len(pairs.Z)
    if n < LARGE:
        return b, None
    some = np.zeros(n, dtype=bool)
    some[:: n // START] = True
    ranks = pairs.ranks.subset(some)
    times = (ranks.total / pairs.ranks.total) ** 2
    few = Pairs(
        np.ascontiguousarray(pairs.Z[some]),
        ranks,
        pairs.link,
        pairs.ridge * times,
        pairs.width,
        pairs.lasso * times,
    )
    try:
        b = settled(few, b, (), ROUGHLY)
    except DataError:  # some rows may be separated though all are not
        return b, None
    return b, few.newton(b)[1] / times


def settled(
    pairs: Pairs,
    b: Floats,
    names: Sequence[str],
    tolerance: float = SETTLED,
    information: Floats | None = None,
) -> Floats:
    """Follow Newton's method to the coefficients at which the loss is least.

    Parameters
    ----------
    pairs : Pairs
    b : ndarray of shape (k,)
        Where to start.
    names : sequence of str
        Of the columns, for messages.
    tolerance : float
        A step is the last if it is smaller, relative to the coefficients.
    information : ndarray of shape (k, k), optional
        Nearly that at the start, if it is known.
    """
    if not len(b):
        return b
    if pairs.lasso:
        return sparse_minimum(pairs, b, tolerance)
    if pairs.bounds is not None:
        return bounded_minimum(
            pairs.newton, pairs.bounds, b, tolerance, lambda b: _check_kept(pairs, b, names)
        )
    longest = np.inf
    if information is None or not pairs.compiled:
        score, information = pairs.newton(b)
    else:
        score = pairs.score(b)
    for taken in range(MOST_STEPS):
        try:
            step = np.asarray(np.linalg.solve(information, score), dtype=np.float64)
        except np.linalg.LinAlgError:
            break
        descent = float(score @ step)
        if np.abs(step).max() <= tolerance * (1.0 + np.abs(b).max()):
            return np.asarray(b + step)
        if pairs.compiled and np.abs(step).max() <= min(NEAR, longest * SHORTER):
            # so near, the last information serves as well, and the score alone takes half the time
            longest, b = np.abs(step).max(), np.asarray(b + step)
            score = pairs.score(b)
            continue
        if longest < np.inf:
            longest = np.inf
            score, information = pairs.newton(b)
            continue
        if not pairs.penalised and taken >= PATIENCE and pairs.separates(step, NEARLY):
            raise _separated(pairs, step, names, NEARLY)
        if not 0.0 < descent < np.inf:  # the information is lost in rounding
            break
        for _ in range(MOST_HALVINGS):
            trial = b + step
            score, information = pairs.newton(trial)
            # the loss is convex: where it climbs that steeply, the step has gone too far
            if score @ step >= -0.5 * descent:
                break
            step, descent = step / 2.0, descent / 2.0
        b = trial
        _check_kept(pairs, b, names)
    raise DataError(
        f"the coefficients do not settle in {taken + 1} steps: some columns nearly determine the "
        f"order of y, or each other. {REMEDY}"
    )


def _check_kept(pairs: Pairs, b: Floats, names: Sequence[str]) -> None:
    """Raise if the loss falls for ever along these coefficients."""
    if not pairs.penalised and pairs.separates(b):
        raise _separated(pairs, b, names)


def _separated(
    pairs: Pairs, direction: Floats, names: Sequence[str], tolerance: float = 0.0
) -> DataError:
    """Name the columns that separation needs: without any of them it is gone."""
    needed, order = direction.copy(), np.argsort(np.abs(direction), kind="stable").tolist()
    for k in (*order, *order):  # one may be dispensable only when others have gone
        without = needed.copy()
        without[k] = 0.0
        if needed[k] and pairs.separates(without, tolerance):
            needed = without
    found = [names[k] if len(names) else f"column {k}" for k in np.flatnonzero(needed).tolist()]
    what = "this column" if len(found) == 1 else "a combination of these columns"
    return DataError(
        f"{listed(found, 6)}: {what} never puts a pair of rows in the wrong order, so the loss has "
        f"no minimum and coefficients grow without end (separation). {REMEDY}"
    )


def first_width(n: int) -> float:
    """Width of the first grid; where rows are many, points cost nothing beside them."""
    if n**2 <= MOST_PAIRS:
        return 0.0
    return WIDEST if n < LARGE else WIDEST / FINER


def refined(
    pairs: Pairs, b: Floats, groups: Groups | None, names: Sequence[str]
) -> tuple[Floats, Floats]:
    """Sum on finer and finer grids until that changes nothing worth the name.

    Returns
    -------
    b : ndarray
    vcov : ndarray
        Of `b`, on the last grid but one if that was fine enough.
    """
    vcov, information = sandwich(pairs, b, groups)
    finest = pairs.span(b) / (MOST_BINS - 8)
    while True:
        se = np.maximum(np.sqrt(np.diagonal(vcov)), np.finfo(float).tiny)
        if pairs.width <= finest:
            break
        finer = pairs.on_grid(max(pairs.width / FINER, finest))
        before, b = b, settled(finer, b, names, information=information)
        if (np.abs(b - before) <= ACCURACY * se).all():
            return b, vcov
        pairs = finer
        vcov, information = sandwich(finer, b, groups)
    # errors fall with the fourth power of the width
    coarse = settled(pairs.on_grid(FINER * finest), b, names)
    error = float((np.abs(b - coarse) / se).max()) / FINER**4
    if error > ACCURACY:
        warnings.warn(
            f"the scores span {pairs.span(b):.3g} units of the link, too many for the "
            f"largest grid: coefficients are exact to about {error:.0e} standard errors only. A "
            "penalty makes them smaller.",
            stacklevel=2,
        )
    return b, vcov


def sandwich(pairs: Pairs, b: Floats, groups: Groups | None) -> tuple[Floats, Floats]:
    """Estimate the covariance of the coefficients, clustered by group if there are groups.

    Returns it and the information.
    """
    if pairs.lasso:  # a stand-in by which grids are judged
        return np.diag(np.full(len(b), SPARSE_UNIT**2)), np.eye(len(b))
    if groups is None:
        products, _, information = pairs.moments(b)
    else:
        each = [np.bincount(groups, u) for u in pairs.influences(b).T]
        sums = np.array(each, dtype=np.float64)
        products, information = sums @ sums.T, pairs.newton(b)[1]
    bread = np.linalg.inv(information)
    return np.asarray(bread @ products @ bread), information


def summarised(score: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Keep the distribution of scores: all distinct ones if they are few, else means of parts.

    Parts are small in mass where scores are dense, and narrow where they are rare.

    Examples
    --------
    >>> summarised(np.array([2.0, 1.0, 2.0]), np.ones(3))[0].tolist()
    [1.0, 2.0]
    >>> len(summarised(np.arange(1000.0), np.ones(1000))[0])
    256
    """
    low, high = float(score.min()), float(score.max())
    if len(score) > CELLS:  # so many are not sorted: cells of equal width count the rows below
        place = (score - low) * (CELLS / ((high - low) or 1.0))
        cell = np.minimum(place, CELLS - 1.0).astype(np.int32)
        mass = np.bincount(cell, weight, CELLS)
        if np.count_nonzero(mass) > QUANTILES:
            below = np.cumsum(mass) - mass / 2.0
            place = below / below[-1] + np.arange(CELLS) / CELLS
            part = np.minimum(QUANTILES / 2.0 * place, QUANTILES - 1).astype(np.intp)[cell]
            return _means(score, weight, part)
    values, part = np.unique(score, return_inverse=True)
    if len(values) <= QUANTILES:
        mass = np.bincount(part, weight)
        return values, mass / mass.sum()
    order = np.argsort(score, kind="stable")
    below = np.empty(len(score))
    below[order] = np.cumsum(weight[order]) - weight[order] / 2.0
    place = below / weight.sum() + (score - low) / (high - low)
    return _means(score, weight, np.minimum(QUANTILES / 2.0 * place, QUANTILES - 1).astype(np.intp))


def _means(score: Floats, weight: Floats, part: NDArray[np.intp]) -> tuple[Floats, Floats]:
    mass = np.bincount(part, weight)
    means = np.bincount(part, weight * score)[mass > 0.0] / mass[mass > 0.0]
    return means, mass[mass > 0.0] / mass.sum()


def training_figures(
    ranker: Ranker, X: FloatArray, ranks: Ranks, groups: Groups | None = None
) -> dict[str, Estimate]:
    """Figures on the training rows, with standard errors that ignore the fit."""
    return figures_of(ranker.predict(X), ranks, groups)
