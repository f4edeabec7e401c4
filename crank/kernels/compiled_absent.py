"""Compiled: the votes of one tree of a forest for the rows that its bag lacks, by their bins.

A row's bins are bytes side by side, where its values are doubles in as many cache lines as there
are columns. Only between the two bins that a cut parts, where the bag has no rows of the node, is
the value itself compared with the threshold. The oracle is `crank.kernels.descent`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.bins import MISSING_BIN
from crank.kernels.compiler import kernel_for

LANES = 32
"""Rows that go side by side."""

_8, _16, _BYTE, _MISSING = np.uint64(8), np.uint64(16), np.uint64(255), np.uint64(MISSING_BIN)


def _vote_absent(  # compiled
    X: NDArray[Any],
    row: NDArray[np.intp],
    by_row: NDArray[np.uint8],
    place: NDArray[np.uint8],
    factors: bool,
    draws: NDArray[np.int32],
    column: NDArray[np.intp],
    up_to: NDArray[np.intp],
    from_on: NDArray[np.intp],
    threshold: NDArray[np.float64],
    child: NDArray[np.uint32],
    value: NDArray[np.int64],
    votes: NDArray[np.int64],
) -> None:
    """Fill in the votes for the rows that were not drawn.

    ``row`` is where the rows of ``by_row`` are in ``X``. A bin's ``place`` is its own number, for
    levels their place in the tree's order, and the last one for whatever is missing. Places before
    ``up_to`` go low, those from ``from_on``, not less, on high. Rows go side by side, as in the
    oracle.
    """
    n = len(draws)
    absent, count = np.empty(n + LANES, np.uint32), np.uint64(0)
    for p in range(n):
        absent[count] = p
        count += np.uint64(draws[p] == 0)
    for k in range(LANES):  # the last group is filled up
        absent[count + np.uint64(k)] = absent[count - np.uint64(1)] if count > 0 else 0
    nodes = np.empty(len(column), np.uint64)  # one word each: its column, up to where, from where
    level, depth = np.zeros(len(column), np.intp), 0
    for i in range(len(column)):
        nodes[i] = (column[i] << 16) | (up_to[i] << 8) | from_on[i]
        for b in range(3):
            below = child[3 * i + b]
            if below != i:  # a leaf leads to itself
                level[below] = level[i] + 1
                depth = max(depth, level[below])
    at = np.empty(LANES, np.uint32)
    for start in range(np.uint64(0), count, np.uint64(LANES)):
        for k in range(LANES):
            at[k] = 0
        for _ in range(depth):
            for k in range(LANES):
                here = np.uint64(at[k])
                o = np.uint64(absent[start + np.uint64(k)])
                node = nodes[here]
                j = node >> _16
                x = np.uint64(by_row[o, j])
                if factors:
                    x = np.uint64(place[j, x])
                low, high = (node >> _8) & _BYTE, node & _BYTE
                above = np.uint64(x >= low)
                if x - low < high - low:  # both at once: one test that is rarely true
                    above = np.uint64(np.float64(X[np.uint64(row[o]), j]) > threshold[here])
                branch = above + np.uint64(x == _MISSING)
                at[k] = child[np.uint64(3) * here + branch]
        for k in range(LANES):
            votes[np.uint64(absent[start + np.uint64(k)])] = value[np.uint64(at[k])]


@cache
def vote_absent(dtype: str) -> Any:
    """Compile for X of float32 or float64, of any strides."""
    from numba import types

    def array(kind: Any, dimensions: int = 1) -> Any:
        return types.Array(kind, dimensions, "C", readonly=True)

    signature = types.void(
        types.Array(getattr(types, dtype), 2, "A", readonly=True),
        array(types.intp),
        array(types.uint8, 2),
        array(types.uint8, 2),
        types.boolean,
        array(types.int32),
        array(types.intp),
        array(types.intp),
        array(types.intp),
        array(types.float64),
        array(types.uint32),
        array(types.int64),
        types.Array(types.int64, 1, "C"),
    )
    return kernel_for(signature, _vote_absent)
