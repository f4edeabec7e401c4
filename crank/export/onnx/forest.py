"""A forest in a graph: whole votes, summed exactly; quantiles from the leaves' responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crank.export.onnx.tree import decisions, leaves
from crank.graphs.ensemble import whole_leaves, whole_sums
from crank.graphs.graph import Element, Graph
from crank.growing.tree import Tree
from crank.rankers.forest import SHARES, quantile_places
from crank.rankers.votes import GRID, ColumnTrees, RuleTrees
from crank.records.forest import ForestRecord


def described(model: ForestRecord) -> dict[str, str]:
    """Say in the file what made the model."""
    return {"learner": model.learner.name, "criterion": model.criterion}


def outputs(graph: Graph, model: ForestRecord, names: Mapping[str, str]) -> None:
    """Write the outputs that were asked for, each under its name."""
    trees = model.ranker.trees
    if {"score", "quantile"} & names.keys():
        if isinstance(trees, ColumnTrees):
            total = whole_sums(graph, trees.nodes)
        else:
            total = _rule_sums(graph, model, trees)
        score = graph.op("Cast", total, out=names.get("score"), to=int(Element.DOUBLE))
        if "score" in names:
            graph.output(names["score"], Element.DOUBLE)
        if "quantile" in names:
            graph.op("Div", score, float(GRID * len(trees)), out=names["quantile"])
            graph.output(names["quantile"], Element.DOUBLE)
    wanted = [output for output in names if output in SHARES]
    if not wanted:
        return
    if isinstance(trees, ColumnTrees):
        drawn = whole_leaves(graph, replace(trees.nodes, value=trees.drawn.astype(np.int64)))
    else:
        parts = _rule_parts(graph, model, trees, trees.drawns)
        drawn = parts[0] if len(parts) == 1 else graph.op("Concat", *parts, axis=1)
    # smallest first
    both = (graph.fresh(), graph.fresh())
    ordered = graph.op("TopK", drawn, np.array([len(trees)]), out=both, axis=1, largest=0)
    for output in wanted:
        at = quantile_places([SHARES[output]], len(trees))
        rung = graph.op("Gather", ordered, at, axis=1)
        graph.op("Gather", model.ranker.rungs, rung, axis=0, out=names[output])
        graph.output(names[output], Element.DOUBLE)


def _rule_sums(graph: Graph, model: ForestRecord, trees: RuleTrees) -> str:
    total = ""
    for part in _rule_parts(graph, model, trees, trees.votes_by_leaf):
        total = graph.op("Add", total, part) if total else part
    return total


def _rule_parts(
    graph: Graph, model: ForestRecord, trees: RuleTrees, values: tuple[NDArray[np.int32], ...]
) -> list[str]:
    """Look a value of each tree's leaf up, as int64, shape [N, 1] each."""
    found = []
    for k, (tree, value) in enumerate(zip(trees.trees, values, strict=True)):

        def numbers(tree: Tree = tree) -> str:
            values = decisions(graph, model, tree)
            return graph.cast(leaves(graph, tree, values), Element.INT64)

        flat = graph.op("Reshape", graph.once(("leaves", k), numbers), np.array([-1]))
        one = graph.op("GatherElements", value.astype(np.int64), flat, axis=0)
        found.append(graph.op("Reshape", one, np.array([-1, 1])))
    return found
