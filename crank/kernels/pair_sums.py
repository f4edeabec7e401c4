"""Sums over all pairs of smooth functions of score differences: soft ranks and what Newton needs.

For scores F, weights w and columns x, with σ a link and σ' its derivative:
S_i = Σ_j w_j σ(F_i − F_j), H_i = Σ_j w_j σ'(F_i − F_j), A_i = Σ_j w_j σ(F_i − F_j) x_j, and the
information Σ_{i<j} w_i w_j σ'(F_i − F_j) (x_i − x_j)(x_i − x_j)'. Small samples are summed pair by
pair. In large ones each row is spread over four neighbouring points of a grid, by the weights
of cubic interpolation, and the sums are one convolution: O(n + B log B) a column, with an
error that falls with the fourth power of the grid's width.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crank.kernels.links import Link
from crank.kernels.order import FloatArray

MOST_PAIRS = 90_000
"""Samples with no more pairs of rows are summed pair by pair."""
BLOCK = 2**17
"""Pairs worked on at a time, so that they stay in the cache."""
MOST_BINS = 2**20
"""Points of the largest grid."""
ROWS = 2**13
"""Rows worked on at a time, so that their columns stay in the cache."""
LARGEST = 2**22
"""Numbers that are transformed at a time."""


class PairSums(Protocol):
    """The sums over all pairs at given scores."""

    def information(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return S, shape (n,), and the information, shape (p, p)."""

    def row_sums(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return S, shape (n,), and A, shape (n, p)."""

    def loss(self) -> float:
        """Return the weighted loss of all pairs, as if all responses were equal."""


class EveryPair:
    """Sum pair by pair, a block of rows at a time.

    Examples
    --------
    >>> from crank.kernels.links import LINKS
    >>> sums = EveryPair(np.array([0.0, 0.0, 50.0]), np.ones(3), LINKS["logit"])
    >>> sums.information(np.zeros((3, 1)))[0].tolist()
    [1.0, 1.0, 2.5]
    """

    def __init__(self, score: FloatArray, weight: FloatArray, link: Link) -> None:
        self.score, self.weight, self.link = score, weight, link
        rows = max(1, BLOCK // len(score))
        self.blocks = [slice(k, k + rows) for k in range(0, len(score), rows)]

    def information(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the soft ranks and the information."""
        weighted = X * self.weight[:, None]
        ranks, slopes = np.empty(len(X)), np.empty(len(X))
        crossed = np.zeros((X.shape[1], X.shape[1]))
        for rows in self.blocks:
            above, slope = self.link.above(self.score[rows, None] - self.score)
            ranks[rows] = above @ self.weight
            slopes[rows] = slope @ self.weight
            crossed += weighted[rows].T @ (slope @ weighted)
        return ranks, (weighted * slopes[:, None]).T @ X - crossed

    def row_sums(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the soft ranks and the sums of columns that they weigh."""
        weighted = X * self.weight[:, None]
        ranks, sums = np.empty(len(X)), np.empty(X.shape)
        for rows in self.blocks:
            above = self.link.probability(self.score[rows, None] - self.score)
            ranks[rows] = above @ self.weight
            sums[rows] = above @ weighted
        return ranks, sums

    def loss(self) -> float:
        """Return the loss of all pairs, a row's with itself by half."""
        total = 0.0
        for rows in self.blocks:
            each = self.link.loss(self.score[rows, None] - self.score)
            total += float(self.weight[rows] @ (each @ self.weight))
        return total / 2.0


class Grid:
    """Points at equal distances that span the scores, and convolutions with a link on them.

    Parameters
    ----------
    score : ndarray of shape (n,)
    link : Link
    width : float
        Distance of the points; it is wider where that would take too many of them.
    """

    def __init__(self, score: FloatArray, link: Link, width: float) -> None:
        from scipy.fft import next_fast_len

        self.link = link
        self.low, span = float(score.min()), float(score.max() - score.min())
        self.width = max(width, span / (MOST_BINS - 8))
        # points from one before the lowest score to two beyond the highest
        self.size = int(span / self.width) + 5
        self.length = int(next_fast_len(2 * self.size, real=True))
        above, slope = link.above(np.arange(1.0, self.size) * self.width)
        above -= 0.5  # an odd function, so that nothing large cancels
        self.above = self._kernel(np.concatenate(([0.0], above)), -1.0)
        self.slope = self._kernel(np.concatenate((link.above(np.zeros(1))[1], slope)), 1.0)

    def _kernel(self, half: FloatArray, sign: float) -> Any:
        """Transform a kernel that is given at differences from 0 up, odd or even."""
        whole = np.zeros(self.length)
        whole[: self.size] = half
        whole[-1 : -self.size : -1] = sign * half[1:]
        return np.fft.rfft(whole)

    def _convolved(self, binned: FloatArray, kernel: Any) -> FloatArray:
        """Sum over the grid what each point sees of all others, column by column."""
        columns = binned.reshape(self.size, -1)
        seen, some = np.empty(columns.shape), max(1, LARGEST // self.length)
        for k in range(0, columns.shape[1], some):
            waves = np.fft.rfft(columns[:, k : k + some], self.length, axis=0)
            waves *= kernel[:, None]
            seen[:, k : k + some] = np.fft.irfft(waves, self.length, axis=0)[: self.size]
        return seen.reshape(binned.shape)


class OnGrid(Grid):
    """Sum by convolution on a grid.

    Parameters
    ----------
    score, weight : ndarray of shape (n,)
    link : Link
    width : float
        Distance of the grid's points; it is wider where that would take too many of them.

    Examples
    --------
    >>> from crank.kernels.links import LINKS
    >>> score = np.random.default_rng(0).normal(size=300)
    >>> X = score[:, None] ** 2
    >>> exact, close = (sums.information(X) for sums in (
    ...     EveryPair(score, np.ones(300), LINKS["probit"]),
    ...     OnGrid(score, np.ones(300), LINKS["probit"], 1 / 64)))
    >>> bool(np.abs(exact[0] - close[0]).max() < 1e-5), bool(abs(1 - exact[1] / close[1]) < 1e-6)
    (True, True)
    """

    def __init__(self, score: FloatArray, weight: FloatArray, link: Link, width: float) -> None:
        from scipy.sparse import csr_array

        super().__init__(score, link, width)
        self.weight = weight
        self._shared: tuple[FloatArray, FloatArray] | None = None
        place = 1.0 + (score - self.low) / self.width
        first = np.minimum(place.astype(np.int32), self.size - 3)
        f = place - first
        spread = np.empty((len(score), 4))
        spread[:, 0] = -f * (f - 1.0) * (f - 2.0) / 6.0
        spread[:, 1] = (f + 1.0) * (f - 1.0) * (f - 2.0) / 2.0
        spread[:, 2] = -(f + 1.0) * f * (f - 2.0) / 2.0
        spread[:, 3] = (f + 1.0) * f * (f - 1.0) / 6.0
        points = first[:, None] + np.arange(-1, 3, dtype=np.int32)
        starts = np.arange(0, 4 * len(score) + 1, 4, dtype=np.int64)
        self.grid: Any = csr_array(
            (spread.ravel(), points.ravel(), starts), shape=(len(score), self.size)
        )

    @cached_property
    def _mass(self) -> FloatArray:
        return np.asarray(self.grid.T @ self.weight)

    @cached_property
    def _ranks(self) -> FloatArray:
        odd = self.grid @ self._convolved(self._mass, self.above)
        return np.asarray(odd + 0.5 * self.weight.sum())

    def information(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the soft ranks and the information."""
        weighted = X * self.weight[:, None]
        slopes = self.grid @ self._convolved(self._mass, self.slope)
        binned = self._spread(X, weighted)
        crossed = binned.T @ self._convolved(binned, self.slope)
        return self._ranks, (weighted * slopes[:, None]).T @ X - crossed

    def row_sums(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the soft ranks and the sums of columns that they weigh."""
        weighted = X * self.weight[:, None]
        odd = self.grid @ self._convolved(self._spread(X, weighted), self.above)
        return self._ranks, np.asarray(odd + 0.5 * weighted.sum(axis=0))

    def _spread(self, X: FloatArray, weighted: FloatArray) -> FloatArray:
        """Share weighted columns out to the grid; those of the last call are kept."""
        known = self._shared
        if known is None or known[0] is not X:
            self._shared = known = X, np.asarray(self.grid.T @ weighted)
        return known[1]

    def loss(self) -> float:
        """Return the loss of all pairs, a row's with itself by half."""
        kernel = self._kernel(self.link.loss(np.arange(float(self.size)) * self.width), 1.0)
        return float(self._mass @ self._convolved(self._mass, kernel)) / 2.0


class LargeGrid(Grid):
    """Sum on a grid in compiled passes over the rows: what Newton's method needs, nothing by row.

    Parameters
    ----------
    score, weight : ndarray of shape (n,)
    X : ndarray of shape (n, p), C-contiguous
        Columns; rows in increasing order of y for `influences`.
    link : Link
    width : float
    room : ndarray of shape (2, n)
        To work in; fresh memory for each pass would take as long as the pass.
    """

    def __init__(
        self,
        score: FloatArray,
        weight: FloatArray,
        X: FloatArray,
        link: Link,
        width: float,
        room: FloatArray,
    ) -> None:
        super().__init__(score, link, width)
        self.score, self.weight, self.X, self.room = score, weight, X, room

    @cached_property
    def _at_rows(self) -> FloatArray:
        """w_i (S_i − ½ Σ w) and w_i H_i of each row."""
        from crank.kernels.compiled_soft_ranks import gather, spread

        mass, per_unit = np.zeros(self.size), 1.0 / self.width
        spread(self.score, self.weight, self.low, per_unit, mass)
        seen = self._convolved(mass, self.above), self._convolved(mass, self.slope)
        gather(self.score, self.low, per_unit, *seen, *self.room)
        self.room *= self.weight
        return self.room

    @cached_property
    def _binned(self) -> FloatArray:
        """Weights and weighted columns, spread over the grid."""
        from crank.kernels.compiled_pair_sums import spread_columns

        binned = np.zeros((self.size, self.X.shape[1] + 1))
        spread_columns(self.score, self.weight, self.X, self.low, self.width, binned)
        return binned

    def pull(self) -> FloatArray:
        """Return Σ w_i x_i (S_i − ½ Σ w)."""
        return np.asarray(self._at_rows[0] @ self.X)

    def information(self) -> FloatArray:
        """Return the information."""
        slopes = self._at_rows[1]
        columns = np.ascontiguousarray(self._binned[:, 1:])
        found = -(columns.T @ self._convolved(columns, self.slope))
        for k in range(0, len(self.X), ROWS):
            part = self.X[k : k + ROWS]
            found += (part * slopes[k : k + ROWS, None]).T @ part
        return found

    def influences(
        self, group: NDArray[np.int32], rank: FloatArray
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Give what rows add to the score of the loss, a block of them at a time.

        The block is only valid until the next; see `row_influences` for the parameters.
        """
        from crank.kernels.compiled_pair_sums import row_influences

        n, p = self.X.shape
        seen = self._convolved(self._binned, self.above)
        below = np.empty((2, p))
        below[:] = -0.5 * self._binned[:, 1:].sum(axis=0)  # shares of a row add up to 1
        found, read = np.empty((min(ROWS, n), p)), 0
        for k in range(0, n, ROWS):
            last = min(k + ROWS, n)
            read = row_influences(
                (k, last),
                self.score,
                self.weight,
                self.X,
                group,
                rank,
                self.low,
                self.width,
                seen,
                below,
                read,
                found,
            )
            yield slice(k, last), found[: last - k]


def pair_sums(score: FloatArray, weight: FloatArray, link: Link, width: float) -> PairSums:
    """Choose how to sum: pair by pair if the width is 0, else on a grid."""
    if width == 0.0:
        return EveryPair(score, weight, link)
    return OnGrid(score, weight, link, width)
