"""Run every check of the contract on a learner."""

from __future__ import annotations

import warnings

from crank.errors import OptionError
from crank.plugins.base import SplitLearner
from crank.testing import decisions, manners
from crank.testing.check import BrokenContract, NotApplicable, told
from crank.testing.report import Finding, LearnerCheckError, Report

CHECKS = (*decisions.CHECKS, *manners.CHECKS)


def check_learner(learner: SplitLearner, *, raise_on_failure: bool = True) -> Report:
    """Tell whether a split learner keeps the contract of `crank.plugins.base`.

    It takes a second or so for a learner that fits in milliseconds, draws no random numbers of
    its own, and goes through all checks even if one fails.

    Parameters
    ----------
    learner : SplitLearner
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
    if not isinstance(learner, SplitLearner):
        what = f"the class {learner.__name__}" if isinstance(learner, type) else repr(learner)
        raise OptionError(
            f"check_learner got {what}. Allowed: a finished learner, for instance MyLearner(), "
            "of a class derived from crank.plugins.base.SplitLearner."
        )
    passed: list[str] = []
    skipped: list[str] = []
    failures: list[Finding] = []
    for check in CHECKS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # one check of its own asks for silence
                check.run(learner)
        except NotApplicable as reason:
            skipped.append(f"{check.name}: {reason}")
        except BrokenContract as broken:
            failures.append(Finding(check.name, str(broken), check.remedy))
        except Exception as error:
            failures.append(Finding(check.name, f"it raised {told(error)}.", check.remedy))
        else:
            passed.append(check.name)
    name = type(learner).__name__
    report = Report(name, tuple(passed), tuple(skipped), tuple(failures))
    if failures and raise_on_failure:
        raise LearnerCheckError(report)
    return report
