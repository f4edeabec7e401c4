"""What a test knows and a type checker cannot: a cell is a number, an optional value is there."""

from typing import TypeVar

import numpy as np

T = TypeVar("T")
R = TypeVar("R")


def number(cell: object) -> float:
    """A cell of a data frame, which must hold a number."""
    assert isinstance(cell, (int, float, np.number))
    return float(cell)


def present(value: T | None) -> T:
    """A value that may be missing elsewhere, but not here."""
    assert value is not None
    return value


def of(kind: type[R], value: object) -> R:
    """A value as what it must be: a rule of one kind, a model of one kind."""
    assert isinstance(value, kind)
    return value
