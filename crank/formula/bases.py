"""What ``poly``, ``bs`` and ``ns`` learn: a recurrence, a set of knots."""

from __future__ import annotations

from typing import Any

import numpy as np

from crank.design.expressions import Steps
from crank.design.factors import EXTRAPOLATIONS, MOST_POWERS, NaturalSpline, Poly, Powers, Spline
from crank.design.operations import Floats
from crank.design.reader import Reader
from crank.errors import DataError, FormulaError, listed
from crank.formula.compile import RawFactor
from crank.formula.natural import natural_spline
from crank.formula.polynomials import polynomials

WIDEST = 1e50
"""Natural splines of columns that spread wider, or narrower than one over it, are refused."""


def learn_poly(factor: RawFactor, steps: Steps, reader: Reader) -> Poly | Powers:
    """Learn orthonormal polynomials on the values of these rows."""
    degree, raw = factor.options["degree"], factor.options["raw"]
    if type(degree) is not int or not 1 <= degree <= MOST_POWERS:
        raise option_error(factor, "degree", degree, f"a whole number from 1 to {MOST_POWERS}")
    if raw:
        return Powers(factor.name, steps, degree)
    x = _present(factor, steps, reader)
    distinct = np.unique(x).size
    if distinct <= degree:
        raise DataError(
            f"the term {factor.name!r} needs more than {degree} distinct values, got {distinct}. "
            f"Lower the degree."
        )
    alpha, norms, _ = polynomials(x, degree)
    if not np.isfinite(norms).all() or min(norms) <= 0:
        raise DataError(
            f"the term {factor.name!r} cannot be computed in floating point. Lower the degree, "
            f"or rescale the column: poly(scale(x), …)."
        )
    return Poly(factor.name, steps, alpha, norms)


def learn_spline(factor: RawFactor, steps: Steps, reader: Reader) -> Spline:
    """Place a spline's knots as formulaic, patsy and R do: at quantiles if ``df`` is given."""
    options = factor.options
    degree, df, knots = options["degree"], options["df"], options["knots"]
    first = 0 if options["include_intercept"] else 1
    extrapolation = options["extrapolation"]
    if type(degree) is not int or not 0 <= degree <= 20:
        raise option_error(factor, "degree", degree, "a whole number from 0 to 20")
    if extrapolation not in EXTRAPOLATIONS:
        raise option_error(
            factor, "extrapolation", extrapolation, listed(map(repr, EXTRAPOLATIONS))
        )
    x = _present(factor, steps, reader)
    lower = _bound(factor, "lower_bound", float(x.min()))
    upper = _bound(factor, "upper_bound", float(x.max()))
    if not lower < upper:
        raise DataError(
            f"the term {factor.name!r} needs a range, but its bounds are {lower} and {upper}. "
            f"Use a column that varies."
        )
    if df is None:
        inner = _knots(factor, knots, lower, upper)
    elif knots is not None:
        raise option_error(factor, "knots", knots, "left out where df is given")
    elif type(df) is not int or df < degree + 1 - first:
        raise option_error(factor, "df", df, f"a whole number, at least {degree + 1 - first}")
    else:
        inside = x if extrapolation in ("raise", "extend") else x[(x >= lower) & (x <= upper)]
        inner = _quantiles(factor, inside, df - degree - (1 - first))
    padded = [lower] * (degree + 1) + inner + [upper] * (degree + 1)
    return Spline(factor.name, steps, tuple(padded), degree, lower, upper, extrapolation, first)


def learn_natural(factor: RawFactor, steps: Steps, reader: Reader) -> NaturalSpline:
    """Place the knots of natural cubic splines as R's ``splines::ns`` does."""
    df, knots, ends = (factor.options[key] for key in ("df", "knots", "Boundary.knots"))
    first = 0 if factor.options["intercept"] else 1
    x = _present(factor, steps, reader)
    if ends is None:
        ends = (float(x.min()), float(x.max()))
    numbers = isinstance(ends, list | tuple) and all(isinstance(e, int | float) for e in ends)
    if not numbers or len(ends) != 2:
        raise option_error(factor, "Boundary.knots", ends, "a list of two numbers")
    lower, upper = sorted(map(float, ends))
    if not -np.inf < lower < upper < np.inf:
        raise DataError(
            f"the term {factor.name!r} needs a range, but its bounds are {lower} and {upper}. "
            f"Use a column that varies."
        )
    check_spread(factor, lower, upper)
    if df is None:
        inner = _knots(factor, knots, lower, upper)
    elif knots is not None:
        raise option_error(factor, "knots", knots, "left out where df is given")
    elif type(df) is not int or not 2 - first <= df <= MOST_POWERS:
        raise option_error(factor, "df", df, f"a whole number from {2 - first} to {MOST_POWERS}")
    else:
        inside = x[(x >= lower) & (x <= upper)]
        inner = _quantiles(factor, inside, df - 2 + first)
    if len({lower, *inner, upper}) < len(inner) + 2:
        raise DataError(
            f"the term {factor.name!r} has knots that coincide, at {listed(inner)}: too many "
            f"values are the same. Lower df, or give knots=[…]."
        )
    return natural_spline(factor.name, steps, inner, (lower, upper), first)


def check_spread(factor: RawFactor, lower: float, upper: float) -> None:
    """Refuse columns so wide or so narrow that pieces of cubics are of no use as doubles."""
    spread = 2.0 * (upper / 2.0 - lower / 2.0)
    if not 1.0 / WIDEST <= spread <= WIDEST:
        raise DataError(
            f"the term {factor.name!r} spreads over {spread:.3g}, and cubes of such numbers lose "
            f"all digits. Allowed: {1.0 / WIDEST:g} to {WIDEST:g}. Rescale the column, or fit a "
            "tree to it as it is."
        )


def _present(factor: RawFactor, steps: Steps, reader: Reader) -> Floats:
    x = reader.finished(steps, factor.name)
    x = x[~np.isnan(x)]
    if x.size == 0:
        raise DataError(f"the term {factor.name!r} has no value in these rows to learn from.")
    return x


def _bound(factor: RawFactor, key: str, learned: float) -> float:
    given = factor.options[key]
    if given is None:
        return learned
    if isinstance(given, bool) or not isinstance(given, int | float) or not np.isfinite(given):
        raise option_error(factor, key, given, "a number")
    return float(given)


def _knots(factor: RawFactor, knots: Any, lower: float, upper: float) -> list[float]:
    if knots is None:
        return []
    given = [knots] if isinstance(knots, int | float) else knots
    numbers = isinstance(given, list | tuple) and all(
        isinstance(k, int | float) and lower <= k <= upper for k in given
    )
    if not numbers:
        raise option_error(factor, "knots", knots, f"a list of numbers from {lower} to {upper}")
    return sorted(map(float, given))


def _quantiles(factor: RawFactor, x: Floats, count: int) -> list[float]:
    if x.size == 0:
        raise DataError(
            f"the term {factor.name!r} has no value between its bounds, so no knots can be placed."
        )
    placed: list[float] = np.quantile(x, np.linspace(0, 1, count + 2))[1:-1].tolist()
    return placed


def option_error(factor: RawFactor, key: str, got: Any, allowed: str) -> FormulaError:
    """Build the error for an option of a term that has a value it cannot take."""
    return FormulaError(f"{key} of the term {factor.name!r} must be {allowed}, got {got!r}.")
