"""What all estimators share: checks of what comes in, the score, tags and seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from functools import partial
from numbers import Number
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame, isna
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from crank.design.reader import surely_finite
from crank.design.response import in_order_of
from crank.errors import DataError, OptionError, did_you_mean, listed
from crank.frames.alignment import check_aligned
from crank.frames.columns import NULLS, exceeds_floats
from crank.frames.unusable import usable_way
from crank.growing.matrix import FloatArray
from crank.metrics.figures import IAUC, KENDALL
from crank.plugins.registry import get_learner

DTYPES = (np.float64, np.float32)


class RankingEstimator(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """The base of crank's estimators: each adds its options, `fit` and `predict`."""

    _takes_missing: bool = False
    """Whether the fitted ranker takes missing values; `fit` sets it."""

    learner: Any
    learner_params: Any

    def predict(self, X: Any) -> Any:
        """Score rows: higher ranks better."""
        raise NotImplementedError

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``learner__C=2`` reaches into the learner, also into a named one."""
        nested = any(name.startswith("learner__") for name in params)
        if nested and isinstance(params.get("learner", getattr(self, "learner", None)), str):
            outer = {name: value for name, value in params.items() if "__" not in name}
            super().set_params(**outer)
            self.learner = get_learner(self.learner, getattr(self, "learner_params", None))
            self.learner_params = None
            params = {name: value for name, value in params.items() if name not in outer}
        return super().set_params(**params)  # type: ignore[no-any-return]  # scikit-learn is untyped

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the triple IAUC of the ranking: 1 is perfect, 1/2 random, 0 reversed.

        A response with two distinct values has no triples; its score is the AUC.
        """
        figure = IAUC if len(np.unique(y)) >= IAUC.members else KENDALL
        return figure.estimate(y, self.predict(X), sample_weight)

    def _column(self, name: Any, option: str) -> int:
        """Find a column that an option names, by its name or its number."""
        names = list(getattr(self, "feature_names_in_", range(self.n_features_in_)))
        if name not in names:
            raise OptionError(
                f"{option}= names {name!r}, which X does not have. "
                f"Allowed: {listed(map(repr, names))}.{did_you_mean(name, names)}"
            )
        return names.index(name)

    def _directions(self, wanted: Mapping[Any, int]) -> tuple[int, ...]:
        """Find the direction of each column; nothing if none has one."""
        found = {self._column(name, "monotone"): sign for name, sign in wanted.items()}
        return tuple(found.get(k, 0) for k in range(self.n_features_in_)) if found else ()

    def _checked_sample(
        self, X: Any, y: Any, sample_weight: Any, *, missing: bool
    ) -> tuple[FloatArray, NDArray[np.float64], NDArray[np.float64] | None]:
        """Check rows, responses and weights; rows of weight 0 are left out.

        Arrays of floats do not go scikit-learn's long way.
        """
        X_given = X
        if _usable(X, 2, missing) and _usable(y, 1, missing=False) and len(X) == len(y) > 1:
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
            y = y.astype(np.float64)
        else:
            _refuse_gaps_and_text(y)
            X, y = self._validated(X, missing, y=y, ensure_min_samples=2, y_numeric=True)
            y = _floats_in_order(np.asarray(y))
        if sample_weight is None:
            return X, y, None
        check_aligned(sample_weight, X_given, "sample_weight", beside="X")
        weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        used = weight > 0
        return (X, y, weight) if used.all() else (X[used], y[used], weight[used])

    def _checked_rows(self, X: Any) -> FloatArray:
        """Check rows that are to be scored; arrays of floats without scikit-learn's long way."""
        if not hasattr(self, "n_features_in_"):  # the check alone takes longer than a row's score
            check_is_fitted(self)
        if (
            not hasattr(self, "feature_names_in_")
            and _usable(X, 2, self._takes_missing)
            and X.shape[1] == self.n_features_in_
        ):
            return X  # type: ignore[no-any-return]
        return self._validated(X, self._takes_missing, reset=False)  # type: ignore[no-any-return]

    def _validated(self, X: Any, missing: bool, **more: Any) -> Any:
        """Let scikit-learn check arrays, and say in crank's words what it cannot say as well."""
        finite = "allow-nan" if missing else True
        try:
            return validate_data(self, X, dtype=DTYPES, ensure_all_finite=finite, **more)
        except (TypeError, ValueError) as cause:
            raise self._explained(X, cause) from cause

    def _explained(self, X: Any, cause: TypeError | ValueError) -> Exception:
        """Find crank's words for what scikit-learn refused; its own if there are no better ones."""
        if issparse(X):
            return cause
        message = str(cause)
        if "Input X contains NaN" in message:
            who, other = type(self).__name__, "an estimator that does, such as RankingForest"
            if hasattr(self, "learner"):
                who, other = "this split learner", "one that does (see crank.learners())"
            return DataError(
                f"Input X contains NaN, and {who} takes no missing values. Use {other}, fill the "
                "values, or leave the rows out."
            )
        if "DType" in message:  # what NumPy says of a frame with columns of several types
            message = "Input X cannot be read as numbers"
        for kind, them, types, remedy in _NOT_NUMBERS:
            found = _first_column_of(X, partial(_isinstance, types))
            if found is not None:
                return DataError(
                    f"{message.removesuffix('.')}. Ranking estimators take numbers, and {found[0]} "
                    f"holds {kind}. {remedy}, or use crank.fit(data, formula), which takes {them} "
                    "as they are."
                )
        # scikit-learn's own checks know the words of its TypeErrors
        own = isinstance(cause, TypeError) and "DType" not in str(cause)
        found = None if own else _first_column_of(X, _is_no_value)
        if found is not None:
            where, held = found
            return DataError(
                f"{message.splitlines()[0].removesuffix('.')}. Ranking estimators take numbers, "
                f"and {where} holds values of the type {held}. {usable_way(held)}"
            )
        return cause


