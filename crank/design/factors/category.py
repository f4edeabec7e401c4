"""Factors of categories: indicator columns, contrasts, codes, combinations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crank.design.expressions import Steps
from crank.design.operations import Floats
from crank.design.reader import FEW_ROWS, Reader, unseen_levels
from crank.errors import DataError, listed
from crank.frames.columns import LevelValue


@dataclass(frozen=True)
class Dummies:
    """One indicator column for each level of a category, without the base level if there is one.

    Examples
    --------
    >>> Dummies("g", (), ("a", "b"), base=0).labels
    ('g[T.b]',)
    """

    type: ClassVar[str] = "dummies"
    name: str
    steps: Steps
    levels: tuple[LevelValue, ...]
    base: int | None = None

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Name the factor's columns."""
        mark = "" if self.base is None else "T."
        return tuple(f"{self.name}[{mark}{self.levels[k]}]" for k in self._shown.tolist())

    @cached_property
    def _shown(self) -> NDArray[np.int32]:
        numbers = np.arange(len(self.levels), dtype=np.int32)
        return numbers if self.base is None else np.delete(numbers, self.base)

    def fill(self, reader: Reader, out: Floats) -> None:
        """Write the factor's columns into ``out`` of shape (rows, columns)."""
        codes = reader.codes(self.steps, self.levels, self.name)
        if codes.size < FEW_ROWS:
            np.equal(codes[:, None], self._shown, out=out, casting="unsafe")
        else:
            for column, k in enumerate(self._shown):
                out[:, column] = codes == k
        out[codes < 0] = np.nan


@dataclass(frozen=True)
class Contrast:
    """Columns of a coding matrix, one row for each level of a category.

    Examples
    --------
    >>> Contrast("g", (), ("a", "b"), ("S.a",), ((1.0,), (-1.0,))).labels
    ('g[S.a]',)
    """

    type: ClassVar[str] = "contrast"
    name: str
    steps: Steps
    levels: tuple[LevelValue, ...]
    fields: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Name the factor's columns."""
        return tuple(f"{self.name}[{field}]" for field in self.fields)

    def fill(self, reader: Reader, out: Floats) -> None:
        """Write the factor's columns into ``out`` of shape (rows, columns)."""
        codes = reader.codes(self.steps, self.levels, self.name)
        width = len(self.fields)
        padded = np.full((len(self.levels) + 1, width), np.nan)  # the code -1 finds the last row
        padded[:-1] = np.reshape(self.matrix, (-1, width))
        for k in range(width):
            out[:, k] = padded[codes, k]


@dataclass(frozen=True)
class Codes:
    """The level numbers of a category in one column, for learners that split by level.

    Examples
    --------
    >>> Codes("k", (), (1, 2)).level_names
    ('1', '2')
    """

    type: ClassVar[str] = "codes"
    name: str
    steps: Steps
    levels: tuple[LevelValue, ...]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Name the factor's columns."""
        return (self.name,)

    @property
    def level_names(self) -> tuple[str, ...]:
        """Name the levels in the order of their codes."""
        return tuple(map(str, self.levels))

    def fill(self, reader: Reader, out: Floats) -> None:
        """Write the factor's columns into ``out`` of shape (rows, columns)."""
        codes = reader.codes(self.steps, self.levels, self.name)
        out[:, 0] = np.where(codes < 0, np.nan, codes)


@dataclass(frozen=True)
class Ordered(Codes):
    """The level numbers of an ordered factor, for learners that cut it like a number.

    Examples
    --------
    >>> Ordered("size", (), ("S", "M", "L")).level_names
    ('S', 'M', 'L')
    """

    type: ClassVar[str] = "ordered"


@dataclass(frozen=True)
class Cross:
    """The combinations of several categories as one category; only those seen are levels.

    A combination's number counts the last part fastest; ``seen`` holds the numbers in order.

    Examples
    --------
    >>> Cross((Codes("g", (), ("a", "b")), Codes("h", (), ("u", "v"))), seen=(0, 3)).level_names
    ('a:u', 'b:v')
    """

    type: ClassVar[str] = "cross"
    parts: tuple[Codes, ...]
    seen: tuple[int, ...]

    @property
    def name(self) -> str:
        """Name the interaction."""
        return ":".join(part.name for part in self.parts)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Name the factor's columns."""
        return (self.name,)

    @cached_property
    def level_names(self) -> tuple[str, ...]:
        """Name the levels in the order of their codes."""
        return self._names(np.array(self.seen, dtype=np.int64))

    def _names(self, numbers: NDArray[np.int64]) -> tuple[str, ...]:
        shape = [len(part.levels) for part in self.parts]
        index = np.unravel_index(numbers, shape)
        named = (
            [str(part.levels[i]) for i in rows]
            for part, rows in zip(self.parts, index, strict=True)
        )
        return tuple(map(":".join, zip(*named, strict=True)))

    def numbers(self, reader: Reader) -> NDArray[np.int64]:
        """Give each row the number of its combination, -1 where a part is missing."""
        number = np.zeros(reader.n_rows, dtype=np.int64)
        missing = np.zeros(reader.n_rows, dtype=np.bool_)
        for part in self.parts:
            codes = reader.codes(part.steps, part.levels, part.name)
            number = number * len(part.levels) + codes
            missing |= codes < 0
        return np.where(missing, -1, number)

    def fill(self, reader: Reader, out: Floats) -> None:
        """Write the factor's columns into ``out`` of shape (rows, columns)."""
        number, seen = self.numbers(reader), np.array(self.seen, dtype=np.int64)
        code = np.searchsorted(seen, number)
        known = code < seen.size
        known[known] = seen[code[known]] == number[known]
        if reader.unknown == "error" and not (known | (number < 0)).all():
            new = self._names(np.unique(number[~known & (number >= 0)]))
            raise unseen_levels(
                f"the term {self.name!r}",
                new,
                np.arange(len(new), dtype=np.int32),
                self.level_names,
            )
        out[:, 0] = np.where(known, code, np.nan)


def crossed(parts: tuple[Codes, ...], reader: Reader) -> Cross:
    """Learn which combinations of several categories occur."""
    if prod(len(part.levels) for part in parts) > np.iinfo(np.int64).max:
        raise DataError(
            f"the interaction of {listed(part.name for part in parts)} has too many combinations. "
            f"Use fewer categories in one term."
        )
    numbers = reader.distinct(Cross(parts, ()).numbers)
    return Cross(parts, tuple(numbers[numbers >= 0].tolist()))
