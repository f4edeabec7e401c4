"""Checks of options: each returns the value, or raises with one form of message."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any, TypeAlias, TypeVar

import numpy as np

from crank.errors import DataError, OptionError, did_you_mean, listed

T = TypeVar("T")
RandomState: TypeAlias = int | np.random.Generator | None


def one_of(option: str, value: T, allowed: Collection[object], *, of: object = None) -> T:
    """Return one of the allowed values.

    Parameters
    ----------
    option : str
    value, allowed
    of : object, optional
        Whose parameter it is, for the message.

    Examples
    --------
    >>> one_of("type", "scores", ("score", "leaf"))
    Traceback (most recent call last):
        ...
    crank.errors.OptionError: type='scores' is not allowed. Allowed: 'score', 'leaf'. \
Did you mean 'score'?
    """
    try:
        known = value in allowed
    except (TypeError, ValueError):
        known = False
    if not known:
        words = f"{listed(map(repr, allowed))}.{did_you_mean(value, allowed)}"
        raise OptionError(f"{_refused(option, value, of)} Allowed: {words}")
    return value


def whole(
    option: str,
    value: Any,
    least: int,
    most: int | None = None,
    remedy: str = "",
    *,
    of: object = None,
) -> int:
    """Return an integer within bounds.

    Examples
    --------
    >>> whole("max_depth", 0, 1, 50)
    Traceback (most recent call last):
        ...
    crank.errors.OptionError: max_depth=0 is not allowed. Allowed: an integer from 1 to 50.
    """
    if not _is_integer(value) or int(value) < least or (most is not None and int(value) > most):
        bounds = f"from {least}" + (f" to {most}" if most is not None else " up")
        text = f"{_refused(option, value, of)} Allowed: an integer {bounds}. {remedy}"
        raise OptionError(text.rstrip())
    return int(value)


def positive(option: str, value: Any, *, of: object = None) -> float:
    """Return a finite number above 0.

    Examples
    --------
    >>> positive("C", 2)
    2.0
    """
    if not _is_number(value) or not 0.0 < float(value) < np.inf:
        raise OptionError(f"{_refused(option, value, of)} Allowed: a number above 0.")
    return float(value)


def at_least(option: str, value: Any, least: float, *, of: object = None) -> float:
    """Return a finite number that is not below ``least``."""
    if not _is_number(value) or not least <= float(value) < np.inf:
        raise OptionError(f"{_refused(option, value, of)} Allowed: a number from {least:g} up.")
    return float(value)


def flag(option: str, value: Any, *, of: object = None) -> bool:
    """Return True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise OptionError(f"{_refused(option, value, of)} Allowed: True or False.")
    return bool(value)


def data_first(data: object, formula: object, function: str) -> None:
    """Refuse a formula where the data belongs.

    Examples
    --------
    >>> data_first("y ~ x", {"y": [1, 2], "x": [1, 2]}, "crank.linear")
    Traceback (most recent call last):
        ...
    crank.errors.DataError: the data is the text 'y ~ x', which looks like a formula. \
The data comes first, then the formula: crank.linear(data, 'y ~ x').
    """
    if isinstance(data, str) and ("~" in data or not isinstance(formula, str | None)):
        raise DataError(
            f"the data is the text {data!r}, which looks like a formula. The data comes first, "
            f"then the formula: {function}(data, {data!r})."
        )


def check_alpha(alpha: Any) -> float:
    """Return one minus a confidence level.

    Examples
    --------
    >>> check_alpha(95)
    Traceback (most recent call last):
        ...
    crank.errors.OptionError: alpha=95 is not allowed. Allowed: a number between 0 and 1. \
It is one minus the confidence level: 0.05 for 95%.
    """
    if not _is_number(alpha) or not 0.0 < float(alpha) < 1.0:
        raise OptionError(
            f"{_refused('alpha', alpha, None)} Allowed: a number between 0 and 1. "
            "It is one minus the confidence level: 0.05 for 95%."
        )
    return float(alpha)


def generator(random_state: RandomState) -> np.random.Generator:
    """Turn a seed into a generator; a generator passes through and moves on.

    Examples
    --------
    >>> int(generator(1).integers(100)) == int(generator(1).integers(100))
    True
    """
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    if not _is_integer(random_state) or random_state < 0:
        raise OptionError(
            f"{_refused('random_state', random_state, None)} "
            "Allowed: an integer from 0 up, a numpy.random.Generator or None."
        )
    return np.random.default_rng(int(random_state))


def _refused(option: str, value: object, of: object) -> str:
    if of is None:
        return f"{option}={value!r} is not allowed."
    return f"{option} of {type(of).__name__} is {value!r}."


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
