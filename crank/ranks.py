"""The response as ranks: all that criteria and the grower ever know of y."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
        Case weights.
    group : ndarray of int32
        Dense rank of y: equal for tied rows.
    below, upto : ndarray of float64
        Weight of the rows with a strictly smaller y (L in theory §3), and with y not larger (H).
    pairs, triples : float
        Weight of all strictly ordered pairs and triples: the denominators of τ and IAUC.
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

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.upto[-1])

    @property
    def quantile(self) -> NDArray[np.float64]:
        """Mid-distribution value of each y, in (0, 1)."""
        return (self.below + self.upto) / (2.0 * self.total)

    def subset(self, keep: NDArray[np.bool_]) -> Ranks:
        """Rank some of the rows anew, chosen by position, without sorting again."""
        weight = None if self.unweighted else self.weight[keep]
        return _ranked(self.row[keep], self.y[keep], weight)


def rank(y: NDArray[Any], weight: NDArray[np.float64] | None = None) -> Ranks:
    """Sort y once and for all.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Finite responses.
    weight : ndarray of shape (n,), optional
        Positive case weights; 1 each by default.

    Examples
    --------
    >>> import numpy as np
    >>> r = rank(np.array([3.0, 1.0, 3.0]))
    >>> r.row.tolist(), r.group.tolist(), r.below.tolist(), r.pairs
    ([1, 0, 2], [0, 1, 1], [0.0, 1.0, 1.0], 2.0)
    """
    row = np.argsort(y, kind="stable")
    w = None if weight is None else np.asarray(weight, dtype=np.float64)[row]
    return _ranked(row, np.asarray(y, dtype=np.float64)[row], w)


def _ranked(
    row: NDArray[np.intp], y_sorted: NDArray[np.float64], weight: NDArray[np.float64] | None
) -> Ranks:
    n = len(row)
    w = np.ones(n) if weight is None else weight
    new = np.empty(n, dtype=bool)
    new[0] = True
    np.not_equal(y_sorted[1:], y_sorted[:-1], out=new[1:])
    group = np.cumsum(new, dtype=np.int32) - np.int32(1)
    first = np.flatnonzero(new)
    ends = np.append(first[1:], n)
    cumulative = np.cumsum(w)
    upto_group = cumulative[ends - 1]
    below_group = np.concatenate(([0.0], upto_group[:-1]))
    mass = upto_group - below_group
    above_group = upto_group[-1] - upto_group
    return Ranks(
        row=row,
        y=y_sorted,
        weight=w,
        group=group,
        below=below_group[group],
        upto=upto_group[group],
        pairs=float(mass @ below_group),
        triples=float((mass * above_group) @ below_group),
        unweighted=weight is None,
    )
