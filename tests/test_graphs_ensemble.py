"""Tables of nodes as ONNX: rows reach the leaves that the table finds."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crank.graphs.ensemble import leaf_numbers, leaf_sums, whole_sums
from crank.graphs.graph import Element, Graph
from crank.graphs.runtime import session
from crank.kernels.descent import NodeTable

COLUMNS = 5


class Design:
    """The columns of one input."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.x = graph, graph.input("x", Element.DOUBLE, COLUMNS)

    def columns(self, indices: tuple[int, ...]) -> str:
        return self.graph.op("Gather", self.x, np.array(indices), axis=1)

    def codes(self, column: int) -> tuple[str, int]:
        raise AssertionError("no column holds categories")


def complete_trees(n_trees: int, depth: int, seed: int) -> NodeTable:
    """Complete trees that read columns 1, 3 and 4; some nodes ask only for missing values."""
    rng = np.random.default_rng(seed)
    size = 2 ** (depth + 1) - 1
    own = np.arange(size)
    leaf = own >= size // 2
    tables = [
        NodeTable(
            rng.choice([1, 3, 4], size),
            np.where(rng.random(size) < 0.1, np.inf, rng.normal(size=size).round(1)),
            np.where(leaf, own, 2 * own + 1),
            np.where(leaf, own, 2 * own + 2),
            rng.random(size) < 0.5,
            rng.normal(size=size),
            np.zeros(1, dtype=np.intp),
        )
        for _ in range(n_trees)
    ]
    return NodeTable.joined(tables)


def sample(n: int = 400) -> np.ndarray:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, COLUMNS)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def run(graph: Graph, result: str, width: int, X: np.ndarray, element: Any = Element.DOUBLE) -> Any:
    names = [f"result {k}" for k in range(width)]
    graph.op("Split", result, out=names, axis=1, num_outputs=width)
    for name in names:
        graph.output(name, element)
    return np.hstack(session(graph.serialise({}, "")).run(names, {"x": X}))


@pytest.mark.parametrize("depth", [0, 1, 5])
def test_leaf_numbers_are_those_of_the_descent(depth: int) -> None:
    nodes = complete_trees(3, depth, seed=depth)
    nodes = replace(nodes, value=np.arange(len(nodes.column)))
    graph, X = Graph(), sample()
    found = leaf_numbers(graph, graph.input("x", Element.DOUBLE, COLUMNS), nodes)
    wanted = [replace(nodes, roots=nodes.roots[[k]]).sum(X) for k in range(3)]
    assert np.array_equal(run(graph, found, 3, X, Element.FLOAT), np.transpose(wanted))


@pytest.mark.parametrize("sizes", [[1], [3], [1, 4, 2]])
def test_sums_are_those_of_the_tables(sizes: list[int]) -> None:
    tables = [complete_trees(n, 1 + k, seed=k) for k, n in enumerate(sizes)]
    graph, X = Graph(), sample()
    graph.attach(Design(graph))
    found = run(graph, leaf_sums(graph, tables), len(sizes), X)
    wanted = np.transpose([table.sum(X) for table in tables])
    np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-14)


def test_only_columns_that_are_compared_are_asked_for() -> None:
    graph = Graph()
    graph.attach(Design(graph))
    leaf_sums(graph, [complete_trees(4, 4, seed=0)])
    assert list(graph.kept) == [("columns", (1, 3, 4))]


def test_nodes_below_no_root_are_left_out() -> None:
    nodes = complete_trees(3, 2, seed=1)
    nodes = replace(nodes, roots=nodes.roots[[2, 0]])
    graph, X = Graph(), sample()
    graph.attach(Design(graph))
    found = run(graph, leaf_sums(graph, [nodes]), 1, X)
    np.testing.assert_allclose(found[:, 0], nodes.sum(X), rtol=1e-14, atol=1e-14)
    (ensemble,) = (call for call in graph.calls if call.kind == "TreeEnsembleRegressor")
    assert len(ensemble.attributes["nodes_nodeids"]) == 14


