"""What the conformance kit found: a report, and the error that carries it."""

from __future__ import annotations

from dataclasses import dataclass

from crank.errors import CrankError


@dataclass(frozen=True)
class Finding:
    """One check that failed.

    Attributes
    ----------
    check : str
        Name of the check.
    problem : str
        What the learner did, and with what data.
    remedy : str
        What to do about it.
    also : tuple of str
        Other checks that failed of the same cause.

    Examples
    --------
    >>> print(Finding("pure", "fit changed X.", "Copy it first."))
    pure: fit changed X. Copy it first.
    """

    check: str
    problem: str
    remedy: str
    also: tuple[str, ...] = ()

    def __str__(self) -> str:
        more = f" The same cause: {', '.join(self.also)}." if self.also else ""
        return f"{self.check}: {self.problem} {self.remedy}{more}"


@dataclass(frozen=True)
class Report:
    """Outcome of `check_learner` or `check_criterion`.

    Attributes
    ----------
    learner : str
        Name of the class, or of the criterion.
    passed : tuple of str
        Names of the checks that passed.
    skipped : tuple of str
        Checks that do not apply, each with the reason.
    failures : tuple of Finding
        One for each cause.
    expected : tuple of Finding
        Failures that were expected.

    Examples
    --------
    >>> report = Report("Mine", passed=("pure",), skipped=(), failures=())
    >>> report.ok
    True
    """

    learner: str
    passed: tuple[str, ...]
    skipped: tuple[str, ...]
    failures: tuple[Finding, ...]
    expected: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the learner keeps the contract."""
        return not self.failures

    def __str__(self) -> str:
        lines = [
            f"{self.learner}: {len(self.passed)} checks passed, "
            f"{len(self.skipped)} skipped, {len(self.failures)} failed."
        ]
        lines += [f"  skipped {reason}" for reason in self.skipped]
        lines += [f"  expected {finding}" for finding in self.expected]
        lines += [f"  failed {finding}" for finding in self.failures]
        return "\n".join(lines)


class LearnerCheckError(CrankError, AssertionError):
    """A learner breaks the contract; ``report`` holds the details.

    Examples
    --------
    >>> finding = Finding("pure", "fit changed X.", "Copy it first.")
    >>> error = LearnerCheckError(Report("Mine", passed=(), skipped=(), failures=(finding,)))
    >>> error.report.failures[0].check
    'pure'
    """

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report


class CriterionCheckError(CrankError, AssertionError):
    """A criterion breaks the contract; ``report`` holds the details.

    Examples
    --------
    >>> finding = Finding("order", "scores do not rise with y.", "Turn their sign.")
    >>> error = CriterionCheckError(Report("mine", passed=(), skipped=(), failures=(finding,)))
    >>> error.report.ok
    False
    """

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report
