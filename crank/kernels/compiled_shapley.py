"""Compiled: Shapley values of trees, row by row and leaf by leaf (see `crank.kernels.shapley`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiler import kernel
from crank.kernels.descent import GOES_HIGH, GOES_LOW, GOES_MISSING


@kernel
def add_values(
    X: NDArray[np.float64],
    column: NDArray[np.intp],
    threshold: NDArray[np.float64],
    low: NDArray[np.intp],
    high: NDArray[np.intp],
    missing_low: NDArray[np.bool_],
    level_start: NDArray[np.intp],
    width: NDArray[np.intp],
    level_branch: NDArray[np.intp],
    value: NDArray[np.float64],
    cover: NDArray[np.float64],
    roots: NDArray[np.intp],
    deepest: int,
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    values: NDArray[Any],
) -> None:
    """Add the Shapley values of all trees to those of the rows.

    The way to a node is kept by depth: the columns that were tested, the share of training rows
    that pass, and whether this row does.
    """
    columns = np.zeros((deepest + 1, deepest + 1), np.intp)
    share, passes = np.ones((deepest + 1, deepest + 1)), np.ones((deepest + 1, deepest + 1))
    count = np.zeros(deepest + 1, np.intp)
    total, factor = np.zeros(deepest + 1), np.zeros(deepest + 1)
    waiting = np.zeros(2 * deepest + 2, np.intp)
    depth = np.zeros(2 * deepest + 2, np.intp)
    tested = np.zeros(2 * deepest + 2, np.intp)
    part, goes = np.zeros(2 * deepest + 2), np.zeros(2 * deepest + 2)
    for row in range(len(X)):
        for root in roots:
            waiting[0], depth[0], n = root, 0, 1
            while n > 0:
                n -= 1
                node, d = waiting[n], depth[n]
                if d > 0:
                    m, found = count[d - 1], -1
                    for k in range(m):
                        columns[d, k] = columns[d - 1, k]
                        share[d, k], passes[d, k] = share[d - 1, k], passes[d - 1, k]
                        if columns[d, k] == tested[n]:
                            found = k
                    if found < 0:
                        found = m
                        columns[d, m], share[d, m], passes[d, m] = tested[n], 1.0, 1.0
                        m += 1
                    share[d, found] *= part[n]
                    passes[d, found] *= goes[n]
                    count[d] = m
                if low[node] == node:
                    m = count[d] if d > 0 else 0
                    never = m == 0
                    for k in range(m):
                        total[k] = 0.0
                        never |= share[d, k] == 0.0 and passes[d, k] == 0.0
                    if never:
                        continue
                    order = (m + 1) // 2
                    for q in range(order):
                        x, w = points[order - 1, q], weights[order - 1, q]
                        product = w
                        for k in range(m):
                            factor[k] = x * passes[d, k] + (1.0 - x) * share[d, k]
                            product *= factor[k]
                        for k in range(m):
                            total[k] += product / factor[k]
                    for k in range(m):
                        values[row, columns[d, k]] += (
                            value[node] * (passes[d, k] - share[d, k]) * total[k]
                        )
                    continue
                x = X[row, column[node]]
                branch = GOES_HIGH if x > threshold[node] else GOES_LOW
                if width[node] > 0:
                    branch = GOES_MISSING
                    if x >= 0 and x < width[node] and x == np.floor(x):
                        branch = level_branch[level_start[node] + np.intp(x)]
                elif x != x:
                    branch = GOES_MISSING
                if branch == GOES_MISSING:
                    branch = GOES_LOW if missing_low[node] else GOES_HIGH
                for side in range(2):
                    child = low[node] if side == 0 else high[node]
                    waiting[n], depth[n], tested[n] = child, d + 1, column[node]
                    part[n] = cover[child] / cover[node] if cover[node] > 0.0 else 0.0
                    goes[n] = 1.0 if (branch == GOES_LOW) == (side == 0) else 0.0
                    n += 1
