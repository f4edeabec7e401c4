"""scikit-learn estimators: arrays in, scores out; for pipelines, searches and cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from crank import metrics
from crank.design.reader import surely_finite
from crank.options import TreeOptions
from crank.plugins.base import FloatArray, SplitLearner
from crank.plugins.registry import get_learner
from crank.procedure import fit_tree
from crank.prune import PruningPath
from crank.ranks import rank

PLAIN = (np.dtype(np.float64), np.dtype(np.float32))


class RankingTree(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """An oriented ranking tree as a scikit-learn estimator.

    Parameters
    ----------
    learner : str or SplitLearner
        How a node is split; see `crank.learners`.
    learner_params : mapping, optional
        Settings of the learner.
    criterion : {"crank", "kendall", "iauc", "spearman"}
        What a split maximises.
    max_depth, min_samples_leaf : int
        Limits of the tree.
    leaf_order : {"auto", "oriented", "rank"}
        See `crank.fit`.
    prune : {"cv", "1se", None}
        Unlike `crank.fit`, an estimator does not prune unless it is asked to: outer
        cross-validation is scikit-learn's business.
    cv, cv_repeats : int
        Folds of the pruning, and how often they are drawn anew.
    random_state : int, RandomState or None
    n_jobs : int
        Threads.

    Attributes
    ----------
    tree_ : crank.tree.Tree
    path_ : crank.prune.PruningPath
    validation_ : crank.validate.Validation or None
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
        criterion: str = "crank",
        max_depth: int = 6,
        min_samples_leaf: int = 1,
        leaf_order: Literal["auto", "oriented", "rank"] = "auto",
        prune: Literal["cv", "1se"] | None = None,
        cv: int = 10,
        cv_repeats: int = 1,
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
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n, p)
            NaN is a missing value, for learners that take them.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Rows of weight 0 are as if absent.
        """
        options = TreeOptions(
            criterion=self.criterion,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            leaf_order=self.leaf_order,
            prune=self.prune,
            cv=self.cv if self.prune is not None else 2,
            cv_repeats=self.cv_repeats,
            random_state=_seed(self.random_state),
            n_jobs=self.n_jobs,
        )
        learner = get_learner(self.learner, self.learner_params)
        X, y = self._checked_sample(X, y, learner.takes_missing)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
            used = weight > 0
            if not used.all():
                X, y, weight = X[used], y[used], weight[used]
        fitted = fit_tree(X, rank(y, weight), learner=learner, options=options)
        self.tree_ = fitted.tree
        self.validation_ = fitted.validation
        self._fitted = fitted
        self._takes_missing = learner.takes_missing
        return self

    @property
    def path_(self) -> PruningPath:
        """The nested subtrees of the tree as grown."""
        check_is_fitted(self, "tree_")
        return self._fitted.path

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Score rows: higher ranks better."""
        X = self._checked_rows(X)
        return self.tree_.score(X, self.n_jobs)

    def apply(self, X: Any) -> NDArray[np.intp]:
        """Return the leaf of each row, 0 for the best."""
        X = self._checked_rows(X)
        return self.tree_.apply(X, self.n_jobs)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the triple IAUC of the ranking: 1 is perfect, 1/2 random, 0 reversed.

        A response with two distinct values has no triples; its score is the AUC.
        """
        figure = metrics.iauc if len(np.unique(y)) > 2 else metrics.kendall
        return float(figure(y, self.predict(X), weights=sample_weight))

    def _checked_sample(self, X: Any, y: Any, missing: bool) -> tuple[FloatArray, FloatArray]:
        """Check rows and responses, plain arrays without scikit-learn's long way round."""
        if (
            _is_plain(X, missing)
            and _is_plain(y, False, ndim=1)
            and len(X) == len(y) > 1
            and not hasattr(self, "feature_names_in_")
        ):
            self.n_features_in_ = X.shape[1]
        else:
            X, y = validate_data(
                self,
                X,
                y,
                dtype=[np.float64, np.float32],
                ensure_all_finite="allow-nan" if missing else True,
                ensure_min_samples=2,
                y_numeric=True,
            )
        return X, np.asarray(y, dtype=np.float64)

    def _checked_rows(self, X: Any) -> FloatArray:
        """Check rows that are to be scored."""
        if not hasattr(self, "tree_"):
            check_is_fitted(self, "tree_")
        plain = _is_plain(X, self._takes_missing) and X.shape[1] == self.n_features_in_
        if plain and not hasattr(self, "feature_names_in_"):
            return X  # type: ignore[no-any-return]
        return validate_data(  # type: ignore[no-any-return]
            self,
            X,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if self._takes_missing else True,
            reset=False,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            tags.input_tags.allow_nan = get_learner(self.learner, self.learner_params).takes_missing
        except Exception:  # a bad learner is reported by fit, not by its tags
            tags.input_tags.allow_nan = False
        return tags


def _is_plain(values: Any, missing: bool, ndim: int = 2) -> bool:
    """Tell whether this is an array, not empty, of floats that may be used as they are."""
    if type(values) is not np.ndarray or values.dtype not in PLAIN or values.ndim != ndim:
        return False
    if not values.size:
        return False
    if surely_finite(values):
        return True
    return bool(not np.isinf(values).any() if missing else np.isfinite(values).all())


def _seed(random_state: Any) -> int | None:
    if random_state is None or isinstance(random_state, int):
        return random_state
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(check_random_state(random_state).randint(2**31))
