"""The kit and fits that never end: they are ended, and named with what to do."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
from sklearn.svm import SVC

from crank.plugins.logistic import Logistic
from crank.plugins.sklearn import SklearnLearner
from crank.testing.check import Kit
from crank.testing.run import CHECKS, run_checks

UNIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows limits no processor time")
SURVIVES = tuple(check for check in CHECKS if check.name == "survives")


def found(learner: Any, budget: float = 20.0) -> Any:
    return run_checks(learner, Kit(time_budget=budget), {}, SURVIVES)


@UNIX
def test_a_fit_that_never_ends_is_ended() -> None:
    (finding,) = found(SklearnLearner(SVC(kernel="linear")), 1.0).failures
    assert finding.problem == "a fit of columns of scale 1e12 did not end within 1 s."
    assert "Limit the iterations" in finding.remedy


class Crash(Logistic):
    """It takes the whole process with it, on hard nodes only."""

    def fit(self, X: Any, label: Any, weight: Any, **more: Any) -> Any:
        if X.shape[1] == 300:
            os._exit(7)
        return super().fit(X, label, weight, **more)


class Loud(Logistic):
    """It fails after some lines of its own."""

    def fit(self, X: Any, label: Any, weight: Any, **more: Any) -> Any:
        print("end\nnode of its own")
        if X.shape[1] == 300:
            raise RuntimeError("no luck")
        return super().fit(X, label, weight, **more)


def test_a_crash_is_a_finding() -> None:
    (finding,) = found(Crash()).failures
    assert finding.problem == "a fit of 10 rows, 300 columns ended the process, with code 7."


def test_what_a_learner_prints_does_not_mix_with_the_answer() -> None:
    (finding,) = found(Loud()).failures
    assert "fit raised RuntimeError (no luck) for 10 rows, 300 columns." in finding.problem


def test_learners_that_cannot_be_sent_are_tried_here() -> None:
    class Local(Logistic):
        """No other process can import it."""

    for learner in (Local(), Logistic()):
        assert found(learner).passed == ("survives",)
