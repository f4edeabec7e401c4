"""Boosters and affine pipelines of scikit-learn become arrays: the same in JSON and in ONNX."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import crank
from crank.errors import PluginWarning
from crank.plugins.linear import LinearRule
from crank.plugins.sklearn import SklearnLearner, fit_weighted
from crank.plugins.sklearn_arrays import as_arrays, decision_values
from crank.plugins.sklearn_trial import without_warnings
from crank.serve import Scorer

TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
SAVED: dict[str, Any] = {
    "boosting": GradientBoostingClassifier(n_estimators=7, random_state=0),
    "boosting from 0": GradientBoostingClassifier(n_estimators=3, init="zero", random_state=0),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=7, min_samples_leaf=5),
    "adaboost": AdaBoostClassifier(n_estimators=7, random_state=0),
    "adaboost of trees": AdaBoostClassifier(TREE, n_estimators=4, random_state=0),
    "standardised": make_pipeline(StandardScaler(), LogisticRegression()),
    "min-max": make_pipeline(MinMaxScaler(), LogisticRegression()),
    "robust": make_pipeline(RobustScaler(), RidgeClassifier()),
    "no centre": make_pipeline(RobustScaler(with_centering=False), RidgeClassifier()),
    "imputed": make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()),
    "imputed late": make_pipeline(
        MaxAbsScaler(), SimpleImputer(strategy="median"), SVC(kernel="linear")
    ),
    "nested": make_pipeline(make_pipeline(SimpleImputer(), "passthrough"), LogisticRegression()),
    "scaled tree": make_pipeline(StandardScaler(), TREE),
    "imputed forest": make_pipeline(
        SimpleImputer(), MinMaxScaler(), RandomForestClassifier(5, random_state=0)
    ),
    "scaled boosting": make_pipeline(
        RobustScaler(), HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5)
    ),
}


def rows(missing: bool) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3)) * [1.0, 100.0, 1e-3] + [0.0, 1e4, 5.0]
    label = np.where(X[:, 0] + (X[:, 1] - 1e4) / 100.0 + rng.normal(size=150) > 0, 1.0, -1.0)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, label


@pytest.mark.parametrize("what", SAVED)
def test_arrays_decide_like_the_classifier_on_rows_that_it_has_not_seen(what: str) -> None:
    learner = SklearnLearner(SAVED[what])
    X, label = rows(learner.takes_missing)
    estimator = SAVED[what]
    fit_weighted(estimator, X, label, np.ones(150), np.random.default_rng(0))
    rule = as_arrays(estimator, X)
    assert rule is not None
    new = np.random.default_rng(1).normal(size=(5_000, 3)) * [2.0, 300.0, 2e-3] + [0.0, 1e4, 5.0]
    if learner.takes_missing:
        new[::7, 1] = np.nan
    wanted = decision_values(estimator, new)
    scale = np.abs(wanted).max()
    # the bias of a linear rule lies midway between training values
    shift = rule.decision(new) - wanted if isinstance(rule, LinearRule) else np.zeros(5_000)
    assert np.ptp(shift) < 1e-9 * scale
    clear = np.abs(wanted + shift) > 1e-9 * scale
    np.testing.assert_array_equal(
        (rule.decision(new) > 0)[clear], (wanted + shift.mean() > 0)[clear]
    )
    assert learner.saves_json


@pytest.mark.parametrize(
    "what", ["boosting", "histogram boosting", "adaboost", "imputed", "scaled tree"]
)
def test_models_are_the_same_in_json_and_onnx(what: str, toy: pd.DataFrame) -> None:
    learner = SklearnLearner(SAVED[what])
    frame = toy.copy()
    if learner.takes_missing:
        frame.loc[::11, "x1"] = np.nan
    m = crank.fit(frame, "y ~ x1 + x2", learner=learner, max_depth=2, prune=None)
    np.testing.assert_array_equal(
        crank.from_json(m.to_json() or "").predict(frame), m.predict(frame)
    )
    np.testing.assert_array_equal(Scorer(m.to_onnx() or b"")(frame), m.predict(frame))


@pytest.mark.parametrize(
    "estimator",
    [
        GaussianNB(),
        make_pipeline(PolynomialFeatures(), LogisticRegression()),
        make_pipeline(MinMaxScaler(clip=True), LogisticRegression()),
        make_pipeline(SimpleImputer(add_indicator=True), LogisticRegression()),
        BaggingClassifier(GaussianNB(), n_estimators=2),
        GradientBoostingClassifier(n_estimators=2, init=GaussianNB()),
    ],
)
def test_what_cannot_be_saved_says_so_before_it_is_fitted(
    estimator: Any, toy: pd.DataFrame
) -> None:
    learner = SklearnLearner(estimator)
    assert not learner.saves_json
    with pytest.warns(PluginWarning, match="cannot be saved as JSON"):
        crank.fit(toy, "y ~ x1 + x2", learner=learner, max_depth=1, prune=None)


class Demanding(LogisticRegression):  # type: ignore[misc]  # scikit-learn is untyped
    """Wants labels 0 and 1, as XGBClassifier does."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        if set(np.unique(y)) != {0, 1}:
            raise ValueError(f"Expected: [0 1], got {np.unique(y)}")
        return super().fit(X, y, sample_weight)


def test_labels_are_0_and_1_unless_settings_say_otherwise() -> None:
    X, label = rows(False)
    one = SklearnLearner(Demanding()).fit(X, label, np.ones(150), rng=np.random.default_rng(0))
    assert one is not None
    heavy = SklearnLearner(LogisticRegression(class_weight={-1: 50.0, 1: 1.0}))
    other = heavy.fit(X, label, np.ones(150), rng=np.random.default_rng(0))
    assert other is not None
    assert (other.decision(X) > 0).sum() < (one.decision(X) > 0).sum()


def test_warnings_of_classifiers_are_kept_from_users_and_filters_come_back() -> None:
    X, label = rows(False)
    before = list(warnings.filters)
    with without_warnings(), without_warnings():
        MLPClassifier(max_iter=1).fit(X, label)
    assert list(warnings.filters) == before
