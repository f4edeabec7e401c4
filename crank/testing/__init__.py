"""The conformance kits for authors of split learners and of criteria."""

from crank.testing.report import Finding, LearnerCheckError, Report
from crank.testing.run import LearnerCheck, check_learner, learner_checks

__all__ = [
    "Finding",
    "LearnerCheck",
    "LearnerCheckError",
    "Report",
    "check_learner",
    "learner_checks",
]
