"""What peers are given: codings of the columns, and y, its ranks or its normal scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

import crank
from benchmarks.quality.sets import texts

Floats = NDArray[np.float64]
Method = Callable[[pd.DataFrame, pd.DataFrame, int], Floats]
"""Fit to the first rows, score the second; the number seeds whatever is drawn."""
FOLDS = 5


def target(train: pd.DataFrame, kind: str) -> Floats:
    """Return y itself, its mid-ranks within (0, 1), or their normal scores."""
    y = train["y"].to_numpy(dtype=np.float64)
    if kind == "y":
        return y
    quantile = (rankdata(y) - 0.5) / len(y)
    return np.asarray(quantile if kind == "ranks" else ndtri(quantile))


def dummies(train: pd.DataFrame, test: pd.DataFrame) -> tuple[Floats, Floats]:
    """Code text as one column a level, the first level left out."""
    both = pd.get_dummies(pd.concat([train, test]).drop(columns="y"), drop_first=True)
    X = both.to_numpy(dtype=np.float64)
    return X[: len(train)], X[len(train) :]


def categories(train: pd.DataFrame, test: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Leave text to the peer, as pandas categories with common levels."""
    X, new = train.drop(columns="y"), test.drop(columns="y")
    for column in texts(X):
        levels = sorted(set(X[column]))
        X[column] = pd.Categorical(X[column], levels)
        new[column] = pd.Categorical(new[column], levels)
    return X, new


def folds(n: int, seed: int) -> NDArray[np.intp]:
    """Deal rows out to folds at random."""
    return np.random.default_rng([seed, n]).permutation(n) % FOLDS


def d_tau(y: Floats, score: Floats) -> float:
    """Rate of concordant pairs."""
    return float(crank.metrics.kendall(y, score))
