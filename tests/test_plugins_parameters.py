"""Parameters of learners, as scikit-learn's estimators have them: read, set, cloned, searched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

import crank
from crank import RankingTree
from crank.errors import OptionError
from crank.plugins.base import SplitLearner
from crank.plugins.lightgbm import LightGBM
from crank.plugins.logistic import Logistic
from crank.plugins.registry import get_learner
from crank.plugins.sklearn import SklearnLearner
from crank.plugins.stump import Stump
from crank.plugins.svm import SupportVector
from crank.plugins.tree import ClassificationTree
from tests.narrowing import of
from tests.test_plugins_isolation import SignRule, sample


class Nested(SplitLearner):
    """A learner with a parameter of its own behind ``**kwargs``."""

    description = "nested"
    rule = SignRule

    def __init__(self, estimator: Any = None, scale: float = 1.0, **kwargs: Any) -> None:
        if scale <= 0.0:
            raise OptionError(f"scale of Nested is {scale}. Allowed: above 0.")
        self.estimator, self.scale, self.kwargs = estimator, scale, kwargs

    @classmethod
    def parameter_names(cls) -> tuple[str, ...]:
        return (*super().parameter_names(), "eta")

    def fit(self, X: Any, label: Any, weight: Any, *, rng: Any) -> Any:
        return SignRule()


class Below(Nested):
    """Hands on what it does not know."""

    def __init__(self, depth: int = 2, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.depth = depth


LEARNERS = [
    Stump(discount_levels=False),
    ClassificationTree(max_depth=2),
    Logistic(C=0.5),
    SupportVector(kernel="linear"),
    LightGBM(n_estimators=3),
    SklearnLearner(LogisticRegression(C=2.0)),
    Nested(scale=2.0, eta=0.5),
    Below(depth=3, scale=0.5),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_a_learner_is_rebuilt_from_its_parameters_and_its_repr(learner: SplitLearner) -> None:
    kind = type(learner)
    space = {kind.__name__: kind, "LogisticRegression": LogisticRegression}
    for twin in (clone(learner), eval(repr(learner), space)):
        assert type(twin) is kind
        assert twin is not learner
        assert repr(twin) == repr(learner)
    assert set(learner.get_params(deep=False)) == set(kind.parameter_names())


def test_only_what_differs_from_the_defaults_is_shown() -> None:
    assert repr(Logistic()) == "Logistic()"
    assert repr(Below(scale=0.5, eta=3)) == "Below(scale=0.5, eta=3)"


@pytest.mark.parametrize(
    ("learner", "params", "message"),
    [
        (Logistic(), {"c": 1.0}, "Logistic has no parameter 'c'. Allowed: C. Did you mean 'C'"),
        (Below(), {"dept": 1}, "Allowed: depth, estimator, scale, eta. Did you mean 'depth'"),
        (Below(), {"scale": -1.0}, "scale of Nested is -1.0"),
        (Logistic(), {"C__x": 1}, "C of Logistic is 1.0, which has no parameters of its own"),
    ],
)
def test_wrong_parameters_are_refused_and_change_nothing(
    learner: SplitLearner, params: dict[str, Any], message: str
) -> None:
    before = repr(learner)
    with pytest.raises(OptionError, match=message):
        learner.set_params(**params)
    assert repr(learner) == before
    if "__" not in next(iter(params)):
        with pytest.raises(OptionError):
            get_learner(type(learner), params)


def test_nested_parameters_are_copied_before_they_change() -> None:
    inner = LogisticRegression(C=1.0)
    learner = SklearnLearner(inner)
    learner.set_params(estimator__C=5.0)
    assert learner.get_params()["estimator__C"] == 5.0
    assert inner.C == 1.0
    assert learner.set_params() is learner


def test_a_search_reaches_the_learner_and_what_it_wraps() -> None:
    X, y = sample()
    for tree, grid in (
        (RankingTree(Logistic(), max_depth=1), {"learner__C": [1e-6, 1.0]}),
        (RankingTree("logistic", max_depth=1), {"learner__C": [1e-6, 1.0]}),
        (
            RankingTree(SklearnLearner(LogisticRegression()), max_depth=1),
            {"learner__estimator__C": [1e-6, 1.0]},
        ),
    ):
        found = GridSearchCV(tree, grid, cv=2).fit(X, y)
        (name,) = grid
        assert found.best_params_[name] in grid[name]
        assert found.best_estimator_.get_params()[name] == found.best_params_[name]
        assert tree.get_params()["learner"] is tree.learner
    with pytest.raises(OptionError, match="has no parameter 'D'"):
        GridSearchCV(RankingTree("logistic"), {"learner__D": [1]}, cv=2, error_score="raise").fit(
            X, y
        )


def test_a_name_keeps_its_parameters_when_one_of_them_is_set() -> None:
    tree = RankingTree("svm", learner_params={"kernel": "linear"}).set_params(
        learner__C=3.0, max_depth=2
    )
    assert repr(tree.learner) == "SupportVector(kernel='linear', C=3.0)"
    assert (tree.learner_params, tree.max_depth) == (None, 2)
    assert repr(tree.set_params(learner="logistic", learner__C=2.0).learner) == "Logistic(C=2.0)"


def test_an_instance_keeps_its_parameters_in_the_call_and_in_the_file(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, "y ~ x1 + x2", learner=Logistic(C=0.25), max_depth=1, prune=None)
    again = of(crank.TreeModel, crank.from_json(m.to_json()))
    for model in (m, again):
        assert "learner='logistic', learner_params={'C': 0.25}" in str(model.call)
        assert model.learner.params == {"C": 0.25}
    np.testing.assert_array_equal(again.predict(toy), m.predict(toy))
    nested = SklearnLearner(LogisticRegression(C=0.5))
    m = crank.fit(toy, "y ~ x1 + x2", learner=nested, max_depth=1, prune=None)
    assert "LogisticRegression(C=0.5)" in str(crank.from_json(m.to_json() or "").call)
