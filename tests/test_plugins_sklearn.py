"""scikit-learn classifiers as learners: weights, seeds, missing values, and what can be saved."""

import json
from typing import Any

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from crank.criteria import get_criterion
from crank.errors import DataError, OptionError
from crank.fitting.grow import grow
from crank.plugins.base import NotExportableError, TrainingMatrix
from crank.plugins.linear import LinearRule
from crank.plugins.sklearn import EstimatorRule, SklearnLearner, takes_nan, weight_keyword
from crank.plugins.sklearn_trees import double_threshold
from crank.plugins.trees import TreesRule
from crank.ranks import rank

SCALED = make_pipeline(StandardScaler(), LogisticRegression())
IMPUTED = make_pipeline(SimpleImputer(), LogisticRegression())


def sample(m: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    label = np.where(X[:, 0] - 0.5 * X[:, 1] + 0.7 * rng.normal(size=m) > 0, 1.0, -1.0)
    label[:2] = 1.0, -1.0
    return X, label, rng.uniform(0.2, 2.0, m)


def fit(
    estimator: Any,
    X: np.ndarray,
    label: np.ndarray,
    weight: np.ndarray | None = None,
    seed: int = 0,
) -> Any:
    weight = np.ones(len(X)) if weight is None else weight
    return SklearnLearner(estimator).fit(X, label, weight, rng=np.random.default_rng(seed))


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        SCALED,
        make_pipeline(StandardScaler(with_mean=False), RidgeClassifier()),
        RidgeClassifier(),
        Perceptron(),
        SGDClassifier(),
        LinearSVC(),
        SVC(kernel="linear"),
        LinearDiscriminantAnalysis(),
    ],
    ids=lambda e: type(e).__name__,
)
def test_linear_classifiers_become_linear_rules(estimator: Any) -> None:
    X, label, weight = sample()
    rule = fit(estimator, X, label, weight)
    assert isinstance(rule, LinearRule)
    seeded = SklearnLearner.rule.from_dict(json.loads(json.dumps(rule.to_dict())))
    np.testing.assert_array_equal(seeded.decision(X), rule.decision(X))
    assert rule.decision(X)[rule.decision(X) > 0].min() > 0


def test_a_linear_rule_has_the_classifiers_own_signs() -> None:
    X, label, weight = sample()
    peer = LogisticRegression().fit(X, label, sample_weight=weight)
    rule = fit(LogisticRegression(), X, label, weight)
    np.testing.assert_array_equal(rule.decision(X) > 0, peer.decision_function(X) > 0)


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(max_depth=4, random_state=3),
        RandomForestClassifier(7, random_state=3),
        ExtraTreesClassifier(7, random_state=3),
    ],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_trees_and_forests_become_arrays_that_decide_alike(
    estimator: DecisionTreeClassifier, missing: float
) -> None:
    X, label, weight = sample()
    X[np.random.default_rng(1).random(X.shape) < missing] = np.nan
    rule = fit(estimator, X, label, weight)
    assert isinstance(rule, TreesRule)
    peer = estimator.fit(X, label.astype(int), sample_weight=weight)
    new = sample(400, seed=2)[0]
    new[::7, 1] = np.nan
    lean = 2.0 * peer.predict_proba(new)[:, 1] - 1.0
    np.testing.assert_allclose(rule.decision(new), lean, atol=1e-12)
    credit = [rule.credit().get(j, 0.0) for j in range(3)]
    assert abs(sum(credit) - 1.0) < 1e-12


def test_double_thresholds_compare_like_single_precision() -> None:
    rng = np.random.default_rng(0)
    t = np.concatenate([rng.normal(size=200), rng.normal(size=200).astype(np.float32)])
    bound = double_threshold(t)
    for x in (bound, np.nextafter(bound, np.inf), np.nextafter(bound, -np.inf), t):
        np.testing.assert_array_equal(x <= bound, x.astype(np.float32).astype(np.float64) <= t)
    assert double_threshold(np.array([np.inf]))[0] == np.finfo(np.float64).max


@pytest.mark.parametrize(
    "estimator",
    [
        GaussianNB(),
        SVC(),
        KNeighborsClassifier(),
        make_pipeline(SimpleImputer(), GaussianNB()),
    ],
    ids=lambda e: type(e).__name__,
)
def test_other_classifiers_decide_in_memory_and_say_that_they_cannot_be_saved(
    estimator: GaussianNB,
) -> None:
    X, label, weight = sample()
    rule = fit(estimator, X, label, weight)
    assert isinstance(rule, EstimatorRule)
    assert np.mean(np.sign(rule.decision(X)) == label) > 0.7
    with pytest.raises(NotExportableError, match=type(estimator).__name__):
        rule.to_dict()
    assert rule.describe(["a", "b", "c"]).endswith("> 0")


def test_stored_rules_of_unknown_kind_are_refused() -> None:
    with pytest.raises(DataError, match="kind 'forest'"):
        SklearnLearner.rule.from_dict({"kind": "forest"})


