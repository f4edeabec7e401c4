"""The response as ranks: all that criteria and the grower ever know of y."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiler import numba_works, repays

MOST_UNITS = 2.0**32
"""Weights of so many units and more are not counted in whole ones."""

SAFE_EXPONENT = 64
"""Weights whose largest lies within 2^±64 need no scaling."""

LARGEST_RATIO = 200
"""A weight below 2⁻²⁰⁰ of the largest counts as that, so that no product of weights is 0."""

RADIX_FROM = 1_000_000
"""Rows from which the compiled sort is worth loading."""

RADIX_IN_ALL = 2**24
"""Rows, sorted in a process, by which it would have saved the time that it takes to compile."""


@dataclass(frozen=True)
class Ranks:
    """The rows in increasing order of y, with what ties and case weights make of their ranks.

    Every array is indexed by *position* in that order, so a set of rows kept in increasing
    position needs no further sorting: its local ranks are its positions.

    Attributes
    ----------
    row : ndarray of int
        The row of the data at each position.
    y : ndarray of float64
        The response, sorted.
    weight : ndarray of float64
        Case weights, in units.
    group : ndarray of int32
        Dense rank of y: equal for tied rows.
    below, upto : ndarray of float64
        Weight of the rows with a strictly smaller y (L in theory §3), and with y not larger (H).
    pairs, triples : float
        Weight of all strictly ordered pairs and triples: the denominators of τ and IAUC.
    unweighted : bool
        Whether every case weight is 1.
    unit : float
        What a weight of 1 was in the data.

    Examples
    --------
    >>> ranks = rank(np.array([3.0, 1.0, 3.0]))
    >>> ranks.y.tolist(), ranks.n_distinct, ranks.tied, ranks.quantile.round(2).tolist()
    ([1.0, 3.0, 3.0], 2, True, [0.17, 0.67, 0.67])
    """

    row: NDArray[np.intp]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    group: NDArray[np.int32]
    below: NDArray[np.float64]
    upto: NDArray[np.float64]
    pairs: float
    triples: float
    unweighted: bool
    unit: float = 1.0

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.upto[-1])

    @property
    def n_distinct(self) -> int:
        """Number of distinct responses."""
        return int(self.group[-1]) + 1

    @property
    def tied(self) -> bool:
        """Whether any two rows have the same y."""
        return self.n_distinct < len(self.group)

    @property
    def are_positions(self) -> bool:
        """Whether there are neither ties nor weights: a row's rank is its position then."""
        return self.unweighted and not self.tied

    @property
    def quantile(self) -> NDArray[np.float64]:
        """Mid-distribution value of each y, in (0, 1)."""
        return (self.below + self.upto) / (2.0 * self.total)

    def subset(self, keep: NDArray[np.bool_]) -> Ranks:
        """Rank some of the rows anew, chosen by position, without sorting again."""
        y = self.y[keep]
        weight = None if self.unweighted else self.weight[keep]
        return _ranked(self.row[keep], y, _first(y), weight, self.unit)


def rank(y: NDArray[Any], weight: NDArray[np.float64] | None = None) -> Ranks:
    """Sort y once and for all.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Finite responses.
    weight : ndarray of shape (n,), optional
        Positive case weights; 1 each by default. They are written in units, see `in_units`.

    Examples
    --------
    >>> import numpy as np
    >>> r = rank(np.array([3.0, 1.0, 3.0]))
    >>> r.row.tolist(), r.group.tolist(), r.below.tolist(), r.pairs
    ([1, 0, 2], [0, 1, 1], [0.0, 1.0, 1.0], 2.0)
    """
    y = np.asarray(y, dtype=np.float64)
    row, y_sorted, new = _sorted(y)
    if weight is None:
        return _ranked(row, y_sorted, new, None)
    scaled, unit = in_units(np.asarray(weight, dtype=np.float64))
    return _ranked(row, y_sorted, new, None if scaled is None else scaled[row], unit)


def rank_levels(y: NDArray[np.float64], weight: NDArray[np.float64], unit: float = 1.0) -> Ranks:
    """Rank rows that are sorted already, each of which stands for several.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Not decreasing.
    weight : ndarray of shape (n,)
        Number of rows, or their weight, that each stands for; positive.
    unit : float
        What a weight of 1 was in the data.

    Examples
    --------
    >>> r = rank_levels(np.array([1.0, 3.0]), np.array([1.0, 2.0]))
    >>> r.below.tolist(), r.pairs, r.unweighted
    ([0.0, 1.0], 2.0, False)
    """
    return _ranked(np.arange(len(y)), y, _first(y), weight, unit)


