"""The booster as an estimator, for pipelines, searches and cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from crank.estimators.base import RankingEstimator, seed_of
from crank.fitting.booster import fit_booster
from crank.metrics.groups import check_several, read_groups
from crank.rankers.booster import BoosterOptions
from crank.ranks import rank


class RankingBooster(RankingEstimator):
    """A booster as a scikit-learn estimator; it needs the extra ``lightgbm``.

    Parameters
    ----------
    loss : {"concordance", "rank", "y"}
        The logistic loss of all pairs; or squared error, on the ranks of y or on y itself.
    kappa : float
        How steep the targets of the pairs are; see `crank.boost`.
    rounds : int or None
        Number of trees; None chooses it by cross-validation.
    max_rounds, patience : int
        Most trees that are tried, and how many in vain before no more are.
    trees : {"small", "large"}
        Settings of the engine to start from.
    params : mapping, optional
        Settings of LightGBM that replace those.
    metric : {"kendall", "iauc", "iauc_uniform"}
        Figure by which rounds are chosen.
    cv : int, optional
        Folds; by default the number of rows decides.
    monotone : mapping, optional
        "increasing" or "decreasing" for columns of X, by name or by number.
    interaction : sequence of sequences, or "none", optional
        Sets of columns, by name or by number, that may meet in a branch.
    random_state : int, RandomState or None
        Seeds folds and the engine; None is 0.
    n_jobs : int
        Threads; −1 for one a core.

    Attributes
    ----------
    ranker_ : crank.rankers.booster.BoosterRanker
    n_features_in_ : int
    feature_names_in_ : ndarray, if X had column names

    Examples
    --------
    >>> from crank import RankingBooster, datasets
    >>> sample = datasets.regression(400, p=5, random_state=0)
    >>> m = RankingBooster(rounds=60).fit(sample.X[:300], sample.y[:300])
    >>> m.score(sample.X[300:], sample.y[300:]) > 0.9
    True
    """

    _takes_missing = True

    def __init__(
        self,
        loss: Literal["concordance", "rank", "y"] = "concordance",
        *,
        kappa: float = 10.0,
        rounds: int | None = None,
        max_rounds: int = 1000,
        patience: int = 50,
        trees: Literal["small", "large"] = "small",
        params: Mapping[str, Any] | None = None,
        metric: str = "kendall",
        cv: int | None = None,
        monotone: Mapping[Any, str | int] | None = None,
        interaction: Sequence[Sequence[Any]] | Literal["none"] | None = None,
        random_state: Any = None,
        n_jobs: int = 1,
    ) -> None:
        self.loss = loss
        self.kappa = kappa
        self.rounds = rounds
        self.max_rounds = max_rounds
        self.patience = patience
        self.trees = trees
        self.params = params
        self.metric = metric
        self.cv = cv
        self.monotone = monotone
        self.interaction = interaction
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Boost trees.

        Parameters
        ----------
        X : array-like of shape (n, p)
            NaN is a missing value.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Rows of weight 0 are as if absent.
        groups : array-like of shape (n,), optional
            Label of the group to which each row belongs; folds keep groups whole.
        """
        seed = seed_of(self.random_state)
        options = BoosterOptions(
            loss=self.loss,
            kappa=self.kappa,
            rounds=self.rounds,
            max_rounds=self.max_rounds,
            patience=self.patience,
            trees=self.trees,
            params={} if self.params is None else self.params,
            metric=self.metric,
            cv=self.cv,
            monotone=self.monotone,  # type: ignore[arg-type]  # numbers become words there
            interaction=self.interaction,
            random_state=0 if seed is None else seed,
            n_jobs=self.n_jobs,
        )
        given = len(np.asarray(groups)) if groups is not None else 0
        X, y, weight = self._checked_sample(X, y, sample_weight, missing=True)
        labels = None
        if groups is not None:
            kept = np.asarray(groups)
            if given != len(y) and sample_weight is not None:
                kept = kept[np.asarray(sample_weight) > 0]
            labels = read_groups(kept, len(y)).astype(np.intp)
            check_several(labels)
        fitted = fit_booster(
            np.asarray(X, dtype=np.float64),
            rank(y, weight),
            options=options,
            monotone=self._directions(options.directions),
            interaction=self._sets(options.interaction),
            labels=labels,
        )
        self.ranker_ = fitted.ranker
        self.crossvalidated_ = dict(fitted.crossvalidated)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Score rows: higher ranks better."""
        X = self._checked_rows(X)
        return self.ranker_.predict(X)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Each column's share of what splits gained in the loss."""
        check_is_fitted(self, "ranker_")
        total = self.ranker_.gain.sum()
        return np.asarray(self.ranker_.gain / total if total else self.ranker_.gain)

    def _sets(self, wanted: Any) -> list[list[int]]:
        """Find the columns that may act together; others stand alone."""
        if wanted is None:
            return []
        sets = [] if wanted == "none" else wanted
        found = [[self._column(name, "interaction") for name in names] for names in sets]
        named = {j for columns in found for j in columns}
        return found + [[j] for j in range(self.n_features_in_) if j not in named]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
