"""Shapley values of trees: what each column adds to the value of a row, exactly.

The game is that of Lundberg and others (2018): the value of a set of columns is the mean of the
leaves that a row can reach if it follows its own way where a column of the set is tested, and goes
both ways, in proportion to the training rows there, elsewhere.

A leaf of value v, whose path tests columns k, has for each a share z of training rows that pass
its tests, and tells of a row whether it passes them (o = 1) or not (0). The weight of a set of s
of m columns, s! (m−1−s)! / m!, is the integral of x^s (1−x)^(m−1−s) over [0, 1], so that the sum
over all sets is that of a product,
    v (o_k − z_k) ∫ Π_{j≠k} (x o_j + (1−x) z_j) dx,
a polynomial of degree m − 1: Gauss–Legendre quadrature with m/2 points is exact. All factors are
positive, so nothing cancels.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiler import numba_works
from crank.kernels.descent import NodeTable

COMPILED_FROM = 2**22
"""Rows times nodes from which loading the compiled kernel repays."""
COMPILED_FROM_LOADED = 2**14
BLOCK_ROWS = 8192
"""Rows that are worked on at a time."""

Floats = NDArray[np.float64]


def shapley_values(nodes: NodeTable, cover: Floats, X: NDArray[Any]) -> tuple[Floats, float]:
    """Return what each column adds to each row's sum of trees, and what the sum is on average.

    Parameters
    ----------
    nodes : NodeTable
    cover : ndarray of shape (nodes,)
        Weight of the training rows in each node.
    X : ndarray of shape (n, d)

    Returns
    -------
    values : ndarray of shape (n, d)
    base : float
        Values of a row and base add up to its sum of trees.

    Examples
    --------
    >>> stump = NodeTable([0, 0, 0], [0.5, 0, 0], [1, 1, 2], [2, 1, 2], [True, False, False],
    ...                   value=[0.0, -1.0, 1.0], roots=[0])
    >>> values, base = shapley_values(stump, np.array([4.0, 1.0, 3.0]), np.array([[0.0], [1.0]]))
    >>> values.tolist(), base
    ([[-1.5], [0.5]], 0.5)
    """
    values = np.zeros(X.shape)
    share = reached(nodes, cover)
    leaf = ~nodes.inner & (nodes.tree >= 0)
    base = float((nodes.value[leaf] * share[leaf]).sum())
    known = COMPILED_FROM_LOADED if "numba" in sys.modules else COMPILED_FROM
    compiled = len(X) * len(nodes.column) >= known and numba_works()
    add = _add_compiled if compiled else add_numpy
    for start in range(0, len(X), BLOCK_ROWS):
        here = slice(start, start + BLOCK_ROWS)
        add(nodes, cover, np.array(X[here], dtype=np.float64), values[here])
    return values, base


def reached(nodes: NodeTable, cover: Floats) -> Floats:
    """Share of the training rows of a tree that reach each of its nodes."""
    whole = np.where(nodes.tree >= 0, cover[nodes.roots][np.maximum(nodes.tree, 0)], 1.0)
    return np.asarray(cover / whole)


def quadrature(order: int) -> tuple[Floats, Floats]:
    """Return points and weights of Gauss–Legendre rules on [0, 1], those of k + 1 points in row k.

    Examples
    --------
    >>> points, weights = quadrature(2)
    >>> points.round(3).tolist(), weights.round(3).tolist()
    ([[0.5, 0.0], [0.211, 0.789]], [[1.0, 0.0], [0.5, 0.5]])
    """
    points, weights = np.zeros((order, order)), np.zeros((order, order))
    for k in range(order):
        x, w = np.polynomial.legendre.leggauss(k + 1)
        points[k, : k + 1], weights[k, : k + 1] = (x + 1.0) / 2.0, w / 2.0
    return points, weights


def add_numpy(nodes: NodeTable, cover: Floats, X: Floats, values: Floats) -> None:
    """Add the values of all trees, node by node, all rows at once."""
    deepest = max(1, int(nodes.depths.max()))
    points, weights = quadrature((deepest + 1) // 2)
    for root in nodes.roots.tolist():
        # of each node: columns that were tested on the way, shares z, and whether rows pass
        none: tuple[int, ...] = ()
        stack = [(root, none, np.ones(0), np.ones((0, len(X)), dtype=bool))]
        while stack:
            node, columns, share, passes = stack.pop()
            if not nodes.inner[node]:
                _add_leaf(float(nodes.value[node]), columns, share, passes, points, weights, values)
                continue
            j, low = int(nodes.column[node]), nodes.goes_low(X, node)
            for child, goes in ((nodes.low[node], low), (nodes.high[node], ~low)):
                part = cover[child] / cover[node] if cover[node] > 0.0 else 0.0
                if j in columns:
                    at = columns.index(j)
                    z, o = share.copy(), passes.copy()
                    z[at] *= part
                    o[at] &= goes
                    stack.append((int(child), columns, z, o))
                else:
                    z, o = np.append(share, part), np.vstack((passes, goes))
                    stack.append((int(child), (*columns, j), z, o))


def _add_leaf(
    value: float,
    columns: tuple[int, ...],
    share: Floats,
    passes: NDArray[np.bool_],
    points: Floats,
    weights: Floats,
    values: Floats,
) -> None:
    """Add what a leaf says of the columns on its path."""
    m = len(columns)
    if not m:
        return
    there = ~((share[:, None] == 0.0) & ~passes).any(axis=0)
    o, z, k = passes[:, there].astype(np.float64), share[:, None], (m + 1) // 2
    total = np.zeros(o.shape)
    for x, w in zip(points[k - 1, :k], weights[k - 1, :k], strict=True):
        factor = x * o + (1.0 - x) * z
        total += w * factor.prod(axis=0) / factor
    for at, j in enumerate(columns):
        values[there, j] += value * (o[at] - share[at]) * total[at]


def _add_compiled(nodes: NodeTable, cover: Floats, X: Floats, values: Floats) -> None:
    from crank.kernels.compiled_shapley import add_values

    deepest = max(1, int(nodes.depths.max()))
    add_values(
        X,
        nodes.column,
        nodes.threshold,
        nodes.low,
        nodes.high,
        nodes.missing_low,
        *nodes.level_sets,
        nodes.level_branch,
        np.array(nodes.value, dtype=np.float64),
        np.array(cover, dtype=np.float64),
        nodes.roots,
        deepest,
        *quadrature((deepest + 1) // 2),
        values,
    )
