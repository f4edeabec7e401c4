"""Checks of the parameters that users give to learners."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from crank.errors import OptionError, did_you_mean, listed

if TYPE_CHECKING:
    from crank.plugins.base import SplitLearner


def positive(learner: SplitLearner, name: str, value: Any) -> float:
    """Return a finite number above 0, or say what was given instead.

    Examples
    --------
    >>> from crank.plugins.logistic import Logistic
    >>> positive(Logistic(), "C", 2)
    2.0
    """
    if not _is_number(value) or not 0.0 < float(value) < np.inf:
        raise OptionError(
            f"{name} of {type(learner).__name__} is {value!r}. Allowed: a number above 0."
        )
    return float(value)


def at_least(learner: SplitLearner, name: str, value: Any, least: float) -> float:
    """Return a finite number that is not below ``least``."""
    if not _is_number(value) or not least <= float(value) < np.inf:
        raise OptionError(
            f"{name} of {type(learner).__name__} is {value!r}. Allowed: a number from {least:g} on."
        )
    return float(value)


def whole(learner: SplitLearner, name: str, value: Any, least: int = 1) -> int:
    """Return a whole number that is not below ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        raise OptionError(
            f"{name} of {type(learner).__name__} is {value!r}. "
            f"Allowed: a whole number from {least} on."
        )
    return int(value)


def one_of(learner: SplitLearner, name: str, value: Any, allowed: Sequence[str]) -> str:
    """Return one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        raise OptionError(
            f"{name} of {type(learner).__name__} is {value!r}. "
            f"Allowed: {listed(repr(word) for word in allowed)}.{did_you_mean(value, allowed)}"
        )
    return value


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
