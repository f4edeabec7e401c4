"""The ranking forest as an estimator, for pipelines, searches and cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from crank.checks import flag
from crank.estimators.base import seed_of
from crank.estimators.learner import LearnerEstimator, group_numbers
from crank.fitting.forest import check_learner, fit_forest
from crank.plugins.base import SplitLearner
from crank.plugins.registry import get_learner, name_of
from crank.rankers.forest import ForestOptions, ForestRanker
from crank.rankers.tree import LearnerInfo
from crank.rankers.validation import Estimate
from crank.ranks import rank


class RankingForest(LearnerEstimator):
    """A ranking forest as a scikit-learn estimator.

    Parameters
    ----------
    n_trees : int
    learner : str or SplitLearner
        How a node is split; see `crank.learners`.
    learner_params : mapping, optional
        Settings of the learner.
    criterion : {"auto", "crank", "kendall", "iauc", "spearman"}
        What a split maximises; "auto" is "spearman".
    max_depth, min_samples_leaf, max_features, thresholds, bootstrap, max_samples
        How trees are grown and bags are drawn; see `crank.forest`. ``ranker_.choice`` says what
        "auto" came to.
    monotone : mapping, optional
        "increasing" or "decreasing" (1 or −1) by column: its name if X has names, else its number.
    random_state : int, RandomState or None
    n_jobs : int
        Threads; the forest does not depend on it.
    oob_score : bool
        Whether the forest is judged on the rows out of its bags, as `crank.forest` always is. The
        trees are the same.

    Attributes
    ----------
    ranker_ : crank.rankers.forest.ForestRanker
    oob_score_, oob_kendall_, oob_iauc_ : float
        Only if ``oob_score`` is true: the figure of `score`, d_τ and IAUC of the rows out of bag;
        NaN if there are none.
    feature_importances_ : ndarray of shape (p,)
        Each column's share of the gains of all splits; they sum to 1.
    n_features_in_ : int
    feature_names_in_ : ndarray, if X had column names

    Examples
    --------
    >>> from crank import RankingForest, datasets
    >>> train, test = datasets.paper_sample()
    >>> forest = RankingForest(n_trees=50, random_state=0).fit(train.X, train.y)
    >>> round(forest.score(test.X, test.y), 2)
    1.0
    """

    def __init__(
        self,
        n_trees: int = 500,
        *,
        learner: str | SplitLearner = "stump",
        learner_params: Mapping[str, Any] | None = None,
        criterion: str = "auto",
        max_depth: int = 30,
        min_samples_leaf: int | Literal["auto"] = "auto",
        max_features: int | float | Literal["auto", "sqrt"] | None = "auto",
        thresholds: Literal["auto", "best", "random", "mixed"] = "auto",
        bootstrap: bool = True,
        max_samples: float | None = None,
        monotone: Mapping[Any, str | int] | None = None,
        random_state: Any = None,
        n_jobs: int = -1,
        oob_score: bool = False,
    ) -> None:
        self.n_trees = n_trees
        self.learner = learner
        self.learner_params = learner_params
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.thresholds = thresholds
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.monotone = monotone
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.oob_score = oob_score

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : array-like of shape (n, p)
            NaN is a missing value, for learners that take them.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Rows of weight 0 are as if absent.
        groups : array-like of shape (n,), optional
            Label of the group to which each row belongs; bags draw whole groups.
        """
        options = ForestOptions(
            n_trees=self.n_trees,
            criterion=self.criterion,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            max_features=self.max_features,
            thresholds=self.thresholds,
            bootstrap=self.bootstrap,
            max_samples=self.max_samples,
            random_state=seed_of(self.random_state),
            n_jobs=self.n_jobs,
            monotone=self.monotone,  # type: ignore[arg-type]  # numbers become words there
        )
        flag("oob_score", self.oob_score)
        learner = get_learner(self.learner, self.learner_params)
        check_learner(learner, options)
        X, y, weight = self._checked_sample(X, y, sample_weight, missing=learner.takes_missing)
        fitted = fit_forest(
            X,
            rank(y, weight),
            learner=learner,
            options=options,
            monotone=self._directions(options.directions),
            labels=group_numbers(groups, len(y), sample_weight),
            judge=self.oob_score,
        )
        self.ranker_ = ForestRanker(
            options=options,
            learner=LearnerInfo(
                name=name_of(learner) or type(learner).__name__,
                params=dict(self.learner_params or {}),
                takes_missing=learner.takes_missing,
                takes_categories=learner.takes_categories,
                contract=learner.contract,
            ),
            criterion=fitted.criterion,
            because=fitted.because,
            trees=fitted.trees,
            rungs=fitted.rungs,
            oob=fitted.oob,
            n_oob=fitted.n_oob,
            choice=fitted.choice,
        )
        self._note_figures(fitted.oob)
        self._takes_missing = learner.takes_missing
        return self

    def _note_figures(self, oob: Mapping[str, Estimate]) -> None:
        """Keep the figures out of bag if they were asked for; those of an earlier fit go."""
        found = {name: known.estimate for name, known in oob.items()}
        kendall, iauc = (found.get(name, float("nan")) for name in ("kendall", "iauc"))
        # `score` counts pairs where there are no triples
        figures = {"kendall": kendall, "iauc": iauc, "score": found.get("iauc", kendall)}
        for name, figure in figures.items():
            if self.oob_score:
                setattr(self, f"oob_{name}_", figure)
            elif hasattr(self, f"oob_{name}_"):
                delattr(self, f"oob_{name}_")

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Each column's share of the gains of all splits, in concordant pairs of their bags."""
        check_is_fitted(self, "ranker_")
        gains = self.ranker_.trees.credits(self.n_features_in_)
        total = gains.sum()
        return np.asarray(gains / total if total else gains)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Score rows with the sum of votes: higher ranks better."""
        X = self._checked_rows(X)
        return self.ranker_.predict(X)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree, shape (n, trees)."""
        X = self._checked_rows(X)
        return self.ranker_.trees.leaves(X)
