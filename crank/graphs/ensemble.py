"""Tables of nodes as one TreeEnsembleRegressor.

Every node has one mode, ``x <= threshold``, which all runtimes know and run fastest, with double
thresholds. Leaves carry whole numbers, exact in the single-precision output: numbers of leaves, or
values whose sums stay below 2²⁴. A node of categories becomes a test of a column that is looked up
by the category's code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.graphs.graph import ML, Element, Graph
from crank.kernels.descent import GOES_HIGH, GOES_LOW, GOES_MISSING, NodeTable

EXACT = 2**24
"""Whole numbers up to it are exact in single precision."""


def leaf_numbers(graph: Graph, x: str, nodes: NodeTable) -> str:
    """Add trees whose leaves have whole numbers from 0 for values; return those that rows reach.

    Parameters
    ----------
    graph : Graph
    x : str
        The columns that the nodes compare, double, shape [N, columns].
    nodes : NodeTable

    Returns
    -------
    str
        A tensor in single precision, shape [N, trees].

    Examples
    --------
    >>> stump = NodeTable([0, 0, 0], [0.5, 0, 0], [1, 1, 2], [2, 1, 2], [False, False, False],
    ...                   value=[0, 1, 0], roots=[0])
    >>> graph = Graph()
    >>> _ = leaf_numbers(graph, graph.input("x", Element.DOUBLE, 1), stump)
    >>> graph.calls[0].attributes["nodes_modes"]
    ['BRANCH_LEQ', 'LEAF', 'LEAF']
    """
    return _ensemble(graph, x, nodes, together=False)


def _ensemble(graph: Graph, x: str, nodes: NodeTable, *, together: bool) -> str:
    """Add trees that compare numbers; their leaf values together, or each tree's in a column."""
    if len(nodes.level_branch):
        raise ValueError("level sets are no part of an ensemble; ask a rule for its decision value")
    # tree by tree, the root of each first
    own = np.argsort(nodes.tree, kind="stable")
    own = own[nodes.tree[own] >= 0]
    number = np.zeros(len(nodes.tree), dtype=np.intp)
    number[own] = np.arange(len(own))  # the runtime knows no number beyond those of the nodes
    inner, tree = nodes.inner[own], nodes.tree[own]
    target = np.zeros_like(tree[~inner]) if together else tree[~inner]

    def of_inner(array: NDArray[Any]) -> NDArray[Any]:
        return np.where(inner, array[own], 0)

    return graph.op(
        "TreeEnsembleRegressor",
        x,
        domain=ML,
        n_targets=1 if together else len(nodes.roots),
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_treeids=tree.tolist(),
        nodes_nodeids=list(range(len(own))),
        nodes_featureids=of_inner(nodes.column).tolist(),
        nodes_modes=["BRANCH_LEQ" if branches else "LEAF" for branches in inner.tolist()],
        nodes_values_as_tensor=of_inner(nodes.threshold),
        nodes_truenodeids=of_inner(number[nodes.low]).tolist(),
        nodes_falsenodeids=of_inner(number[nodes.high]).tolist(),
        nodes_missing_value_tracks_true=of_inner(nodes.missing_low).tolist(),
        target_treeids=tree[~inner].tolist(),
        target_nodeids=np.flatnonzero(~inner).tolist(),
        target_ids=target.tolist(),
        target_weights_as_tensor=nodes.value[own[~inner]].astype(np.float64),
    )


def leaf_sums(graph: Graph, tables: Sequence[NodeTable]) -> str:
    """Add tables of trees that read design columns; return the sum of each table's leaf values.

    All trees run side by side, each giving the number of its leaf; values are looked up and summed
    in double, shape [N, tables].
    """
    trees = NodeTable.joined(tables)
    x, tests = _numbers_only(graph, trees)
    order = np.argsort(trees.tree, kind="stable")
    leaf = order[~trees.inner[order] & (trees.tree[order] >= 0)]
    start = np.searchsorted(trees.tree[leaf], np.arange(len(trees.roots)))
    number = np.zeros(len(trees.column), dtype=np.int64)
    number[leaf] = np.arange(len(leaf)) - start[trees.tree[leaf]]
    numbers = graph.cast(leaf_numbers(graph, x, replace(tests, value=number)), Element.INT64)
    places = graph.op("Add", numbers, start)
    found = graph.op("Gather", trees.value[leaf], places, axis=0)
    owner = np.repeat(np.arange(len(tables)), [len(table.roots) for table in tables])
    return graph.op("MatMul", found, np.eye(len(tables))[owner])


