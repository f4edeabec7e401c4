"""A digest of some columns of data: whether two samples are the same, to the last bit."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.frames.table import Table


def data_fingerprint(
    table: Table, names: Iterable[str], weights: NDArray[np.float64] | None = None
) -> str:
    """Digest the values of some columns, row by row, missing ones as such.

    Data frames of any library that hold the same values give the same digest: numbers as doubles,
    text as text, the columns in the order of their names.

    Parameters
    ----------
    table : Table
    names : iterable of str
    weights : ndarray, optional
        Case weights, which count as a column of their own.

    Examples
    --------
    >>> one = data_fingerprint(Table.read({"x": [1, 2], "g": ["a", None]}), ["x", "g"])
    >>> two = data_fingerprint(Table.read({"g": ["a", None], "x": [1.0, 2.0]}), ["g", "x"])
    >>> one == two, one[:7]
    (True, 'sha256:')
    """
    found = hashlib.sha256(f"{table.n_rows}".encode())
    for name in sorted(set(names)):
        found.update(f"\n{name}\n".encode("utf-8", "surrogatepass"))
        _add(found, table, name)
    if weights is not None:
        found.update(b"\nweights\n")
        found.update(np.ascontiguousarray(weights, dtype="<f8").data)
    return "sha256:" + found.hexdigest()


def _add(found: Any, table: Table, name: str) -> None:
    kind = table.kind(name)
    if kind == "category":
        codes, levels = table.codes(name)
        present = sorted({*np.unique(codes[codes >= 0]).tolist()}, key=lambda k: str(levels[k]))
        place = np.full(len(levels) + 1, -1, dtype="<i4")  # the code -1 finds the last
        place[present] = np.arange(len(present))
        words = "\0".join(str(levels[k]) for k in present)
        found.update(words.encode("utf-8", "surrogatepass"))
        found.update(np.ascontiguousarray(place[codes]).data)
        return
    values = table.days(name) if kind == "date" else table.numeric(name)
    doubles = np.ascontiguousarray(values, dtype="<f8")
    if np.isnan(doubles).any():
        doubles = np.where(np.isnan(doubles), np.nan, doubles)  # one NaN of the many
    found.update(doubles.data)
