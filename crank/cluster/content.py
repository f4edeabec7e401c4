"""Rows by their content: hashes that are the same wherever a row is, and samples by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.cluster.sketch import keys_of
from crank.cluster.tally import FloatArray
from crank.kernels.compiler import numba_works

Keys = NDArray[np.uint64]

_ODD = np.uint64(0x9E3779B97F4A7C15)


def mixed(key: Keys) -> Keys:
    """Scramble whole numbers: each bit of the result depends on all bits (splitmix64)."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(key ^ (key >> np.uint64(31)))


def row_keys(y: FloatArray, X: NDArray[Any], *others: FloatArray) -> Keys:
    """Hash the content of rows: the same wherever a row is, and whatever its column's type.

    Examples
    --------
    >>> y, X = np.array([1.0, 2.0, 1.0]), np.array([[0.0], [1.0], [-0.0]])
    >>> key = row_keys(y, X)
    >>> bool(key[0] == key[2]), bool(key[0] == key[1])
    (True, False)
    """
    key = np.zeros(len(y), dtype=np.uint64)
    for some in (y[None], X.T, *(other[None] for other in others)):
        hash_more(np.asarray(some, dtype=np.float64), key)
    return key


def hash_more(columns: FloatArray, key: Keys) -> None:
    """Mix more columns, an array of shape (columns, rows), into the hashes of rows."""
    if numba_works():
        from crank.kernels.compiled_rows import hash_rows

        hash_rows(np.ascontiguousarray(columns).view(np.uint64), key)
        return
    for x in columns:
        key[:] = mixed(key * np.uint64(3) + keys_of(np.where(np.isnan(x), np.nan, x)) + _ODD)


@dataclass(frozen=True)
class Sampled:
    """The values of a column in the rows whose content hashes lowest, of those that have one.

    What `joined` makes is a sample of all partitions. Rows of the same hash have the same value:
    which of them are in it does not matter.

    Attributes
    ----------
    key : ndarray of uint64
    value : ndarray of float64
    size : int
        Rows that are kept at most.
    """

    key: Keys
    value: FloatArray
    size: int


def joined(one: Sequence[Sampled], two: Sequence[Sampled]) -> list[Sampled]:
    """Join the samples of two partitions, column by column.

    Columns without missing values share their hashes, so these are looked at once.
    """
    known: dict[tuple[int, int, int], tuple[Keys, NDArray[np.intp]]] = {}
    found = []
    for a, b in zip(one, two, strict=True):
        name = id(a.key), id(b.key), a.size
        if name not in known:
            key = np.concatenate((a.key, b.key))
            kept = lowest(key, a.size)
            known[name] = key[kept], kept
        key, kept = known[name]
        found.append(Sampled(key, np.concatenate((a.value, b.value))[kept], a.size))
    return found


def lowest(key: Keys, size: int) -> NDArray[np.intp]:
    """Find the rows that hash lowest, at most so many."""
    if len(key) <= size:
        return np.arange(len(key))
    return np.argpartition(key, size - 1)[:size]
