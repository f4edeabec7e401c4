"""The descent of many rows down many trees, compiled; importing this module loads numba."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def descend(
    X: Any,
    rows: Any,
    feature: Any,
    threshold: Any,
    low: Any,
    high: Any,
    missing_low: Any,
    value: Any,
    roots: Any,
) -> Any:
    """Sum the leaf values of some rows in the order of the trees, as `TreesRule.descend` does."""
    total = np.zeros(len(rows))
    for i in range(len(rows)):
        row = rows[i]
        for root in roots:
            node = root
            while low[node] != node:
                x = X[row, feature[node]]
                if x <= threshold[node] or (x != x and missing_low[node]):
                    node = low[node]
                else:
                    node = high[node]
            total[i] += value[node]
    return total
