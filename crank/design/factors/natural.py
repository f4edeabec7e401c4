"""Natural cubic splines: cubic pieces between knots, straight lines beyond the outer ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np

from crank.design.expressions import Steps
from crank.design.operations import Floats
from crank.design.reader import Reader

Pieces: TypeAlias = tuple[tuple[tuple[float, ...], ...], ...]


@dataclass(frozen=True)
class NaturalSpline:
    """Columns that are cubic polynomials between knots: ``ns(x, df=4)``.

    Attributes
    ----------
    knots : tuple of float
        Increasing, the boundary knots included.
    pieces : tuple
        For each of the ``len(knots) + 1`` intervals and each column four coefficients, the
        constant first, of powers of the distance from the knot where the interval begins (for
        the first interval: where it ends).

    Examples
    --------
    >>> line = ((0.0, 1.0, 0.0, 0.0),)
    >>> NaturalSpline("s", (), (0.0, 1.0), (line, line, ((1.0, 1.0, 0.0, 0.0),))).labels
    ('s[1]',)
    """

    type: ClassVar[str] = "natural"
    name: str
    steps: Steps
    knots: tuple[float, ...]
    pieces: Pieces

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Name the factor's columns."""
        return tuple(f"{self.name}[{k + 1}]" for k in range(len(self.pieces[0])))

    @cached_property
    def origins(self) -> Floats:
        """The knot from which each interval counts."""
        return np.array([self.knots[0], *self.knots])

    @cached_property
    def coefficients(self) -> Floats:
        """The pieces as an array: intervals, columns, powers."""
        return np.array(self.pieces)

    def fill(self, reader: Reader, out: Floats) -> None:
        """Write the factor's columns into ``out`` of shape (rows, columns)."""
        self.at(reader.finished(self.steps, self.name), out)

    def at(self, x: Floats, out: Floats) -> None:
        """Write the columns for values of the expression into ``out``."""
        interval = np.searchsorted(self.knots, x, side="right")
        distance = x - self.origins[interval]
        for k in range(out.shape[1]):
            c = self.coefficients[interval, k]
            value = c[:, 3] * distance + c[:, 2]
            value = value * distance + c[:, 1]
            out[:, k] = value * distance + c[:, 0]


@dataclass(frozen=True)
class Smooth(NaturalSpline):
    """A smooth term: ``s(x)``. Columns have mean 0 and variance 1 in training.

    Attributes
    ----------
    penalty : tuple of float
        Of each column: how much it bends, relative to the one that bends least; 0 for a line.

    Examples
    --------
    >>> line = ((0.0, 1.0, 0.0, 0.0),)
    >>> Smooth("s(x)", (), (0.0, 1.0), (line, line, ((1.0, 1.0, 0.0, 0.0),)), (0.0,)).labels
    ('s(x)[1]',)
    """

    type: ClassVar[str] = "smooth"
    penalty: tuple[float, ...]
