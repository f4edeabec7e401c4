"""Trees, forests and boosters of scikit-learn as one sum over a table of nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.descent import NodeTable
from crank.plugins.base import FloatArray
from crank.plugins.trees import TreesRule, shares


def sum_of_trees(estimator: Any, X: FloatArray) -> tuple[TreesRule, bool] | None:
    """Translate a fitted classifier made of trees.

    Returns
    -------
    (TreesRule, bool) or None
        The sum, and whether it is the classifier's decision value; else it is how far the chance
        of +1 lies above that of −1.
    """
    name = type(estimator).__name__
    if not type(estimator).__module__.startswith("sklearn."):
        return None
    boosters: dict[str, Callable[[], TreesRule | None]] = {
        "GradientBoostingClassifier": lambda: _gradient_boosting(estimator, X),
        "HistGradientBoostingClassifier": lambda: _histogram_boosting(estimator),
        "AdaBoostClassifier": lambda: _adaboost(estimator),
    }
    if name in boosters:
        found = boosters[name]()
        return None if found is None else (found, True)
    members = [estimator] if hasattr(estimator, "tree_") else getattr(estimator, "estimators_", ())
    grown = _classification_trees(members)
    if not grown or not hasattr(estimator, "predict_proba"):
        return None
    leans = [(tree.value[:, 0, 1] - tree.value[:, 0, 0]) / len(grown) for tree in grown]
    found = _joined([_table(t, lean) for t, lean in zip(grown, leans, strict=True)], grown)
    return None if found is None else (found, False)


def _classification_trees(members: Any) -> list[Any]:
    grown: list[Any] = [getattr(member, "tree_", None) for member in np.ravel(members)]
    two = all(tree is not None and tree.value.shape[1:] == (1, 2) for tree in grown)
    return grown if two else []


def _gradient_boosting(estimator: Any, X: FloatArray) -> TreesRule | None:
    """Sum the scaled values; the constant that boosting starts from joins the first tree."""
    grown = [stage[0].tree_ for stage in estimator.estimators_]
    values = [estimator.learning_rate * tree.value[:, 0, 0] for tree in grown]
    start = float(estimator.decision_function(X[:1])[0])
    for tree, value in zip(grown, values, strict=True):
        start -= float(value[tree.apply(X[:1].astype(np.float32))[0]])
    values[0] = start + values[0]
    return _joined([_table(t, v) for t, v in zip(grown, values, strict=True)], grown)


def _adaboost(estimator: Any) -> TreesRule | None:
    """Let each tree vote by its weight; a tied leaf votes for the low label, as it does there."""
    grown = _classification_trees(estimator.estimators_)
    if not grown:
        return None
    weight = np.asarray(estimator.estimator_weights_[: len(grown)], dtype=np.float64)
    tables = []
    for tree, own in zip(grown, weight / weight.sum(), strict=True):
        high = tree.value[:, 0, 1] > tree.value[:, 0, 0]
        tables.append(_table(tree, np.where(high, 2.0 * own, -2.0 * own)))
    return _joined(tables, grown)


def _histogram_boosting(estimator: Any) -> TreesRule | None:
    """Read the nodes of the predictors; those that split categories have no translation."""
    largest = np.finfo(np.float64).max
    start = float(np.ravel(estimator._baseline_prediction)[0])
    tables, gains = [], []
    for (predictor,) in estimator._predictors:
        nodes = predictor.nodes
        leaf = nodes["is_leaf"].astype(bool)
        if nodes["is_categorical"].any() or getattr(estimator, "_preprocessor", None) is not None:
            return None
        own = np.arange(len(nodes))
        tables.append(
            NodeTable(
                np.where(leaf, 0, nodes["feature_idx"]).astype(np.intp),
                np.where(leaf, 0.0, np.clip(nodes["num_threshold"], -largest, largest)),
                np.where(leaf, own, nodes["left"]).astype(np.intp),
                np.where(leaf, own, nodes["right"]).astype(np.intp),
                nodes["missing_go_to_left"].astype(bool) & ~leaf,
                np.where(leaf, nodes["value"] + start, 0.0),
                np.zeros(1, dtype=np.intp),
            )
        )
        gains.append(np.where(leaf, 0.0, nodes["gain"]))
        start = 0.0
    return _credited(NodeTable.joined(tables), np.concatenate(gains))


def _table(tree: Any, value: NDArray[np.float64]) -> NodeTable:
    own = np.arange(tree.node_count)
    leaf = tree.children_left < 0
    return NodeTable(
        np.where(leaf, 0, tree.feature),
        np.where(leaf, 0.0, double_threshold(np.where(leaf, 0.0, tree.threshold))),
        np.where(leaf, own, tree.children_left),
        np.where(leaf, own, tree.children_right),
        tree.missing_go_to_left.astype(bool) & ~leaf,
        np.where(leaf, value, 0.0),
        np.zeros(1, dtype=np.intp),
    )


def _joined(tables: list[NodeTable], grown: list[Any]) -> TreesRule | None:
    gain = np.concatenate([_gains(tree) for tree in grown])
    return _credited(NodeTable.joined(tables), gain)


def _credited(nodes: NodeTable, gain: NDArray[np.float64]) -> TreesRule | None:
    if not nodes.inner.any():
        return None
    return TreesRule(nodes, shares(nodes.column[nodes.inner], gain[nodes.inner]))


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
