"""The columns that a linear ranker can estimate: scaled, constant and redundant ones found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.errors import DataError, OptionError
from crank.growing.matrix import FloatArray

Floats = NDArray[np.float64]

MOST_COLUMNS = 3000
TOLERANCE = 1e-7
"""A column is redundant if others explain it up to this share of its length, as in R's lm."""
SAFELY = 1e-6
"""If no direction of the correlations is shorter, none of their columns is redundant."""
ROWS, WIDE = 2**13, 64
"""Rows worked on at a time, so that they stay in the cache, and rows taken for one."""
ROUNDING = 1e-12
"""A column that varies less than this share of its size is constant."""
WIDEST = 1e100
"""Columns that spread wider, or narrower than one over it, have variances that no double holds."""


@dataclass(frozen=True)
class Columns:
    """A design in units of standard deviations, without what cannot be estimated.

    Attributes
    ----------
    Z : ndarray of shape (n, k)
        The columns that are kept, centred and scaled.
    kept : ndarray of int
        Which columns of the design they are.
    centre : ndarray of shape (p,)
    scale : ndarray of shape (k,)
        Standard deviations of the kept columns.
    covariance : ndarray of shape (p, p)
        Of all columns.
    """

    Z: Floats
    kept: NDArray[np.intp]
    centre: Floats
    scale: Floats
    covariance: Floats


