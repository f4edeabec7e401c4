"""Pointwise confidence bands for the AUC profile and the IROC curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crank.checks import check_alpha, generator, whole
from crank.errors import DataError
from crank.kernels.order import FloatArray
from crank.kernels.roc import RocFamily
from crank.metrics.intervals import (
    Spread,
    degrees_of_freedom,
    evidence,
    rate_interval,
)
from crank.metrics.profile import Weighting, check_weighting, threshold_auc
from crank.metrics.roc import grid_curve, roc_family, threshold_shares
from crank.metrics.sample import Sample, read_sample

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class ProfileBand:
    """The AUC at some thresholds of y, each with its own confidence interval.

    The intervals are pointwise: each covers its AUC with probability 1 − alpha, not all at once.

    Attributes
    ----------
    threshold, quantile : ndarray of shape (m,)
        As in `AucProfile`.
    auc, se, low, high : ndarray of float64, shape (m,)
    level : float
        Confidence level of each interval.

    Examples
    --------
    >>> y = [1, 2, 3, 4, 5, 6, 7, 8]
    >>> band = profile_band(y, [1, 2, 4, 3, 7, 5, 8, 6])
    >>> bool((band.low <= band.auc).all()), band.level
    (True, 0.95)
    """

    threshold: NDArray[Any]
    quantile: FloatArray
    auc: FloatArray
    se: FloatArray
    low: FloatArray
    high: FloatArray
    level: float

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with a row for each threshold."""
        import pandas as pd

        names = ("threshold", "quantile", "auc", "se", "low", "high")
        return pd.DataFrame({name: getattr(self, name) for name in names})


@dataclass(frozen=True, eq=False)
class IrocBand:
    """An integrated ROC curve with a bootstrap interval at each α.

    The intervals are pointwise: each covers the curve at its α with probability 1 − alpha, not all
    at once.

    Attributes
    ----------
    alpha : ndarray of float64, shape (m + 2,)
        False positive rate, as in `IrocCurve`: 0, then 0, 1/m, …, 1.
    iroc, low, high : ndarray of float64, shape (m + 2,)
        The curve and the ends of the intervals.
    weighting : {"triple", "uniform"}
    n_boot : int
        Bootstrap samples drawn.
    level : float
        Confidence level of each interval.

    Examples
    --------
    >>> y = [1, 2, 3, 4, 5, 6, 7, 8]
    >>> band = iroc_band(y, [1, 2, 4, 3, 7, 5, 8, 6], grid=4, n_boot=20)
    >>> band.alpha.tolist(), band.n_boot
    ([0.0, 0.0, 0.25, 0.5, 0.75, 1.0], 20)
    """

    alpha: FloatArray
    iroc: FloatArray
    low: FloatArray
    high: FloatArray
    weighting: Weighting
    n_boot: int
    level: float

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with the columns ``alpha``, ``iroc``, ``low`` and ``high``."""
        import pandas as pd

        return pd.DataFrame(
            {"alpha": self.alpha, "iroc": self.iroc, "low": self.low, "high": self.high}
        )


def profile_band(
    y: ArrayLike,
    s: ArrayLike,
    *,
    points: int = 50,
    weights: ArrayLike | None = None,
    alpha: float = 0.05,
) -> ProfileBand:
    """AUC profile with pointwise confidence intervals, by influence, in O(n · points).

    At a given threshold the AUC compares two groups of rows, and its variance is DeLong's (in the
    form of the infinitesimal jackknife). Intervals are those of `concordance`.

    Parameters
    ----------
    y, s, weights
        As in `auc_profile`.
    points : int
        Number of thresholds, spread over y's distribution; all of them if y has fewer.
    alpha : float
        One minus the confidence level.

    Returns
    -------
    ProfileBand

    Examples
    --------
    >>> y, s = [1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 4, 3, 7, 5, 8, 6]
    >>> profile_band(y, s, points=2).to_frame().round(3)[["threshold", "auc", "low", "high"]]
       threshold  auc    low   high
    0          3  1.0  0.158  1.000
    1          6  0.9  0.289  0.995
    """
    check_alpha(alpha)
    count = whole("points", points, 1, remedy="Try points=200.")
    sample = read_sample(y, s, weights, distinct=3, purpose="profile_band")
    quantile = (sample.below + sample.mass / 2.0) / sample.mass.sum()
    at = _spread(quantile, count)
    auc = threshold_auc(sample)[at]
    around = [_threshold_spread(sample, t, a) for t, a in zip(at, auc, strict=True)]
    ends = np.array([rate_interval(a, e, alpha) for a, e in zip(auc, around, strict=True)])
    low, high = ends.T
    se = np.array([each.se for each in around])
    return ProfileBand(sample.y_values[at], quantile[at], auc, se, low, high, 1.0 - alpha)


def _spread(quantile: FloatArray, count: int) -> NDArray[np.intp]:
    """Choose distinct inner thresholds near equal steps of y's distribution."""
    inner = quantile[1:-1]
    if count >= len(inner):
        return np.arange(1, len(inner) + 1)
    wanted = np.arange(1, count + 1) / (count + 1)
    return np.unique(1 + np.searchsorted((inner[1:] + inner[:-1]) / 2.0, wanted))


