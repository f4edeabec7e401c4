"""What the functions that draw data accept, and the errors where they do not."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TypeAlias

import numpy as np

from crank.errors import OptionError

RandomState: TypeAlias = int | np.random.Generator | None


def generator(random_state: RandomState) -> np.random.Generator:
    """Turn a seed into a generator; a generator passes through and moves on."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    if _is_integer(random_state) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    raise OptionError(
        "random_state must be an integer not below 0, a numpy.random.Generator or None; "
        f"got {random_state!r}."
    )


def integer(option: str, value: int, least: int = 1) -> int:
    """Pass an integer on, if it is large enough."""
    if not _is_integer(value) or value < least:
        raise OptionError(f"{option} must be an integer not below {least}; got {value!r}.")
    return int(value)


def number(option: str, value: float, *, zero: bool = False) -> float:
    """Pass a finite number on, if it is above zero, or zero where that is allowed."""
    real = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not real or value < 0 or (value == 0 and not zero):
        allowed = "not below 0" if zero else "above 0"
        raise OptionError(f"{option} must be a finite number {allowed}; got {value!r}.")
    return float(value)


def _is_integer(value: object) -> bool:
    # True is an Integral to Python, and no user means it as a count
    return isinstance(value, Integral) and not isinstance(value, bool)
