"""Fitted scikit-learn classifiers as plain arrays, where they have a translation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.descent import NodeTable
from crank.plugins.base import FloatArray
from crank.plugins.linear import LinearRule, place_bias
from crank.plugins.standardise import Standardiser
from crank.plugins.trees import TreesRule, shares

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
        chance = np.clip(
            estimator.predict_proba(X)[:, 1], LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY
        )
        value = np.log(chance) - np.log1p(-chance)
    else:
        value = np.asarray(estimator.predict(X), dtype=np.float64)
    return np.nan_to_num(value)


def as_arrays(estimator: Any, X: FloatArray) -> LinearRule | TreesRule | None:
    """Translate a fitted classifier, or return None if that is not possible.

    A translation counts only if it decides like the classifier on the training rows.
    """
    rule = _linear(estimator, X.shape[1])
    if rule is not None:
        value = rule.decision(X)
        if not _close(value, decision_values(estimator, X)):
            return None
        return replace(rule, bias=place_bias(value - rule.bias, rule.bias))
    trees = _trees(estimator)
    if trees is not None and hasattr(estimator, "predict_proba"):
        lean = 2.0 * estimator.predict_proba(X)[:, 1] - 1.0
        return trees if _close(trees.decision(X), lean) else None
    return None


def _close(value: NDArray[np.float64], wanted: NDArray[np.float64]) -> bool:
    return bool(np.allclose(value, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max(initial=0.0)))


def _linear(estimator: Any, p: int) -> LinearRule | None:
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    standardiser = Standardiser(np.zeros(p), np.ones(p))
    if isinstance(estimator, Pipeline) and len(estimator.steps) == 2:
        scaler, estimator = (step for _, step in estimator.steps)
        if not isinstance(scaler, StandardScaler):
            return None
        standardiser = Standardiser(
            standardiser.centre if scaler.mean_ is None or not scaler.with_mean else scaler.mean_,
            standardiser.scale if scaler.scale_ is None else scaler.scale_,
        )
    coef = np.asarray(getattr(estimator, "coef_", ()))
    bias = np.asarray(getattr(estimator, "intercept_", ()))
    if (
        not hasattr(estimator, "decision_function")
        or coef.dtype.kind != "f"
        or coef.shape not in ((1, p), (p,))
        or bias.size != 1
    ):
        return None
    return LinearRule.of(standardiser, coef.ravel().astype(np.float64), float(bias.item()))


def _trees(estimator: Any) -> TreesRule | None:
    members = [estimator] if hasattr(estimator, "tree_") else getattr(estimator, "estimators_", ())
    grown: list[Any] = [getattr(member, "tree_", None) for member in np.ravel(members)]
    if not grown or not all(t is not None and t.value.shape[1:] == (1, 2) for t in grown):
        return None
    nodes = NodeTable.joined(_one_tree(tree, len(grown)) for tree in grown)
    if not nodes.inner.any():
        return None
    gain = np.concatenate([_gains(tree) for tree in grown])
    return TreesRule(nodes, shares(nodes.column[nodes.inner], gain[nodes.inner]))


def _one_tree(tree: Any, n_trees: int) -> NodeTable:
    own = np.arange(tree.node_count)
    leaf = tree.children_left < 0
    lean = (tree.value[:, 0, 1] - tree.value[:, 0, 0]) / n_trees
    return NodeTable(
        np.where(leaf, 0, tree.feature),
        np.where(leaf, 0.0, double_threshold(np.where(leaf, 0.0, tree.threshold))),
        np.where(leaf, own, tree.children_left),
        np.where(leaf, own, tree.children_right),
        tree.missing_go_to_left.astype(bool) & ~leaf,
        np.where(leaf, lean, 0.0),
        np.zeros(1, dtype=np.intp),
    )


def _gains(tree: Any) -> NDArray[np.float64]:
    """Return the decrease of impurity at each inner node, in units of weight."""
    here = tree.impurity * tree.weighted_n_node_samples
    gain: NDArray[np.float64] = here - here[tree.children_left] - here[tree.children_right]
    return gain


def double_threshold(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest doubles that, rounded to single precision, do not exceed a threshold.

    scikit-learn's trees compare single-precision values; the rule compares doubles.

    Examples
    --------
    >>> import numpy as np
    >>> t = double_threshold(np.array([0.1]))[0]
    >>> float(np.float32(t)) <= 0.1, float(np.float32(np.nextafter(t, 1.0))) <= 0.1
    (True, False)
    """
    largest = np.finfo(np.float32).max
    with np.errstate(over="ignore"):
        single = np.clip(threshold, -largest, largest).astype(np.float32)
        single = np.where(single > threshold, np.nextafter(single, np.float32(-np.inf)), single)
        above = np.nextafter(single, np.float32(np.inf)).astype(np.float64)
        # halves between two singles round to the even one; an infinite threshold lets all pass
        halfway = single.astype(np.float64) / 2 + above / 2
        border = np.where(np.isinf(above), np.finfo(np.float64).max, halfway)
        rounds_up = np.isfinite(above) & (border.astype(np.float32) > threshold)
    return np.where(rounds_up, np.nextafter(border, -np.inf), border)
