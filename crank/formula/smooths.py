"""What ``s(x)`` learns: knots, and natural cubic splines in the order of how much they bend."""

from __future__ import annotations

import math

import numpy as np

from crank.design.expressions import Steps
from crank.design.factors import Smooth
from crank.design.operations import Floats
from crank.design.reader import Reader
from crank.errors import DataError, FormulaError
from crank.formula.bases import check_spread, option_error
from crank.formula.compile import RawFactor
from crank.formula.natural import bspline_pieces, natural_pieces
from crank.formula.parse import ParsedFormula

COLUMNS, MOST_COLUMNS = 9, 100
"""Columns of a smooth term unless ``df`` says otherwise, and the most that it may say."""
ROUNDING = 1e-9
"""Shares of rows that differ by less are equal."""
RELATIVE = 1e-10
"""Directions of a basis that the data tell apart no better than this are left out."""


def learn_smooth(
    factor: RawFactor, steps: Steps, reader: Reader, weights: Floats | None = None
) -> Smooth:
    """Learn the basis of ``s(x, df=…)`` from the values of these rows."""
    df = factor.options["df"]
    if df is not None and (type(df) is not int or not 1 <= df <= MOST_COLUMNS):
        raise option_error(factor, "df", df, f"a whole number from 1 to {MOST_COLUMNS}")
    x = reader.finished(steps, factor.name)
    known = ~np.isnan(x)
    x, weights = x[known], None if weights is None else weights[known]
    if not len(x):
        raise DataError(f"the term {factor.name!r} has no value in these rows to learn from.")
    if x.min() == x.max():
        raise DataError(
            f"the term {factor.name!r} needs a column that varies, and all {len(x)} rows have "
            f"{x[0]:g}. Leave the term out."
        )
    check_spread(factor, float(x.min()), float(x.max()))
    return smooth(factor.name, steps, x, (COLUMNS if df is None else df) + 1, weights)


def has_smooths(parsed: ParsedFormula) -> bool:
    """Tell whether a formula has smooth terms."""
    return any(factor.form == "s" for factor in parsed.factors)


def refuse_smooths(parsed: ParsedFormula) -> None:
    """Raise where a formula has smooth terms and no penalty can be put on them."""
    found = [factor.name for factor in parsed.factors if factor.form == "s"]
    if found:
        raise FormulaError(
            f"the smooth term {found[0]!r} needs a penalised fit. Use it in crank.linear or "
            f"crank.additive; elsewhere ns(x, df=4) makes columns of a spline."
        )


def smooth(
    name: str, steps: Steps, x: Floats, knots: int = COLUMNS + 1, weights: Floats | None = None
) -> Smooth:
    """Make the basis of a smooth term: x itself, then functions that bend more and more.

    All columns have mean 0 and variance 1 over the rows and are uncorrelated, also in their second
    derivatives (the basis of Demmler and Reinsch), so that a penalty on bending is a weighted sum
    of squares of their coefficients. The weight is the square root of the curvature, 1 for the
    first function that bends; x has none.

    Parameters
    ----------
    name : str
    steps : Steps
        Of the expression that is smoothed.
    x : ndarray of shape (n,)
        Its values, none of them missing, not all of them equal.
    knots : int
        Most knots, the outer ones included; at least 2.
    weights : ndarray of shape (n,), optional
        Case weights.

    Examples
    --------
    >>> factor = smooth("s(x)", (), np.arange(50.0), 5)
    >>> factor.labels
    ('s(x)[1]', 's(x)[2]', 's(x)[3]', 's(x)[4]')
    >>> [round(p) for p in factor.penalty]
    [0, 1, 3, 5]
    """
    values, place = np.unique(x, return_inverse=True)
    share = np.bincount(place, weights) / (len(x) if weights is None else weights.sum())
    places = place_knots(values, share, knots)
    mean = float(share @ values)
    line = _line(places, mean, math.sqrt(float(share @ (values - mean) ** 2)))
    if len(places) < 3:
        return Smooth(name, steps, tuple(places.tolist()), _rows(line), (0.0,))
    basis = natural_pieces(bspline_pieces(places), places)
    # the constant and x are in the span; what is left is uncorrelated with both
    basis[:, :, 0] -= share @ evaluate(basis, places, values)
    along = evaluate(line, places, values)[:, 0]
    basis -= ((share * along) @ evaluate(basis, places, values))[:, None] * line
    left = evaluate(basis, places, values)
    size, direction = np.linalg.eigh((left * share[:, None]).T @ left)
    used = size > RELATIVE * size[-1]
    whiten = direction[:, used] / np.sqrt(size[used])
    bend, rotation = np.linalg.eigh(whiten.T @ _curvature(basis, places) @ whiten)
    bent = np.einsum("ibp,bc->icp", basis, whiten @ rotation)
    pieces = np.concatenate([line, bent], axis=1)
    penalty = (0.0, *np.sqrt(bend / bend[0]).tolist())
    return Smooth(name, steps, tuple(places.tolist()), _rows(pieces), penalty)


def place_knots(values: Floats, share: Floats, most: int) -> Floats:
    """Place knots at quantiles of distinct values: values that occur, each once.

    Examples
    --------
    >>> place_knots(np.arange(9.0), np.full(9, 1 / 9), 3).tolist()
    [0.0, 4.0, 8.0]
    """
    if len(values) <= most:
        return values
    wanted = np.linspace(0, 1, most)
    at = np.searchsorted(np.cumsum(share), wanted - ROUNDING)
    places = np.unique(np.minimum(at, len(values) - 1))
    if len(places) < min(most, 4):  # most rows share one value
        places = np.unique((wanted * (len(values) - 1)).astype(np.intp))
    return np.asarray(values[places])


def evaluate(pieces: Floats, knots: Floats, x: Floats) -> Floats:
    """Compute piecewise cubic functions, as `NaturalSpline.fill` does."""
    interval = np.searchsorted(knots, x, side="right")
    distance = x - np.concatenate([knots[:1], knots])[interval]
    powers = distance[:, None] ** np.arange(4)
    return np.asarray(np.einsum("np,nbp->nb", powers, pieces[interval]))


def _line(knots: Floats, mean: float, size: float) -> Floats:
    """Write (x − mean) / size as pieces."""
    line = np.zeros((len(knots) + 1, 1, 4))
    line[:, 0, 0] = (np.concatenate([knots[:1], knots]) - mean) / size
    line[:, 0, 1] = 1.0 / size
    return line


def _curvature(pieces: Floats, knots: Floats) -> Floats:
    """Integrate products of second derivatives, which are straight lines between knots.

    Each interval counts in units of its own width, so that bending costs as much where knots are
    dense as where they are rare.
    """
    h = np.diff(knots)[:, None, None]
    c2, c3 = pieces[1:-1, :, 2], pieces[1:-1, :, 3]
    square = c2[:, :, None] * c2[:, None, :]
    mixed = c2[:, :, None] * c3[:, None, :]
    cubic = c3[:, :, None] * c3[:, None, :]
    whole = 4 * h * square + 6 * h**2 * (mixed + mixed.transpose(0, 2, 1)) + 12 * h**3 * cubic
    return np.asarray((whole * h**3).sum(axis=0))


def _rows(pieces: Floats) -> tuple[tuple[tuple[float, ...], ...], ...]:
    return tuple(tuple(map(tuple, piece)) for piece in pieces.tolist())
