"""The built-in rules as ONNX nodes; like plugins, they are asked through ``SplitRule.to_onnx``.

Rules of one kind are promised first and written together, so that many nodes of a tree share one
matrix product or one ensemble.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crank.graphs.ensemble import leaf_sums
from crank.graphs.graph import Graph
from crank.kernels.column_tests import ColumnTest
from crank.plugins.standardise import FARTHEST

if TYPE_CHECKING:
    from crank.plugins.linear import LinearRule
    from crank.plugins.rbf import RbfRule
    from crank.plugins.stump import StumpRule
    from crank.plugins.trees import TreesRule

MOST_TREES = 64
"""Trees in one node of the graph; the memory of a batch grows with them."""


def stump(graph: Graph, rule: StumpRule) -> str:
    """Return the decision value of a stump; a tree that asks only its sign never computes it."""
    if rule.levels is not None:
        return graph.later(_subsets, rule)
    value = graph.later(_distances, rule.column_test())
    graph.tests[value] = rule.column_test()
    return value


def _distances(graph: Graph, batch: list[tuple[str, ColumnTest]]) -> None:
    largest = float(np.finfo(np.float64).max)
    for name, test in batch:
        x = graph.columns([test.column])
        absent = 1.0 if test.missing_left else -1.0
        value: str | float = 1.0 if test.above else -1.0
        if test.threshold is not None:
            sides = (x, test.threshold) if test.above else (test.threshold, x)
            value = graph.op("Clip", graph.op("Sub", *sides), -largest, largest)
        graph.op("Where", graph.op("IsNaN", x), absent, value, out=name)


def _subsets(graph: Graph, batch: list[tuple[str, StumpRule]]) -> None:
    """Look up ±1 by category code: one table a column, one column of it a node."""
    for column in dict.fromkeys(rule.column for _, rule in batch):
        mine = [(name, rule) for name, rule in batch if rule.column == column]
        codes, missing = graph.codes(column)
        table = np.empty((missing + 1, len(mine)))
        for k, (_, rule) in enumerate(mine):
            assert rule.levels is not None
            table[:, k] = 1.0 if rule.missing_left else -1.0
            for side, chosen in zip((1.0, -1.0), rule.levels, strict=True):
                table[[c for c in chosen if c < missing], k] = side
        found = graph.op("Gather", table, codes, axis=0)
        _deal(graph, graph.op("Squeeze", found, np.array([1])), [name for name, _ in mine])


def linear(graph: Graph, rule: LinearRule) -> str:
    """Return the weighted sum of a linear rule."""
    return graph.later(_sums, rule)


def _sums(graph: Graph, batch: list[tuple[str, LinearRule]]) -> None:
    """Multiply all linear rules at once that standardise their columns alike."""
    groups: list[tuple[dict[int, tuple[float, float]], list[tuple[str, LinearRule]]]] = []
    for name, rule in batch:
        scales = zip(rule.centre.tolist(), rule.scale.tolist(), strict=True)
        own = dict(zip(rule.columns.tolist(), scales, strict=True))
        for shared, members in groups:
            if all(shared.get(j, how) == how for j, how in own.items()):
                shared.update(own)
                members.append((name, rule))
                break
        else:
            groups.append((own, [(name, rule)]))
    for shared, members in groups:
        columns = sorted(shared)
        centre, scale = np.array([shared[j] for j in columns]).T
        weights = np.zeros((len(columns), len(members)))
        for k, (_, rule) in enumerate(members):
            weights[np.searchsorted(columns, rule.columns), k] = rule.coef
        bias = np.array([rule.bias for _, rule in members])
        Z = _standardised(graph, columns, centre, scale)
        value = graph.op("Add", graph.op("MatMul", Z, weights), bias)
        _deal(graph, value, [name for name, _ in members])


def rbf(graph: Graph, rule: RbfRule) -> str:
    """Return the kernel sum of a rule with support vectors."""
    Z = _standardised(graph, rule.columns.tolist(), rule.centre, rule.scale)
    Z = graph.op("Sub", Z, rule.shift)
    squares = graph.op("ReduceSumSquare", Z, np.array([1]), keepdims=1)
    sizes = np.einsum("ij,ij->i", rule.vectors, rule.vectors)
    distance = graph.op("Add", graph.op("MatMul", Z, -2.0 * rule.vectors.T), squares)
    distance = graph.op("Max", graph.op("Add", distance, sizes), 0.0)
    bumps = graph.op("Exp", graph.op("Mul", distance, -rule.gamma))
    return graph.op("Add", graph.op("MatMul", bumps, rule.dual[:, None]), rule.bias)


def _standardised(
    graph: Graph,
    columns: Sequence[int],
    centre: NDArray[np.float64],
    scale: NDArray[np.float64],
) -> str:
    """Standardise columns as `Standardiser.apply` does: a missing value lies at the centre."""

    def make() -> str:
        Z = graph.op("Div", graph.op("Sub", graph.columns(columns), centre), scale)
        Z = graph.op("Where", graph.op("IsNaN", Z), 0.0, Z)
        return graph.op("Clip", Z, -FARTHEST, FARTHEST)

    return graph.once(("standardised", tuple(columns), centre.tobytes(), scale.tobytes()), make)


def trees(graph: Graph, rule: TreesRule) -> str:
    """Return the sum of a rule's trees."""
    return graph.later(_trees, rule)


def _trees(graph: Graph, batch: list[tuple[str, TreesRule]]) -> None:
    for members in _packed(batch):
        sums = leaf_sums(graph, [rule.nodes for _, rule in members])
        _deal(graph, sums, [name for name, _ in members])


def _packed(batch: list[tuple[str, TreesRule]]) -> Iterator[list[tuple[str, TreesRule]]]:
    pack: list[tuple[str, TreesRule]] = []
    for name, rule in batch:
        if pack and sum(len(r.nodes.roots) for _, r in [*pack, (name, rule)]) > MOST_TREES:
            yield pack
            pack = []
        pack.append((name, rule))
    yield pack


def _deal(graph: Graph, value: str, names: Sequence[str]) -> None:
    """Give each promised tensor its column."""
    if len(names) == 1:
        graph.op("Identity", value, out=names[0])
    else:
        graph.op("Split", value, out=names, axis=1, num_outputs=len(names))
