"""Standardised columns: the scale on which a penalty or a kernel treats all columns alike."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from crank.plugins.base import FloatArray, SplitLearner, TrainingMatrix

BLOCK_ROWS = 8192
FARTHEST = 1e100
"""Standardised values are cut off here, so that infinite input still gives a finite decision."""


def row_blocks(n: int, size: int = BLOCK_ROWS) -> Iterator[slice]:
    """Cut n rows into blocks that stay in cache."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


@dataclass(frozen=True, eq=False)
class Standardiser:
    """Centre and scale of each column; a missing value lies at the centre.

    Attributes
    ----------
    centre, scale : ndarray of shape (p,)
        Mean and standard deviation of the values that are there; scale 1 for a constant column.
    """

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def of(cls, X: FloatArray) -> Self:
        """Measure the columns of a matrix.

        Examples
        --------
        >>> import numpy as np
        >>> Standardiser.of(np.array([[1.0, 7.0], [3.0, 7.0], [np.nan, 7.0]]))
        Standardiser(centre=array([2., 7.]), scale=array([1., 1.]))
        """
        p = X.shape[1]
        low, high = np.full(p, np.inf), np.full(p, -np.inf)
        for rows in row_blocks(len(X)):
            low = np.fmin(low, np.fmin.reduce(X[rows], axis=0))
            high = np.fmax(high, np.fmax.reduce(X[rows], axis=0))
        absent = low > high
        low[absent] = high[absent] = 0.0
        middle, half = low / 2.0 + high / 2.0, high / 2.0 - low / 2.0
        # a spread of a few rounding errors is not a variable
        size = np.maximum(np.abs(low), np.abs(high))
        flat = half <= np.maximum(8.0 * np.finfo(np.float64).eps * size, np.finfo(np.float64).tiny)
        half[flat] = 1.0
        count, total, squares = np.zeros(p), np.zeros(p), np.zeros(p)
        for rows in row_blocks(len(X)):
            # within [−1, 1], both ends attained: one pass suffices and no power overflows
            unit = (X[rows] - middle) / half
            missing = np.isnan(unit)
            unit[missing] = 0.0
            count += len(unit) - missing.sum(axis=0)
            total += unit.sum(axis=0)
            squares += np.einsum("ij,ij->j", unit, unit)
        count[absent] = 1.0
        mean = total / count
        spread = np.sqrt(np.maximum(squares / count - mean**2, 0.0))
        live = ~flat & (spread > 0.0)
        return cls(np.where(live, middle + half * mean, middle), np.where(live, half * spread, 1.0))

    def apply(self, X: FloatArray) -> NDArray[np.float64]:
        """Standardise rows into a new array without missing or infinite values.

        Examples
        --------
        >>> import numpy as np
        >>> Standardiser(np.array([2.0]), np.array([0.5])).apply(np.array([[3.0], [np.nan]]))
        array([[2.],
               [0.]])
        """
        with np.errstate(over="ignore", invalid="ignore"):
            Z = np.subtract(X, self.centre, dtype=np.float64)
            Z /= self.scale
            odd = ~np.isfinite(Z.sum(axis=1))
        if odd.any():
            Z[odd] = finite(Z[odd])
        return Z

    def pick(self, columns: NDArray[np.intp]) -> Standardiser:
        """Keep some columns only."""
        return Standardiser(self.centre[columns], self.scale[columns])


def finite(Z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put missing values at the centre and cut off what lies too far from it."""
    return np.clip(np.nan_to_num(Z, nan=0.0), -FARTHEST, FARTHEST)


class StandardisingLearner(SplitLearner):
    """A learner that works on standardised columns, measured once for a whole tree."""

    takes_missing = True
    standardiser: Standardiser | None = None

    def prepare(self, data: TrainingMatrix) -> SplitLearner:
        """Return a copy that knows centre and scale of the columns."""
        if "standardiser" not in data.shared:
            data.shared["standardiser"] = Standardiser.of(data.X)
        prepared = copy.copy(self)
        prepared.standardiser = data.shared["standardiser"]
        return prepared

    def standardised(self, X: FloatArray) -> tuple[Standardiser, NDArray[np.float64]]:
        """Standardise the rows of a node; by themselves if the learner was not prepared."""
        standardiser = self.standardiser or Standardiser.of(X)
        return standardiser, standardiser.apply(X)
