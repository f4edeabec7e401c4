"""XGBoost beside crank: as a plugin with categories, and through `SklearnLearner`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crank
from crank.plugins.sklearn import SklearnLearner
from crank.testing import check_learner

xgboost = pytest.importorskip("xgboost")


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The package of the tests, imported from its source."""
    source = Path(__file__).parent / "plugins" / "crank-xgb" / "src"
    monkeypatch.syspath_prepend(source)
    monkeypatch.delitem(sys.modules, "crank_xgb", raising=False)
    return importlib.import_module("crank_xgb")


def sample(n: int = 400) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 6, n), rng.normal(size=n)])
    high = np.isin(X[:, 1], (1.0, 4.0)) | (X[:, 2] > 0.5)
    X[::7, 0] = X[::11, 1] = np.nan
    return X, high


def test_the_rule_of_the_plugin_is_xgboosts_own_margin(plugin: Any) -> None:
    X, high = sample()
    learner = plugin.XGBoost()
    label = np.where(high, 1.0, -1.0)
    levels = (0, 6, 0)
    rule = learner.fit(X, label, np.ones(len(X)), rng=np.random.default_rng(0), levels=levels)
    settings = {
        "objective": "binary:logistic",
        "base_score": 0.5,
        "max_depth": 3,
        "min_child_weight": 0.0,
        "max_cat_to_onehot": 1,
        "nthread": 1,
    }
    kinds = ["q", "c", "q"]
    data = xgboost.DMatrix(X, label=high, feature_types=kinds, enable_categorical=True)
    margin = xgboost.train(settings, data, 20).predict(data, output_margin=True)
    np.testing.assert_allclose(rule.decision(X), margin, rtol=0.0, atol=1e-5)
    assert rule.nodes.level_branch.any()


@pytest.mark.parametrize("cut", [0.1, -0.1, 1.0, 0.0, 1e-40, -3e38])
def test_cuts_in_single_precision_are_cuts_of_doubles(plugin: Any, cut: float) -> None:
    last = plugin.last_below(cut)
    assert np.float32(last) < np.float32(cut)
    assert np.float32(np.nextafter(last, np.inf)) >= np.float32(cut)


def test_the_classifier_goes_through_scikit_learns_door() -> None:
    learner = SklearnLearner(xgboost.XGBClassifier(n_estimators=5, max_depth=2, n_jobs=1))
    assert learner.takes_missing
    report = check_learner(learner, new_process=False)
    assert "takes missing values" in report.passed
    X, high = sample(200)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=high + 0.1 * np.nan_to_num(X[:, 0]))
    with pytest.warns(UserWarning, match="cannot be saved"):
        m = crank.fit(frame, "y ~ a + c", learner=learner, max_depth=2, prune=None)
    assert crank.metrics.kendall(frame["y"], m.predict(frame)) > 0.6
