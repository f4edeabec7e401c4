"""The conformance kit: every check catches a learner that was broken on purpose."""

from __future__ import annotations

import dataclasses
import random
import unittest
from typing import Any

import numpy as np
import pytest
from sklearn import discriminant_analysis, ensemble, linear_model, naive_bayes, neighbors, svm, tree
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from crank.errors import CrankError, OptionError
from crank.plugins.logistic import Logistic
from crank.plugins.registry import get_learner
from crank.plugins.sklearn import SklearnLearner
from crank.testing import LearnerCheckError, Report, check_learner, learner_checks
from crank.testing.check import Kit
from crank.testing.nodes import noisy
from crank.testing.run import CHECKS, run_checks
from tests.faulty import FAULTS, Good, Rule, learner, with_rule


def failed(broken: Any) -> dict[str, str]:
    report = check_learner(broken, raise_on_failure=False, new_process=False)
    return {finding.check: str(finding) for finding in report.failures}


@pytest.mark.parametrize("name", ["stump", "logistic", "tree", "svm"])
def test_good_learners_pass(name: str) -> None:
    report = check_learner(get_learner(name), new_process=name == "logistic")
    assert report.ok
    assert len(report.passed) + len(report.skipped) == len(CHECKS)


def test_the_learner_that_is_broken_below_is_good_itself() -> None:
    assert not failed(Good())
    assert not failed(with_rule())


@pytest.mark.parametrize("what", FAULTS)
def test_a_fault_is_found_once_by_its_check(what: str) -> None:
    check, make = FAULTS[what]
    found = failed(make())
    assert list(found) == [check]
    (remedy,) = {c.remedy for c in CHECKS if c.name == check}
    assert len(found[check]) > len(check) + 20
    assert found[check].endswith((".", remedy))


def test_there_are_enough_faults_and_every_check_is_proved() -> None:
    assert len(FAULTS) >= 71
    proved = {check for check, _ in FAULTS.values()}
    rest = {"keeps its time", "saves models", "grows trees"}  # proved below
    assert proved | rest == {check.name for check in CHECKS}


def test_time_is_measured_and_a_hint_given() -> None:
    ticks = iter([0.0, 120.0])
    kit = Kit(time_budget=60.0, clock=lambda: next(ticks))
    check = next(check for check in CHECKS if check.name == "keeps its time")
    (finding,) = run_checks(Good(), kit, {}, (check,)).failures
    assert "took 120.0 s, and 60 s is the budget" in finding.problem
    assert "some 132 minutes" in finding.problem
    assert "prepare" in finding.remedy


def tree_only(self: Any, data: Any) -> Any:
    """Learn nothing where the grower asks, but only there."""
    if len(data.X) != 200 or data.X[0, 0] < 1.0:
        return self
    return learner(fit=lambda s, X, label, weight, *, rng: None)


def test_a_learner_that_fails_in_the_grower_only_is_found() -> None:
    assert list(failed(learner(prepare=tree_only))) == ["grows trees"]


class NeedsPackage(Good):
    """Its rules cannot be read without what only fitting should need."""

    requires = {"sklearn": "scikit-learn"}  # noqa: RUF012 - as authors write it

    class rule(Rule):
        @classmethod
        def from_dict(cls, d: Any) -> Any:
            import sklearn  # noqa: F401 - the offence

            return super().from_dict(d)


def test_a_file_that_needs_what_only_fitting_should_need_is_found() -> None:
    report = check_learner(NeedsPackage(), raise_on_failure=False)
    (finding,) = report.failures
    assert finding.check == "saves models"
    assert "No module named 'sklearn'" in finding.problem
    assert "import them inside fit" in finding.remedy


def test_one_cause_is_reported_once_with_its_own_remedy() -> None:
    def fit(self: Any, X: Any, label: Any, weight: Any, *, rng: Any) -> Any:
        raise RuntimeError(f"no luck with {len(X)} rows")

    report = check_learner(learner(fit=fit), raise_on_failure=False)
    (finding,) = report.failures
    assert "fit raised RuntimeError (no luck with 120 rows)" in finding.problem
    assert "fit returns a SplitRule, or None" in finding.remedy
    assert {"separates", "survives", "keeps quiet"} <= set(finding.also)
    assert "The same cause: " in str(finding)


def test_the_error_lists_every_failure_with_its_remedy() -> None:
    broken = with_rule(describe=lambda self, names: "", credit=lambda self: {0: 3.0})
    with pytest.raises(LearnerCheckError) as caught:
        check_learner(broken, new_process=False)
    assert isinstance(caught.value, CrankError)
    assert isinstance(caught.value, AssertionError)
    message = str(caught.value)
    assert "Faulty: " in message
    assert "2 failed" in message
    assert "describes itself: describe gave ''." in message
    assert "credits columns: the shares are [3.0], with sum 3." in message
    assert "shares of at least 0 that sum to 1" in message


