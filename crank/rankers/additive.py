"""The additive ranker: a sum of curves, that is a linear ranker over penalised columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from crank.checks import at_least, one_of, whole
from crank.kernels.links import LINKS
from crank.rankers.linear import LinearRanker

RIDGE = 1e-4
"""Ridge of an additive ranker, on top of the penalty on bending."""


@dataclass(frozen=True)
class AdditiveOptions:
    """How an additive ranker is fitted.

    Attributes
    ----------
    link : {"logit", "probit"}
        From the difference of two scores to the probability that the first ranks above.
    smoothing : float, optional
        Of all curves: what bending costs, see `crank.additive`; by default cross-validated
        concordance chooses it.
    penalty : float
        Ridge, on the size of every coefficient.
    straight : float
        What the ridge holds against columns of terms that are not smooth: 1, or 0 to leave them
        alone.
    cv : int
        Folds.
    random_state : int
        Seed of the folds.
    """

    link: Literal["logit", "probit"] = "logit"
    smoothing: float | None = None
    penalty: float = RIDGE
    straight: float = 1.0
    cv: int = 5
    random_state: int = 0

    def __post_init__(self) -> None:
        one_of("link", self.link, tuple(LINKS))
        object.__setattr__(self, "penalty", at_least("penalty", self.penalty, 0.0))
        if self.smoothing is not None:
            object.__setattr__(self, "smoothing", at_least("smoothing", self.smoothing, 0.0))
        whole("cv", self.cv, 2)
        whole("random_state", self.random_state, 0)


@dataclass(frozen=True, eq=False, kw_only=True)
class AdditiveRanker(LinearRanker):
    """A score that is a sum of curves: linear in the columns of spline bases.

    Attributes
    ----------
    smoothing : float
        Of all curves.
    column_penalty : ndarray of shape (p,)
        On half of each squared coefficient, relative to the mean loss of a pair; NaN for columns
        that were left out.
    freedom : ndarray of shape (p,)
        Effective degrees of freedom that each column uses, 0 to 1.
    uncertainty : ndarray of shape (p, p)
        Covariance of the coefficients around the truth, the bias of smoothing included; for
        bands. `vcov` is that around their mean; for tests.
    rugs : mapping of str to ndarray
        For factors of numbers, by name, training values in increasing order, at most 100 of them.
    """

    kind: ClassVar[str] = "additive"

    smoothing: float
    column_penalty: NDArray[np.float64]
    freedom: NDArray[np.float64]
    uncertainty: NDArray[np.float64]
    rugs: Mapping[str, NDArray[np.float64]]

    @property
    def made_by(self) -> str:
        """Name it in messages."""
        return "an additive ranker"

    @cached_property
    def total_freedom(self) -> float:
        """Effective degrees of freedom of the whole score."""
        return float(np.nansum(self.freedom))
