"""What cross-validation found: figures with their errors, for every step of a pruning path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crank.metrics.figures import Figure


@dataclass(frozen=True)
class Estimate:
    """A figure with its standard error and 95% interval."""

    estimate: float
    se: float
    ci_low: float
    ci_high: float


@dataclass(frozen=True)
class Validation:
    """What cross-validation says of every step of a pruning path.

    The best step is chosen by these figures, so its own is optimistic; the figure of the whole
    procedure is `TrainingInfo.crossvalidated`.

    Attributes
    ----------
    figure : Figure
    folds, repeats : int
    heldout : ndarray of shape (folds * repeats, steps)
        Held-out figure of the fold's own subtree at the step's complexity price, with the leaves
        in the order of the model; NaN where a fold has none.
    step, step_1se : int
        The best step, and the smallest tree within one standard error of it.
    """

    figure: Figure
    folds: int
    repeats: int
    heldout: NDArray[np.float64]
    step: int
    step_1se: int

    @property
    def estimate(self) -> NDArray[np.float64]:
        """Mean held-out figure of each step."""
        return np.asarray(np.nanmean(self.heldout, axis=0))

    @property
    def se(self) -> NDArray[np.float64]:
        """Spread over the folds, as a standard error of the mean."""
        return spread_over_folds(self.heldout, self.repeats)


def spread_over_folds(heldout: NDArray[np.float64], repeats: int) -> NDArray[np.float64]:
    """Measure the standard error of the mean over folds (rows) that have a figure.

    Repeats average out the draw of the folds, not the sample: they do not divide the variance.
    NaN if fewer than two folds have a figure.
    """
    judged = (~np.isnan(heldout)).sum(axis=0)
    found = np.full(heldout.shape[1], np.nan)
    several = judged > 1
    if several.any():
        spread = np.nanstd(heldout[:, several], axis=0, ddof=1)
        found[several] = spread / np.sqrt(np.maximum(judged[several] / repeats, 1.0))
    return found
