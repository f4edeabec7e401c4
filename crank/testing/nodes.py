"""Made-up nodes that learners are tried on, and how they are asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crank.plugins.base import SplitLearner, TrainingMatrix


@dataclass(frozen=True)
class NodeData:
    """The rows of one node as a learner gets them; ``levels`` as in `TrainingMatrix`."""

    name: str
    X: NDArray[np.float64]
    label: NDArray[np.float64]
    weight: NDArray[np.float64]
    levels: tuple[int, ...]

    def copy(self) -> NodeData:
        """Return the node with arrays of its own."""
        return replace(self, X=self.X.copy(), label=self.label.copy(), weight=self.weight.copy())


def node(
    name: str,
    X: NDArray[np.float64],
    label: NDArray[np.float64],
    weight: NDArray[np.float64] | None = None,
    levels: Sequence[int] | None = None,
) -> NodeData:
    """Make a node; equal weights and no categories by default."""
    weight = np.ones(len(X)) if weight is None else weight / weight.mean()
    return NodeData(name, X, label, weight, tuple(levels) if levels else (0,) * X.shape[1])


def separable(rows: int = 80, columns: int = 3, seed: int = 0) -> NodeData:
    """Labels that the first column tells apart, with a gap and weights between ½ and 1½.

    Examples
    --------
    >>> node = separable(10)
    >>> bool(((node.X[:, 0] > 0) == (node.label > 0)).all())
    True
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    label = np.where(np.arange(rows) % 2 == 0, 1.0, -1.0)
    X[:, 0] = label * (0.5 + np.abs(X[:, 0]))
    return node(f"{rows} × {columns} separable rows", X, label, rng.uniform(0.5, 1.5, rows))


def noisy(rows: int = 120, columns: int = 3, seed: int = 1) -> NodeData:
    """Labels that no cut tells apart fully."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    label = np.where(X[:, 0] + X[:, -1] ** 2 + rng.normal(size=rows) > 1.0, 1.0, -1.0)
    label[:2] = 1.0, -1.0
    return node(f"{rows} × {columns} noisy rows", X, label, rng.uniform(0.1, 2.0, rows))


def hard_nodes() -> list[NodeData]:
    """Nodes that occur in real trees and break careless learners."""
    ten, wide, base = separable(10), separable(10, 300), noisy(40)
    rng = np.random.default_rng(2)
    constant = base.X.copy()
    constant[:, 1] = 0.1
    same = np.repeat(base.X[:1], 40, axis=0)
    twins = np.repeat(base.X[:, :1], 3, axis=1)
    balanced = np.where(np.arange(40) % 2 == 0, 1.0, -1.0)
    shifted = base.X + 1e9
    few = np.where(np.arange(40) == 7, 1.0, -1.0)
    skewed = np.where(np.arange(40) == 7, 1e6, 1e-6)
    return [
        replace(ten, name="10 rows"),
        replace(wide, name="10 rows, 300 columns"),
        node("2 rows", np.array([[0.0], [1.0]]), np.array([-1.0, 1.0])),
        node("one column", base.X[:, :1], base.label),
        node("a constant column", constant, base.label),
        node("constant columns only", same, balanced),
        node("three equal columns", twins, base.label),
        node("columns of scale 1e-12", base.X * 1e-12, base.label),
        node("columns of scale 1e12", base.X * 1e12, base.label),
        node("columns of very different scale", base.X * [1e-12, 1.0, 1e12], base.label),
        node("columns far from 0", shifted, base.label),
        node("labels unrelated to the columns", base.X, rng.permutation(balanced)),
        node("a single row of one label", base.X, few),
        node("one row with nearly all the weight", base.X, balanced, skewed),
        node("a column of 0 and 1", (base.X > 0.0).astype(float), base.label),
    ]


def missing_nodes() -> list[NodeData]:
    """Nodes with missing values."""
    base = noisy(60)
    rng = np.random.default_rng(3)
    holes = np.where(rng.random(base.X.shape) < 0.2, np.nan, base.X)
    empty, gapped, lone = base.X.copy(), base.X.copy(), np.full((60, 1), np.nan)
    empty[:, 1] = np.nan
    gapped[base.label > 0.0, 2] = np.nan
    lone[:2, 0] = 0.0, 1.0
    return [
        node("missing values here and there", holes, base.label),
        node("a column that is missing throughout", empty, base.label),
        node("a column that is missing for one label", gapped, base.label),
        node("two values that are not missing", lone, base.label),
        node("all values missing", np.full((60, 2), np.nan), base.label),
    ]


def category_nodes() -> list[NodeData]:
    """Nodes whose first column holds category codes."""
    base = noisy(80)
    rng = np.random.default_rng(4)
    code = rng.integers(0, 6, 80)
    label = np.where(np.isin(code, (1, 4)), 1.0, -1.0)
    X = np.column_stack([code.astype(float), base.X[:, 1]])
    sparse = np.column_stack([rng.choice([3.0, 90.0], 80), base.X[:, 1]])
    return [
        node("six levels, two of them high", X, label, levels=(6, 0)),
        node("levels that the node lacks", sparse, base.label, levels=(100, 0)),
    ]


def prepared(learner: SplitLearner, data: NodeData) -> SplitLearner:
    """Prepare a learner for a node; itself if it splits whole layers on its own."""
    found = learner.prepare(TrainingMatrix(data.X.copy(), data.levels))
    return found if isinstance(found, SplitLearner) else learner
