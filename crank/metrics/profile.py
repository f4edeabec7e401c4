"""The AUC at every threshold of y, and its two means: the integrated AUC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crank.checks import one_of
from crank.kernels.order import FloatArray
from crank.metrics.pairs import unit_ratio
from crank.metrics.sample import Sample, read_sample

if TYPE_CHECKING:
    import pandas as pd

Weighting = Literal["triple", "uniform"]
Number = TypeVar("Number", np.float64, np.uint64)


@dataclass(frozen=True, eq=False)
class AucProfile:
    """AUC of a score for the subproblem at each threshold of y.

    Attributes
    ----------
    threshold : ndarray of shape (m,)
        The distinct values of y with some row strictly below and some strictly above.
    auc : ndarray of float64, shape (m,)
        AUC of the rows above the threshold against those below; the rows at it take no part.
    triple, uniform : ndarray of float64, shape (m,)
        The two weightings, each adding up to 1: their means of `auc` are the two IAUCs.
    quantile : ndarray of float64, shape (m,)
        Where the threshold lies in y's distribution: weight below plus half of the weight at it.

    Examples
    --------
    >>> profile = auc_profile([1, 2, 3, 4], [3, 1, 2, 4])
    >>> profile.threshold.tolist(), profile.auc.tolist()
    ([2, 3], [0.5, 1.0])
    """

    threshold: NDArray[Any]
    auc: FloatArray
    triple: FloatArray
    uniform: FloatArray
    quantile: FloatArray

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with a row for each threshold and the attributes as columns."""
        import pandas as pd

        return pd.DataFrame(
            {
                "threshold": self.threshold,
                "quantile": self.quantile,
                "auc": self.auc,
                "triple": self.triple,
                "uniform": self.uniform,
            }
        )


def auc_profile(y: ArrayLike, s: ArrayLike, *, weights: ArrayLike | None = None) -> AucProfile:
    """AUC of a score at every threshold of y, in one O(n log n) sweep.

    Parameters
    ----------
    y : array-like of shape (n,)
        Responses, of at least three distinct values.
    s : array-like of shape (n,)
        Scores; a tie between a row above and a row below counts one half.
    weights : array-like of shape (n,), optional
        Case weights.

    Returns
    -------
    AucProfile

    Examples
    --------
    >>> profile = auc_profile([1, 2, 3, 4], [10, 30, 20, 40])
    >>> profile.threshold.tolist(), profile.auc.tolist()
    ([2, 3], [1.0, 1.0])
    >>> auc_profile([1, 2, 3, 4], [2, 4, 1, 3]).to_frame()[["threshold", "auc"]]
       threshold  auc
    0          2  0.5
    1          3  0.5
    """
    sample = read_sample(y, s, weights, distinct=3, purpose="auc_profile")
    inner = slice(1, -1)  # the extreme values have nothing on one side
    triple, uniform = sample.mass * sample.below * sample.above, sample.mass[inner]
    return AucProfile(
        threshold=sample.y_values[inner],
        auc=threshold_auc(sample)[inner],
        triple=triple[inner] / triple.sum(),
        uniform=uniform / uniform.sum(),
        quantile=((sample.below + sample.mass / 2.0) / sample.mass.sum())[inner],
    )


def iauc(
    y: ArrayLike,
    s: ArrayLike,
    *,
    weighting: Weighting = "triple",
    weights: ArrayLike | None = None,
) -> float:
    """Integrated AUC: the mean over thresholds of y of the AUC of a score.

    A reversed ranking scores 0, a random or constant one ½, a perfect one 1.

    Parameters
    ----------
    y : array-like of shape (n,)
        Responses, of at least three distinct values.
    s : array-like of shape (n,)
        Scores; larger ones predict larger responses. Only their order matters.
    weighting : {"triple", "uniform"}
        How thresholds weigh. Both draw them from the rows between the smallest and the largest y.

        - ``"triple"`` is the paper's estimator: the rate of concordant outer pairs among all
          triples of rows with y < y' < y''. A threshold weighs its own weight × the weight below ×
          the weight above, so middling thresholds weigh most. Without ties in y it equals
          ½ + ((n+1)ρ − 3τ) / (2(n−2)), an unbiased estimate of (1 + ρ)/2 for Spearman's ρ.
        - ``"uniform"`` is the paper's definition: the mean of the AUC when the threshold is drawn
          like y itself. A value weighs its own weight alone, so a value that k rows share
          counts k times; this is the area under the unweighted mean of the ROC curves.
    weights : array-like of shape (n,), optional
        Case weights.

    Returns
    -------
    float

    References
    ----------
    Clémençon and Achab, "Ranking Data with Continuous Labels through Oriented Recursive
    Partitions", NIPS 2017.

    Examples
    --------
    >>> y, s = [1, 2, 3, 4, 5], [1, 3, 5, 4, 2]
    >>> iauc(y, s)
    0.7
    >>> round(iauc(y, s, weighting="uniform"), 4)
    0.6944
    """
    check_weighting(weighting)
    return integrated(read_sample(y, s, weights, distinct=3, purpose="iauc"), weighting)


