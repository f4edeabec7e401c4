"""Fitted scikit-learn classifiers as plain arrays, where they have a translation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.plugins.base import FloatArray
from crank.plugins.linear import LinearRule, place_bias
from crank.plugins.sklearn_pipelines import affine, before_scaling, split_pipeline, transformed
from crank.plugins.sklearn_trees import sum_of_trees
from crank.plugins.standardise import Standardiser
from crank.plugins.trees import TreesRule

LEAST_PROBABILITY = 1e-12


def decision_values(estimator: Any, X: FloatArray) -> NDArray[np.float64]:
    """Return a finite decision value a row, above 0 where the classifier says +1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> X, y = np.zeros((4, 1)), np.array([-1, 1, 1, 1])
    >>> decision_values(DummyClassifier().fit(X, y), X[:1]).round(2).tolist()
    [1.1]
    """
    if hasattr(estimator, "decision_function"):
        value = np.asarray(estimator.decision_function(X), dtype=np.float64)
        if value.ndim == 2:
            value = value[:, -1] if value.shape[1] == 1 else value[:, 1] - value[:, 0]
    elif hasattr(estimator, "predict_proba"):
        # double first: some answer in single precision, where the bounds would round to 0 and 1
        chance = np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, 1]
        chance = np.clip(chance, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
        value = np.log(chance) - np.log1p(-chance)
    else:
        value = np.where(np.asarray(estimator.predict(X)) == estimator.classes_[-1], 1.0, -1.0)
    return np.nan_to_num(value)


def as_arrays(estimator: Any, X: FloatArray) -> LinearRule | TreesRule | None:
    """Translate a fitted classifier, or return None if that is not possible.

    A translation counts only if it decides like the classifier on the training rows.
    """
    steps, last = split_pipeline(estimator)
    if last is None:
        return None
    rule = _linear(steps, last, X.shape[1])
    if rule is not None:
        value = rule.decision(X)
        if not _close(value, decision_values(estimator, X)):
            return None
        return replace(rule, bias=place_bias(value - rule.bias, rule.bias))
    found = sum_of_trees(last, X if not steps else transformed(steps, X))
    if found is None:
        return None
    trees, is_decision = found
    if steps:
        trees = before_scaling(trees, steps)
    wanted = (
        decision_values(estimator, X)
        if is_decision
        else 2.0 * estimator.predict_proba(X)[:, 1] - 1.0
    )
    return trees if _close(trees.decision(X), wanted) else None


def _close(value: NDArray[np.float64], wanted: NDArray[np.float64]) -> bool:
    return bool(np.allclose(value, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max(initial=0.0)))


def _linear(steps: Sequence[Any], estimator: Any, p: int) -> LinearRule | None:
    coef = np.asarray(getattr(estimator, "coef_", ()))
    bias = np.asarray(getattr(estimator, "intercept_", ()))
    if (
        not hasattr(estimator, "decision_function")
        or coef.dtype.kind != "f"
        or coef.shape not in ((1, p), (p,))
        or bias.size != 1
    ):
        return None
    slope, offset, fill = affine(steps, p)
    # a missing value lies at the centre, so the centre is what the imputer puts in its place
    centre = np.where(np.isnan(fill), -offset / slope, fill)
    weight = coef.ravel().astype(np.float64)
    at_centre = float(weight @ (slope * centre + offset)) + float(bias.item())
    return LinearRule.of(Standardiser(centre, 1.0 / slope), weight, at_centre)
