"""A tree as a page draws it: nodes with their words, the pruning path, y in every node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.design.response import ResponseSpec
from crank.frames.table import Table
from crank.growing.wording import BRIEF, RULES
from crank.metrics.figures import KENDALL
from crank.page.encoded import number, numbers
from crank.ranks import rank
from crank.records.tree import TreeRecord
from crank.report.tables import pruning_table
from crank.report.text import ways
from crank.report.words import column_words

PARTS = 10
"""Parts of about equal size into which the responses of the data are counted."""
MOST_LEAVES = 128
"""Leaves of the largest subtree that the slider shows, unless the model has more."""


def drawn_tree(
    model: TreeRecord, table: Table | None, unknown: str, counted: ResponseSpec | None = None
) -> dict[str, Any]:
    """Return all that is drawn of a tree, as plain data.

    Parameters
    ----------
    model : TreeRecord
    table : Table, optional
        Rows whose responses are counted in every node.
    unknown : {"error", "missing"}
    counted : ResponseSpec, optional
        The response that is counted; by default the model's own.
    """
    counted = counted or model.response
    grown = model.pruning.tree
    whole = replace(model, ranker=replace(model.ranker, tree=grown))
    words, total = column_words(whole), grown.totals[KENDALL.name]
    nodes: list[dict[str, Any]] = [{} for _ in grown.nodes]
    for index, node, way in ways(whole):
        nodes[index] |= {
            "number": node.number,
            "depth": node.depth,
            "place": node.place,
            "test": way.last(words, BRIEF),
            "rule": way.rule(words, RULES),
            "n": node.n,
            "share": number(node.weight / grown.nodes[0].weight),
            "quantile": node.quantile,
            "y": numbers((node.y_lower, node.y_median, node.y_upper)),
        }
        if node.split is not None:
            nodes[index] |= {"left": node.left, "right": node.right}
            nodes[index]["gain"] = number(node.gain(KENDALL) / total) if total else None
    drawn = {
        "response": model.response.name,
        "depth": grown.depth,
        "order": model.tree.leaf_order,
        "nodes": nodes,
        "figure": model.figure.text,
        **_steps(model),
    }
    if table is not None:
        drawn["counted"] = counted.name
        drawn["edges"] = _count_responses(whole, counted, table, unknown, nodes)
    return drawn


def _steps(model: TreeRecord) -> dict[str, Any]:
    """List the subtrees of the slider, from the largest, and which of them the model is."""
    path, own = pruning_table(model), model.tree.n_leaves
    known = path.to_dict("records")
    beyond = len(known) - len(model.pruning.steps)  # a tree that no price prunes to comes first
    position = {node.number: i for i, node in enumerate(model.pruning.tree.nodes)}
    ends = [position[model.tree.nodes[i].number] for i in model.tree.leaves]
    steps: list[dict[str, Any]] = []
    for k, row in enumerate(known):
        if row["n_leaves"] > max(MOST_LEAVES, own):
            continue
        removed = set[int]() if k < beyond else model.pruning.collapsed(k - beyond)
        step: dict[str, Any] = {"n_leaves": row["n_leaves"], "chosen": row.get("chosen", "")}
        for name in ("alpha", "training", "heldout", "se"):
            if name in row:
                step[name] = number(row[name])
        steps.append({**step, "ends": sorted(removed)})
    sizes = [step["n_leaves"] for step in steps]
    if own in sizes:
        current = sizes.index(own)
    else:
        current = sum(size > own for size in sizes)
        steps.insert(current, {"n_leaves": own, "chosen": "", "ends": sorted(ends)})
    return {"steps": steps, "current": current, "folds": getattr(model.validation, "folds", None)}


def _count_responses(
    model: TreeRecord,
    counted: ResponseSpec,
    table: Table,
    unknown: str,
    nodes: list[dict[str, Any]],
) -> list[float | None]:
    """Count in every node the responses of each part of their distribution; return its edges."""
    y = counted.values(table)
    known = ~np.isnan(y)
    y = y[known]
    leaf = model.values(table.rows(known), "leaf", unknown)
    part, edges = _parts(y)
    tree = model.tree
    counts = np.zeros((len(nodes), PARTS), dtype=np.int64)
    np.add.at(counts, (np.array(tree.leaves)[leaf], part), 1)
    for index in range(len(nodes) - 1, -1, -1):  # parents come before children
        node = tree.nodes[index]
        if node.split is not None:
            counts[index] = counts[node.left] + counts[node.right]
        nodes[index]["counts"] = counts[index].tolist()
    return edges


def _parts(y: NDArray[np.float64]) -> tuple[NDArray[np.intp], list[float | None]]:
    """Deal responses out to parts by their mean position, so that ties stay together."""
    ranks = rank(y)
    position = np.empty(len(y))
    position[ranks.row] = ranks.quantile
    part = np.minimum((position * PARTS).astype(np.intp), PARTS - 1)
    return part, numbers(np.quantile(y, np.linspace(0.0, 1.0, PARTS + 1)))
