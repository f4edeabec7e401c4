"""Trees as one TreeEnsembleRegressor: the oriented tree itself, and trees inside rules.

Every node has one mode, ``x <= threshold``, which all runtimes know and run fastest, with double
thresholds. Leaves carry numbers, exact in the single-precision output, never values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from crank.export.onnx_graph import ML, Graph
from crank.kernels.routing import ColumnTest
from crank.tree import Split, Tree


@dataclass
class Ensemble:
    """The attributes of a TreeEnsembleRegressor, filled node by node; a tree's root comes first.

    Examples
    --------
    >>> from crank.export.onnx_graph import Element
    >>> stump = Ensemble(n_targets=1)
    >>> stump.branch(0, 0, feature=0, threshold=0.5, low=1, high=2, missing_low=False)
    >>> stump.leaf(0, 1, target=0, weight=1.0)
    >>> stump.leaf(0, 2, target=0, weight=0.0)
    >>> graph = Graph()
    >>> _ = stump.emit(graph, graph.input("x", Element.DOUBLE, 1))
    >>> graph.calls[0].attributes["nodes_modes"]
    ['BRANCH_LEQ', 'LEAF', 'LEAF']
    """

    n_targets: int
    tree: list[int] = field(default_factory=list)
    number: list[int] = field(default_factory=list)
    feature: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    low: list[int] = field(default_factory=list)
    high: list[int] = field(default_factory=list)
    missing_low: list[int] = field(default_factory=list)
    leaves: list[tuple[int, int, int, float]] = field(default_factory=list)

    def branch(
        self,
        tree: int,
        number: int,
        feature: int,
        threshold: float,
        low: int,
        high: int,
        missing_low: bool,
    ) -> None:
        """Add an inner node: ``x[feature] <= threshold`` takes the low branch."""
        self.tree.append(tree)
        self.number.append(number)
        self.feature.append(feature)
        self.threshold.append(threshold)
        self.low.append(low)
        self.high.append(high)
        self.missing_low.append(int(missing_low))

    def leaf(self, tree: int, number: int, target: int, weight: float) -> None:
        """Add a leaf that gives a target its weight."""
        self.branch(tree, number, 0, 0.0, 0, 0, False)
        self.leaves.append((tree, number, target, weight))

    def emit(self, graph: Graph, x: str) -> str:
        """Add the node; its result is single precision, shape [N, n_targets]."""
        is_leaf = {(tree, number) for tree, number, _, _ in self.leaves}
        nodes = zip(self.tree, self.number, strict=True)
        trees, numbers, targets, weights = zip(*self.leaves, strict=True)
        return graph.op(
            "TreeEnsembleRegressor",
            x,
            domain=ML,
            n_targets=self.n_targets,
            aggregate_function="SUM",
            post_transform="NONE",
            nodes_treeids=self.tree,
            nodes_nodeids=self.number,
            nodes_featureids=self.feature,
            nodes_modes=["LEAF" if node in is_leaf else "BRANCH_LEQ" for node in nodes],
            nodes_values_as_tensor=np.array(self.threshold, dtype=np.float64),
            nodes_truenodeids=self.low,
            nodes_falsenodeids=self.high,
            nodes_missing_value_tracks_true=self.missing_low,
            target_treeids=list(trees),
            target_nodeids=list(numbers),
            target_ids=list(targets),
            target_weights_as_tensor=np.array(weights, dtype=np.float64),
        )


def leaf_numbers(graph: Graph, tree: Tree, values: Sequence[str]) -> str:
    """Route rows to their leaves, numbered best first from 0, in single precision.

    Parameters
    ----------
    graph : Graph
    tree : Tree
    values : sequence of str
        Decision value of each inner node, in the order of `Tree.walk`.
    """
    inner = [(index, node.split) for index, node in tree.walk() if node.split is not None]
    value_at = {index: value for (index, _), value in zip(inner, values, strict=True)}
    test_at = {index: _compared(graph, split, value_at[index]) for index, split in inner}
    columns = sorted({test.column for test in test_at.values() if test is not None})
    others = list(dict.fromkeys(value_at[i] for i, test in test_at.items() if test is None))
    features: list[int | str] = [*columns, *others]
    place = {feature: k for k, feature in enumerate(features)}
    ensemble = Ensemble(n_targets=1)
    for index, node in tree.walk():
        if node.split is None:
            ensemble.leaf(0, index, 0, float(tree.leaf_of_node[index]))
            continue
        test = test_at[index]
        feature = place[value_at[index] if test is None else test.column]
        threshold, low_is_left, missing_left = (
            _cut(node.split) if test is None else _threshold(test)
        )
        low, high = (node.left, node.right) if low_is_left else (node.right, node.left)
        ensemble.branch(0, index, feature, threshold, low, high, low_is_left == missing_left)
    # a tree of one leaf still has to count the rows
    parts = [graph.columns(columns)] if columns else [] if others else [graph.columns([0])]
    parts += others
    x = parts[0] if len(parts) == 1 else graph.op("Concat", *parts, axis=1)
    return ensemble.emit(graph, x)


def _compared(graph: Graph, split: Split, value: str) -> ColumnTest | None:
    """Return the test that stands for a decision value, if the split merely asks its sign."""
    test = graph.tests.get(value)
    if test is None or split.cut != 0.0:
        return None
    if split.sign > 0:
        return test
    # below 0 goes left: the other way round, and a missing value changes sides with the rest
    return test._replace(above=not test.above, missing_left=not test.missing_left)


def _threshold(test: ColumnTest) -> tuple[float, bool, bool]:
    """Write a test as ``x <= threshold``: threshold, low side goes left, missing goes left."""
    if test.threshold is None:
        return math.inf, test.above, test.missing_left
    if test.above:
        return test.threshold, False, test.missing_left
    return math.nextafter(test.threshold, -math.inf), True, test.missing_left


def _cut(split: Split) -> tuple[float, bool, bool]:
    """Write the cut of a decision value in the same way; NaN is on no side and goes right."""
    if split.sign > 0:
        return split.cut, False, False
    return math.nextafter(split.cut, -math.inf), True, False
