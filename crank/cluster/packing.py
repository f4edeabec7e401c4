"""Arrays as they are sent between processes: places and values where most cells are empty."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Packed = tuple[tuple[int, ...], NDArray[Any] | None, NDArray[Any]]
"""The shape of an array, the places of what is not 0 if that is less to send, and the values."""


def packed(values: NDArray[Any]) -> Packed:
    """Write an array as it is sent: most cells of deep nodes are empty, and most counts small.

    Examples
    --------
    >>> unpacked(packed(np.array([[0, 0, 0], [0, 0, 7]]))).tolist()
    [[0, 0, 0], [0, 0, 7]]
    """
    flat, place = values.ravel(), None
    there = np.flatnonzero(flat)
    if 3 * len(there) < len(flat) < 2**31:
        flat, place = flat[there], there.astype(np.int32)
    if flat.dtype == np.int64 and len(flat) and flat.min() >= 0 and flat.max() < 2**31:
        flat = flat.astype(np.int32)
    return values.shape, place, flat


def unpacked(sent: Packed) -> NDArray[Any]:
    """Undo `packed`."""
    shape, place, flat = sent
    flat = writable(flat)
    if flat.dtype == np.int32:
        flat = flat.astype(np.int64)
    if place is None:
        return flat.reshape(shape)
    values = np.zeros(shape, dtype=flat.dtype)
    values.ravel()[place] = flat
    return values


def bytes_of(*values: Any) -> int:
    """Add up the bytes of arrays, and of those in tuples and lists; other values have none.

    Dask asks objects how large they are before it moves them or work to them (`sys.getsizeof`).
    """
    return sum(
        bytes_of(*value) if isinstance(value, tuple | list) else getattr(value, "nbytes", 0)
        for value in values
    )


def writable(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array that compiled code takes as its own: what was sent cannot be written to.

    Kernels are compiled for the kinds of arrays that they are given, and this one is another kind.
    """
    return values if values.flags.writeable else values.copy()
