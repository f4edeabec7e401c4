"""Models of every kind, and rows with missing and unseen values, for the tests of pages."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import crank
from crank.models.base import RankingModel

ROWS = 200
MARK = "</script><img src=x onerror=alert(1)>"
"""A column and a level that would run as script if a page took them for markup."""


def sample(n: int = 240) -> pd.DataFrame:
    """Numbers, a factor, a flag and a count; some values are missing."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(
        {
            "x1": rng.normal(size=n),
            "x2": rng.uniform(0.5, 4.0, n),
            "g": rng.choice(["a", "b", MARK], n),
            "flag": rng.random(n) < 0.4,
            "k": rng.integers(0, 5, n),
        }
    )
    effect = frame["g"].map({"a": 0.0, "b": 1.0, MARK: -1.0})
    frame["y"] = frame["x1"] + np.log(frame["x2"]) + effect + 0.3 * rng.normal(size=n)
    return frame


def with_gaps(frame: pd.DataFrame) -> pd.DataFrame:
    """Leave out some values of two columns."""
    rng = np.random.default_rng(1)
    gaps = frame.copy()
    gaps.loc[rng.random(len(frame)) < 0.1, "x1"] = np.nan
    gaps.loc[rng.random(len(frame)) < 0.1, "g"] = None
    return gaps


@cache
def models() -> dict[str, RankingModel]:
    """Fit a small model of every kind, once, with formulas that use what formulas offer."""
    full = sample()
    gaps = with_gaps(full)
    quick: dict[str, Any] = {"cv": 3}
    return {
        "tree": crank.fit(
            gaps, "y ~ x1 + cut(x2, [0, 1, 2, 5]) + g + g:C(k) + I(x1**2) + I(x2 > 2)", **quick
        ),
        "logistic": crank.fit(
            full,
            "y ~ x1*g + poly(x2, 3) + bs(x1, df=5, extrapolation='clip')",
            learner="logistic",
            max_depth=3,
            **quick,
        ),
        "svm": crank.fit(full, "y ~ x1 + x2 + g", learner="svm", max_depth=2, prune=None),
        "trees": crank.fit(gaps, "y ~ x1 + x2", learner="tree", max_depth=2, prune=None),
        "linear": crank.linear(full, "y ~ x1*g + ns(x2, df=3) + C(k)", cv=None),
        "additive": crank.additive(full, "y ~ s(x1) * s(x2) + g", smoothing=0.001),
        "forest": crank.forest(gaps, "y ~ x1 + log(x2) + g + flag + k", n_trees=20),
        "rules": crank.forest(full, "y ~ x1 + x2", n_trees=3, learner="logistic", max_depth=3),
        "booster": crank.boost(gaps, "y ~ x1 + x2 + g + flag + k", rounds=20),
        "blend": crank.blend(full, "y ~ x1 + x2 + flag", members=["linear", "tree"], cv=3),
    }


REFUSES_MISSING = frozenset({"linear", "additive", "blend"})


def probes(kind: str) -> list[dict[str, Any]]:
    """Draw rows; of models that take them, with missing values and unseen levels."""
    rng = np.random.default_rng(3)
    odd = kind not in REFUSES_MISSING
    found = []
    for _ in range(ROWS):
        row: dict[str, Any] = {
            "x1": float(1.5 * rng.normal()),
            "x2": float(rng.uniform(0.5, 4.0)),
            "g": str(rng.choice(["a", "b", MARK, "new"] if odd else ["a", "b", MARK])),
            "flag": bool(rng.random() < 0.5),
            "k": int(rng.integers(0, 6 if odd else 5)),
        }
        if odd:
            row = {name: None if rng.random() < 0.12 else value for name, value in row.items()}
        found.append(row)
    return found


def in_python(model: RankingModel, rows: list[dict[str, Any]]) -> list[float]:
    """Score rows as Python does, unseen levels as missing."""
    floats = ("x1", "x2", "k")
    columns = {
        name: np.array([row[name] for row in rows], dtype=float if name in floats else object)
        for name in rows[0]
    }
    scores: list[float] = model.predict(columns, unknown="missing").tolist()
    return scores
