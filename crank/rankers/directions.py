"""Directions in which a score must be monotone: read from what users write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crank.checks import one_of
from crank.errors import OptionError

DIRECTIONS: Mapping[Any, int] = {"increasing": 1, "decreasing": -1, 1: 1, -1: -1}
WORDS = {1: "increasing", -1: "decreasing"}


def in_words(monotone: Any) -> dict[str, str] | None:
    """Take directions as words; None if there are none.

    Examples
    --------
    >>> in_words({"x": 1, "z": "decreasing"})
    {'x': 'increasing', 'z': 'decreasing'}
    """
    if monotone is None:
        return None
    if not isinstance(monotone, Mapping):
        raise OptionError(
            f"monotone={monotone!r} is not allowed. Allowed: a mapping of columns to directions, "
            "such as {'x': 'increasing'}."
        )
    for column, value in monotone.items():
        one_of(f"monotone[{column!r}]", value, tuple(DIRECTIONS))
    return {column: WORDS[DIRECTIONS[value]] for column, value in monotone.items()} or None


def signs_of(monotone: Mapping[str, str] | None) -> dict[str, int]:
    """Return 1 or −1 for each column in which the score must be monotone.

    Examples
    --------
    >>> signs_of({"x": "decreasing"})
    {'x': -1}
    """
    return {column: DIRECTIONS[word] for column, word in (monotone or {}).items()}
