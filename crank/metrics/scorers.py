"""The metrics as scikit-learn scorers, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crank.errors import OptionError, did_you_mean, listed
from crank.metrics.pairs import kendall
from crank.metrics.profile import iauc

_FUNCTIONS: dict[str, tuple[Any, dict[str, str]]] = {
    "iauc": (iauc, {"weighting": "triple"}),
    "iauc_uniform": (iauc, {"weighting": "uniform"}),
    "kendall": (kendall, {}),
}


@dataclass(frozen=True)
class MetricScorer:
    """A metric that scikit-learn can call with an estimator: greater is better, and it pickles.

    Attributes
    ----------
    name : str
        One of `scorer_names`.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> import crank
    >>> data = crank.datasets.regression(90, p=5, random_state=0)
    >>> tree = crank.RankingTree(max_depth=2)
    >>> cross_val_score(tree, data.X, data.y, scoring=get_scorer("kendall"), cv=3).shape
    (3,)
    """

    name: str

    def __call__(
        self, estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Score a fitted estimator on data.

        A classifier ranks by its decision function, or by the probability of its last class if it
        has two; any other estimator by `predict`.
        """
        function, options = _FUNCTIONS[self.name]
        result: float = function(y, _ranking(estimator, X), weights=sample_weight, **options)
        return result


def get_scorer(name: str) -> MetricScorer:
    """Look up a scorer for ``cross_val_score``, ``GridSearchCV`` and their like.

    Parameters
    ----------
    name : {"iauc", "iauc_uniform", "kendall"}

    Returns
    -------
    MetricScorer
        Callable as ``scorer(estimator, X, y, sample_weight=None)``.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = [[1], [2], [3], [4]], [1, 2, 4, 3]
    >>> get_scorer("kendall")(LinearRegression().fit(X, y), X, y)
    0.8333333333333334
    """
    if name not in scorer_names():
        raise OptionError(
            f"no scorer named {name!r}. Allowed: {listed(scorer_names())}."
            f"{did_you_mean(name, scorer_names())}"
        )
    return MetricScorer(name)


def scorer_names() -> list[str]:
    """List the names that `get_scorer` knows.

    Examples
    --------
    >>> scorer_names()
    ['iauc', 'iauc_uniform', 'kendall']
    """
    return sorted(_FUNCTIONS)


def _ranking(estimator: Any, X: Any) -> NDArray[Any]:
    from sklearn.base import is_classifier

    if is_classifier(estimator):
        if hasattr(estimator, "decision_function"):
            decision = np.asarray(estimator.decision_function(X))
            if decision.ndim == 1:
                return decision
        elif hasattr(estimator, "predict_proba"):
            probability = np.asarray(estimator.predict_proba(X))
            if probability.shape[1] == 2:
                column: NDArray[Any] = probability[:, 1]
                return column
    predicted = np.asarray(estimator.predict(X))
    # regressors fitted on a column vector answer with one
    return predicted[:, 0] if predicted.ndim == 2 and predicted.shape[1] == 1 else predicted
