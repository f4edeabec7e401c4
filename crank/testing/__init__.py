"""The conformance kit for authors of split learners."""

from crank.testing.report import Finding, LearnerCheckError, Report
from crank.testing.run import check_learner

__all__ = ["Finding", "LearnerCheckError", "Report", "check_learner"]
