"""Columns as bytes: at most 255 bins a column and one for missing values, rows in y order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.bins import MISSING_BIN
from crank.kernels.compiled_bins import bin_rows, gather, reorder
from crank.kernels.threads import Threads

SAMPLE = 2**15
"""Rows from which quantiles are taken: about 128 a bin."""

COLUMNS_AT_ONCE = 8
"""Doubles in a cache line: columns of a row-wise matrix that are read together."""


@dataclass(frozen=True)
class Binned:
    """A binned matrix.

    Attributes
    ----------
    bins : ndarray of uint8, shape (d, n)
        Bin of each column at each slot; `MISSING_BIN` for a missing value.
    edges : ndarray of shape (d, 256)
        The bin of x is the number of edges below x.
    n_bins : ndarray of int, shape (d,)
        Bins in use; 0 for a column that is not binned, having too many levels.
    discrete : ndarray of bool, shape (d,)
        Whether every bin holds one value only, its edge.
    row : ndarray of int
        Row at each slot.
    """

    bins: NDArray[np.uint8]
    edges: NDArray[np.float64]
    n_bins: NDArray[np.intp]
    discrete: NDArray[np.bool_]
    row: NDArray[np.intp]

    def slots(self, row: NDArray[np.intp]) -> NDArray[np.int32] | None:
        """Slot of each row; None if the rows are those of the slots, in their order."""
        if row is self.row:
            return None
        slot = np.empty(len(self.row), dtype=np.int32)
        slot[self.row] = np.arange(len(self.row), dtype=np.int32)
        return slot[row]


def bin_matrix(
    X: NDArray[Any], levels: Sequence[int], row: NDArray[np.intp], threads: Threads
) -> Binned:
    """Bin a matrix; only the bins are as large as it is.

    Columns with at most 255 distinct values, and categories with as many levels, lose nothing;
    others are cut at quantiles of a sample that is evenly spread over the order of y.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64
    levels : sequence of int
        Number of levels of each column, 0 for numbers.
    row : ndarray of int
        Rows of X in the order of y; others may be missing and come last.
    threads : Threads
    """
    n, d = X.shape
    if len(row) < n:
        absent = np.ones(n, dtype=bool)
        absent[row] = False
        row = np.concatenate((row, np.flatnonzero(absent)))
    edges = _Edges(np.asarray(levels, dtype=np.intp))
    sample = row if n <= SAMPLE else np.sort(row[np.arange(SAMPLE) * n // SAMPLE])

    copy = gather(str(X.dtype))

    def learn_from_sample(first: int, last: int) -> None:
        values = np.empty((last - first, len(sample)))
        copy(X, sample, first, last, values)
        values.sort(axis=1)
        for j in range(first, last):
            edges.learn(j, values[j - first])

    cuts = [*range(0, d, COLUMNS_AT_ONCE), d]
    threads.run(learn_from_sample, pairwise(cuts))
    bins = np.empty((d, n), dtype=np.uint8)
    check = edges.discrete & (edges.levels == 0) & (n > SAMPLE)
    strays = _fill(X, edges, np.arange(d), check, bins, threads)
    if len(strays):
        threads.run(
            lambda j: edges.learn_more(j, X[:, j], bins[j]), [(j,) for j in strays.tolist()]
        )
        _fill(X, edges, strays, np.zeros(d, dtype=bool), bins, threads)
    threads.run(
        lambda first, last: reorder(bins, first, last, row, np.empty(n, dtype=np.uint8)),
        threads.chunks(d),
    )
    return Binned(bins, edges.value, edges.n_bins, edges.discrete, row)


class _Edges:
    """The edges of all columns while they are learned; see `Binned`."""

    def __init__(self, levels: NDArray[np.intp]) -> None:
        d = len(levels)
        self.levels = levels
        self.value = np.empty((d, MISSING_BIN + 1))
        self.n_bins = np.zeros(d, dtype=np.intp)
        self.discrete = np.ones(d, dtype=bool)

    def learn(self, j: int, value: NDArray[np.float64]) -> None:
        """Learn the edges of a column from sorted values, NaN last."""
        n_known = len(value)
        if n_known and np.isnan(value[-1]):
            n_known = int(np.searchsorted(value, np.nan))
        known = value[:n_known]
        self.discrete[j] = True
        if self.levels[j]:
            edges = np.arange(float(self.levels[j] if self.levels[j] <= MISSING_BIN else 0))
        elif len(distinct := np.flatnonzero(known[1:] != known[:-1])) < MISSING_BIN:
            edges = np.append(known[distinct], known[-1:])
        else:
            quantiles = known[np.arange(1, MISSING_BIN) * n_known // MISSING_BIN - 1]
            edges = np.unique(quantiles[quantiles < known[-1]])
            self.discrete[j] = False
        self._set(j, edges)

    def learn_more(self, j: int, value: NDArray[Any], bins: NDArray[np.uint8]) -> None:
        """Add the values of a discrete column that were not among those it was learned from.

        Parameters
        ----------
        value : ndarray
            The whole column.
        bins : ndarray
            Bins by the edges as they are.
        """
        value = value.astype(np.float64)
        odd = value.compress((self.value[j].take(bins) != value) & ~np.isnan(value))
        edges = np.union1d(self.value[j, : self.n_bins[j]], odd)
        if len(edges) <= MISSING_BIN:
            self._set(j, edges)
        else:
            self.learn(j, np.sort(value))

    def _set(self, j: int, edges: NDArray[np.float64]) -> None:
        self.value[j, : len(edges)] = edges
        self.value[j, len(edges) : MISSING_BIN] = np.inf
        self.value[j, MISSING_BIN] = np.nan  # equals nothing: a value in this bin is a stray
        self.n_bins[j] = len(edges) + (0 if self.discrete[j] else 1)


def _fill(
    X: NDArray[Any],
    edges: _Edges,
    columns: NDArray[np.intp],
    check: NDArray[np.bool_],
    bins: NDArray[np.uint8],
    threads: Threads,
) -> NDArray[np.intp]:
    """Bin some columns of all rows; return those to check where the sample missed a value."""
    n, d = X.shape
    fill = bin_rows(str(X.dtype))
    # a tile of a row-wise matrix should stay in the first cache while its columns are read
    tile = 1024 if X.strides[0] <= X.strides[1] else max(8, min(128, 8192 // d))
    stray = np.zeros(d, dtype=bool)
    threads.run(
        lambda first, last: fill(X, first, last, tile, edges.value, columns, check, bins, stray),
        threads.chunks(n, least=8 * tile),
    )
    return np.flatnonzero(stray)
