"""The LightGBM learner: a boosted ensemble decides each node; its rule needs no LightGBM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crank.checks import at_least, positive, whole
from crank.errors import require
from crank.plugins.base import FloatArray, SplitLearner, SplitRule
from crank.plugins.lightgbm_trees import read_trees
from crank.plugins.standardise import REFERENCE_WEIGHT
from crank.plugins.trees import TreesRule, shares


class LightGBM(SplitLearner):
    """Split by the sign of a gradient boosted ensemble of trees.

    LightGBM's own defaults refuse to cut nodes of fewer than 40 rows; here the limits follow the
    size of the node. The ensemble is stored as arrays and evaluated in double, so a model scores
    without LightGBM. The result does not depend on the number of threads.

    Parameters
    ----------
    n_estimators : int
        Trees in each node.
    learning_rate : float
    num_leaves : int
        Most leaves of one tree.
    min_child_samples : int, optional
        Fewest rows in a leaf. By default a twentieth of the node's rows, but 1 to 20.
    reg_lambda : float
        Ridge penalty on leaf values, against the weighted mean of the losses: as strong as
        LightGBM's on 300 rows.
    n_threads : int
        Threads for one node. Nodes of a layer are fitted side by side anyhow if the fit may use
        several jobs, so 1 is best unless nodes are few and large.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(12.0)[:, None]
    >>> label = np.where(np.arange(12) % 6 < 3, 1.0, -1.0)
    >>> rule = LightGBM(n_estimators=10).fit(X, label, np.ones(12), rng=np.random.default_rng(0))
    >>> bool((np.sign(rule.decision(X)) == label).all())
    True
    """

    description: ClassVar[str] = "a gradient boosted ensemble of trees (LightGBM) in each node"
    url: ClassVar[str] = "https://lightgbm.readthedocs.io"
    rule: ClassVar[type[SplitRule]] = TreesRule
    takes_missing: ClassVar[bool] = True
    exports_onnx: ClassVar[bool] = True
    requires: ClassVar[Mapping[str, str]] = {"lightgbm": "crank-rank[lightgbm]"}

    def __init__(
        self,
        n_estimators: int = 50,
        learning_rate: float = 0.1,
        num_leaves: int = 7,
        min_child_samples: int | None = None,
        reg_lambda: float = 1.0,
        n_threads: int = 1,
    ) -> None:
        self.n_estimators = whole("n_estimators", n_estimators, 1, of=self)
        self.learning_rate = positive("learning_rate", learning_rate, of=self)
        self.num_leaves = whole("num_leaves", num_leaves, 2, of=self)
        self.min_child_samples = (
            None
            if min_child_samples is None
            else whole("min_child_samples", min_child_samples, 1, of=self)
        )
        self.reg_lambda = at_least("reg_lambda", reg_lambda, 0.0, of=self)
        self.n_threads = whole("n_threads", n_threads, 1, of=self)

    def settings(self, m: int) -> dict[str, Any]:
        """Return LightGBM's parameters for a node of m rows."""
        scaled = min(20, max(1, m // 20))
        return {
            "objective": "binary",
            "learning_rate": self.learning_rate,
            "num_leaves": self.num_leaves,
            "min_data_in_leaf": self.min_child_samples or scaled,
            "min_data_in_bin": min(3, max(1, m // 100)),
            "min_gain_to_split": 1e-7,  # below it lies the rounding of LightGBM's sums
            "lambda_l2": self.reg_lambda,
            "num_threads": self.n_threads,
            "deterministic": True,
            "force_row_wise": True,
            "feature_pre_filter": False,
            "verbosity": -1,
        }

    def fit(
        self,
        X: FloatArray,
        label: NDArray[np.float64],
        weight: NDArray[np.float64],
        *,
        rng: np.random.Generator,
    ) -> TreesRule | None:
        """Boost trees on the rows of a node."""
        require("lightgbm", "lightgbm")
        settings = self.settings(len(X))
        settings["lambda_l2"] *= float(weight.sum()) / REFERENCE_WEIGHT
        return trees_rule(train(X, label, weight, settings, self.n_estimators))


def train(
    X: FloatArray,
    label: NDArray[np.float64],
    weight: NDArray[np.float64],
    settings: dict[str, Any],
    rounds: int,
) -> Any:
    """Train a booster on labels ±1."""
    import lightgbm

    data = lightgbm.Dataset(
        np.ascontiguousarray(X), label=(label > 0.0), weight=weight, params=settings
    )
    return lightgbm.train(settings, data, num_boost_round=rounds)


def trees_rule(booster: Any) -> TreesRule | None:
    """Read a booster's dump into arrays; None if none of its trees is ever cut."""
    nodes, gains, _ = read_trees(booster)
    if not nodes.inner.any():
        return None
    return TreesRule(nodes, shares(nodes.column[nodes.inner], gains[nodes.inner]))
