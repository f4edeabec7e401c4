"""The integrated ROC curve: the mean over thresholds of y of the ROC curves of a score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from crank.checks import whole
from crank.kernels.compiler import numba_works
from crank.kernels.order import FloatArray
from crank.kernels.roc import RocFamily, mean_roc_on_grid, mean_roc_vertices
from crank.metrics.direct import after, before
from crank.metrics.profile import Weighting, check_weighting, integrated
from crank.metrics.sample import Sample, read_sample, whole_weights

if TYPE_CHECKING:
    import pandas as pd

# cells of the table thresholds × scores up to which a curve is drawn through every vertex
MOST_CELLS = 2**20
DEFAULT_GRID = 200
# n·m times the number of curves from which the compiled kernel serves: below it NumPy takes about
# a second, the first import of numba with its compiling several
COMPILED_WORK = 10**7


@dataclass(frozen=True, eq=False)
class IrocCurve:
    """An integrated ROC curve, as points to join by straight segments.

    Attributes
    ----------
    alpha : ndarray of float64, shape (k,)
        False positive rate, from 0 to 1. Where the curve is vertical, α stands twice.
    iroc : ndarray of float64, shape (k,)
        Mean true positive rate, from 0 to 1.
    weighting : {"triple", "uniform"}
        How the ROC curves weigh in the mean.
    iauc : float
        The exact IAUC of the same weighting.
    grid : int or None
        The number of steps of α at which the curve was evaluated; None if it goes through every
        vertex.

    Examples
    --------
    >>> curve = iroc_curve([1, 2, 3, 4], [3, 1, 2, 4])
    >>> curve.alpha.tolist(), curve.iroc.tolist(), curve.iauc
    ([0.0, 0.0, 0.5, 1.0, 1.0], [0.0, 0.75, 0.75, 0.75, 1.0], 0.75)
    """

    alpha: FloatArray
    iroc: FloatArray
    weighting: Weighting
    iauc: float
    grid: int | None

    @property
    def area(self) -> float:
        """Area under the curve as drawn; through every vertex it is the IAUC."""
        return float(np.diff(self.alpha) @ (self.iroc[1:] + self.iroc[:-1])) / 2.0

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with the columns ``alpha`` and ``iroc``."""
        import pandas as pd

        return pd.DataFrame({"alpha": self.alpha, "iroc": self.iroc})


def iroc_curve(
    y: ArrayLike,
    s: ArrayLike,
    *,
    weighting: Weighting = "triple",
    grid: int | None = None,
    weights: ArrayLike | None = None,
) -> IrocCurve:
    """Integrated ROC curve of a score: at each α, the mean of the ROC curves over thresholds of y.

    Parameters
    ----------
    y : array-like of shape (n,)
        Responses, of at least three distinct values.
    s : array-like of shape (n,)
        Scores. Tied scores make a straight segment of a ROC curve.
    weighting : {"triple", "uniform"}
        How thresholds weigh, as in `iauc`; the area under the curve is that IAUC.
    grid : int, optional
        Evaluate the curve, exactly, at α = 0, 1/grid, …, 1 in O(n · grid); at a jump the upper
        value counts. By default the curve goes through every vertex if distinct y × distinct
        scores is at most 2²⁰ (a thousand rows, or more with tied scores), and on a grid of 200
        steps beyond.
    weights : array-like of shape (n,), optional
        Case weights.

    Returns
    -------
    IrocCurve
        From (0, 0) to (1, 1). A curve on a grid has grid + 2 points: the second one is the height
        of the vertical part at α = 0.

    Examples
    --------
    >>> curve = iroc_curve([1, 2, 3, 4], [10, 30, 20, 40])
    >>> curve.alpha.tolist(), curve.iroc.tolist()
    ([0.0, 0.0, 0.5, 1.0], [0.0, 1.0, 1.0, 1.0])
    >>> iroc_curve([1, 2, 3, 4], [0, 0, 0, 0], grid=2).to_frame()
       alpha  iroc
    0    0.0   0.0
    1    0.0   0.0
    2    0.5   0.5
    3    1.0   1.0
    """
    check_weighting(weighting)
    steps = None if grid is None else whole("grid", grid, 1, remedy="Try grid=200.")
    sample = read_sample(y, s, weights, distinct=3, purpose="iroc_curve")
    if steps is None and len(sample.mass) * (int(sample.score_rank.max()) + 1) > MOST_CELLS:
        steps = DEFAULT_GRID
    family = roc_family(sample, weighting)
    if steps is None:
        alpha, iroc = mean_roc_vertices(family)
        iroc = _rising(iroc)
    else:
        alpha, iroc = grid_curve(family, steps)
    return IrocCurve(alpha, iroc, weighting, integrated(sample, weighting), steps)


def roc_family(sample: Sample, weighting: Weighting) -> RocFamily:
    """Sort a sample by y and give each threshold its share."""
    rows = sample.order.by_y
    weight = whole_weights(sample.weight, sample.n) if sample.wide else sample.weight
    return RocFamily(
        group=(sample.score_rank.max() - sample.score_rank)[rows],
        weight=weight[rows].astype(np.int64),
        edges=np.append(0, np.cumsum(np.bincount(sample.y_rank))),
        share=threshold_shares(sample.mass, weighting),
    )


def threshold_shares(mass: FloatArray, weighting: Weighting) -> FloatArray:
    """Share of each distinct y, from its weight; 0 where all the rest lies on one side."""
    below = before(mass)
    above = after(mass)
    if weighting == "triple":
        share = mass * below * above
    else:
        share = np.where((below > 0) & (above > 0), mass, 0.0)
    shares: FloatArray = share / share.sum()
    return shares


def _rising(values: FloatArray) -> FloatArray:
    """Remove what rounding did: a mean of ROC curves never falls, and ends at 1."""
    result: FloatArray = np.minimum(np.maximum.accumulate(values), 1.0)
    result[-1] = 1.0
    return result


def grid_curve(family: RocFamily, m: int, times: int = 1) -> tuple[FloatArray, FloatArray]:
    """Draw the mean ROC curve at m equal steps of α, by the kernel that suits the size.

    Parameters
    ----------
    family : RocFamily
    m : int
    times : int
        How many such curves will be drawn in all.
    """
    work = len(family.group) * m * times
    values = _mean_roc(work >= COMPILED_WORK and numba_works())(family, m)
    return np.append(0.0, np.arange(m + 1) / m), _rising(np.append(0.0, values))


def _mean_roc(compiled: bool) -> Callable[[RocFamily, int], FloatArray]:
    if not compiled:
        return mean_roc_on_grid
    from crank.kernels import compiled_roc

    return compiled_roc.mean_roc_on_grid
