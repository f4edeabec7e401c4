"""Read a rule's fields back from JSON: what a file says is checked before it is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.errors import DataError, listed

FloatVector = NDArray[np.float64]
IndexVector = NDArray[np.intp]


def field(d: Mapping[str, Any], name: str) -> Any:
    """Return one field of a stored rule."""
    if not isinstance(d, Mapping) or name not in d:
        got = listed(d) if isinstance(d, Mapping) else type(d).__name__
        raise DataError(f"a stored rule lacks the field {name!r}. Fields: {got}.")
    return d[name]


def number(d: Mapping[str, Any], name: str) -> float:
    """Return a finite number.

    Examples
    --------
    >>> number({"bias": 1}, "bias")
    1.0
    """
    return float(_array(d, name, "number", 0))


def numbers(d: Mapping[str, Any], name: str, length: int | None = None) -> FloatVector:
    """Return a vector of finite numbers."""
    return _sized(_array(d, name, "number", 1), name, length)


def wrong_length(name: str, got: int, wanted: int) -> DataError:
    """Return the error for a field that does not fit the others."""
    return DataError(f"{name!r} of a stored rule has {got} entries, not {wanted}.")


def above_zero(name: str, values: FloatVector) -> FloatVector:
    """Return numbers that must all be positive."""
    if len(values) and values.min() <= 0.0:
        raise DataError(f"{name!r} of a stored rule has entries that are not above 0.")
    return values


def table(d: Mapping[str, Any], name: str, width: int) -> FloatVector:
    """Return a matrix of finite numbers with a given number of columns."""
    rows = field(d, name)
    if isinstance(rows, Sequence) and len(rows) == 0:
        return np.empty((0, width))
    matrix = _array(d, name, "number", 2)
    if matrix.shape[1] != width:
        raise DataError(f"{name!r} of a stored rule has {matrix.shape[1]} columns, not {width}.")
    return matrix


def indices(
    d: Mapping[str, Any], name: str, below: int | None = None, length: int | None = None
) -> IndexVector:
    """Return a vector of whole numbers from 0 on, all smaller than ``below``."""
    values = _sized(_array(d, name, "whole number", 1), name, length).astype(np.intp)
    if len(values) and (values.min() < 0 or (below is not None and values.max() >= below)):
        raise DataError(
            f"{name!r} of a stored rule points outside: {values.min()} to {values.max()}. "
            f"Allowed: 0 to {'any' if below is None else below - 1}."
        )
    return values


def _array(d: Mapping[str, Any], name: str, kind: str, ndim: int) -> NDArray[Any]:
    given = field(d, name)
    try:
        values = np.array(given)
    except (ValueError, OverflowError, TypeError):  # ragged lists, integers beyond int64
        values = np.array(None)
    if ndim and values.shape == (0,):
        values = values.astype(np.int64)
    allowed = "iu" if kind == "whole number" else "iuf"
    if values.ndim != ndim or values.dtype.kind not in allowed or not np.isfinite(values).all():
        shape = ("one", "a list of", "a list of rows of")[ndim]
        raise DataError(f"{name!r} of a stored rule is not {shape} finite {kind}s.")
    return values if kind == "whole number" else values.astype(np.float64)


def _sized(values: NDArray[Any], name: str, length: int | None) -> NDArray[Any]:
    if length is not None and len(values) != length:
        raise wrong_length(name, len(values), length)
    return values
