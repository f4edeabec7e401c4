"""Compiled: values to bins, and bins from the order of rows to the order of y."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiler import kernel, kernel_for

MISSING = 255
"""The bin of missing values."""


def _bin_rows(
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
    In columns to ``check`` every value should equal an edge; those that do not are reported.
    """
    for t in range(first, last, tile):
        end = min(t + tile, last)
        for c in range(len(columns)):
            j = columns[c]
            e = edges[j]
            out = bins[j]
            for r in range(t, end):
                x = np.float64(X[r, j])
                b = 0
                b += 128 * (e[127] < x)
                b += 64 * (e[b + 63] < x)
                b += 32 * (e[b + 31] < x)
                b += 16 * (e[b + 15] < x)
                b += 8 * (e[b + 7] < x)
                b += 4 * (e[b + 3] < x)
                b += 2 * (e[b + 1] < x)
                b += 1 * (e[b] < x)
                out[r] = b | (MISSING * (x != x))
            if check[j]:
                for r in range(t, end):
                    x = np.float64(X[r, j])
                    if x == x and e[out[r]] != x:
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


@kernel
def reorder(bins: NDArray[np.uint8], first: int, last: int, row: NDArray[np.intp]) -> None:
    """Put columns ``first`` to ``last`` of the bins, in place, in another order of rows."""
    n = len(row)
    column = np.empty(n, np.uint8)
    for j in range(first, last):
        old = bins[j]
        for r in range(n):
            column[r] = old[row[r]]
        old[:] = column