def in_units(
    weight: NDArray[np.float64],
) -> tuple[NDArray[np.float64] | None, float]:
    """Write weights as multiples of a unit, so that their scale changes nothing.

    Parameters
    ----------
    weight : ndarray of shape (n,)
        Positive.

    Returns
    -------
    weight : ndarray of shape (n,) or None
        None if all are equal: it is as if none were given. Multiples of the smallest weight become
        whole numbers, whose sums are exact; others are left as they are unless products of
        three would leave the range of floats: then they are scaled by a power of two.
    unit : float
        What a weight of 1 was before.

    Examples
    --------
    >>> for weight in ([0.1, 0.1], [3e-200, 1e-200], [1.0, 1.5]):
    ...     print(*in_units(np.array(weight)))
    None 0.1
    [3. 1.] 1e-200
    [1.  1.5] 1.0
    """
    largest, smallest = float(weight.max()), float(weight.min())
    if largest == smallest:
        return None, smallest
    with np.errstate(over="ignore"):
        ratio = np.minimum(weight / smallest, MOST_UNITS)
    whole = np.rint(ratio)
    if whole.max() < MOST_UNITS and (np.abs(ratio - whole) <= 1e-12 * whole).all():
        return whole, smallest
    exponent = int(np.frexp(largest)[1])
    if abs(exponent) <= SAFE_EXPONENT:
        return np.asarray(np.maximum(weight, 2.0**-LARGEST_RATIO * largest)), 1.0
    # in two steps: the power itself may be out of range
    half = -exponent // 2
    weight = np.ldexp(np.ldexp(weight, half), -exponent - half)
    return np.asarray(np.maximum(weight, 2.0**-LARGEST_RATIO)), float(np.ldexp(1.0, exponent))


def _sorted(
    y: NDArray[np.float64],
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.bool_]]:
    """Sort rows by y and, among ties, by number; tell where a new value begins.

    NumPy's stable sort takes four times as long as its quick sort, so the quick one runs and
    ties, if there are any, are ordered through integer keys. Both leave the caches behind
    on millions of rows, where a compiled radix sort takes a third of the time.
    """
    n = len(y)
    if n >= RADIX_FROM and repays("_radix", n, RADIX_IN_ALL) and numba_works():
        from crank.kernels.compiled_sort import stable_order

        row = stable_order(y)
        y_sorted = y[row]
        return row, y_sorted, _first(y_sorted)
    row = np.argsort(y)
    y_sorted = y[row]
    new = _first(y_sorted)
    if not new.all():
        key = (np.cumsum(new, dtype=np.int64) << 32) | row
        key.sort()
        row = (key & 0xFFFFFFFF).astype(np.intp)
        y_sorted = y[row]  # 0.0 and -0.0 are tied, yet not the same bits
    return row, y_sorted, new


def _first(y_sorted: NDArray[np.float64]) -> NDArray[np.bool_]:
    new = np.ones(len(y_sorted), dtype=bool)
    np.not_equal(y_sorted[1:], y_sorted[:-1], out=new[1:])
    return new


def _ranked(
    row: NDArray[np.intp],
    y: NDArray[np.float64],
    new: NDArray[np.bool_],
    weight: NDArray[np.float64] | None,
    unit: float = 1.0,
) -> Ranks:
    """Count the weight below and up to each value; ``new`` marks the first row of each."""
    n = len(row)
    w = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    if new.all():
        group = np.arange(n, dtype=np.int32)
        upto_group = np.arange(1.0, n + 1.0) if weight is None else np.cumsum(w)
    else:
        group = np.cumsum(new, dtype=np.int32) - np.int32(1)
        last = np.append(np.flatnonzero(new)[1:], n) - 1
        upto_group = last + 1.0 if weight is None else np.cumsum(w)[last]
    below_group = np.concatenate(([0.0], upto_group[:-1]))
    ordered = (upto_group - below_group) * below_group
    return Ranks(
        row=row,
        y=y,
        weight=w,
        group=group,
        below=below_group if len(upto_group) == n else below_group[group],
        upto=upto_group if len(upto_group) == n else upto_group[group],
        pairs=float(ordered.sum()),
        # no matrix product: BLAS would wake threads that then spin beside ours
        triples=float((ordered * (upto_group[-1] - upto_group)).sum()),
        unweighted=weight is None,
        unit=unit,
    )
