"""Add golden model files and what they score; never replaces one."""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import crank
from crank.plugins.sklearn import SklearnLearner

HERE = Path(__file__).parent
FOREST = RandomForestClassifier(n_estimators=3, max_depth=2, random_state=0)
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "stump": ("y ~ x + log(z) + g + flag + g:h", {"criterion": "iauc", "leaf_order": "rank"}),
    "stump-pruned": ("sqrt(y + 9) ~ x + z + C(k) + g", {"prune": "1se", "weights": "w"}),
    "tree": ("y ~ x + z + g", {"learner": "tree", "learner_params": {"max_depth": 2}}),
    "logistic": ("y ~ poly(x, 2) + bs(z, df=4) + g*flag", {"learner": "logistic"}),
    "svm": ("y ~ x + z + scale(k)", {"learner": "svm", "learner_params": {"C": 0.5}}),
    "svm-linear": ("y ~ center(x) + z", {"learner": "svm", "learner_params": {"kernel": "linear"}}),
    "lightgbm": (
        "y ~ x + z + {x * z} + g",
        {"learner": "lightgbm", "learner_params": {"n_estimators": 5, "num_leaves": 4}},
    ),
    "stump-functions": ("y ~ ns(x, df=3) + cut(z, 4) + log(z, 3) + h", {}),
    "stump-monotone": ("y ~ x + z", {"monotone": {"z": "increasing"}, "criterion": "kendall"}),
    "linear": ("y ~ z + log(z) + h", {"penalty": 0.001}),
    "forest": (
        "y ~ x + log(z) + g + flag",
        {"n_trees": 8, "min_samples_leaf": 12, "max_depth": 4},
    ),
    "forest-logistic": ("y ~ z + k", {"n_trees": 3, "learner": "logistic", "max_depth": 2}),
    "additive": ("y ~ s(z) + h", {"smoothing": 1.0}),
    "booster": (
        "y ~ x + log(z) + g + flag",
        {"rounds": 6, "params": {"num_leaves": 4, "min_data_per_group": 5}},
    ),
    "blend": (
        "y ~ z + h",
        {"members": {"linear": None, "few": partial(crank.boost, rounds=4)}, "cv": 2},
    ),
    "sklearn-linear": ("y ~ z + k", {"learner": SklearnLearner(LogisticRegression())}),
    "sklearn-forest": (
        "y ~ z + k + h",
        {"learner": "sklearn", "learner_params": {"estimator": FOREST}},
    ),
}


def sample(n: int = 200) -> pd.DataFrame:
    """Numbers, text, flags and gaps."""
    rng = np.random.default_rng(2017)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n).round(3),
            "z": rng.uniform(0.5, 3.0, n).round(3),
            "k": rng.integers(1, 5, n),
            "g": rng.choice(["a", "b", "ç", "01"], n),
            "h": rng.choice(["u", "v"], n),
            "flag": rng.random(n) < 0.5,
            "w": rng.integers(1, 4, n),
        }
    )
    effect = frame["g"].map({"a": 0.0, "b": 1.0, "ç": -1.0, "01": 0.3})
    frame["y"] = (frame["x"] + np.log(frame["z"]) + effect + 0.3 * rng.normal(size=n)).round(3)
    frame.loc[::11, "x"] = np.nan
    frame.loc[::13, "g"] = None
    return frame


def columns(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """Write a frame as plain columns, gaps as None."""
    gaps = frame.astype(object).where(frame.notna(), None)
    return {str(name): gaps[name].tolist() for name in gaps}


def main(folder: str, *names: str) -> None:
    """Fit the named models, or all that the folder lacks, and pin their scores."""
    frame = sample()
    rows = frame.drop(columns=["w"]).head(60)
    target = HERE / folder
    target.mkdir(exist_ok=True)
    stored = HERE / "rows.json"
    if not stored.exists():
        stored.write_text(json.dumps(columns(rows), indent=0) + "\n", encoding="utf-8")
    data = json.loads(stored.read_text(encoding="utf-8"))
    for name in names or MODELS:
        if (target / f"{name}.json").exists():
            continue
        formula, options = MODELS[name]
        training = frame
        if name == "stump-functions":
            training = frame.assign(h=pd.Categorical(frame["h"], ["v", "u"], ordered=True))
        verbs: dict[str, Callable[..., crank.RankingModel]]
        verbs = {"linear": crank.linear, "additive": crank.additive, "forest": crank.forest}
        verbs |= {"booster": crank.boost, "blend": crank.blend}
        verb = verbs.get(name.split("-")[0])
        if verb is None:
            verb, options = crank.fit, {"max_depth": 3, "prune": None, "cv": 5} | options
        m = verb(training, formula, **options)
        m.to_json(target / f"{name}.json")
        kinds = [kind for kind in ("score", "leaf", "median") if kind in m.predictions]
        pinned = {kind: m.predict(data, kind).tolist() for kind in kinds}
        text = json.dumps(pinned) + "\n"
        (target / f"{name}.scores.json").write_text(text, encoding="utf-8")
        print(name, m)


if __name__ == "__main__":
    main(*sys.argv[1:])
