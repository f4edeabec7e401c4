"""Tables of nodes as one TreeEnsembleRegressor.

Every node has one mode, ``x <= threshold``, which all runtimes know and run fastest, with double
thresholds. Leaves carry numbers, exact in the single-precision output, never values. Level sets
have no place here: a split on categories is asked for its decision value, ±1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.graphs.graph import ML, Element, Graph
from crank.kernels.descent import NodeTable


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
    if len(nodes.level_branch):
        raise ValueError("level sets are no part of an ensemble; ask a rule for its decision value")
    # tree by tree, the root of each first
    own = np.argsort(nodes.tree, kind="stable")
    own = own[nodes.tree[own] >= 0]
    number = np.zeros(len(nodes.tree), dtype=np.intp)
    number[own] = np.arange(len(own))  # the runtime knows no number beyond those of the nodes
    inner, tree = nodes.inner[own], nodes.tree[own]

    def of_inner(array: NDArray[Any]) -> NDArray[Any]:
        return np.where(inner, array[own], 0)

    return graph.op(
        "TreeEnsembleRegressor",
        x,
        domain=ML,
        n_targets=len(nodes.roots),
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
        target_ids=tree[~inner].tolist(),
        target_weights_as_tensor=nodes.value[own[~inner]].astype(np.float64),
    )


def leaf_sums(graph: Graph, tables: Sequence[NodeTable]) -> str:
    """Add tables of trees that read design columns; return the sum of each table's leaf values.

    All trees run side by side, each giving the number of its leaf; values are looked up and summed
    in double, shape [N, tables].
    """
    trees = NodeTable.joined(tables)
    columns = np.unique(trees.column[trees.inner]) if trees.inner.any() else np.zeros(1, int)
    order = np.argsort(trees.tree, kind="stable")
    leaf = order[~trees.inner[order] & (trees.tree[order] >= 0)]
    start = np.searchsorted(trees.tree[leaf], np.arange(len(trees.roots)))
    number = np.zeros(len(trees.column), dtype=np.int64)
    number[leaf] = np.arange(len(leaf)) - start[trees.tree[leaf]]
    place = np.where(trees.inner, np.searchsorted(columns, trees.column), 0)
    numbered = replace(trees, column=place, value=number)
    numbers = graph.cast(leaf_numbers(graph, graph.columns(columns), numbered), Element.INT64)
    places = graph.op("Add", numbers, start)
    found = graph.op("Gather", trees.value[leaf], places, axis=0)
    owner = np.repeat(np.arange(len(tables)), [len(table.roots) for table in tables])
    return graph.op("MatMul", found, np.eye(len(tables))[owner])
