"""The columns of a forest as bytes, in y order: made once and shared by all of its trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.bins import MISSING_BIN
from crank.kernels.threads import Threads

MOST_LEVELS = 255
"""Levels of a factor that have bins of their own."""


@dataclass(frozen=True)
class ForestBins:
    """A binned matrix; a factor's bins are its codes.

    Attributes
    ----------
    bins : ndarray of uint8, shape (d, n)
        Bin of each column at each position in y order.
    n_bins : ndarray of int, shape (d,)
    smallest, largest : ndarray of shape (d, 256)
        Range of the values in each bin.
    levels : ndarray of int, shape (d,)
        Levels of each column, 0 for numbers.
    """

    bins: NDArray[np.uint8]
    n_bins: NDArray[np.intp]
    smallest: NDArray[np.float64]
    largest: NDArray[np.float64]
    levels: NDArray[np.intp]

    @cached_property
    def by_row(self) -> NDArray[np.uint8]:
        """The bins of all columns side by side, position by position."""
        return np.ascontiguousarray(self.bins.T)


def bin_columns(
    X: NDArray[Any],
    levels: Sequence[int],
    row: NDArray[np.intp],
    threads: Threads,
    compiled: bool = False,
) -> ForestBins:
    """Bin a matrix column by column.

    Columns of at most 255 distinct values lose nothing; others are cut at quantiles.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    levels : sequence of int
        Number of levels of each column, at most 255; 0 for numbers.
    row : ndarray of int
        Rows in the order of y.
    threads : Threads
    compiled : bool
        Whether compiled code may sort and look the bins up: the same ones.

    Examples
    --------
    >>> X = np.array([[5.0], [np.nan], [7.0], [5.0]])
    >>> found = bin_columns(X, [0], np.array([2, 1, 0, 3]), Threads(1))
    >>> found.bins.tolist(), found.smallest[0, :2].tolist()
    ([[1, 255, 0, 0]], [5.0, 7.0])
    """
    n, d = X.shape
    bins = np.empty((d, n), dtype=np.uint8)
    n_bins = np.zeros(d, dtype=np.intp)
    smallest, largest = np.full((d, 256), np.nan), np.full((d, 256), np.inf)
    largest[:, MISSING_BIN] = np.nan

    def learn(j: int) -> None:
        edges = low = np.arange(float(levels[j]))
        if not levels[j]:
            edges, low = _edges(np.ascontiguousarray(X[:, j], dtype=np.float64), compiled)
        k = n_bins[j] = len(edges)
        smallest[j, :k], largest[j, :k] = low, edges
        if not compiled:
            place = np.searchsorted(edges, X[row, j])
            place[place == k] = MISSING_BIN
            bins[j] = place

    threads.run(learn, [(j,) for j in range(d)])
    if compiled:
        _look_up(X, largest, row, bins, threads)
    return ForestBins(bins, n_bins, smallest, largest, np.asarray(levels, dtype=np.intp))


def _look_up(
    X: NDArray[Any],
    edges: NDArray[np.float64],
    row: NDArray[np.intp],
    bins: NDArray[np.uint8],
    threads: Threads,
) -> None:
    from crank.kernels.compiled_bins import bin_rows, reorder

    n, d = X.shape
    none, every = np.zeros(d, dtype=bool), np.arange(d)
    # a tile of a row-wise matrix should stay in the first cache while its columns are read
    tile = 1024 if X.strides[0] <= X.strides[1] else max(8, min(128, 8192 // d))
    fill = bin_rows(str(X.dtype))
    threads.run(
        lambda first, last: fill(X, first, last, tile, edges, every, none, bins, none.copy()),
        threads.chunks(n, least=8 * tile),
    )
    threads.run(
        lambda first, last: reorder(bins, first, last, row, np.empty(n, dtype=np.uint8)),
        threads.chunks(d),
    )


def _edges(
    x: NDArray[np.float64], compiled: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest and the smallest value of each bin."""
    known = x[~np.isnan(x)]
    if not len(known):
        return known, known
    if compiled:
        from crank.kernels.compiled_sort import sorted_values

        known = sorted_values(known)
    else:
        known.sort()
    new = known[1:] != known[:-1]
    if np.count_nonzero(new) < MOST_LEVELS:
        last = np.append(np.flatnonzero(new), len(known) - 1)
    else:
        at = np.arange(1, MOST_LEVELS + 1) * len(known) // MOST_LEVELS - 1
        last = np.unique(np.searchsorted(known, known[at], side="right") - 1)
    return known[last], known[np.append(0, last[:-1] + 1)]
