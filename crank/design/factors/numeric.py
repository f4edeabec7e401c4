"""Factors of numbers: an expression, its powers, orthonormal polynomials, B-splines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from crank.design.expressions import Steps
from crank.design.operations import Floats
from crank.design.reader import Reader
from crank.errors import DataError

MOST_POWERS = 100  # of poly(x, degree)
MOST_DEGREE = 20  # of bs(x)
EXTRAPOLATIONS = ("raise", "clip", "na", "zero", "extend")


@dataclass(frozen=True)
class Number:
    """An expression: one column.

    Examples
    --------
    >>> Number("x", ()).labels
    ('x',)
    """

    type: ClassVar[str] = "number"
    name: str
    steps: Steps

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Name the factor's columns."""
        return (self.name,)

    def fill(self, reader: Reader, out: Floats) -> None:
        """Write the factor's columns into ``out`` of shape (rows, columns)."""
        reader.write(self.steps, self.name, out[:, 0])


@dataclass(frozen=True)
class Powers:
    """The powers x, x², … of an expression: ``poly(x, d, raw=True)``.

    Examples
    --------
    >>> Powers("p", (), degree=2).labels
    ('p[0]', 'p[1]')
    """

    type: ClassVar[str] = "powers"
    name: str
    steps: Steps
    degree: int

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Name the factor's columns."""
        return tuple(f"{self.name}[{k}]" for k in range(self.degree))

    def fill(self, reader: Reader, out: Floats) -> None:
        """Write the factor's columns into ``out`` of shape (rows, columns)."""
        x = reader.finished(self.steps, self.name)
        for k in range(self.degree):
            out[:, k] = x ** (k + 1)


@dataclass(frozen=True)
class Poly:
    """Orthonormal polynomials of an expression, by the three-term recurrence.

    Examples
    --------
    >>> Poly("p", (), alpha=(0.0,), norms=(3.0, 2.0)).labels
    ('p[1]',)
    """

    type: ClassVar[str] = "poly"
    name: str
    steps: Steps
    alpha: tuple[float, ...]
    norms: tuple[float, ...]  # squared norms of the monic polynomials, the constant one first

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Name the factor's columns."""
        return tuple(f"{self.name}[{k + 1}]" for k in range(len(self.alpha)))

    def fill(self, reader: Reader, out: Floats) -> None:
        """Write the factor's columns into ``out`` of shape (rows, columns)."""
        x = reader.finished(self.steps, self.name)
        before: Floats | float = 0.0
        last: Floats | float = 1.0
        for k, alpha in enumerate(self.alpha):
            beta = self.norms[k] / self.norms[k - 1] if k else 0.0
            before, last = last, (x - alpha) * last - beta * before
            out[:, k] = last / np.sqrt(self.norms[k + 1])


@dataclass(frozen=True)
class Spline:
    """B-splines of an expression on given knots, boundary knots repeated.

    Examples
    --------
    >>> Spline("s", (), (0.0, 0.0, 1.0, 1.0), 1, 0.0, 1.0, "raise", first=0).labels
    ('s[0]', 's[1]')
    """

    type: ClassVar[str] = "spline"
    name: str
    steps: Steps
    knots: tuple[float, ...]
    degree: int
    lower: float
    upper: float
    extrapolation: str
    first: int  # 1 leaves out the first basis function, which spans the intercept with the others

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Name the factor's columns."""
        return tuple(
            f"{self.name}[{k}]" for k in range(self.first, len(self.knots) - self.degree - 1)
        )

    def fill(self, reader: Reader, out: Floats) -> None:
        """Write the factor's columns into ``out`` of shape (rows, columns)."""
        x = self._bounded(reader.finished(self.steps, self.name))
        for k, values in enumerate(self._basis(x)[self.first :]):
            out[:, k] = values
        out[np.isnan(x)] = np.nan

    def _bounded(self, x: Floats) -> Floats:
        outside = (x < self.lower) | (x > self.upper)
        if self.extrapolation in ("extend", "zero") or not outside.any():
            return x
        if self.extrapolation == "clip":
            return np.clip(x, self.lower, self.upper)
        if self.extrapolation == "na":
            return np.where(outside, np.nan, x)
        raise DataError(
            f"the term {self.name!r} is defined from {self.lower} to {self.upper}, but "
            f"{int(outside.sum())} rows are outside (smallest {np.nanmin(x)}, largest "
            f"{np.nanmax(x)}). Leave them out, or choose in the formula what happens there: "
            f"extrapolation='clip', 'na', 'zero' or 'extend'."
        )

    def _basis(self, x: Floats) -> list[Floats]:
        """Compute all basis functions by the Cox–de Boor recurrence."""
        t, last = self.knots, len(self.knots) - self.degree - 2
        basis = []
        for i in range(len(t) - 1):
            left, right = t[i], t[i + 1]
            if self.extrapolation == "extend":
                left = -np.inf if i == self.degree else left
                right = np.inf if i == last else right
            # the last interval is closed, so that the largest training value belongs to it
            below = x <= right if i == last else x < right
            basis.append(((x >= left) & below).astype(np.float64))
        for d in range(1, self.degree + 1):
            basis = [
                self._rise(x, i, d) * basis[i] + (1 - self._rise(x, i + 1, d)) * basis[i + 1]
                for i in range(len(t) - d - 1)
            ]
        return basis

    def _rise(self, x: Floats, i: int, d: int) -> Floats | float:
        width = self.knots[i + d] - self.knots[i]
        return (x - self.knots[i]) / width if width else 0.0
