"""Classifiers on trial: whether their models can be saved, and their warnings kept from users."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

_LOCK = threading.Lock()
_OPEN: list[Any] = []
_INSIDE = 0


@contextmanager
def without_warnings() -> Iterator[None]:
    """Ignore warnings of convergence and of the future, also while several threads fit.

    A fit of many nodes would repeat them many times. Only the outermost of those that overlap
    touches the filters: they belong to the whole process.
    """
    from sklearn.exceptions import ConvergenceWarning

    global _INSIDE
    with _LOCK:
        if not _INSIDE:
            _OPEN.append(warnings.catch_warnings())
            _OPEN[0].__enter__()
            for category in (ConvergenceWarning, FutureWarning):
                warnings.simplefilter("ignore", category)
        _INSIDE += 1
    try:
        yield
    finally:
        with _LOCK:
            _INSIDE -= 1
            if not _INSIDE:
                _OPEN.pop().__exit__(None, None, None)


def is_translated(estimator: Any) -> bool:
    """Tell whether a classifier becomes plain arrays, by a fit of a few made-up rows.

    One that cannot be fitted to them is given the benefit of the doubt.

    Examples
    --------
    >>> from sklearn.ensemble import AdaBoostClassifier
    >>> from sklearn.naive_bayes import GaussianNB
    >>> is_translated(AdaBoostClassifier(n_estimators=3)), is_translated(GaussianNB())
    (True, False)
    """
    kind: Any = type(estimator)
    return _tried(kind, repr(estimator), _Held(estimator))


class _Held:
    """A classifier as an argument that all are equal in: the cache goes by the others."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=64)
def _tried(kind: type, settings: str, held: _Held) -> bool:
    from sklearn.base import clone

    from crank.plugins.sklearn_arrays import as_arrays

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    classes = (X[:, 0] + 0.5 * rng.normal(size=60) > 0.0).astype(int)
    trial = clone(held.estimator)
    try:
        with without_warnings():
            trial.set_params(**_few(trial))
            return as_arrays(trial.fit(X, classes), X) is not None
    except Exception:  # whatever a classifier finds wrong with these rows
        return True


def _few(estimator: Any) -> dict[str, Any]:
    """Ask for few trees: how many there are does not change what they are."""
    return {
        name: min(value, 3)
        for name, value in estimator.get_params(deep=True).items()
        if name.rpartition("__")[2] == "n_estimators" and isinstance(value, int)
    } | {
        name: 0
        for name, value in estimator.get_params(deep=True).items()
        if name.rpartition("__")[2] == "random_state" and value is None
    }
