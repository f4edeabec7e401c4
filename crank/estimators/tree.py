"""The ranking tree as an estimator, for pipelines, searches and cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from crank.estimators.base import seed_of
from crank.estimators.learner import LearnerEstimator, group_numbers
from crank.fitting.tree import fit_tree
from crank.plugins.base import SplitLearner
from crank.plugins.nodewise import require_monotone
from crank.plugins.registry import get_learner
from crank.rankers.options import TreeOptions
from crank.rankers.pruning import PruningPath
from crank.ranks import rank


class RankingTree(LearnerEstimator):
    """An oriented ranking tree as a scikit-learn estimator.

    Parameters
    ----------
    learner : str or SplitLearner
        How a node is split; see `crank.learners`.
    learner_params : mapping, optional
        Settings of the learner.
    criterion : {"auto", "crank", "kendall", "iauc", "spearman"}
        What a split maximises; "auto" is "crank", or "kendall" if y is binary or heavily tied:
        see `crank.fit`.
    max_depth, min_samples_leaf : int
        Limits of the tree.
    leaf_order : {"auto", "oriented", "rank"}
        See `crank.fit`.
    prune : {"cv", "1se", None}
        Unlike `crank.fit`, an estimator does not prune unless it is asked to: outer
        cross-validation is scikit-learn's business.
    cv, cv_repeats : int
        Folds of the pruning, and how often they are drawn anew.
    monotone : mapping, optional
        "increasing" or "decreasing" (1 or −1) by column: its name if X has names, else its number.
        See `crank.fit`.
    random_state : int, RandomState or None
    n_jobs : int
        Threads.

    Attributes
    ----------
    tree_ : crank.growing.tree.Tree
    path_ : crank.rankers.pruning.PruningPath
    validation_ : crank.rankers.validation.Validation or None
    feature_importances_ : ndarray of shape (p,)
        Each column's share of what the tree achieves on its training rows; they sum to 1.
    n_features_in_ : int
    feature_names_in_ : ndarray, if X had column names

    Examples
    --------
    >>> from crank import RankingTree, datasets
    >>> train, test = datasets.paper_sample()
    >>> tree = RankingTree(criterion="iauc", max_depth=3).fit(train.X, train.y)
    >>> round(tree.score(test.X, test.y), 3)
    0.942
    """

    def __init__(
        self,
        learner: str | SplitLearner = "stump",
        *,
        learner_params: Mapping[str, Any] | None = None,
        criterion: str = "auto",
        max_depth: int = 6,
        min_samples_leaf: int = 1,
        leaf_order: Literal["auto", "oriented", "rank"] = "auto",
        prune: Literal["cv", "1se"] | None = None,
        cv: int = 10,
        cv_repeats: int = 1,
        monotone: Mapping[Any, str | int] | None = None,
        random_state: Any = None,
        n_jobs: int = 1,
    ) -> None:
        self.learner = learner
        self.learner_params = learner_params
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.leaf_order = leaf_order
        self.prune = prune
        self.cv = cv
        self.cv_repeats = cv_repeats
        self.monotone = monotone
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n, p)
            NaN is a missing value, for learners that take them.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Rows of weight 0 are as if absent.
        groups : array-like of shape (n,), optional
            Label of the group to which each row belongs; the folds of pruning keep groups whole.
        """
        options = TreeOptions(
            criterion=self.criterion,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            leaf_order=self.leaf_order,
            prune=self.prune,
            cv=self.cv if self.prune is not None else 2,
            cv_repeats=self.cv_repeats,
            random_state=seed_of(self.random_state),
            n_jobs=self.n_jobs,
            monotone=self.monotone,  # type: ignore[arg-type]  # numbers become words there
        )
        learner = get_learner(self.learner, self.learner_params)
        if options.monotone:
            require_monotone(learner)
        X, y, weight = self._checked_sample(X, y, sample_weight, missing=learner.takes_missing)
        labels = group_numbers(groups, len(y), sample_weight)
        monotone = self._directions(options.directions)
        fitted = fit_tree(
            X,
            rank(y, weight),
            learner=learner,
            options=options,
            monotone=monotone,
            labels=labels,
            history=self.prune is not None,
        )
        self.tree_ = fitted.tree
        self.validation_ = fitted.validation
        self.criterion_ = fitted.criterion
        self._fitted = fitted
        self._takes_missing = learner.takes_missing
        return self

    @property
    def path_(self) -> PruningPath:
        """The nested subtrees of the tree as grown."""
        check_is_fitted(self, "tree_")
        return self._fitted.path

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Each column's share of what the tree achieves on its training rows.

        Exact shares of Kendall's τ (Somers' D where scores tie) or of 2 IAUC − 1, whichever fits
        the criterion, of the leaves in their order from left to right; they sum to 1, or are all
        0 for a tree without splits.
        """
        check_is_fitted(self, "tree_")
        gains = self.tree_.column_gains(self._fitted.path.figure, self.n_features_in_)
        total = gains.sum()
        return np.asarray(gains / total if total else gains)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Score rows: higher ranks better."""
        X = self._checked_rows(X)
        return self.tree_.score(X, self.n_jobs)

    def apply(self, X: Any) -> NDArray[np.intp]:
        """Return the leaf of each row, 0 for the best."""
        X = self._checked_rows(X)
        return self.tree_.apply(X, self.n_jobs)
