"""Compiled: the descent of many rows down many trees."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiler import kernel_for


def _descend(
    X: NDArray[Any],
    rows: NDArray[np.intp],
    feature: NDArray[np.intp],
    threshold: NDArray[np.float64],
    low: NDArray[np.intp],
    high: NDArray[np.intp],
    missing_low: NDArray[np.bool_],
    value: NDArray[np.float64],
    roots: NDArray[np.intp],
    total: NDArray[np.float64],
) -> None:
    """Sum the leaf values of some rows in the order of the trees, as `TreesRule.descend` does."""
    for i in range(len(rows)):
        row = rows[i]
        here = 0.0
        for tree in range(len(roots)):
            node = roots[tree]
            while low[node] != node:
                x = np.float64(X[row, feature[node]])
                if x <= threshold[node] or (x != x and missing_low[node]):
                    node = low[node]
                else:
                    node = high[node]
            here += value[node]
        total[i] = here


@cache
def descent(dtype: str) -> Any:
    """Compile for float32 or float64 rows of any strides."""
    from numba import types

    def vector(kind: Any) -> Any:
        return types.Array(kind, 1, "A", readonly=True)

    value = types.float32 if dtype == "float32" else types.float64
    signature = types.void(
        types.Array(value, 2, "A", readonly=True),
        vector(types.intp),
        vector(types.intp),
        vector(types.float64),
        vector(types.intp),
        vector(types.intp),
        vector(types.boolean),
        vector(types.float64),
        vector(types.intp),
        types.Array(types.float64, 1, "C"),
    )
    return kernel_for(signature, _descend)
