"""Linear hypotheses about coefficients, and p-values of many tests at once."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from crank.checks import one_of
from crank.errors import DataError, OptionError, listed, require
from crank.records.linear import LinearRecord
from crank.report.coefficients import coefficients, hotelling, refuse_lasso

METHODS = {
    "holm": "holm",
    "bonferroni": "bonferroni",
    "sidak": "sidak",
    "holm-sidak": "holm-sidak",
    "simes-hochberg": "simes-hochberg",
    "hommel": "hommel",
    "bh": "fdr_bh",
    "by": "fdr_by",
}
"""Names of adjustments, as in R's ``p.adjust`` where that has them, and statsmodels' own."""


def hypothesis(model: LinearRecord, text: str) -> pd.DataFrame:
    """Test equations between coefficients; see `LinearModel.hypothesis`."""
    require("statsmodels", "stats")
    from patsy import DesignInfo, PatsyError

    refuse_lasso(model)
    known = model.ranker.estimated
    names = [name for name, use in zip(model.design.names, known.tolist(), strict=True) if use]
    try:
        found = DesignInfo(names).linear_constraint(text)
    except (PatsyError, TypeError, ValueError) as cause:
        message = str(cause).splitlines()[0] if str(cause) else "it cannot be read"
        raise OptionError(
            f"hypothesis {text!r} is not allowed: {message}. Allowed: equations between "
            f"coefficients, such as 'x1 = x2' or 'x1 = 0, x2 = 0'. Coefficients: {listed(names)}."
        ) from None
    L, value = np.asarray(found.coefs, dtype=np.float64), np.ravel(found.constants)
    coef, vcov = model.ranker.coef[known], model.vcov_corrected[np.ix_(known, known)]
    if not np.isfinite(vcov).all():
        raise DataError(
            f"there are {model.n_units} independent observations and {len(names)} coefficients, "
            "too few for standard errors. Leave terms out, or use more rows."
        )
    off, spread = L @ coef - value, L @ vcov @ L.T
    df = int(np.linalg.matrix_rank(spread, hermitian=True))
    if df < len(L):
        raise OptionError(
            f"hypothesis {text!r} is not allowed: its equations depend on each other. Leave out "
            "those that follow from the others."
        )
    distance = float(off @ np.linalg.solve(spread, off))
    names_of_test = ("df_error", "F", "pvalue")
    tested = dict(zip(names_of_test, hotelling(distance, df, model.error_df), strict=True))
    row: dict[str, object] = {"hypothesis": text, "df": df} | tested
    if df == 1:  # one equation has a size and a direction
        se = math.sqrt(float(spread[0, 0]))
        row |= {"estimate": float((L @ coef)[0]), "std_error": se, "t": float(off[0]) / se}
    return pd.DataFrame([row])


def adjusted(model: LinearRecord, method: str = "holm") -> pd.DataFrame:
    """Adjust p-values for the number of coefficients; see `LinearModel.adjusted`."""
    require("statsmodels", "stats")
    from statsmodels.stats.multitest import multipletests

    refuse_lasso(model)
    one_of("method", method, METHODS)
    table = coefficients(model)[["term", "estimate", "std_error", "t", "pvalue"]].copy()
    table["adjusted"] = math.nan
    known = table["pvalue"].notna()
    if known.any():
        p = table.loc[known, "pvalue"].to_numpy()
        table.loc[known, "adjusted"] = multipletests(p, method=METHODS[method])[1]
    return table