def _threshold_spread(sample: Sample, t: int, auc: float) -> Spread:
    """Measure how uncertain the AUC at the t-th value of y is."""
    variance = fourth = 0.0
    sides = (sample.y_rank < t, sample.y_rank > t)
    weights = [np.where(side, sample.weight, 0.0) for side in sides]
    for side, other, sign in ((weights[0], weights[1], -1.0), (weights[1], weights[0], 1.0)):
        mass = np.bincount(sample.score_rank, other)
        ahead = (np.cumsum(mass) - mass / 2.0) / mass.sum()
        won = ahead if sign > 0 else 1.0 - ahead
        squared = (side / side.sum()) ** 2
        variance += float(np.bincount(sample.score_rank, squared) @ (won - auc) ** 2)
        fourth += float(np.bincount(sample.score_rank, squared**2) @ (won - auc) ** 4)
    n = sum(int(np.count_nonzero(side)) for side in sides)
    df = degrees_of_freedom(n, variance, fourth)
    known = evidence(weights[0] + weights[1], np.array([part.sum() for part in weights]), 2)
    return Spread(variance, df, known.units, known.pairs, known.sets)


def iroc_band(
    y: ArrayLike,
    s: ArrayLike,
    *,
    weighting: Weighting = "triple",
    grid: int = 100,
    n_boot: int = 200,
    weights: ArrayLike | None = None,
    alpha: float = 0.05,
    random_state: int | np.random.Generator | None = None,
) -> IrocBand:
    """Integrated ROC curve with pointwise percentile intervals from the bootstrap.

    Rows are drawn with replacement `n_boot` times and the curve is evaluated exactly each time.

    Parameters
    ----------
    y, s, weighting, weights
        As in `iroc_curve`.
    grid : int
        Steps of α.
    n_boot : int
        Bootstrap samples.
    alpha : float
        One minus the confidence level.
    random_state : int or numpy Generator, optional
        Seed of the draws.

    Returns
    -------
    IrocBand

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> s = rng.normal(size=100)
    >>> band = iroc_band(s + rng.normal(size=100), s, grid=4, n_boot=100, random_state=1)
    >>> bool(np.all(band.low <= band.iroc)), bool(np.all(band.iroc <= band.high))
    (True, True)
    """
    check_weighting(weighting)
    check_alpha(alpha)
    m = whole("grid", grid, 1, remedy="Try grid=200.")
    draws = whole("n_boot", n_boot, 1, remedy="Try n_boot=200.")
    sample = read_sample(y, s, weights, distinct=3, purpose="iroc_band")
    family = roc_family(sample, weighting)
    rng = generator(random_state)
    curves = np.stack(
        [grid_curve(_redrawn(family, weighting, rng), m, draws)[1] for _ in range(draws)]
    )
    low, high = np.quantile(curves, (alpha / 2.0, 1.0 - alpha / 2.0), axis=0)
    steps, curve = grid_curve(family, m)
    return IrocBand(steps, curve, low, high, weighting, draws, 1.0 - alpha)


def _redrawn(family: RocFamily, weighting: Weighting, rng: np.random.Generator) -> RocFamily:
    """Draw rows with replacement: as often as a row is drawn, so often does it weigh."""
    n = len(family.weight)
    for _ in range(100):
        weight = family.weight * np.bincount(rng.integers(n, size=n), minlength=n)
        mass = np.add.reduceat(weight, family.edges[:-1]).astype(np.float64)
        if np.count_nonzero(mass) >= 3:
            share = threshold_shares(mass, weighting)
            return RocFamily(family.group, weight, family.edges, share)
    raise DataError(
        f"a bootstrap of {n} rows keeps finding fewer than 3 distinct values of y. "
        "Pass more rows, or use iroc_curve, which draws none."
    )