def standardised(
    X: FloatArray,
    weight: Floats,
    row: NDArray[np.intp] | None = None,
    *,
    all_varying: bool = False,
) -> Columns:
    """Centre and scale columns, and leave out those that others determine.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    weight : ndarray of shape (n,)
    row : ndarray of int, shape (n,), optional
        Which rows of the design to take, in the order of the weights; all by default.
    all_varying : bool
        Keep redundant columns too, and leave out constant ones only: a penalty decides then.

    Examples
    --------
    >>> a, b = np.array([0.0, 1.0, 2.0, 4.0]), np.array([1.0, 2.0, 1.0, 0.0])
    >>> X = np.column_stack([a, 2.0 * a + 1.0, np.full(4, 7.0), b])
    >>> standardised(X, np.ones(4)).kept.tolist()
    [0, 3]
    """
    n, p = len(weight), X.shape[1]
    share = weight / weight.sum()
    weighted = bool(weight.min() < weight.max())
    if row is None:
        row = np.arange(n)
    elif len(row) == len(X):  # means need no order, and rows are read faster in theirs
        share = share if not weighted else share[np.argsort(row)]
    else:
        X, row = X.take(row, axis=0), np.arange(n)
    lowest, highest = extremes(X)
    size = np.maximum(np.abs(lowest), np.abs(highest)).astype(np.float64)
    size[size == 0.0] = 1.0
    mean, products = np.zeros(p), np.zeros((p, p))
    near = (X[:: max(1, n // ROWS)] / size).mean(axis=0)  # a mean of some loses few digits
    part = np.empty((ROWS, p))
    for rows in _blocks(n):  # squares of these stay in range
        _scale(X[rows], size, near, out=part)
        here = part[: rows.stop - rows.start]
        mean += share[rows] @ here
        products += (here * share[rows, None] if weighted else here / n).T @ here
    centre = near + mean
    products -= np.outer(mean, mean)
    sd = np.sqrt(np.maximum(np.diagonal(products), 0.0))
    varies = (highest > lowest) & (sd > ROUNDING * np.abs(centre))
    scale = np.where(varies, sd, 1.0)
    Z = np.empty((n, p))
    for rows in _blocks(n):
        _scale(X.take(row[rows], axis=0), size, centre, out=Z[rows], scale=scale)
    Z[:, ~varies] = 0.0
    correlation = np.where(np.outer(varies, varies), products / np.outer(scale, scale), 0.0)
    kept = np.flatnonzero(varies)
    if not all_varying and not clearly_independent(correlation[np.ix_(kept, kept)], n):
        kept = kept[independent(Z[:, kept], share)]
    with np.errstate(over="ignore"):
        covariance = correlation * np.outer(scale * size, scale * size)
    return Columns(
        Z=Z if len(kept) == Z.shape[1] else np.ascontiguousarray(Z[:, kept]),
        kept=kept,
        centre=centre * size,
        scale=(scale * size)[kept],
        covariance=covariance,
    )


def extremes(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Find the least and the largest value of each column.

    Sixteen rows are taken for one: NumPy is slow on rows of a few numbers.

    Examples
    --------
    >>> [part.tolist() for part in extremes(np.arange(40.0).reshape(20, 2))]
    [[0.0, 1.0], [38.0, 39.0]]
    """
    n, p = X.shape
    whole = n // 16 * 16
    if not whole or not X.flags.c_contiguous:
        return X.min(axis=0), X.max(axis=0)
    wide = X[:whole].reshape(-1, 16 * p)
    low = np.vstack([wide.min(axis=0).reshape(16, p), X[whole:]])
    high = np.vstack([wide.max(axis=0).reshape(16, p), X[whole:]])
    return low.min(axis=0), high.max(axis=0)


def _blocks(n: int) -> list[slice]:
    return [slice(k, min(k + ROWS, n)) for k in range(0, n, ROWS)]


def _scale(
    X: FloatArray, size: Floats, centre: Floats, *, out: Floats, scale: Floats | None = None
) -> None:
    """Write (X / size − centre) / scale, many rows taken for one: NumPy is slow on short rows."""
    n, p = X.shape
    whole = n // WIDE * WIDE
    for rows, times in ((slice(0, whole), WIDE), (slice(whole, n), 1)):
        if rows.start == rows.stop:
            continue
        wide = out[rows].reshape(-1, times * p)
        np.divide(X[rows].reshape(wide.shape), np.tile(size, times), out=wide)
        wide -= np.tile(centre, times)
        if scale is not None:
            wide /= np.tile(scale, times)


def check_columns(columns: int) -> None:
    """Refuse a design whose equations would take many minutes; asked before it is computed."""
    if columns > MOST_COLUMNS:
        raise OptionError(
            f"{columns} columns are too many for a linear ranker, whose every step solves as many "
            f"equations. Allowed: {MOST_COLUMNS}. Join rare levels of factors, or fit a tree, "
            "which takes factors as they are."
        )


def check_spreads(lowest: FloatArray, highest: FloatArray, names: Sequence[str] = ()) -> None:
    """Refuse columns so wide or so narrow that variances leave the range of doubles.

    Examples
    --------
    >>> check_spreads(np.zeros(2), np.array([0.0, 1e99]))
    """
    with np.errstate(over="ignore"):
        spread = highest - lowest
    for k in np.flatnonzero((spread > WIDEST) | ((spread > 0.0) & (spread < 1.0 / WIDEST)))[:1]:
        raise DataError(
            f"{repr(names[k]) if len(names) else f'column {k}'} spreads over {spread[k]:.3g}, and "
            f"squares of such numbers are no doubles. Allowed: {1.0 / WIDEST:g} to {WIDEST:g}. "
            "Rescale the column, or fit a tree to it as it is."
        )


def clearly_independent(correlation: Floats, rows: int) -> bool:
    """Tell whether no closer look is needed: squares lose half the digits, these are left."""
    p = len(correlation)
    return p == 0 or (p < rows - 1 and float(np.linalg.eigvalsh(correlation)[0]) > SAFELY)


def independent(Z: Floats, share: Floats) -> NDArray[np.intp]:
    """Find the columns that no combination of earlier ones gives, as R's lm does.

    Columns have length 1 under the weights. Rows that the columns can put in any order are refused.
    """
    n, p = Z.shape
    triangle: Any = np.linalg.qr(Z * np.sqrt(share)[:, None], mode="r")
    basis = np.empty((len(triangle), min(n, p)), order="F")
    kept: list[int] = []
    for k in range(p):
        left, known = triangle[:, k], basis[:, : len(kept)]
        for _ in range(2):  # the second time against rounding
            left = left - known @ (known.T @ left)
        length = float(np.linalg.norm(left))
        if length < TOLERANCE:
            continue
        basis[:, len(kept)] = left / length
        kept.append(k)
        if len(kept) >= n - 1:
            raise DataError(
                f"{p} columns vary over {n} rows: they can put them in any order. Give a "
                "penalty, such as penalty=0.01, or fewer terms."
            )
    return np.array(kept, dtype=np.intp)
