"""XGBoost in each node: categories as sets of levels, missing values with a side of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crank.checks import at_least, positive, whole
from crank.kernels.descent import GOES_HIGH, GOES_LOW, NodeTable
from crank.plugins.base import FloatArray, SplitLearner, SplitRule
from crank.plugins.trees import TreesRule, shares

Array = NDArray[np.float64]


class XGBoost(SplitLearner):
    """Split by the sign of an ensemble that XGBoost has boosted.

    Parameters
    ----------
    n_estimators : int
        Trees in each node.
    max_depth : int
    learning_rate : float
    reg_lambda : float
        Ridge penalty on leaf values.
    """

    contract: ClassVar[int] = 1
    description: ClassVar[str] = "a gradient boosted ensemble of trees (XGBoost) in each node"
    url: ClassVar[str] = "https://xgboost.readthedocs.io"
    rule: ClassVar[type[SplitRule]] = TreesRule
    takes_missing: ClassVar[bool] = True
    takes_categories: ClassVar[bool] = True
    exports_onnx: ClassVar[bool] = True
    requires: ClassVar[Mapping[str, str]] = {"xgboost": "crank-xgb[fit]"}

    def __init__(
        self,
        n_estimators: int = 20,
        max_depth: int = 3,
        learning_rate: float = 0.3,
        reg_lambda: float = 1.0,
    ) -> None:
        self.n_estimators = whole("n_estimators", n_estimators, 1, of=self)
        self.max_depth = whole("max_depth", max_depth, 1, of=self)
        self.learning_rate = positive("learning_rate", learning_rate, of=self)
        self.reg_lambda = at_least("reg_lambda", reg_lambda, 0.0, of=self)

    def fit(
        self,
        X: FloatArray,
        label: Array,
        weight: Array,
        *,
        rng: np.random.Generator,
        levels: Sequence[int] = (),
    ) -> TreesRule | None:
        """Boost trees on the rows of a node."""
        import xgboost

        levels = tuple(levels) or (0,) * X.shape[1]
        settings = {
            "objective": "binary:logistic",
            "base_score": 0.5,  # the margin begins at 0, where crank cuts
            "max_depth": self.max_depth,
            "eta": self.learning_rate,
            "lambda": self.reg_lambda,
            "min_child_weight": 0.0,
            "tree_method": "hist",
            "max_cat_to_onehot": 1,  # all sets of levels, not one against the rest
            "nthread": 1,
            "seed": int(rng.integers(2**31 - 1)),
        }
        kinds = ["c" if n else "q" for n in levels]
        data = xgboost.DMatrix(
            *(X, label > 0.0), weight=weight, feature_types=kinds, enable_categorical=True
        )
        booster = xgboost.train(settings, data, num_boost_round=self.n_estimators)
        return trees_rule(json.loads(booster.save_raw("json")), levels)


class Node(NamedTuple):
    """One node: its row of the table, its gain, the branch of each level."""

    column: int
    threshold: float
    low: int
    high: int
    missing_low: bool
    value: float
    gain: float = 0.0
    branch: tuple[int, ...] = ()


def trees_rule(model: Mapping[str, Any], levels: Sequence[int]) -> TreesRule | None:
    """Read XGBoost's own JSON into arrays; None if none of its trees is ever cut."""
    rows: list[Node] = []
    roots = []
    for tree in model["learner"]["gradient_booster"]["model"]["trees"]:
        roots.append(len(rows))
        rows += nodes_of(tree, len(rows), levels)
    *table, gain, branch = (list(part) for part in zip(*rows, strict=True))
    start = np.concatenate(([0], np.cumsum([len(codes) for codes in branch])))
    codes = [code for part in branch for code in part]
    given: list[Any] = [*map(np.array, table), np.array(roots)]
    given += [start, np.array(codes)] if codes else []
    nodes = NodeTable(*given)
    if not nodes.inner.any():
        return None
    return TreesRule(nodes, shares(nodes.column[nodes.inner], np.array(gain)[nodes.inner]))


def nodes_of(tree: Mapping[str, Any], start: int, levels: Sequence[int]) -> Iterator[Node]:
    """List the nodes of one tree, parents first, numbered from ``start``."""
    chosen = {
        node: tree["categories"][first : first + size]
        for node, first, size in zip(
            *(tree[f"categories_{part}"] for part in ("nodes", "segments", "sizes")), strict=True
        )
    }
    queue = [0]
    for at, k in enumerate(queue):  # the queue grows while it is read
        own, cut = start + at, float(tree["split_conditions"][k])
        children = tree["left_children"][k], tree["right_children"][k]
        if children[0] < 0:
            yield Node(0, 0.0, own, own, False, cut)
            continue
        low = start + len(queue)
        queue += children
        column, gain = int(tree["split_indices"][k]), float(tree["loss_changes"][k])
        missing_low = bool(tree["default_left"][k])
        if k in chosen:  # those of the set go right
            here = set(chosen[k])
            branch = tuple(GOES_HIGH if c in here else GOES_LOW for c in range(levels[column]))
            yield Node(column, 0.0, low, low + 1, missing_low, 0.0, gain, branch)
        else:
            yield Node(column, last_below(cut), low, low + 1, missing_low, 0.0, gain)


def last_below(cut: float) -> float:
    """Return the largest double that is below a cut once it is rounded to single precision."""
    single = np.float32(cut)
    before = np.nextafter(single, np.float32(-np.inf))
    middle = (float(single) + float(before)) / 2.0
    return middle if np.float32(middle) < single else float(np.nextafter(middle, -np.inf))
