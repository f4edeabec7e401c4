"""Run every check of the contract on a learner."""

from __future__ import annotations

import unittest
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from crank.errors import CrankError, OptionError, did_you_mean, listed
from crank.plugins.base import SplitLearner
from crank.testing import decisions, declarations, files, manners, splitters
from crank.testing.check import BrokenContract, Check, Kit, NotApplicable, error_text, key
from crank.testing.report import Finding, LearnerCheckError, Report

CHECKS: tuple[Check, ...] = (
    *declarations.CHECKS,
    *decisions.CHECKS,
    *manners.CHECKS,
    *splitters.CHECKS,
    *files.CHECKS,
)


def check_learner(
    learner: SplitLearner,
    *,
    expected_failures: Mapping[str, str] | None = None,
    time_budget: float = 20.0,
    new_process: bool = True,
    raise_on_failure: bool = True,
) -> Report:
    """Tell whether a split learner keeps the contract of `crank.plugins.base`.

    It takes seconds for a learner that fits in milliseconds, draws no random numbers of its own,
    and goes through all checks even if one fails. A cause that several checks meet is reported
    once; checks that build on one that failed are skipped.

    Parameters
    ----------
    learner : SplitLearner
    expected_failures : mapping of str, optional
        Names of checks that are known to fail, each with the reason. They are reported apart; one
        that passes is a failure, so that the list stays true.
    time_budget : float
        Seconds of processor time that a fit of 2,000 rows × 10 columns may take, and of each of
        the small hard nodes.
    new_process : bool
        Whether a saved model is also read in a process of its own, where none of the packages in
        ``requires`` can be imported; and hard nodes are fitted in one that can be ended if a fit
        does not end by itself.
    raise_on_failure : bool
        Whether to raise if a check fails, or to return the report in any case.

    Returns
    -------
    Report

    Raises
    ------
    LearnerCheckError
        A check failed; the message lists each with what happened and what to do.

    Examples
    --------
    >>> from crank.plugins.logistic import Logistic
    >>> check_learner(Logistic()).ok
    True
    """
    kit = Kit(time_budget=time_budget, new_process=new_process)
    report = run_checks(learner, kit, _expected(learner, expected_failures))
    if report.failures and raise_on_failure:
        raise LearnerCheckError(report)
    return report


def learner_checks(
    learner: SplitLearner,
    *,
    expected_failures: Mapping[str, str] | None = None,
    time_budget: float = 20.0,
    new_process: bool = True,
) -> list[LearnerCheck]:
    """List the checks of a learner one by one, for ``pytest.mark.parametrize``.

    Parameters
    ----------
    learner, expected_failures, time_budget, new_process
        As in `check_learner`.

    Returns
    -------
    list of LearnerCheck
        Each is called without arguments: it raises `LearnerCheckError` if the check fails and
        `unittest.SkipTest`, which pytest knows, if it does not apply.

    Examples
    --------
    >>> from crank.plugins.logistic import Logistic
    >>> checks = learner_checks(Logistic())
    >>> str(checks[0])
    'declares itself'
    >>> checks[0]()

    In a test module::

        @pytest.mark.parametrize("check", learner_checks(MyLearner()), ids=str)
        def test_contract(check):
            check()
    """
    expected = _expected(learner, expected_failures)
    kit = Kit(time_budget=time_budget, new_process=new_process)
    return [LearnerCheck(learner, check, kit, expected.get(check.name)) for check in CHECKS]


@dataclass(frozen=True)
class LearnerCheck:
    """One check of one learner; `learner_checks` makes them.

    Examples
    --------
    >>> from crank.plugins.stump import Stump
    >>> first = learner_checks(Stump())[0]
    >>> str(first) == first.check.name
    True
    """

    learner: SplitLearner
    check: Check
    kit: Kit
    expected: str | None = None

    def __call__(self) -> None:
        """Run the check."""
        expected = {} if self.expected is None else {self.check.name: self.expected}
        report = run_checks(self.learner, self.kit, expected, (self.check,))
        if report.failures:
            raise LearnerCheckError(report)
        for reason in report.skipped:
            raise unittest.SkipTest(reason)
        for finding in report.expected:
            raise unittest.SkipTest(f"{finding} Expected: {self.expected}")

    def __str__(self) -> str:
        return self.check.name


def _expected(learner: SplitLearner, given: Mapping[str, str] | None) -> dict[str, str]:
    if not isinstance(learner, SplitLearner):
        what = f"the class {learner.__name__}" if isinstance(learner, type) else repr(learner)
        raise OptionError(
            f"the kit got {what}. Allowed: a finished learner, for instance MyLearner(), "
            "of a class derived from crank.plugins.base.SplitLearner."
        )
    names = [check.name for check in CHECKS]
    for name in given or {}:
        if name not in names:
            raise OptionError(
                f"expected_failures names {name!r}. Allowed: {listed(names, 40)}."
                f"{did_you_mean(name, names)}"
            )
    return dict(given or {})


def run_checks(
    learner: SplitLearner,
    kit: Kit,
    expected: Mapping[str, str],
    checks: tuple[Check, ...] = CHECKS,
) -> Report:
    """Run checks in their order and sort out what they found."""
    passed: list[str] = []
    skipped: list[str] = []
    found: dict[str, Finding] = {}
    last = ""
    for check in checks:
        failed = {name for f in found.values() for name in (f.check, *f.also)}
        unmet = [last] if last else [name for name in check.needs if name in failed]
        if unmet and check.name not in expected:
            skipped.append(f"{check.name}: {unmet[0]!r} failed.")
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # one check of its own asks for silence
                check.run(learner, kit)
        except NotApplicable as reason:
            skipped.append(f"{check.name}: {reason}")
        except BrokenContract as broken:
            cause = broken.cause or check.name
            remedy = broken.remedy or check.remedy
            _add(found, cause, Finding(check.name, str(broken), remedy))
            last = check.name if broken.ends else ""
        except (Exception, SystemExit) as error:
            problem = (
                str(error) if isinstance(error, CrankError) else f"it raised {error_text(error)}."
            )
            _add(found, key(error), Finding(check.name, problem, check.remedy))
        else:
            passed.append(check.name)
    failures = [*_sorted_out(found, expected, passed)]
    known = [finding for finding in found.values() if finding.check in expected]
    name = type(learner).__name__
    return Report(name, tuple(passed), tuple(skipped), tuple(failures), tuple(known))


def _add(found: dict[str, Finding], cause: str, finding: Finding) -> None:
    """Keep the first finding of a cause, and say which checks met it too."""
    if cause in found:
        first = found[cause]
        found[cause] = replace(first, also=(*first.also, finding.check))
    else:
        found[cause] = finding


def _sorted_out(
    found: Mapping[str, Finding], expected: Mapping[str, str], passed: list[str]
) -> Iterator[Finding]:
    yield from (finding for finding in found.values() if finding.check not in expected)
    for name in expected:
        if name in passed:
            yield Finding(
                name,
                "it passes, though it was expected to fail.",
                "Take it out of expected_failures.",
            )
