"""crank's rankers as the study fits them: by their verbs, at their defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import crank
from benchmarks.quality.targets import Floats, Method


def _verb(fit: Callable[..., Any], **options: Any) -> Method:
    def scores(train: pd.DataFrame, test: pd.DataFrame, seed: int) -> Floats:
        model = fit(train, "y ~ .", random_state=seed, progress=False, **options)
        return np.asarray(model.predict(test), dtype=np.float64)

    return scores


def _unseeded(fit: Callable[..., Any]) -> Method:
    def scores(train: pd.DataFrame, test: pd.DataFrame, seed: int) -> Floats:
        return np.asarray(fit(train, "y ~ .").predict(test), dtype=np.float64)

    return scores


CHEAP: dict[str, Method] = {
    "crank tree": _verb(crank.fit),
    "crank tree, kendall": _verb(crank.fit, criterion="kendall"),
    "crank tree, kendall, oriented": _verb(crank.fit, criterion="kendall", leaf_order="oriented"),
    "crank tree, kendall, by rank": _verb(crank.fit, criterion="kendall", leaf_order="rank"),
    "crank tree, iauc": _verb(crank.fit, criterion="iauc"),
    "crank tree, spearman": _verb(crank.fit, criterion="spearman"),
    "crank tree, kendall, logistic": _verb(crank.fit, criterion="kendall", learner="logistic"),
    "crank linear": _unseeded(crank.linear),
    "crank additive": _unseeded(crank.additive),
    "crank forest": _verb(crank.forest),
    "crank booster": _verb(crank.boost),
}
DEAR: dict[str, Method] = {"crank blend": _verb(crank.blend)}
