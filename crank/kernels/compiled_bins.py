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

    The bisection takes 8 comparisons and no jump. Indices are unsigned: of others numba asks
    whether they count from the end. Arrays are not sliced, which takes long to compile. In columns
    to ``check`` every value should equal an edge; those that do not are reported.
    """
    for t in range(first, last, tile):
        start, end = np.uint64(t), np.uint64(min(t + tile, last))
        for c in range(len(columns)):
            j = np.uint64(columns[c])
            for r in range(start, end):
                x = X[r, j]
                b, step = np.uint32(0), np.uint32(128)
                while step > 0:
                    b += step * np.uint32(edges[j, b + step - np.uint32(1)] < x)
                    step >>= np.uint32(1)
                bins[j, r] = b | (np.uint32(MISSING_BIN) * np.uint32(x != x))
            if check[j]:
                wrong = False
                for r in range(start, end):
                    x = X[r, j]
                    wrong |= (x == x) & (edges[j, np.uint64(bins[j, r])] != x)
                if wrong:
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
