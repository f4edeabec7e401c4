"""Compiled: values to bins, and bins from the order of rows to the order of y."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.bins import MISSING_BIN
from crank.kernels.compiler import kernel, kernel_for


def _bin_rows(  # compiled
    X: NDArray[Any],
    first: int,
    last: int,
    tile: int,
    edges: NDArray[np.float64],
    columns: NDArray[np.intp],
    check: NDArray[np.bool_],
    bins: NDArray[np.uint8],
    stray: NDArray[np.bool_],
) -> None:
    """Bin rows ``first`` to ``last``: the bin of x is the number of edges below it.

    The bisection is written out because a loop would branch: it takes 8 comparisons and no jump.
    Indices are unsigned, and loops start from 0: for others numba asks whether they count from
    the end. In columns to ``check`` every value should equal an edge; those that do not are
    reported.
    """
    for t in range(first, last, tile):
        rows = slice(t, min(t + tile, last))
        for c in range(len(columns)):
            j = columns[c]
            e, values, out = edges[j], X[rows, j], bins[j, rows]
            for r in range(len(out)):
                x = np.float64(values[r])
                b = np.uint32(128) * np.uint32(e[127] < x)
                b += np.uint32(64) * np.uint32(e[b + np.uint32(63)] < x)
                b += np.uint32(32) * np.uint32(e[b + np.uint32(31)] < x)
                b += np.uint32(16) * np.uint32(e[b + np.uint32(15)] < x)
                b += np.uint32(8) * np.uint32(e[b + np.uint32(7)] < x)
                b += np.uint32(4) * np.uint32(e[b + np.uint32(3)] < x)
                b += np.uint32(2) * np.uint32(e[b + np.uint32(1)] < x)
                b += np.uint32(e[b] < x)
                out[r] = b | (np.uint32(MISSING_BIN) * np.uint32(x != x))
            if check[j]:
                wrong = 0
                for r in range(len(out)):
                    x = np.float64(values[r])
                    wrong += (x == x) & (e[out[r]] != x)
                if wrong > 0:
                    stray[j] = True


@cache
def bin_rows(dtype: str) -> Any:
    """Compile the binning of float32 or float64 data of any strides."""
    from numba import types

    value = types.float32 if dtype == "float32" else types.float64
    signature = types.void(
        types.Array(value, 2, "A", readonly=True),
        types.intp,
        types.intp,
        types.intp,
        types.Array(types.float64, 2, "C"),
        types.Array(types.intp, 1, "C"),
        types.Array(types.boolean, 1, "C"),
        types.Array(types.uint8, 2, "C"),
        types.Array(types.boolean, 1, "C"),
    )
    return kernel_for(signature, _bin_rows)


def _gather(  # compiled
    X: NDArray[Any], rows: NDArray[np.intp], first: int, last: int, out: NDArray[np.float64]
) -> None:
    """Copy some rows of the columns ``first`` to ``last``, transposed, into ``out``."""
    for r in range(len(rows)):
        row = np.uint64(rows[r])
        for j in range(last - first):
            out[j, r] = X[row, first + j]


@cache
def gather(dtype: str) -> Any:
    """Compile the copying of rows of float32 or float64 data of any strides."""
    from numba import types

    value = types.float32 if dtype == "float32" else types.float64
    signature = types.void(
        types.Array(value, 2, "A", readonly=True),
        types.Array(types.intp, 1, "C"),
        types.intp,
        types.intp,
        types.Array(types.float64, 2, "C"),
    )
    return kernel_for(signature, _gather)


@kernel
def reorder(
    bins: NDArray[np.uint8], first: int, last: int, row: NDArray[np.intp], room: NDArray[np.uint8]
) -> None:
    """Bring columns ``first`` to ``last`` of the bins, in place, into another order of rows."""
    n = np.uint64(len(row))
    for j in range(np.uint64(first), np.uint64(last)):
        for r in range(n):
            room[r] = bins[j, np.uint64(row[r])]
        for r in range(n):  # an assignment of arrays would take three seconds to compile
            bins[j, r] = room[r]
