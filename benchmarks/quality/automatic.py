"""What a user takes instead of thinking: FLAML on the ranks of y, given the time of the blend."""

from __future__ import annotations

import logging

import numpy as np
import pandas as pd

from benchmarks.quality.targets import Floats, Method, categories, target

NAMES = {"FLAML on ranks": False, "FLAML with stacking on ranks": True}
LEAST_BUDGET = 5.0


def flaml(seconds: float, *, stacking: bool) -> Method:
    """Search for so many seconds (of the clock); with stacking of the best of each kind."""

    def scores(train: pd.DataFrame, test: pd.DataFrame, seed: int) -> Floats:
        from flaml import AutoML

        X, new = categories(train, test)
        logging.getLogger("flaml").setLevel(logging.ERROR)
        model = AutoML()
        model.fit(
            X,
            target(train, "ranks"),
            task="regression",
            time_budget=max(seconds, LEAST_BUDGET),
            ensemble=stacking,
            n_jobs=1,
            seed=seed,
            verbose=0,
        )
        return np.asarray(model.predict(new), dtype=np.float64)

    return scores
