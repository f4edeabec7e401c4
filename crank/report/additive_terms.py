"""Tests of the terms of an additive model: no effect, and a line against a curve."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crank.design.slopes import slopes
from crank.errors import DataError
from crank.metrics.student import SMALLEST
from crank.rankers.directions import signs_of
from crank.records.additive import AdditiveRecord

RANK = 1e-9
"""Directions of a covariance shorter than this share of the longest count for nothing."""


def term_table(model: AdditiveRecord) -> pd.DataFrame:
    """Tabulate degrees of freedom and tests; see `AdditiveModel.terms`."""
    rows = []
    for part in model.parts:
        whole = np.zeros(len(model.ranker.coef), dtype=bool)
        whole[part.columns] = True
        bent = whole.copy()
        bent[part.columns] = part.bent
        freedom = float(np.nansum(model.ranker.freedom[whole]))
        test, curved = wald(model, whole), (0, math.nan, math.nan)
        if part.shape == "curve":
            curved = wald(model, bent)
        rows.append((part.name, part.shape, freedom, *test, *curved))
    names = ["term", "shape", "edf", "df", "F", "pvalue", "df_bent", "F_bent", "pvalue_bent"]
    return pd.DataFrame(rows, columns=names)


def anova(model: AdditiveRecord, other: object) -> pd.DataFrame:
    """Test each term; see `AdditiveModel.anova`."""
    if other is not None:
        raise DataError(
            "additive models are not compared by a test of coefficients: each is smooth in its "
            "own way. Use crank.compare(m1, m2, data=test), which judges any two on new data."
        )
    return term_table(model)[["term", "edf", "df", "F", "pvalue"]]


def held_back(model: AdditiveRecord, columns: NDArray[np.intp]) -> int:
    """Count the directions of these coefficients that monotone terms are held back in."""
    ranker = model.ranker
    found = slopes(model.design, signs_of(ranker.options.monotone))
    held = found.rows[found.binding(ranker.coef)][:, columns]
    return int(np.linalg.matrix_rank(held)) if held.any() else 0


def wald(model: AdditiveRecord, columns: NDArray[np.bool_]) -> tuple[int, float, float]:
    """Test whether penalised coefficients are all 0.

    Their covariance is that around the truth, the penalty's bias included: it does not shrink
    where the data chose a rough curve, so that the choice costs little of the level. Of its
    directions, those in which the term varies most are tested, as many as the term has effective
    degrees of freedom, rounded: a Wald test of reduced rank as in Wood (2013).

    A covariance that was estimated from n rows, or groups, minus the degrees of freedom of the
    whole fit makes the statistic Hotelling's: F, not χ².

    The covariance is that of a fit without inequalities, so directions in which a monotone term is
    held back count as degrees of freedom too. What is nearest to noise among monotone curves is
    shorter than the noise: the test is on the careful side.

    Returns
    -------
    df : int
    F, pvalue : float
        NaN if no coefficient was estimated, or there are too few rows.

    References
    ----------
    Wood (2013), On p-values for smooth components of an extended generalized additive model,
    Biometrika 100, 221–228.
    """
    from scipy.special import fdtrc

    ranker = model.ranker
    tested = np.flatnonzero(columns & ranker.estimated)
    if not len(tested):
        return 0, math.nan, math.nan
    # as the term varies over the rows: coefficients in directions that no row tells apart drop out
    size, axes = np.linalg.eigh(ranker.covariance[np.ix_(tested, tested)])
    told_apart = size > RANK * size[-1]
    root = np.sqrt(size[told_apart])[:, None] * axes[:, told_apart].T
    b = root @ ranker.coef[tested]
    variance, direction = np.linalg.eigh(root @ ranker.uncertainty[np.ix_(tested, tested)] @ root.T)
    known = int(np.count_nonzero(variance > RANK * variance[-1]))
    if not known or not variance[-1] > 0.0:
        return 0, math.nan, math.nan
    used = float(ranker.freedom[tested].sum()) + held_back(model, tested)
    df = min(max(1, round(used)), known)
    z = (b @ direction[:, -df:]) / np.sqrt(variance[-df:])
    rows = model.training.n if ranker.n_groups is None else ranker.n_groups
    left = rows - ranker.total_freedom
    error = left - df + 1.0
    if error <= 0.0:
        return df, math.nan, math.nan
    F = float(z @ z) * error / (left * df)
    return df, F, max(float(fdtrc(df, error, F)), SMALLEST)
