"""Coefficients of a linear model as tables, and Wald tests of terms."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crank.checks import check_alpha
from crank.errors import DataError, OptionError, listed
from crank.kernels.links import LINKS
from crank.metrics.student import SMALLEST, quantile, two_sided
from crank.records.linear import LinearRecord

ODDS = {"logit": "odds", "probit": "probability"}
"""What one unit of a column changes, by link: odds, or a probability."""
TESTED = ["term", "df", "df_error", "F", "pvalue"]
"""Columns of a table of tests."""


def coefficients(model: LinearRecord, alpha: float = 0.05) -> pd.DataFrame:
    """Tabulate the coefficients; see `LinearModel.coefficients`."""
    check_alpha(alpha)
    link, df = model.options.link, model.error_df
    estimate, se = model.ranker.coef, np.sqrt(np.diagonal(model.vcov_corrected))
    reach = (math.nan if math.isnan(df) else quantile(1.0 - alpha / 2.0, df)) * se
    with np.errstate(divide="ignore", invalid="ignore"):
        t = estimate / se
    table = pd.DataFrame(
        {
            "term": model.design.names,
            "estimate": estimate,
            "std_error": se,
            "t": t,
            "pvalue": [math.nan if math.isnan(each) else two_sided(each, df) for each in t],
            "ci_low": estimate - reach,
            "ci_high": estimate + reach,
        }
    )
    for end, name in (("estimate", ""), ("ci_low", "_low"), ("ci_high", "_high")):
        table[ODDS[link] + name] = one_unit(table[end].to_numpy(), link)
    return table


def one_unit(difference: NDArray[np.float64], link: str) -> NDArray[np.float64]:
    """Odds, or probability, of ranking above a row whose score is lower by a difference."""
    if link == "logit":
        with np.errstate(over="ignore"):
            return np.exp(difference)
    return LINKS[link].probability(difference)


def vcov(model: LinearRecord, *, corrected: bool = True) -> pd.DataFrame:
    """Tabulate the covariance of the coefficients; see `LinearModel.vcov`."""
    names = list(model.design.names)
    found = model.vcov_corrected if corrected else model.ranker.vcov
    return pd.DataFrame(found, index=names, columns=names)


def term_tests(model: LinearRecord) -> pd.DataFrame:
    """Test each term of the formula given all others."""
    terms = np.array(model.design.terms, dtype=object)
    rows = [(term, *wald(model, terms == term)) for term in dict.fromkeys(terms)]
    return pd.DataFrame(rows, columns=TESTED)


def nested_test(model: LinearRecord, other: LinearRecord) -> pd.DataFrame:
    """Test all columns that the larger of two models has and the smaller has not."""
    if not isinstance(other, LinearRecord):
        raise DataError(f"anova compares linear models; got a {type(other).__name__}.")
    large, small = sorted((model, other), key=lambda one: -len(_columns(one)))
    extra = [name for name in _columns(small) if name not in _columns(large)]
    if extra:
        raise DataError(
            f"the models are not nested: each has columns that the other lacks, such as "
            f"{listed(map(repr, extra), 3)}. crank.compare judges any two models on new data."
        )
    if (large.response, large.training.n) != (small.response, small.training.n):
        raise DataError(
            f"the models are not fitted to the same rows and response: {small.response.name!r} of "
            f"{small.training.n} rows, {large.response.name!r} of {large.training.n}. Drop rows "
            "with missing values before both fits."
        )
    new = [name for name in _columns(large) if name not in _columns(small)]
    tested = np.isin(np.array(large.design.names), new)
    terms = dict.fromkeys(np.array(large.design.terms, dtype=object)[tested])
    rows = [(" + ".join(terms), *wald(large, tested))]
    return pd.DataFrame(rows, columns=TESTED)


def _columns(model: LinearRecord) -> Sequence[str]:
    aliased = set(model.aliased)
    return [name for name in model.design.names if name not in aliased]


def refuse_lasso(model: LinearRecord) -> None:
    """Raise if there are no standard errors to test by."""
    if model.options.l1_ratio:
        raise OptionError(
            "terms of a lasso cannot be tested: it chose them by the same rows, and has no "
            "standard errors. Test those of a model without penalty."
        )


def wald(model: LinearRecord, columns: NDArray[np.bool_]) -> tuple[int, float, float, float]:
    """Test whether the coefficients of some columns are all 0.

    Returns
    -------
    df : int
        How many of them can be told apart.
    df_error, F, pvalue : float
        NaN if there is none, or there are too few rows.
    """
    refuse_lasso(model)
    tested = np.flatnonzero(columns & model.ranker.estimated)
    estimate = model.ranker.coef[tested] * model.ranker.spread[tested]
    scale = np.outer(model.ranker.spread[tested], model.ranker.spread[tested])
    spread = model.vcov_corrected[np.ix_(tested, tested)] * scale
    if not len(tested) or not np.isfinite(spread).all():
        return len(tested), math.nan, math.nan, math.nan
    df = int(np.linalg.matrix_rank(spread, hermitian=True))
    distance = float(estimate @ np.linalg.pinv(spread, hermitian=True) @ estimate)
    return df, *hotelling(distance, df, model.error_df)


def hotelling(distance: float, df: int, error_df: float) -> tuple[float, float, float]:
    """Test a squared distance in units of an estimated covariance by Hotelling's T².

    Returns
    -------
    df_error, F, pvalue : float
        With one degree of freedom F is the square of Student's t; NaN where there are too few
        rows for so many at once.

    Examples
    --------
    >>> hotelling(4.0, 1, 30.0)[:2], round(hotelling(4.0, 1, 30.0)[2], 4)
    ((30.0, 4.0), 0.0546)
    >>> hotelling(4.0, 3, 2.0)
    (nan, nan, nan)
    """
    from scipy.special import fdtrc

    left = error_df - df + 1.0
    if df == 0 or not left > 0.0:
        return math.nan, math.nan, math.nan
    F = distance * left / (error_df * df)
    return left, F, max(float(fdtrc(df, left, F)), SMALLEST)
