"""Conditions: what one side of a split demands of a row, as data that can be put in words."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

Comparison: TypeAlias = Literal[">", "<=", "<", ">="]

HOLDS: Mapping[Comparison, Callable[[float, float], bool]] = {
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
}
MIRRORED: Mapping[Comparison, Comparison] = {">": "<", "<=": ">=", "<": ">", ">=": "<="}
"""The same comparison with its sides exchanged."""


@dataclass(frozen=True)
class Values:
    """The values of one column that meet a condition.

    Attributes
    ----------
    low, high : float
        Bounds of the numbers.
    at_low, at_high : bool
        Whether the bound itself is allowed.
    levels : frozenset of int, optional
        Codes of categories; None for a column of numbers.
    all_but : bool
        Whether all codes are allowed except those in ``levels``.
    missing : bool
        Whether a missing value meets the condition.

    Examples
    --------
    >>> Values.number(">", 1.0, missing=True) & Values.number("<=", 5.0, missing=False)
    Values(low=1.0, high=5.0, at_low=False, at_high=True, levels=None, all_but=False, missing=False)
    """

    low: float = -math.inf
    high: float = math.inf
    at_low: bool = False
    at_high: bool = False
    levels: frozenset[int] | None = None
    all_but: bool = False
    missing: bool = True

    @classmethod
    def number(cls, comparison: Comparison, bound: float, *, missing: bool) -> Values:
        """Allow the numbers that compare so with a bound."""
        closed = comparison in ("<=", ">=")
        if comparison in (">", ">="):
            return cls(low=bound, at_low=closed, missing=missing)
        return cls(high=bound, at_high=closed, missing=missing)

    @classmethod
    def nothing(cls, *, missing: bool) -> Values:
        """Allow no number."""
        return cls(low=math.inf, high=-math.inf, missing=missing)

    def __and__(self, other: Values) -> Values:
        """Allow what both allow."""
        low, above_low = max((self.low, not self.at_low), (other.low, not other.at_low))
        high, at_high = min((self.high, self.at_high), (other.high, other.at_high))
        levels, all_but = _common(self, other)
        missing = self.missing and other.missing
        return Values(low, high, not above_low, at_high, levels, all_but, missing)

    def within(self, before: Values | None) -> Values:
        """Leave out levels, and missing values, that an earlier condition has kept away."""
        if before is None:
            return self
        both = self & before
        return replace(self, levels=both.levels, all_but=both.all_but, missing=both.missing)

    def allows(self, number: float) -> bool:
        """Tell whether a number meets the condition."""
        above = number > self.low or (self.at_low and number == self.low)
        return above and (number < self.high or (self.at_high and number == self.high))

    @property
    def any_number(self) -> bool:
        """Whether there is neither a bound nor a level that is not allowed."""
        free = self.low == -math.inf and self.high == math.inf
        return free and (self.levels is None or (self.all_but and not self.levels))

    @property
    def no_number(self) -> bool:
        """Whether no number, and no level, meets the condition."""
        if self.levels is not None:
            return not self.all_but and not self.levels
        return self.low > self.high or (
            self.low == self.high and not (self.at_low and self.at_high)
        )


def _common(a: Values, b: Values) -> tuple[frozenset[int] | None, bool]:
    """Intersect two sets of levels, either of which may be given by what it leaves out."""
    if a.levels is None or b.levels is None:
        kept = b if a.levels is None else a
        return kept.levels, kept.all_but
    if a.all_but and b.all_but:
        return a.levels | b.levels, True
    if a.all_but:
        return b.levels - a.levels, False
    return (a.levels - b.levels if b.all_but else a.levels & b.levels), False


Box: TypeAlias = Mapping[int, Values]
"""What is allowed, by column; columns that are not named may be anything."""


@dataclass(frozen=True)
class AnyOf:
    """Rows that lie in one of several boxes."""

    boxes: tuple[Box, ...]


@dataclass(frozen=True)
class Sum:
    """Rows whose weighted sum of columns compares so with a bound.

    Attributes
    ----------
    columns : tuple of int
        Those that weigh most come first.
    weights : tuple of float
        In the units of the columns.
    comparison : str
    bound : float
    missing_as : tuple of float
        What a missing value of each column counts as.
    """

    columns: tuple[int, ...]
    weights: tuple[float, ...]
    comparison: Comparison
    bound: float
    missing_as: tuple[float, ...]


Condition: TypeAlias = AnyOf | Sum
