"""The conformance kit: every check catches a learner that was broken on purpose."""

import dataclasses
import random
import threading
import warnings

import numpy as np
import pytest

from crank.errors import CrankError, OptionError
from crank.plugins.base import SplitRule
from crank.plugins.linear import LinearRule
from crank.plugins.logistic import Logistic
from crank.plugins.registry import get_learner
from crank.testing import LearnerCheckError, Report, check_learner
from crank.testing.run import CHECKS


class Rule(LinearRule):
    """A good rule, for others to break."""


class Good(Logistic):
    """A good learner whose rules are of a class of its own."""

    description = "good"
    rule = Rule
    takes_monotone = False

    def fit(self, X, label, weight, *, rng):
        found = super().fit(X, label, weight, rng=rng)
        return None if found is None else type(self).rule(**vars(found))


def published(name, bases, members):
    """Make a class that pickle finds."""
    kind = type(name, bases, members | {"__module__": __name__})
    globals()[name] = kind
    return kind


def broken_rule(**methods):
    """Make a learner whose rules have other methods."""
    return broken_learner(rule=published("BrokenRule", (Rule,), methods))


def broken_learner(**members):
    """Make a learner with other methods or attributes."""
    return published("BrokenLearner", (Good,), members)()


def failed(learner):
    report = check_learner(learner, raise_on_failure=False)
    return {finding.check: finding.problem for finding in report.failures}


@pytest.mark.parametrize("name", ["stump", "logistic"])
def test_good_learners_pass(name):
    report = check_learner(get_learner(name))
    assert report.ok
    assert len(report.passed) + len(report.skipped) == len(CHECKS)


def test_the_learner_that_is_broken_below_is_good_itself():
    assert not failed(Good())
    assert not failed(broken_rule())


def decide(self, X):
    return LinearRule.decision(self, X)


RULES = {
    "a column instead of a vector": (
        "decides",
        {"decision": lambda self, X: decide(self, X)[:, None]},
    ),
    "single precision": ("decides", {"decision": lambda self, X: decide(self, X).astype("f")}),
    "a list": ("decides", {"decision": lambda self, X: decide(self, X).tolist()}),
    "no empty batches": (
        "decides",
        {"decision": lambda self, X: decide(self, X) if X[0, 0] < np.inf else None},
    ),
    "relative to the batch": (
        "decides",
        {"decision": lambda self, X: decide(self, X) - (np.mean(decide(self, X)) if len(X) else 0)},
    ),
    "another decision_at": (
        "decides",
        {"decision_at": lambda self, X, rows: -decide(self, X[rows])},
    ),
    "missing where finite is due": (
        "decides",
        {"decision": lambda self, X: np.where(X[:, 0] > 1.0, np.nan, decide(self, X))},
    ),
    "writes into the rows": (
        "leaves data alone",
        {"decision": lambda self, X: (X.__setitem__((0, 0), 5.0), decide(self, X))[1]},
    ),
    "the wrong side": ("separates", {"decision": lambda self, X: -decide(self, X)}),
    "arrays in JSON": ("is stored as JSON", {"to_dict": lambda self: vars(self)}),
    "NaN in JSON": (
        "is stored as JSON",
        {"to_dict": lambda self: LinearRule.to_dict(self) | {"note": float("nan")}},
    ),
    "a bias that is lost": (
        "is stored as JSON",
        {"to_dict": lambda self: LinearRule.to_dict(self) | {"bias": 0.0}},
    ),
    "what cannot be read": (
        "is stored as JSON",
        {"from_dict": classmethod(lambda cls, d: cls(**d))},
    ),
    "two lines": ("describes itself", {"describe": lambda self, names: "a\nb"}),
    "no words": ("describes itself", {"describe_right": lambda self, names: ""}),
    "too much credit": ("credits columns", {"credit": lambda self: {0: 1.0, 1: 1.0}}),
    "negative credit": ("credits columns", {"credit": lambda self: {0: 2.0, 1: -1.0}}),
    "credit beyond the columns": ("credits columns", {"credit": lambda self: {7: 1.0}}),
    "credit by name": ("credits columns", {"credit": lambda self: {"first": 1.0}}),
}


@pytest.mark.parametrize("what", RULES)
def test_broken_rules_are_caught(what):
    check, methods = RULES[what]
    assert check in failed(broken_rule(**methods))


def changed_fit(change):
    """Break fit by what comes before the good one."""

    def fit(self, X, label, weight, *, rng):
        X, label, weight = change(self, X, label, weight)
        return Good.fit(self, X, label, weight, rng=rng)

    return {"fit": fit}


def in_place(which):
    def change(self, X, label, weight):
        (X, label, weight)[which][...] *= 2.0
        return X, label, weight

    return changed_fit(change)


def counts_itself(self, X, label, weight):
    self.fits = getattr(self, "fits", 0) + 1
    return X, label, weight


def fails_on_constants(self, X, label, weight):
    return X / (1.0 if (np.ptp(X, axis=0) > 0).all() else np.array(None)), label, weight