def whole_sums(graph: Graph, nodes: NodeTable) -> str:
    """Add trees that read design columns and whose leaves hold whole numbers; return their sum.

    As many trees as cannot sum to more than 2²⁴ make one ensemble, whose output is exact; the
    ensembles are added as int64, shape [N, 1].

    Examples
    --------
    >>> stump = NodeTable([0, 0, 0], [0.5, 0, 0], [1, 1, 2], [2, 1, 2], [False, False, False],
    ...                   value=[0, -3, 3], roots=[0])
    >>> class OneColumn:
    ...     def columns(self, indices):
    ...         return "x"
    >>> graph = Graph()
    >>> graph.attach(OneColumn())
    >>> _ = graph.input("x", Element.DOUBLE, 1), whole_sums(graph, stump)
    >>> [call.kind for call in graph.calls]
    ['TreeEnsembleRegressor', 'Cast']
    """
    if nodes.value.dtype != np.int64:
        raise ValueError("the leaf values are no whole numbers")
    x, tests = _numbers_only(graph, nodes)
    total = ""
    for pack in _packs(nodes):
        part = _ensemble(graph, x, replace(tests, roots=nodes.roots[pack]), together=True)
        part = graph.cast(part, Element.INT64)
        total = graph.op("Add", total, part) if total else part
    return total


def whole_leaves(graph: Graph, nodes: NodeTable) -> str:
    """Add such trees; return the whole number of each tree's leaf as int64, shape [N, trees]."""
    x, tests = _numbers_only(graph, nodes)
    return graph.cast(leaf_numbers(graph, x, tests), Element.INT64)


def _packs(nodes: NodeTable) -> list[slice]:
    """Cut the trees into runs whose largest values add up to no more than is exact."""
    largest = np.zeros(len(nodes.roots), dtype=np.int64)
    leaf = ~nodes.inner & (nodes.tree >= 0)
    np.maximum.at(largest, nodes.tree[leaf], np.abs(nodes.value[leaf]))
    if largest.max() > EXACT:
        raise ValueError(f"a leaf value is beyond ±{EXACT}")
    starts, room = [0], EXACT
    for k, size in enumerate(largest.tolist()):
        if size > room:
            starts.append(k)
            room = EXACT
        room -= size
    return [slice(a, b) for a, b in pairwise([*starts, len(largest)])]


def _numbers_only(graph: Graph, nodes: NodeTable) -> tuple[str, NodeTable]:
    """Put tests of looked-up columns in the place of nodes of categories.

    For each set of levels there is one column, 0 where a code goes low and 1 where it goes high.
    """
    start, width = nodes.level_start, np.diff(nodes.level_start)
    sets = np.flatnonzero(nodes.inner & (width > 0)) if len(start) else np.zeros(0, np.intp)
    compares = nodes.inner.copy()
    compares[sets] = False
    columns = np.unique(nodes.column[compares]) if compares.any() else np.zeros(0, np.intp)
    column, threshold = np.searchsorted(columns, nodes.column), nodes.threshold.copy()
    parts, found = [graph.columns(columns)] if len(columns) else [], len(columns)
    for j in np.unique(nodes.column[sets]).tolist():
        codes, missing = graph.codes(j)
        lookup: dict[bytes, int] = {}
        for node in sets[nodes.column[sets] == j].tolist():
            branch = np.full(missing + 1, GOES_MISSING)
            known = min(int(width[node]), missing)
            branch[:known] = nodes.level_branch[start[node] : start[node] + known]
            branch[branch == GOES_MISSING] = GOES_LOW if nodes.missing_low[node] else GOES_HIGH
            key = branch.astype(np.float64).tobytes()
            column[node] = found + lookup.setdefault(key, len(lookup))
            threshold[node] = 0.5
        table = np.stack([np.frombuffer(key) for key in lookup], axis=1)
        rows = graph.op("Gather", table, codes, axis=0)
        parts.append(graph.op("Squeeze", rows, np.array([1])))
        found += len(lookup)
    parts = parts or [graph.columns([0])]  # trees of one leaf still have rows to count
    x = parts[0] if len(parts) == 1 else graph.op("Concat", *parts, axis=1)
    none = np.zeros(0, dtype=np.intp)
    column = np.where(nodes.inner, column, 0)
    tests = replace(nodes, column=column, threshold=threshold, level_start=none, level_branch=none)
    return x, tests