def test_decision_falls_back_from_decision_function_to_probability_to_prediction() -> None:
    X, label, weight = sample()
    nb = GaussianNB().fit(X, label, sample_weight=weight)
    odds = nb.predict_joint_log_proba(X)
    np.testing.assert_allclose(
        fit(GaussianNB(), X, label, weight).decision(X), odds[:, 1] - odds[:, 0], rtol=1e-6
    )
    value = fit(KNeighborsClassifier(1), X, label).decision(X)
    assert np.isfinite(value).all()  # probabilities 0 and 1 have infinite log-odds


class OnlyPredicts(DummyClassifier):  # type: ignore[misc]  # scikit-learn is untyped
    """Says +1 where the first column is positive."""

    predict_proba = None
    predict_log_proba = None

    def predict(self, X: np.ndarray) -> Any:
        return np.where(X[:, 0] > 0, 1, -1)

    def __getattribute__(self, name: Any) -> Any:
        if name in ("predict_proba", "predict_log_proba"):
            raise AttributeError(name)
        return super().__getattribute__(name)


def test_a_classifier_that_only_predicts_will_do() -> None:
    X, label, _ = sample()
    rule = fit(OnlyPredicts(), X, label)
    assert set(rule.decision(X)) == {1.0, -1.0}


def test_weights_reach_the_last_step_and_through_searches() -> None:
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2)
    assert weight_keyword(LogisticRegression()) == "sample_weight"
    assert weight_keyword(SCALED) == "logisticregression__sample_weight"
    assert weight_keyword(search) == "sample_weight"
    assert weight_keyword(make_pipeline(StandardScaler(), KNeighborsClassifier())) is None
    X, label, weight = sample()
    by_hand = make_pipeline(StandardScaler(), LogisticRegression())
    by_hand.fit(X, label, logisticregression__sample_weight=weight)
    rule = fit(SCALED, X, label, weight)
    np.testing.assert_allclose(rule.coef, by_hand[-1].coef_[0], rtol=1e-9)
    assert fit(search, X, label, weight).decision(X).shape == (200,)


def test_classifiers_without_weights_see_resampled_rows() -> None:
    X, label, _ = sample()
    weight = np.where(np.arange(200) < 100, 1.0, 1e-12)
    rule = fit(KNeighborsClassifier(1), X, label, weight)
    np.testing.assert_array_equal(np.sign(rule.decision(X[:100])), label[:100])
    seen = {tuple(row) for row in rule.estimator._fit_X}
    assert seen == {tuple(row) for row in X[:100]}


def test_random_state_comes_from_the_tree_unless_it_is_set() -> None:
    X, label, weight = sample()
    free, fixed = RandomForestClassifier(3), RandomForestClassifier(3, random_state=5)
    value = {
        (name, seed): fit(estimator, X, label, weight, seed).decision(X)
        for name, estimator in (("free", free), ("fixed", fixed))
        for seed in (0, 1)
    }
    np.testing.assert_array_equal(
        value["free", 0], fit(RandomForestClassifier(3), X, label, weight, 0).decision(X)
    )
    assert not np.array_equal(value["free", 0], value["free", 1])
    np.testing.assert_array_equal(value["fixed", 0], value["fixed", 1])
    assert free.random_state is None
    assert not hasattr(free, "estimators_")


@pytest.mark.parametrize(
    ("estimator", "takes"),
    [
        (LogisticRegression(), False),
        (HistGradientBoostingClassifier(), True),
        (RandomForestClassifier(), True),
        (IMPUTED, True),
        (SCALED, False),
        (make_pipeline(StandardScaler(), HistGradientBoostingClassifier()), True),
        (make_pipeline("passthrough", StandardScaler(), SimpleImputer(), GaussianNB()), True),
        (make_pipeline(make_pipeline(SimpleImputer()), GaussianNB()), False),
    ],
)
def test_missing_values_are_taken_where_the_classifier_says_so(estimator: Any, takes: Any) -> None:
    assert takes_nan(estimator) is takes
    assert SklearnLearner(estimator).takes_missing is takes


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        (LogisticRegression, "the class LogisticRegression"),
        (LinearRegression(), "LinearRegression, which does not classify"),
        ("logistic", "'logistic'"),
        (None, "None"),
    ],
)
def test_what_is_no_classifier_is_refused(wrong: Any, part: Any) -> None:
    with pytest.raises(OptionError) as caught:
        SklearnLearner(wrong)
    assert part in str(caught.value)
    assert "Allowed: a scikit-learn classifier" in str(caught.value)


def test_a_classifier_that_fails_on_small_nodes_ends_the_branch_but_not_the_fit() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=80)
    data, criterion = TrainingMatrix(X, (0, 0)), get_criterion("kendall")
    learner = SklearnLearner(KNeighborsClassifier(20))
    tree = grow(data, rank(y), learner, criterion, max_depth=6, min_samples_leaf=1)
    assert tree.n_leaves >= 2
    assert min(node.n for _, node in tree.walk() if not node.is_leaf) >= 20
    hopeless = SklearnLearner(KNeighborsClassifier(100))
    with pytest.raises(DataError, match=r"KNeighborsClassifier cannot be fitted to 80 rows.*n_nei"):
        grow(data, rank(y), hopeless, criterion, max_depth=2, min_samples_leaf=1)
