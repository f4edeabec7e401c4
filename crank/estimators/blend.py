"""The blend as an estimator, for pipelines and cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from crank.estimators.base import RankingEstimator, seed_of
from crank.frames.table import Table
from crank.records.kinds import fitting_function

RESPONSE = "response"


class RankingBlend(RankingEstimator):
    """A blend of rankers of different kinds as a scikit-learn estimator.

    Parameters
    ----------
    members : sequence of str, or mapping, optional
        Names from the library, or functions of your own; see `crank.blend`.
    effort : {"quick", "default", "best"}
        Which members are tried if none are named.
    time_limit : float, optional
        Seconds.
    metric : {"kendall", "iauc", "iauc_uniform"}
        Figure by which members are chosen.
    cv : int
        Folds of the held-out scores.
    random_state : int, RandomState or None
        None is 0.
    n_jobs : int
        Threads; −1 for one a core.

    Attributes
    ----------
    model_ : crank.BlendModel
        Columns are called x0, x1 and so on there.
    n_features_in_ : int
    feature_names_in_ : ndarray, if X had column names

    Examples
    --------
    >>> from crank import RankingBlend, datasets
    >>> sample = datasets.regression(200, p=5, random_state=0)
    >>> m = RankingBlend(members=["linear", "tree"]).fit(sample.X, sample.y)
    >>> m.score(sample.X, sample.y) > 0.9
    True
    """

    _takes_missing = True

    def __init__(
        self,
        members: Sequence[str] | Mapping[str, Any] | None = None,
        *,
        effort: Literal["quick", "default", "best"] = "default",
        time_limit: float | None = None,
        metric: str = "kendall",
        cv: int = 5,
        random_state: Any = None,
        n_jobs: int = 1,
    ) -> None:
        self.members = members
        self.effort = effort
        self.time_limit = time_limit
        self.metric = metric
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the members and blend them.

        Parameters
        ----------
        X : array-like of shape (n, p)
            NaN is a missing value; members that take none are left out then.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Rows of weight 0 are as if absent.
        """
        X, y, weight = self._checked_sample(X, y, sample_weight, missing=True)
        names = [f"x{j}" for j in range(X.shape[1])]
        seed = seed_of(self.random_state)
        self.model_ = fitting_function("blend")(
            {**_columns(X), RESPONSE: y},
            f"{RESPONSE} ~ {' + '.join(names)}",
            members=self.members,
            effort=self.effort,
            time_limit=self.time_limit,
            metric=self.metric,
            cv=self.cv,
            weights=weight,
            random_state=0 if seed is None else seed,
            n_jobs=self.n_jobs,
            progress=False,
        )
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Score rows: higher ranks better."""
        X = self._checked_rows(X)
        return np.asarray(self.model_.values(Table.read(_columns(X))), dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _columns(X: NDArray[Any]) -> dict[str, NDArray[np.float64]]:
    """Name the columns of a matrix."""
    return {f"x{j}": X[:, j].astype(np.float64, copy=False) for j in range(X.shape[1])}
