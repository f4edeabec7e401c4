"""Compiled: the side of every row of a split level, and the values on either side of each cut."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiler import kernel_for


def _side_nodes(
    X: NDArray[Any],
    row: NDArray[np.intp],
    position: NDArray[np.int32],
    bins: NDArray[np.uint8],
    index: NDArray[np.int32],
    bounds: NDArray[np.intp],
    first: int,
    last: int,
    column: NDArray[np.intp],
    side: NDArray[np.bool_],
    edge: NDArray[np.int32],
    left: NDArray[np.bool_],
    neighbour: NDArray[np.float64],
) -> None:
    """Look the side of each row's bin up.

    Where the bins beside a cut, ``edge[node]``, are not negative, their rows' values are read
    from X: the largest of the low bin and the smallest of the high one are the neighbours of the
    threshold. That is one row in a hundred, so the threshold is exact at no cost.
    """
    for k in range(first, last):
        j = column[k]
        if j < 0:
            continue
        bin_of, goes, low, high = bins[j], side[k], edge[k, 0], edge[k, 1]
        rows = slice(bounds[k], bounds[k + 1])
        where, here, out = index[rows], position[rows], left[rows]
        largest, smallest = -np.inf, np.inf
        for p in range(len(where)):
            b = bin_of[np.uint32(where[p])]
            out[p] = goes[b]
            if b == low:
                largest = max(largest, np.float64(X[row[here[p]], j]))
            elif b == high:
                smallest = min(smallest, np.float64(X[row[here[p]], j]))
        if low >= 0:
            neighbour[k, 0] = largest
        if high >= 0:
            neighbour[k, 1] = smallest


@cache
def side_nodes(dtype: str) -> Any:
    """Compile for float32 or float64 data of any strides."""
    from numba import types

    value = types.float32 if dtype == "float32" else types.float64
    signature = types.void(
        types.Array(value, 2, "A", readonly=True),
        types.Array(types.intp, 1, "C"),
        types.Array(types.int32, 1, "C"),
        types.Array(types.uint8, 2, "C"),
        types.Array(types.int32, 1, "C"),
        types.Array(types.intp, 1, "C"),
        types.intp,
        types.intp,
        types.Array(types.intp, 1, "C"),
        types.Array(types.boolean, 2, "C"),
        types.Array(types.int32, 2, "C"),
        types.Array(types.boolean, 1, "C"),
        types.Array(types.float64, 2, "C"),
    )
    return kernel_for(signature, _side_nodes)
