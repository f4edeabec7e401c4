"""The linear ranker: a weighted sum of columns, and how sure its coefficients are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from crank.checks import at_least, one_of, whole
from crank.errors import OptionError
from crank.growing.matrix import FloatArray
from crank.kernels.links import LINKS
from crank.rankers.base import Ranker
from crank.rankers.directions import in_words
from crank.rankers.penalty import PenaltyPath

PENALTIES = ("cv", "1se")
"""Ways of choosing a penalty, by name."""


@dataclass(frozen=True)
class LinearOptions:
    """How a linear ranker is fitted.

    Attributes
    ----------
    link : {"logit", "probit"}
        From the difference of two scores to the probability that the first ranks above.
    penalty : float or {"cv", "1se"}
        What is added to the mean loss of a pair is this times the penalty of the coefficients,
        those of columns in units of their standard deviation. By name it is chosen by
        cross-validation: the one of least loss, or the heaviest within a standard error of it.
    l1_ratio : float
        Share of the lasso in the penalty: 0 is ridge, half the sum of squares; 1 is lasso, the
        sum of absolute values.
    cv : int or None
        Folds of cross-validation; None runs none.
    random_state : int or None
        Deals the rows out to folds; None draws a seed.
    monotone : mapping of str, optional
        "increasing" or "decreasing" for columns in which the score must be monotone.
    """

    link: Literal["logit", "probit"] = "logit"
    penalty: float | Literal["cv", "1se"] = 0.0
    l1_ratio: float = 0.0
    cv: int | None = 10
    random_state: int | None = 0
    monotone: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        one_of("link", self.link, tuple(LINKS))
        object.__setattr__(self, "penalty", _penalty(self.penalty))
        ratio = at_least("l1_ratio", self.l1_ratio, 0.0)
        if ratio > 1.0:
            raise OptionError(f"l1_ratio={self.l1_ratio!r} is not allowed. Allowed: from 0 to 1.")
        object.__setattr__(self, "l1_ratio", ratio)
        if self.cv is not None:
            whole("cv", self.cv, 2)
        if self.random_state is not None:
            whole("random_state", self.random_state, 0)
        object.__setattr__(self, "monotone", in_words(self.monotone))
        if ratio and self.monotone:
            raise OptionError(
                f"l1_ratio={self.l1_ratio!r} is not allowed with monotone=. Allowed: 0, a ridge."
            )
        if ratio and self.penalty == 0.0:
            raise OptionError(
                f"l1_ratio={self.l1_ratio!r} says how to share out a penalty, and penalty is 0. "
                "Use penalty='cv', or a number above 0."
            )
        if self.chosen and self.cv is None:
            raise OptionError(
                f"penalty={self.penalty!r} is chosen by cross-validation, and cv is None. Give a "
                "number of folds, such as cv=10, or a number as the penalty."
            )

    @property
    def chosen(self) -> bool:
        """Whether cross-validation chooses the penalty."""
        return isinstance(self.penalty, str)

    def resolved(self, path: PenaltyPath | None) -> float:
        """Return the penalty as a number."""
        if not isinstance(self.penalty, str):
            return self.penalty
        assert path is not None
        return path.chosen(self.penalty)

    def shares(self, penalty: float, total: float) -> tuple[float, float]:
        """Split a penalty into ridge and lasso, for the loss of all pairs of a total weight."""
        of_all = penalty * total**2 / 2.0
        return of_all * (1.0 - self.l1_ratio), of_all * self.l1_ratio


def _penalty(value: Any) -> Any:
    if isinstance(value, str) and value in PENALTIES:
        return value
    try:
        return at_least("penalty", value, 0.0)
    except OptionError as cause:
        raise OptionError(f"{str(cause).rstrip('.')}, 'cv' or '1se'.") from None


@dataclass(frozen=True, eq=False)
class LinearRanker(Ranker):
    """A score that is linear in the columns of the design; 0 is the average training row.

    Attributes
    ----------
    options : LinearOptions
    coef : ndarray of shape (p,)
        NaN for columns that were left out: constant ones, and linear combinations of others.
    vcov : ndarray of shape (p, p)
        Covariance of the coefficients by the sandwich formula, without a correction for small
        samples; NaN like them, and all NaN under a lasso.
    centre : ndarray of shape (p,)
        Mean of each column in training.
    covariance : ndarray of shape (p, p)
        Of the columns in training.
    reference, share : ndarray of shape (k,)
        Training scores in increasing order, at most 256 of them, and the share of rows that each
        stands for.
    n_groups : int or None
        Independent groups of rows, if standard errors are clustered.
    path : PenaltyPath or None
        What the penalty was chosen from, if it was chosen.
    """

    kind: ClassVar[str] = "linear"
    predictions: ClassVar[tuple[str, ...]] = ("score", "probability")

    options: LinearOptions
    coef: NDArray[np.float64]
    vcov: NDArray[np.float64]
    centre: NDArray[np.float64]
    covariance: NDArray[np.float64]
    reference: NDArray[np.float64]
    share: NDArray[np.float64]
    n_groups: int | None = None
    path: PenaltyPath | None = None

    @cached_property
    def penalty(self) -> float:
        """The penalty as a number."""
        return self.options.resolved(self.path)

    @property
    def made_by(self) -> str:
        """Name it in messages."""
        return "a linear ranker"

    @cached_property
    def estimated(self) -> NDArray[np.bool_]:
        """Which columns have a coefficient."""
        return np.asarray(~np.isnan(self.coef))

    @cached_property
    def std_error(self) -> NDArray[np.float64]:
        """Standard errors of the coefficients, without a correction for small samples."""
        return np.asarray(np.sqrt(np.diagonal(self.vcov)))

    @property
    def total_freedom(self) -> float:
        """Degrees of freedom of the fit: one for each coefficient."""
        return float(np.count_nonzero(self.estimated))

    @cached_property
    def spread(self) -> NDArray[np.float64]:
        """Standard deviation of each column in training."""
        return np.asarray(np.sqrt(np.diagonal(self.covariance)))

    def predict(self, X: FloatArray, type: str = "score") -> NDArray[Any]:
        """Return the score of each row, or how probably it ranks above a random training row."""
        score = linear_score(X, self.coef, self.centre)
        return score if type == "score" else self.above_training(score)

    def contributions(self, X: FloatArray) -> tuple[NDArray[np.float64], float]:
        """Return what each column adds to the score of the average training row, which is 0."""
        coef = np.where(self.estimated, self.coef, 0.0)
        return np.asarray(coef * (X - self.centre), dtype=np.float64), 0.0

    def above_training(self, score: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probability of ranking above a random training row."""
        link, found = LINKS[self.options.link], np.empty(len(score))
        rows = max(1, 2**17 // len(self.reference))
        for k in range(0, len(score), rows):
            part = score[k : k + rows, None] - self.reference
            found[k : k + rows] = link.probability(part) @ self.share
        return found


def linear_score(
    X: FloatArray, coef: NDArray[np.float64], centre: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sum column by column: a row's score does not depend on the rows beside it.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [2.0, 5.0]])
    >>> linear_score(X, np.array([3.0, np.nan]), np.array([1.0, 5.0])).tolist()
    [0.0, 3.0]
    """
    score = np.zeros(len(X))
    for k in np.flatnonzero(~np.isnan(coef)).tolist():
        score += coef[k] * (X[:, k].astype(np.float64, copy=False) - centre[k])
    return score
