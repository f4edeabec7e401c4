"""Boosting peers, rounds and size of trees chosen by cross-validated concordance, and EBM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.quality.sets import texts
from benchmarks.quality.targets import FOLDS, Floats, Method, categories, d_tau, folds, target

MOST_ROUNDS, STEP = 600, 20
LIGHTGBM: Sequence[dict[str, Any]] = (
    {"num_leaves": 31},
    {
        "num_leaves": 10,
        "min_data_in_leaf": 8,
        "bagging_fraction": 0.8,
        "bagging_freq": 1,
        "feature_fraction": 0.6,
        "lambda_l2": 1.0,
    },
    {"num_leaves": 4, "min_data_in_leaf": 10},
)
XGBOOST: Sequence[dict[str, Any]] = (
    {"max_depth": 6},
    {"max_depth": 3, "subsample": 0.8, "colsample_bytree": 0.7},
)

Fit = Callable[
    [pd.DataFrame, Floats, Mapping[str, Any], int], Callable[[pd.DataFrame, int], Floats]
]
"""Columns, targets, settings, rounds → scores of columns after so many rounds."""


def tuned(
    fit: Fit, choices: Sequence[Mapping[str, Any]], train: pd.DataFrame, test: pd.DataFrame,
    aim: Floats, seed: int,
) -> Floats:  # fmt: skip
    """Choose settings and rounds by the mean d_τ of held-out folds, then fit to all rows."""
    X, new = categories(train, test)
    y, fold = train["y"].to_numpy(dtype=np.float64), folds(len(train), seed)
    tried = []
    for settings in choices:
        parts = [fit(X[fold != k], aim[fold != k], settings, MOST_ROUNDS) for k in range(FOLDS)]
        for rounds in range(STEP, MOST_ROUNDS + 1, STEP):
            held = [d_tau(y[fold == k], part(X[fold == k], rounds)) for k, part in enumerate(parts)]
            tried.append((float(np.mean(held)), rounds, settings))
    _, rounds, settings = max(tried, key=lambda one: one[0])
    return fit(X, aim, settings, rounds)(new, rounds)


def _lightgbm(on: str) -> Method:
    def scores(train: pd.DataFrame, test: pd.DataFrame, seed: int) -> Floats:
        import lightgbm

        def fit(
            X: pd.DataFrame, aim: Floats, settings: Mapping[str, Any], rounds: int
        ) -> Callable[[pd.DataFrame, int], Floats]:
            fixed = {"objective": "regression", "learning_rate": 0.05, "verbose": -1}
            fixed |= {"num_threads": 1, "seed": seed}
            model = lightgbm.train(fixed | dict(settings), lightgbm.Dataset(X, aim), rounds)
            return lambda new, upto: np.asarray(model.predict(new, num_iteration=upto))

        return tuned(fit, LIGHTGBM, train, test, target(train, on), seed)

    return scores


def _xgboost(train: pd.DataFrame, test: pd.DataFrame, seed: int) -> Floats:
    """Rank all rows as one query."""
    import xgboost

    def fit(
        X: pd.DataFrame, aim: Floats, settings: Mapping[str, Any], rounds: int
    ) -> Callable[[pd.DataFrame, int], Floats]:
        data = xgboost.DMatrix(X, aim, enable_categorical=True)
        data.set_group([len(X)])
        fixed = {"objective": "rank:pairwise", "eta": 0.05, "nthread": 1, "seed": seed}
        fixed |= {"lambdarank_pair_method": "mean", "lambdarank_num_pair_per_sample": 8}
        model = xgboost.train(fixed | dict(settings), data, rounds)
        return lambda new, upto: model.predict(
            xgboost.DMatrix(new, enable_categorical=True), iteration_range=(0, upto)
        ).astype(np.float64)

    return tuned(fit, XGBOOST, train, test, target(train, "ranks"), seed)


def _catboost(pairs: bool) -> Method:
    """Choose rounds by one fold, as CatBoost itself advises: by early stopping."""

    def scores(train: pd.DataFrame, test: pd.DataFrame, seed: int) -> Floats:
        import catboost

        X, new = train.drop(columns="y"), test.drop(columns="y")
        text, aim, held = texts(X), target(train, "ranks"), folds(len(train), seed) == 0

        def pool(rows: Any) -> Any:
            group = {"group_id": np.zeros(int(rows.sum()), dtype=int)} if pairs else {}
            return catboost.Pool(X[rows], aim[rows], cat_features=text, **group)

        settings = {
            "loss_function": "PairLogit:max_pairs=20000" if pairs else "RMSE",
            "learning_rate": 0.05,
            "random_seed": seed,
            "thread_count": 1,
            "verbose": False,
            "allow_writing_files": False,
        }
        trial = catboost.CatBoost(settings | {"iterations": MOST_ROUNDS})
        trial.fit(pool(~held), eval_set=pool(held), early_stopping_rounds=50)
        rounds = max(1, trial.tree_count_)
        model = catboost.CatBoost(settings | {"iterations": rounds})
        return np.asarray(model.fit(pool(np.ones(len(X), dtype=bool))).predict(new))

    return scores


def _explainable(train: pd.DataFrame, test: pd.DataFrame, seed: int) -> Floats:
    """Eight bags and ten pairs; more bags than that cost time and change little."""
    from interpret.glassbox import ExplainableBoostingRegressor

    model = ExplainableBoostingRegressor(outer_bags=8, interactions=10, n_jobs=1, random_state=seed)
    model.fit(train.drop(columns="y"), target(train, "ranks"))
    return np.asarray(model.predict(test.drop(columns="y")))


DEAR: dict[str, Method] = {
    "LightGBM on y": _lightgbm("y"),
    "LightGBM on ranks": _lightgbm("ranks"),
    "XGBoost rank:pairwise": _xgboost,
    "CatBoost on ranks": _catboost(pairs=False),
    "CatBoost PairLogit": _catboost(pairs=True),
    "EBM on ranks": _explainable,
}
