"""Standardised columns: the scale on which a penalty or a kernel treats all columns alike."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from crank.errors import OptionError
from crank.growing.passes import Passes
from crank.kernels.rows import take_rows
from crank.plugins.base import FloatArray, SplitLearner, SplitRule, TrainingMatrix
from crank.plugins.nodewise import NodeWiseSplitter
from crank.ranks import Ranks

BLOCK_ROWS = 8192
REFERENCE_WEIGHT = 300.0
"""Total weight of a node to which penalties refer, as if it had that many rows.

A penalty against the sum of the losses would fade as rows are repeated or their weights grow;
against their mean it does not. It is as strong as one against the sum over 300 rows.
"""
FEW_COLUMNS, MOST_WORK = 1000, 1e11
"""Up to so many columns, or multiplications in one step of a fit, no matrix is too large."""
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
    def of(cls, X: FloatArray, weight: NDArray[np.float64] | None = None) -> Self:
        """Measure the columns of a matrix.

        Parameters
        ----------
        X : ndarray of shape (n, p)
        weight : ndarray of shape (n,), optional
            Case weights; a row of weight 0 is as if absent.

        Examples
        --------
        >>> import numpy as np
        >>> Standardiser.of(np.array([[1.0, 7.0], [3.0, 7.0], [np.nan, 7.0]]))
        Standardiser(centre=array([2., 7.]), scale=array([1., 1.]))
        """
        if weight is not None and not weight.all():
            X, weight = X[weight > 0.0], weight[weight > 0.0]
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
            if weight is None:
                count += len(unit) - missing.sum(axis=0)
                total += unit.sum(axis=0)
                squares += np.einsum("ij,ij->j", unit, unit)
            else:
                w = weight[rows]
                count += w @ ~missing
                total += w @ unit
                squares += w @ unit**2
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
        Z = np.empty(X.shape)
        for block in row_blocks(len(X)):
            self._fill(X[block], Z[block])
        return Z

    def take(self, X: FloatArray, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Standardise some rows of a matrix; raw ones are never copied all at once."""
        Z = np.empty((len(rows), X.shape[1]))
        for block in row_blocks(len(rows)):
            self._fill(take_rows(X, rows[block]), Z[block])
        return Z

    def _fill(self, X: FloatArray, Z: NDArray[np.float64]) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            np.subtract(X, self.centre, out=Z)
            Z /= self.scale
            odd = ~np.isfinite(Z.sum(axis=1))
        if odd.any():
            Z[odd] = finite(Z[odd])

    def pick(self, columns: NDArray[np.intp]) -> Standardiser:
        """Keep some columns only."""
        return Standardiser(self.centre[columns], self.scale[columns])


def finite(Z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move missing values to the centre and cut off what lies too far from it."""
    return np.clip(np.nan_to_num(Z, nan=0.0), -FARTHEST, FARTHEST)


def allowed_columns(rows: int) -> int:
    """Return how many columns a matrix of so many rows may have, to one digit.

    Examples
    --------
    >>> allowed_columns(20_000), allowed_columns(10_000_000)
    (2000, 1000)
    """
    most = max((MOST_WORK / rows) ** 0.5, MOST_WORK / rows**2, FEW_COLUMNS)
    digit = 10.0 ** int(np.log10(most))
    return int(most // digit * digit)


class StandardisedRule(SplitRule):
    """A rule that can decide on rows that have been standardised before."""

    @abstractmethod
    def decision_standardised(self, Z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the decision values of standardised rows, all columns of them."""


class StandardisingLearner(SplitLearner):
    """A learner that works on standardised columns, measured once for a whole tree."""

    takes_missing = True

    @abstractmethod
    def fit_standardised(
        self,
        standardiser: Standardiser,
        Z: NDArray[np.float64],
        label: NDArray[np.float64],
        weight: NDArray[np.float64],
        rng: np.random.Generator,
        monotone: Sequence[int] = (),
    ) -> StandardisedRule | None:
        """Fit on standardised rows; else as `fit`."""

    def fit(
        self,
        X: FloatArray,
        label: NDArray[np.float64],
        weight: NDArray[np.float64],
        *,
        rng: np.random.Generator,
        monotone: Sequence[int] = (),
    ) -> StandardisedRule | None:
        """Fit on rows that are standardised by themselves."""
        standardiser = Standardiser.of(X)
        Z = standardiser.apply(X)
        return self.fit_standardised(standardiser, Z, label, weight, rng, monotone)

    def check_size(self, rows: int, columns: int) -> None:
        """Refuse a matrix for which one step of a fit would take minutes."""
        work = float(rows) * columns * min(rows, columns)
        if columns > FEW_COLUMNS and work > MOST_WORK:
            raise OptionError(
                f"{columns} columns for {rows} rows are too many for {type(self).__name__}: one "
                f"node would take many minutes. Allowed: about {allowed_columns(rows)} columns. "
                "Join rare levels of factors, or use a learner that takes factors as they are, "
                "such as stump or lightgbm."
            )

    def prepare(self, data: TrainingMatrix) -> StandardisedSplitter:
        """Bind the learner to a matrix; its columns are measured when they are first used."""
        self.check_size(*data.X.shape)
        return StandardisedSplitter(self, data)


class StandardisedSplitter(NodeWiseSplitter):
    """Standardise the rows of a node while they are gathered; fit and decide on those."""

    learner: StandardisingLearner

    @property
    def standardiser(self) -> Standardiser:
        """Centre and scale of the columns, the same for all trees on the matrix."""
        if "standardiser" not in self.data.shared:
            self.data.shared["standardiser"] = Standardiser.of(self.data.X)
        found: Standardiser = self.data.shared["standardiser"]
        return found

    def measure(self, ranks: Ranks) -> None:
        """Measure the columns, with case weights if there are any."""
        if "standardiser" not in self.data.shared:
            weight = None
            if not ranks.unweighted:
                weight = np.zeros(len(self.data.X))
                weight[ranks.row] = ranks.weight
            self.data.shared["standardiser"] = Standardiser.of(self.data.X, weight)

    def passes(self, ranks: Ranks) -> Passes:
        """Measure the columns with case weights: those of the first tree, which has all rows."""
        if not ranks.unweighted:
            self.measure(ranks)
        return super().passes(ranks)

    def gather(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Take standardised rows."""
        X = self.data.X
        if len(rows) == len(X):
            return self.standardiser.apply(X)
        return self.standardiser.take(X, rows)

    def fit(
        self,
        X: NDArray[np.float64],
        label: NDArray[np.float64],
        weight: NDArray[np.float64],
        rng: np.random.Generator,
    ) -> SplitRule | None:
        """Ask the learner."""
        monotone = self.data.monotone
        return self.learner.fit_standardised(self.standardiser, X, label, weight, rng, monotone)

    def decide(self, rule: SplitRule, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ask a rule for the decision values of gathered rows."""
        assert isinstance(rule, StandardisedRule)
        return rule.decision_standardised(X)
