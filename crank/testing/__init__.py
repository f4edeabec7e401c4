"""The conformance kits for authors of split learners and of criteria."""

from crank.testing.criteria import check_criterion
from crank.testing.report import CriterionCheckError, Finding, LearnerCheckError, Report
from crank.testing.run import LearnerCheck, check_learner, learner_checks

__all__ = [
    "CriterionCheckError",
    "Finding",
    "LearnerCheck",
    "LearnerCheckError",
    "Report",
    "check_criterion",
    "check_learner",
    "learner_checks",
]
