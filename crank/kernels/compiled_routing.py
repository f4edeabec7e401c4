"""Compiled: many rows down a tree of one-column tests (see `crank.kernels.routing`)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiler import kernel_for

MISSING = 2


def _route_rows(
    X: NDArray[Any],
    column: NDArray[np.intp],
    threshold: NDArray[np.float64],
    child: NDArray[np.intp],
    offset: NDArray[np.intp],
    width: NDArray[np.intp],
    turn: NDArray[np.intp],
    depth: int,
    found: NDArray[np.intp],
) -> None:
    """Route every row in ``depth`` steps; a leaf leads to itself, so that nothing branches."""
    categories = len(turn) > 0
    for r in range(len(found)):
        i = 0
        for _ in range(depth):
            x = np.float64(X[r, column[i]])
            t = 1 * (x > threshold[i]) + MISSING * (x != x)
            if categories and width[i] > 0:
                t = MISSING
                if x >= 0 and x < width[i] and x == np.floor(x):
                    t = turn[offset[i] + np.intp(x)]
            i = child[3 * i + t]
        found[r] = i


@cache
def route_rows(dtype: str) -> Any:
    """Compile for float32 or float64 rows of any strides."""
    from numba import types

    whole = types.Array(types.intp, 1, "C")
    value = types.float32 if dtype == "float32" else types.float64
    signature = types.void(
        types.Array(value, 2, "A", readonly=True),
        whole,
        types.Array(types.float64, 1, "C"),
        whole,
        whole,
        whole,
        whole,
        types.intp,
        whole,
    )
    return kernel_for(signature, _route_rows)
