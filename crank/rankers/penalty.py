"""The path of penalties of a linear ranker: coefficients at each, and what held-out rows say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crank.rankers.validation import spread_over_folds


@dataclass(frozen=True, eq=False)
class PenaltyPath:
    """What cross-validation says of every penalty that was tried, the lightest first.

    The best penalty is chosen by these losses, so its own is optimistic; the figure of the whole
    procedure is `TrainingInfo.crossvalidated`.

    Attributes
    ----------
    penalty : ndarray of shape (k,)
        Increasing.
    coef : ndarray of shape (k, p)
        Coefficients at each penalty, of all rows that were dealt out to folds; NaN for columns
        without one.
    loss : ndarray of shape (folds, k)
        Mean loss of the pairs within each fold, by coefficients that have not seen it.
    kendall : ndarray of shape (k,)
        Mean rate of concordant pairs within folds; NaN if no fold has any to compare.
    step, step_1se : int
        The penalty of least loss, and the heaviest within one standard error of it.
    """

    penalty: NDArray[np.float64]
    coef: NDArray[np.float64]
    loss: NDArray[np.float64]
    kendall: NDArray[np.float64]
    step: int
    step_1se: int

    @property
    def folds(self) -> int:
        """How many parts of the rows were held out in turn."""
        return len(self.loss)

    @property
    def mean_loss(self) -> NDArray[np.float64]:
        """Mean loss of each penalty over the folds."""
        return np.asarray(self.loss.mean(axis=0))

    @property
    def se(self) -> NDArray[np.float64]:
        """Spread of the loss over the folds, as a standard error of the mean."""
        return spread_over_folds(self.loss, 1)

    def chosen(self, how: str) -> float:
        """Return the penalty that "cv" or "1se" takes."""
        return float(self.penalty[self.step if how == "cv" else self.step_1se])