def integrated(sample: Sample, weighting: Weighting, concordant: FloatArray | None = None) -> float:
    """Compute the IAUC of a sample that was read before, and its `concordant_weight` if known."""
    inner = slice(1, -1)
    concordant = (concordant_weight(sample) if concordant is None else concordant)[inner]
    pairs = (sample.below * sample.above)[inner]
    each = sample.mass[inner] if weighting == "triple" else (sample.mass[inner] / pairs)
    # the same products in the same order, so that a perfect score gives exactly 1
    return unit_ratio(float((each * concordant).sum()), float((each * pairs).sum()))


def threshold_auc(sample: Sample, concordant: FloatArray | None = None) -> FloatArray:
    """AUC at each distinct y, from `concordant_weight`; NaN at the smallest and the largest."""
    concordant = concordant_weight(sample) if concordant is None else concordant
    auc = np.full(len(sample.mass), np.nan)
    inner = slice(1, -1)
    pairs = (sample.below * sample.above)[inner]
    auc[inner] = np.clip(concordant[inner] / pairs, 0.0, 1.0)
    return auc


def concordant_weight(sample: Sample) -> FloatArray:
    """Weight of the concordant pairs that lie strictly on both sides of each distinct y.

    When the threshold passes a value, the rows there stop being the higher members of pairs and
    become lower members: two sums over rows, no more.
    """
    if sample.wide:
        return sample.direct.around
    starts = np.append(0, np.cumsum(np.bincount(sample.y_rank))[:-1])
    rows = sample.order.by_y
    weight, below, above = sample.weight[rows], sample.won_below[rows], sample.won_above[rows]
    result = _straddling(weight * below, weight * above, starts)
    if 2.0 * float(sample.mass.sum()) ** 2 < 2.0**53:
        return result  # sums of halves that a float holds exactly
    whole = [column.astype(np.uint64) for column in (weight, 2.0 * below, 2.0 * above)]
    return _corrected(result, _straddling(whole[0] * whole[1], whole[0] * whole[2], starts))


def _straddling(
    as_higher: NDArray[Number], as_lower: NDArray[Number], starts: NDArray[np.int64]
) -> NDArray[Number]:
    """Turn the sums of rows as members of pairs into those of the pairs around each value of y."""
    leaving, joining = np.add.reduceat(as_higher, starts), np.add.reduceat(as_lower, starts)
    change = joining - leaving
    result: NDArray[Number] = np.cumsum(change) - change - leaving
    return result


def _corrected(rounded: FloatArray, twice_modulo: NDArray[np.uint64]) -> FloatArray:
    """Repair rounded sums, given their doubles modulo 2⁶⁴.

    A heavy row at a threshold leaves a small difference of large sums. Unsigned integers wrap and
    lose nothing, and rounding is off by less than 2⁶³ (see LARGEST_TOTAL), so the two together
    determine the sum.
    """
    twice = 2.0 * np.maximum(rounded, 0.0)
    error = (twice_modulo - np.fmod(twice, 2.0**64).astype(np.uint64)).astype(np.int64)
    exact = twice + error
    small = np.abs(exact) < 2.0**62
    exact[small] = twice_modulo[small]
    result: FloatArray = exact / 2.0
    return result


def check_weighting(weighting: object) -> None:
    """Raise unless the name of the weighting is known."""
    one_of("weighting", weighting, get_args(Weighting))
