"""Compiled: the descent of many rows down many trees."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiler import kernel_for
from crank.kernels.routing import LANES, MISSING


def _descend(
    X: NDArray[Any],
    rows: NDArray[np.intp],
    feature: NDArray[np.uint32],
    threshold: NDArray[np.float64],
    child: NDArray[np.uint32],
    value: NDArray[np.float64],
    roots: NDArray[np.intp],
    depths: NDArray[np.intp],
    total: NDArray[np.float64],
) -> None:
    """Sum the leaf values of some rows in the order of the trees, as `TreesRule.descend` does.

    Several rows go down a tree side by side (see `crank.kernels.compiled_routing`).
    """
    row, at, here = np.empty(LANES, np.uint64), np.empty(LANES, np.uint32), np.empty(LANES)
    for start in range(0, len(rows), LANES):
        first = min(start, len(rows) - LANES)  # the last rows may be walked twice
        for k in range(LANES):
            row[k], here[k] = rows[first + k], 0.0
        for tree in range(len(roots)):
            for k in range(LANES):
                at[k] = roots[tree]
            for _ in range(depths[tree]):
                for k in range(LANES):
                    i = at[k]
                    x = np.float64(X[row[k], np.uint64(feature[i])])
                    t = np.uint32(x > threshold[i]) + np.uint32(MISSING) * np.uint32(x != x)
                    at[k] = child[np.uint32(3) * i + t]
            for k in range(LANES):
                here[k] += value[at[k]]
        for k in range(LANES):
            total[first + k] = here[k]


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
        vector(types.uint32),
        vector(types.float64),
        vector(types.uint32),
        vector(types.float64),
        vector(types.intp),
        vector(types.intp),
        types.Array(types.float64, 1, "C"),
    )
    return kernel_for(signature, _descend)
