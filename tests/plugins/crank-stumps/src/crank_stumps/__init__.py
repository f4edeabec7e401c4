"""Random stumps: each node is cut on one of a few columns drawn by chance, a layer at a time."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crank.checks import whole
from crank.growing.rule import Split
from crank.growing.splitter import LayerSplits, LayerTask, Splitter
from crank.plugins.base import FloatArray, SplitLearner, SplitRule, TrainingMatrix
from crank.plugins.stump import StumpRule

Array = NDArray[np.float64]


def best_stump(X: FloatArray, score: Array, columns: Any, least: int) -> StumpRule | None:
    """Find the cut with the largest |Σ left − Σ right| of scores among some columns."""
    best, found, total = abs(float(score.sum())), None, float(score.sum())
    for column in columns:
        order = np.argsort(X[:, column], kind="stable")
        x = X[order, column]
        below = np.cumsum(score[order])[:-1]
        at = np.flatnonzero(x[1:] > x[:-1])
        at = at[(at + 1 >= least) & (len(x) - at - 1 >= least)]
        if not len(at):
            continue
        gain = total - 2.0 * below[at]
        k = int(np.argmax(np.abs(gain)))
        if abs(gain[k]) > best * (1.0 + 1e-9) + 1e-12:
            low, high = float(x[at[k]]), float(x[at[k] + 1])
            middle = low / 2.0 + high / 2.0
            above = bool(gain[k] > 0.0)
            threshold = middle if low < middle < high else (low if above else high)
            best, found = abs(float(gain[k])), StumpRule(int(column), threshold, above)
    return found


class RandomStumps(Splitter):
    """Split the nodes of a layer, each on columns of its own."""

    def __init__(self, data: TrainingMatrix, columns: int) -> None:
        self.data, self.columns = data, columns

    def split(self, task: LayerTask) -> LayerSplits:
        """Cut every node that gains by it."""
        p = self.data.X.shape[1]
        left = np.zeros(len(task.layer.position), dtype=bool)
        splits: list[Split | None] = []
        bounds = task.layer.bounds.tolist()
        for k, (start, end) in enumerate(itertools.pairwise(bounds)):
            rows = task.ranks.row[task.layer.position[start:end]]
            drawn = task.rng(k).permutation(p)[: self.columns]
            X = self.data.X[rows]
            rule = best_stump(X, task.score[start:end], drawn, task.min_leaf)
            splits.append(None if rule is None else Split(rule))
            if rule is not None:
                left[start:end] = rule.decision(X) > 0.0
        return LayerSplits(splits, left)


class RandomStump(SplitLearner):
    """Cut on the best of a few columns drawn by chance.

    Parameters
    ----------
    columns : int
        Columns that each node may choose from.
    """

    contract: ClassVar[int] = 1
    description: ClassVar[str] = "the best of a few columns drawn by chance"
    rule: ClassVar[type[SplitRule]] = StumpRule
    exports_onnx: ClassVar[bool] = True

    def __init__(self, columns: int = 10) -> None:
        self.columns = whole("columns", columns, 1, of=self)

    def fit(
        self, X: FloatArray, label: Array, weight: Array, *, rng: np.random.Generator
    ) -> StumpRule | None:
        """Cut one node."""
        drawn = rng.permutation(X.shape[1])[: self.columns]
        return best_stump(X, label * weight, drawn, 1)

    def prepare(self, data: TrainingMatrix) -> RandomStumps:
        """Split whole layers."""
        return RandomStumps(data, self.columns)