def test_level_sets_are_refused() -> None:
    sets: dict[str, Any] = {"level_start": [0, 1, 1, 1], "level_branch": [0]}
    table: list[Any] = [[0] * 3, [0.0] * 3, [1, 1, 2], [2, 1, 2], [0] * 3, [0, 0, 1], [0]]
    nodes = NodeTable(*table, **sets)
    graph = Graph()
    with pytest.raises(ValueError, match="level sets"):
        leaf_numbers(graph, graph.input("x", Element.DOUBLE, 1), nodes)


def whole_trees(n_trees: int, depth: int, largest: int) -> NodeTable:
    nodes = complete_trees(n_trees, depth, seed=4)
    values = np.random.default_rng(5).integers(-largest, largest + 1, len(nodes.column))
    return replace(nodes, value=values)


@pytest.mark.parametrize(("largest", "ensembles"), [(100, 1), (2**22, 3), (2**24, 10)])
def test_whole_sums_are_exact_however_large_the_values(largest: int, ensembles: int) -> None:
    nodes = whole_trees(10, 3, largest)
    graph, X = Graph(), sample()
    graph.attach(Design(graph))
    found = run(graph, whole_sums(graph, nodes), 1, X, Element.INT64)
    assert np.array_equal(found[:, 0], nodes.sum(X))
    kinds = [call.kind for call in graph.calls]
    assert kinds.count("TreeEnsembleRegressor") == ensembles


def test_whole_sums_refuse_other_values() -> None:
    graph = Graph()
    with pytest.raises(ValueError, match="no whole numbers"):
        whole_sums(graph, complete_trees(2, 2, seed=0))
    graph.attach(Design(graph))
    with pytest.raises(ValueError, match="beyond"):
        whole_sums(graph, whole_trees(1, 1, 2**26))


class Codes(Design):
    """Columns of codes; missing ones and those beyond come as the number of levels."""

    def codes(self, column: int) -> tuple[str, int]:
        x = self.graph.op("Gather", self.x, np.array([column]), axis=1)
        known = self.graph.op("Less", x, 6.0)  # NaN is not less
        code = self.graph.cast(self.graph.op("Where", known, x, 6.0), Element.INT64)
        return code, 6


def test_sets_of_levels_become_columns_that_are_looked_up() -> None:
    rng = np.random.default_rng(0)
    nodes = whole_trees(8, 4, 1000)
    on_codes = nodes.inner & (nodes.column == 3)
    width = np.where(on_codes, rng.integers(1, 7, len(on_codes)), 0)
    start = np.concatenate(([0], np.cumsum(width)))
    nodes = replace(nodes, level_start=start, level_branch=rng.integers(0, 3, start[-1]))
    X = sample()
    X[:, 3] = rng.integers(0, 8, len(X))
    X[::9, 3] = np.nan
    graph = Graph()
    graph.attach(Codes(graph))
    found = run(graph, whole_sums(graph, nodes), 1, X, Element.INT64)
    assert np.array_equal(found[:, 0], nodes.sum(X))


def test_sums_of_trees_with_sets_of_levels_are_those_of_the_tables() -> None:
    rng = np.random.default_rng(1)
    tables: list[NodeTable] = []
    for nodes in (complete_trees(3, 4, seed=2), complete_trees(2, 2, seed=3)):
        on_codes = nodes.inner & (nodes.column == 3) & (len(tables) == 0)  # of one table only
        width = np.where(on_codes, 6, 0)
        start = np.concatenate(([0], np.cumsum(width)))
        sets = {"level_start": start, "level_branch": rng.integers(0, 3, start[-1])}
        tables.append(replace(nodes, **sets))
    X = sample()
    X[:, 3] = rng.integers(0, 8, len(X))
    X[::9, 3] = np.nan
    graph = Graph()
    graph.attach(Codes(graph))
    found = run(graph, leaf_sums(graph, tables), 2, X)
    wanted = np.transpose([table.sum(X) for table in tables])
    np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-14)
    joined = NodeTable.joined(tables)
    np.testing.assert_allclose(joined.sum(X), wanted.sum(axis=1), rtol=1e-14, atol=1e-14)