def draws(source):
    def change(self, X, label, weight):
        return X + source(X.shape), label, weight

    return changed_fit(change)


def another_in_threads(self, X, label, weight):
    away = threading.current_thread() is not threading.main_thread()
    return (X * 1.5 if away else X), (-label if away else label), weight


def warns(self, X, label, weight):
    warnings.warn("did not converge", RuntimeWarning, stacklevel=2)
    return X, label, weight


def forgets_itself(self, data):
    self.seen = data
    return self


def deaf_copy(self, data):
    return broken_copy({"fit": lambda self, X, label, weight, *, rng: None})


def broken_copy(members):
    return type("Deaf", (Good,), members)()


LEARNERS = {
    "never a rule": ("separates", {"fit": lambda self, X, label, weight, *, rng: None}),
    "not a rule": ("separates", {"fit": lambda self, X, label, weight, *, rng: "rule"}),
    "constant columns": ("survives", changed_fit(fails_on_constants)),
    "a promise about missing values": (
        "takes missing values",
        changed_fit(lambda self, X, y, w: (X if np.isfinite(X).all() else None, y, w)),
    ),
    "a promise about directions": ("keeps directions", {"takes_monotone": True}),
    "a promise about categories": ("takes categories", {"takes_categories": True}),
    "no ear for weights": (
        "hears weights",
        changed_fit(lambda self, X, y, w: (X, y, np.ones(len(w)))),
    ),
    "weights upside down": ("weighs like copies", changed_fit(lambda self, X, y, w: (X, y, w**-9))),
    "a prepared copy that learns nothing": ("grows trees", {"prepare": deaf_copy}),
    "no rule class": ("declares itself", {"rule": None}),
    "no description": ("declares itself", {"description": ""}),
    "a long description": ("declares itself", {"description": "one\ntwo"}),
    "a vague promise": ("declares itself", {"takes_missing": "mostly"}),
    "a promise about ONNX": (
        "declares itself",
        {"exports_onnx": True, "rule": type("Plain", (Rule,), {"to_onnx": SplitRule.to_onnx})},
    ),
    "NumPy's own randomness": (
        "repeats itself",
        draws(lambda shape: np.random.standard_normal(shape)),  # noqa: NPY002 - the offence
    ),
    "Python's own randomness": ("repeats itself", draws(lambda shape: random.random())),
    "X in place": ("leaves data alone", in_place(0)),
    "label in place": ("leaves data alone", in_place(1)),
    "weight in place": ("leaves data alone", in_place(2)),
    "a memory": ("stays as it was", changed_fit(counts_itself)),
    "a memory of the matrix": ("stays as it was", {"prepare": forgets_itself}),
    "prepare gives a number": ("stays as it was", {"prepare": lambda self, data: 3}),
    "no head for threads": ("works in threads", changed_fit(another_in_threads)),
    "what cannot be pickled": (
        "is copied",
        {"__init__": lambda self: (Good.__init__(self), setattr(self, "f", lambda: 1))[0]},
    ),
    "warnings": ("keeps quiet", changed_fit(warns)),
}


@pytest.mark.parametrize("what", LEARNERS)
def test_broken_learners_are_caught(what):
    check, members = LEARNERS[what]
    assert check in failed(broken_learner(**members))


def test_every_check_is_proved_above():
    proved = {check for check, _ in (*RULES.values(), *LEARNERS.values())}
    assert proved == {check.name for check in CHECKS}


def test_the_error_lists_every_failure_with_its_remedy():
    learner = broken_rule(describe=lambda self, names: "", credit=lambda self: {0: 3.0})
    with pytest.raises(LearnerCheckError) as caught:
        check_learner(learner)
    assert isinstance(caught.value, CrankError)
    assert isinstance(caught.value, AssertionError)
    message = str(caught.value)
    assert "BrokenLearner: " in message
    assert "2 failed" in message
    assert "describes itself: describe gave '', not one line of text." in message
    assert "credits columns: the shares are [3.0], with sum 3." in message
    assert "shares of at least 0 that sum to 1" in message
    assert [finding.check for finding in caught.value.report.failures] == [
        "describes itself",
        "credits columns",
    ]


def test_the_report_is_plain_and_frozen():
    report = check_learner(Good())
    assert isinstance(report, Report)
    assert str(report).startswith("Good: 17 checks passed, 2 skipped, 0 failed.")
    assert "takes categories: takes_categories is False." in str(report)
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.failures = ()


@pytest.mark.parametrize("wrong", [Logistic, "logistic", None])
def test_only_finished_learners_are_checked(wrong):
    with pytest.raises(OptionError, match="a finished learner"):
        check_learner(wrong)


def test_a_check_leaves_the_global_generators_alone():
    np.random.seed(3)  # noqa: NPY002 - this is what must not change
    random.seed(3)
    wanted = np.random.random(), random.random()  # noqa: NPY002 - as above
    np.random.seed(3)  # noqa: NPY002 - as above
    random.seed(3)
    check_learner(Good())
    assert (np.random.random(), random.random()) == wanted  # noqa: NPY002 - as above
