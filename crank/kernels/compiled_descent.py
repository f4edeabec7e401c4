"""Compiled: the descent of many rows down one tree or many (see `crank.kernels.descent`)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiler import kernel_for
from crank.kernels.descent import GOES_MISSING, LANES


def _sum_leaves(  # compiled
    X: NDArray[Any],
    rows: NDArray[np.intp] | None,
    column: NDArray[np.uint32],
    threshold: NDArray[np.float64],
    child: NDArray[np.uint32],
    level_start: NDArray[np.intp],
    width: NDArray[np.intp],
    level_branch: NDArray[np.intp],
    value: NDArray[Any],
    roots: NDArray[np.intp],
    depths: NDArray[np.intp],
    total: NDArray[Any],
) -> None:
    """Sum the leaf values of all rows, or of some, in the order of the trees.

    Every row takes a tree's ``depth`` steps; a leaf leads to itself, so that nothing branches. Each
    step waits for memory, so several rows go side by side: that is five times as fast.
    """
    categories = len(level_branch) > 0
    at = np.empty(LANES, np.uint32)
    for start in range(0, len(total), LANES):
        first = min(start, len(total) - LANES)  # the last rows may be walked twice
        for tree in range(len(roots)):
            for k in range(LANES):
                at[k] = roots[tree]
            for _ in range(depths[tree]):
                for k in range(LANES):
                    i = at[k]
                    r = np.uint64(first + k)
                    if rows is not None:
                        r = np.uint64(rows[r])
                    x = np.float64(X[r, np.uint64(column[i])])
                    b = np.uint32(x > threshold[i]) + np.uint32(GOES_MISSING) * np.uint32(x != x)
                    if categories and width[i] > 0:
                        b = np.uint32(GOES_MISSING)
                        if x >= 0 and x < width[i] and x == np.floor(x):
                            b = np.uint32(level_branch[level_start[i] + np.intp(x)])
                    at[k] = child[np.uint32(3) * i + b]
            for k in range(LANES):
                if tree == 0:
                    total[first + k] = value[at[k]]
                else:
                    total[first + k] += value[at[k]]


@cache
def sum_leaves(dtype: str, value: str, all_rows: bool) -> Any:
    """Compile for X of float32 or float64, of any strides, and values of float64 or int64.

    Naming the rows costs 7% where all are meant, so those are variants, too.
    """
    from numba import types

    def vector(kind: Any) -> Any:
        return types.Array(kind, 1, "C", readonly=True)

    number = getattr(types, value)
    signature = types.void(
        types.Array(getattr(types, dtype), 2, "A", readonly=True),
        types.none if all_rows else vector(types.intp),
        vector(types.uint32),
        vector(types.float64),
        vector(types.uint32),
        vector(types.intp),
        vector(types.intp),
        vector(types.intp),
        vector(number),
        vector(types.intp),
        vector(types.intp),
        types.Array(number, 1, "C"),
    )
    return kernel_for(signature, _sum_leaves)