def test_expected_failures_are_reported_apart_and_must_stay_true() -> None:
    broken = with_rule(credit=lambda self: {0: 3.0})
    known = {"credits columns": "the importances of the library do not sum to 1"}
    report = check_learner(broken, expected_failures=known, new_process=False)
    assert report.ok
    assert [finding.check for finding in report.expected] == ["credits columns"]
    assert "  expected credits columns: the shares are [3.0]" in str(report)
    with pytest.raises(LearnerCheckError, match="it passes, though it was expected to fail"):
        check_learner(Good(), expected_failures=known, new_process=False)
    with pytest.raises(OptionError, match=r"names 'credit columns'.*Did you mean 'credits col"):
        check_learner(broken, expected_failures={"credit columns": "why"})


@pytest.mark.parametrize("check", learner_checks(Logistic(), new_process=False), ids=str)
def test_each_check_is_a_test_of_its_own(check: Any) -> None:
    check()


def test_single_checks_fail_skip_or_are_expected() -> None:
    broken = with_rule(credit=lambda self: {0: 3.0})
    checks = {str(check): check for check in learner_checks(broken)}
    with pytest.raises(LearnerCheckError, match=r"credits columns: the shares are \[3.0\]"):
        checks["credits columns"]()
    with pytest.raises(unittest.SkipTest, match="takes_categories is False"):
        checks["takes categories"]()
    known = learner_checks(broken, expected_failures={"credits columns": "known"})
    with pytest.raises(unittest.SkipTest, match="Expected: known"):
        next(check for check in known if str(check) == "credits columns")()


def test_the_report_is_plain_and_frozen() -> None:
    report = check_learner(Good(), new_process=False)
    assert isinstance(report, Report)
    assert str(report).startswith("Good: 22 checks passed, 3 skipped, 0 failed.")
    assert "takes categories: takes_categories is False." in str(report)
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.failures = ()  # type: ignore[misc]


@pytest.mark.parametrize("wrong", [Logistic, "logistic", None])
def test_only_finished_learners_are_checked(wrong: Any) -> None:
    with pytest.raises(OptionError, match="a finished learner"):
        check_learner(wrong)


def test_a_check_leaves_the_global_generators_alone() -> None:
    np.random.seed(3)  # noqa: NPY002 - this is what must not change
    random.seed(3)
    wanted = np.random.random(), random.random()  # noqa: NPY002 - as above
    np.random.seed(3)  # noqa: NPY002 - as above
    random.seed(3)
    check_learner(Good(), new_process=False)
    assert (np.random.random(), random.random()) == wanted  # noqa: NPY002 - as above


FEW = {"n_estimators": 3, "random_state": 0}
CLASSIFIERS = [
    ensemble.AdaBoostClassifier(**FEW),
    ensemble.BaggingClassifier(**FEW | {"n_estimators": 9}),
    ensemble.ExtraTreesClassifier(**FEW | {"n_estimators": 9}),
    ensemble.GradientBoostingClassifier(**FEW | {"n_estimators": 9}),
    ensemble.HistGradientBoostingClassifier(max_iter=8),
    ensemble.RandomForestClassifier(**FEW | {"n_estimators": 9}),
    ensemble.StackingClassifier([("a", naive_bayes.GaussianNB())], cv=2),
    ensemble.VotingClassifier([("a", naive_bayes.GaussianNB()), ("b", LogisticRegression())]),
    naive_bayes.BernoulliNB(),
    naive_bayes.GaussianNB(),
    svm.SVC(
        kernel="linear", max_iter=10_000
    ),  # without a limit it never ends, see test_testing_apart
    discriminant_analysis.LinearDiscriminantAnalysis(),
    discriminant_analysis.QuadraticDiscriminantAnalysis(),
    tree.DecisionTreeClassifier(),
    GaussianProcessClassifier(),
    LogisticRegression(),
    linear_model.LogisticRegressionCV(cv=2, Cs=2),
    linear_model.Perceptron(),
    linear_model.RidgeClassifier(),
    linear_model.RidgeClassifierCV(),
    linear_model.SGDClassifier(),
    linear_model.SGDClassifier(loss="log_loss"),
    neighbors.NearestCentroid(),
    neighbors.RadiusNeighborsClassifier(radius=3.0, outlier_label="most_frequent"),
    svm.LinearSVC(),
    svm.NuSVC(nu=0.2),
    svm.SVC(),
    OneVsRestClassifier(LogisticRegression()),
    GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(SimpleImputer(), PolynomialFeatures(), LogisticRegression()),
    MLPClassifier((8,), max_iter=40, learning_rate_init=0.1),
    neighbors.KNeighborsClassifier(),
]


@pytest.mark.no_cover
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda e: type(e).__name__)
def test_scikit_learns_classifiers_raise_no_false_alarm(
    estimator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def small(rows: int = 120, columns: int = 3, seed: int = 1) -> Any:
        return noisy(min(rows, 200), columns, seed)

    monkeypatch.setattr("crank.testing.manners.noisy", small)  # what takes time is not at issue
    assert failed(SklearnLearner(estimator)) == {}
