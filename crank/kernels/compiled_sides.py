"""Compiled: the side of every row of a split layer, and the values on either side of each cut."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiler import kernel_for


def _side_nodes(  # compiled
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
        low, high = edge[k, 0], edge[k, 1]
        largest, smallest = -np.inf, np.inf
        column_j, node = np.uint64(j), np.uint64(k)
        for p in range(np.uint64(bounds[k]), np.uint64(bounds[k + 1])):
            b = bins[column_j, np.uint64(index[p])]
            left[p] = side[node, np.uint64(b)]
            if b == low or b == high:  # noqa: SIM109 a tuple takes long to compile
                x = X[np.uint64(row[np.uint64(position[p])]), column_j]
                if b == low:
                    if x > largest:
                        largest = x
                elif x < smallest:
                    smallest = x
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
