"""Peers from scikit-learn, and R's rpart and mgcv."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    StackingRegressor,
)
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from benchmarks.quality.targets import FOLDS, Floats, Method, categories, dummies, target

SCRIPT = Path(__file__).with_name("peers.R")
TREES = 300


def _coded(make: Callable[[int], Any], on: str) -> Method:
    """Fit a regressor to dummies."""

    def scores(train: pd.DataFrame, test: pd.DataFrame, seed: int) -> Floats:
        X, new = dummies(train, test)
        return np.asarray(make(seed).fit(X, target(train, on)).predict(new))

    return scores


def _decision_tree(seed: int) -> Any:
    grid = {"max_leaf_nodes": [4, 8, 12, 16, 24, 32, 48, 64], "min_samples_leaf": [5, 20]}
    return GridSearchCV(DecisionTreeRegressor(random_state=seed), grid, cv=FOLDS)


def _histogram(train: pd.DataFrame, test: pd.DataFrame, seed: int) -> Floats:
    """Tune rounds and leaves, as for the other boosters."""
    X, new = categories(train, test)
    grid = {"max_iter": [50, 100, 200, 400], "max_leaf_nodes": [6, 31]}
    model = HistGradientBoostingRegressor(
        learning_rate=0.05,
        categorical_features="from_dtype",
        early_stopping=False,
        random_state=seed,
    )
    found = GridSearchCV(model, grid, cv=FOLDS).fit(X, target(train, "ranks"))
    return np.asarray(found.predict(new))


def _stack(seed: int) -> Any:
    from lightgbm import LGBMRegressor

    members = [
        ("lightgbm", LGBMRegressor(n_estimators=200, learning_rate=0.05, verbose=-1, n_jobs=1)),
        ("forest", RandomForestRegressor(TREES, random_state=seed)),
        ("ridge", make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13)))),
    ]
    return StackingRegressor(members, RidgeCV(np.logspace(-3, 3, 13)), cv=FOLDS)


def _in_r(model: str, on: str) -> Method:
    """Let R fit the model that is so called in the script beside this file."""

    def scores(train: pd.DataFrame, test: pd.DataFrame, seed: int) -> Floats:
        program = shutil.which("Rscript")
        if program is None:
            raise ModuleNotFoundError("R is not installed", name="R")
        with tempfile.TemporaryDirectory() as place:
            files = [str(Path(place, name)) for name in ("train.csv", "test.csv", "score.csv")]
            train.assign(y=target(train, on)).to_csv(files[0], index=False)
            test.drop(columns="y").to_csv(files[1], index=False)
            command = [program, "--vanilla", str(SCRIPT), model, str(seed), *files]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode == 3:
                raise ModuleNotFoundError(f"R has no package {model}", name=model)
            if done.returncode:
                raise RuntimeError(done.stderr.strip()[-300:])
            return pd.read_csv(files[2])["score"].to_numpy(dtype=np.float64)

    return scores


CHEAP: dict[str, Method] = {
    "DecisionTree on y": _coded(_decision_tree, "y"),
    "rpart on y": _in_r("rpart", "y"),
    "LinearRegression on y": _coded(lambda seed: LinearRegression(), "y"),
    "LinearRegression on normal scores": _coded(lambda seed: LinearRegression(), "normal"),
    "mgcv on y": _in_r("mgcv", "y"),
    "mgcv on normal scores": _in_r("mgcv", "normal"),
    "RandomForest on y": _coded(lambda s: RandomForestRegressor(TREES, random_state=s), "y"),
    "RandomForest on ranks": _coded(
        lambda s: RandomForestRegressor(TREES, random_state=s), "ranks"
    ),
    "ExtraTrees on y": _coded(lambda s: ExtraTreesRegressor(TREES, random_state=s), "y"),
    "ExtraTrees on ranks": _coded(lambda s: ExtraTreesRegressor(TREES, random_state=s), "ranks"),
}
DEAR: dict[str, Method] = {
    "HistGradientBoosting on ranks": _histogram,
    "scikit-learn stack on ranks": _coded(_stack, "ranks"),
}
