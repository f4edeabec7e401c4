"""The additive ranker as an estimator, for pipelines, searches and cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from crank.design.spec import DesignSpec
from crank.errors import OptionError
from crank.estimators.base import RankingEstimator, seed_of
from crank.fitting.additive_terms import fit_terms
from crank.formula import every_column, learn_design
from crank.frames.table import Table
from crank.growing.matrix import FloatArray
from crank.rankers.additive import RIDGE, AdditiveOptions
from crank.rankers.directions import in_words, signs_of
from crank.ranks import rank


class RankingAdditive(RankingEstimator):
    """An additive ranker as a scikit-learn estimator: a curve for each column of X.

    Parameters
    ----------
    link : {"logit", "probit"}
        From the difference of two scores to the probability that the first ranks above.
    smoothing : float, optional
        What bending costs; see `crank.additive`. By default each curve has its own.
    penalty : float
        Ridge; see `crank.additive`.
    pairs : int, "auto" or list of pairs of names
        Surfaces over pairs of columns; see `crank.additive`.
    monotone : mapping, optional
        "increasing" or "decreasing" (1 or −1) by column: its name if X has names, else its number.
        See `crank.additive`.
    cv : int, splitter or iterable of (train, test)
        Folds that say how many pairs, as scikit-learn takes them. Training rows must be all
        others.
    random_state : int, RandomState or None
        Seed of the folds, if ``cv`` is a number.

    Attributes
    ----------
    ranker_ : crank.rankers.additive.AdditiveRanker
    design_ : crank.design.spec.DesignSpec
        The spline basis of each column.
    n_features_in_ : int
    feature_names_in_ : ndarray, if X had column names

    Examples
    --------
    >>> from crank import RankingAdditive, datasets
    >>> sample = datasets.regression(300, p=5, random_state=0)
    >>> m = RankingAdditive().fit(sample.X, sample.y)
    >>> round(m.score(sample.X, sample.y), 2)
    0.99
    """

    def __init__(
        self,
        link: Literal["logit", "probit"] = "logit",
        *,
        smoothing: float | None = None,
        penalty: float = RIDGE,
        pairs: Any = "auto",
        monotone: Mapping[Any, str | int] | None = None,
        cv: Any = 5,
        random_state: Any = 0,
    ) -> None:
        self.link = link
        self.smoothing = smoothing
        self.penalty = penalty
        self.pairs = pairs
        self.monotone = monotone
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose pairs and smoothing, and fit the curves.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Rows of weight 0 are as if absent.
        """
        seed = seed_of(self.random_state)
        options = AdditiveOptions(
            self.link,
            self.smoothing,
            self.penalty,
            pairs=self.pairs,
            cv=int(self.cv) if isinstance(self.cv, Integral) else 2,
            random_state=int(np.random.default_rng().integers(2**31)) if seed is None else seed,
            monotone=self.monotone,  # type: ignore[arg-type]  # numbers become words there
        )
        folds = None if isinstance(self.cv, Integral) else _folds(self.cv, X, y)
        if folds is not None and sample_weight is not None:
            folds = folds[np.broadcast_to(sample_weight, len(folds)) > 0]
        X, y, weight = self._checked_sample(X, y, sample_weight, missing=False)
        table = self._table(X)
        signs = self._directions(signs_of(options.monotone))
        named = {name: sign for name, sign in zip(table.names, signs, strict=False) if sign}
        options = replace(options, monotone=in_words(named))
        parsed = every_column(table)
        design = learn_design(parsed, table, native=False, smooth=True, weights=weight)
        found = fit_terms(
            parsed,
            table,
            design,
            design.matrix(table),
            rank(y, weight),
            options=options,
            weights=weight,
            folds=folds,
        )
        self.design_: DesignSpec = found.design
        self.ranker_ = found.ranker
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Score rows: higher ranks better."""
        X = self._checked_rows(X)
        return self.ranker_.predict(self.design_.matrix(self._table(X)))

    def _table(self, X: FloatArray) -> Table:
        names = getattr(self, "feature_names_in_", None)
        labels = [f"x{k}" for k in range(X.shape[1])] if names is None else list(names)
        return Table.read({label: X[:, k].astype(np.float64) for k, label in enumerate(labels)})


def _folds(cv: Any, X: Any, y: Any) -> NDArray[np.intp]:
    """Find the number of the fold in which each row is held out."""
    fold = np.full(len(y), -1, dtype=np.intp)
    for k, (train, test) in enumerate(check_cv(cv).split(X, y)):
        if len(np.union1d(train, test)) < len(y) or (fold[test] >= 0).any():
            raise OptionError(
                "cv gives splits in which rows are neither trained on nor held out, or are held "
                "out twice. Allowed: a number of folds, KFold, GroupKFold and the like."
            )
        fold[test] = k
    return fold