def _usable(values: Any, ndim: int, missing: bool) -> bool:
    """Tell whether values are an array of floats that may be used as it is."""
    if type(values) is not np.ndarray or values.dtype not in DTYPES:
        return False
    if values.ndim != ndim or not values.size:
        return False
    if surely_finite(values):
        return True
    return bool(not np.isinf(values).any() if missing else np.isfinite(values).all())


def _refuse_gaps_and_text(y: Any) -> None:
    """Raise if responses are missing or text; scikit-learn would advise other estimators."""
    if y is None:
        return
    values = np.asarray(y)
    if values.ndim != 1 or values.dtype.kind not in "fOMUS":
        return
    missing = np.asarray(isna(values))
    if missing.any():
        rows = np.flatnonzero(missing)
        raise DataError(
            f"Input y contains NaN in {len(rows)} of {len(values)} rows, the first is row "
            f"{rows[0]}. A row without a response cannot be ranked: leave these rows out of X "
            "and y. crank.fit(data, formula) does so by itself."
        )
    odd = next(filter(_is_no_value, values.tolist()), None) if values.dtype == object else None
    if odd is not None:
        held = type(odd).__name__
        raise DataError(
            f"y holds values of the type {held}. Ranking needs responses in an order, such as "
            f"numbers or dates. {usable_way(held)}"
        )
    if values.dtype.kind in "OUS":
        text = next((k for k, value in enumerate(values.tolist()) if isinstance(value, str)), None)
        if text is not None and not _is_number(values[text]):
            raise DataError(
                f"y holds text in row {text}: {str(values[text])!r}. Ranking needs responses in "
                "an order: give numbers, such as the positions of classes in their order."
            )


def _is_number(text: Any) -> bool:
    """Tell whether scikit-learn will read a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _floats_in_order(y: NDArray[Any]) -> NDArray[np.float64]:
    """Return responses as floats; whole numbers beyond 2**53 do not tie where they differ."""
    floats = y.astype(np.float64)
    if y.dtype.kind in "iu" and exceeds_floats(y):
        return in_order_of(floats, y)
    return floats


_NOT_NUMBERS = (
    ("text", "categories", (str,), "Encode it (with OrdinalEncoder or OneHotEncoder)"),
    ("dates", "dates", (date, np.datetime64), "Count days since a fixed one"),
)


def _first_column_of(X: Any, holds: Callable[[Any], bool]) -> tuple[str, str] | None:
    """Name the first column that holds such values, by name or number, and their type."""
    columns = getattr(X, "columns", None)
    try:
        # column by column: pandas would make floats beside complex numbers complex
        rows = np.asarray(X.astype(object) if isinstance(X, DataFrame) else X, dtype=object)
    except ValueError:  # rows of several lengths
        return None
    if rows.ndim == 2:
        for k in range(rows.shape[1]):
            for value in rows[:, k]:
                if holds(value):
                    named = f"column {k if columns is None else columns[k]!r}"
                    return named, type(value).__name__
    return None


def _isinstance(types: tuple[type, ...], value: Any) -> bool:
    return isinstance(value, types)


def _is_no_value(value: Any) -> bool:
    """Tell whether a value is neither a number nor missing."""
    if isinstance(value, complex | np.complexfloating | np.timedelta64 | timedelta):
        return True
    if isinstance(value, Number | np.generic | str | date):
        return False
    return type(value).__name__ not in NULLS


def seed_of(random_state: Any) -> int | None:
    """Turn what scikit-learn takes as a random state into the seed that crank takes."""
    if random_state is None or isinstance(random_state, int):
        return random_state
    if isinstance(random_state, np.integer):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(check_random_state(random_state).randint(2**31))
