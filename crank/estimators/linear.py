"""The linear ranker as an estimator, for pipelines, searches and cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from crank.design.slopes import Slopes
from crank.estimators.base import RankingEstimator, seed_of
from crank.fitting.penalty import fit_judged
from crank.rankers.directions import signs_of
from crank.rankers.linear import LinearOptions
from crank.ranks import rank


class RankingLinear(RankingEstimator):
    """A linear ranker as a scikit-learn estimator.

    Parameters
    ----------
    link : {"logit", "probit"}
        From the difference of two scores to the probability that the first ranks above.
    penalty : float or {"cv", "1se"}
        See `crank.linear`. Unlike there, a light one is the default: an estimator shall fit
        whatever columns it is given.
    l1_ratio : float
        Share of the lasso in the penalty, from 0, ridge, to 1.
    cv : int
        Folds by which "cv" and "1se" choose the penalty.
    monotone : mapping, optional
        "increasing" or "decreasing" (1 or −1) by column: its name if X has names, else its number.
        See `crank.linear`.
    random_state : int, RandomState or None
        Deals the rows out to folds.

    Attributes
    ----------
    ranker_ : crank.rankers.linear.LinearRanker
    penalty_ : float
        The penalty as a number.
    n_features_in_ : int
    feature_names_in_ : ndarray, if X had column names

    Examples
    --------
    >>> from crank import RankingLinear, datasets
    >>> sample = datasets.regression(300, p=5, random_state=0)
    >>> m = RankingLinear().fit(sample.X, sample.y)
    >>> round(m.score(sample.X, sample.y), 2)
    0.95
    """

    def __init__(
        self,
        link: Literal["logit", "probit"] = "logit",
        *,
        penalty: float | Literal["cv", "1se"] = 0.001,
        l1_ratio: float = 0.0,
        cv: int = 10,
        monotone: Mapping[Any, str | int] | None = None,
        random_state: Any = 0,
    ) -> None:
        self.link = link
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.cv = cv
        self.monotone = monotone
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Estimate the coefficients.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Rows of weight 0 are as if absent.
        """
        cv = self.cv if isinstance(self.penalty, str) else None
        options = LinearOptions(
            self.link,
            self.penalty,
            self.l1_ratio,
            cv,
            seed_of(self.random_state),
            self.monotone,  # type: ignore[arg-type]  # numbers become words there
        )
        X, y, weight = self._checked_sample(X, y, sample_weight, missing=False)
        X = X.astype(np.float64, copy=False)
        names = getattr(self, "feature_names_in_", ())
        signs = np.diag(self._directions(signs_of(options.monotone))).astype(np.float64)
        rows = signs[signs.any(axis=1)].reshape(-1, X.shape[1])
        fitted = fit_judged(
            X,
            rank(y, weight),
            options=options,
            names=names,
            judge=False,
            slopes=Slopes(rows, np.zeros(len(rows))),
        )
        self.ranker_ = fitted.ranker
        self.penalty_ = self.ranker_.penalty
        return self

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Coefficients; 0 for a column that has none."""
        check_is_fitted(self, "ranker_")
        return np.asarray(np.nan_to_num(self.ranker_.coef))

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Score rows: higher ranks better."""
        X = self._checked_rows(X)
        return self.ranker_.predict(X)
