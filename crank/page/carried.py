"""A model as a page carries it: what the page's own code needs to score a row, and no more."""

from __future__ import annotations

from typing import Any

import numpy as np

from crank.errors import CrankError, NotExportableError
from crank.export.json import document
from crank.kernels.descent import NodeTable
from crank.plugins.level_words import BRANCHES
from crank.rankers.booster import BoosterRanker
from crank.rankers.forest import ForestRanker
from crank.rankers.linear import LinearRanker
from crank.rankers.votes import ColumnTrees
from crank.records.base import DesignedRecord, ModelRecord
from crank.records.blend import BlendRecord

RULES = frozenset({"linear", "rbf", "trees"})
"""Kinds of stored rules that the page can run, beside stumps."""


def carried(model: ModelRecord) -> dict[str, Any]:
    """Return a model as the page's code scores it.

    Raises
    ------
    NotExportableError
        The model has rules that only a plugin can run, or lives in one session.

    Examples
    --------
    >>> import crank
    >>> sample = crank.datasets.regression(100, p=5, random_state=0).frame
    >>> found = carried(crank.linear(sample, "y ~ x1 + x2", cv=None))
    >>> found["kind"], len(found["coef"])
    ('linear', 2)
    """
    if isinstance(model, BlendRecord):
        members = [{"coef": m.coef, "model": carried(m.model)} for m in model.members]
        return {"kind": "blend", "members": members}
    assert isinstance(model, DesignedRecord)
    try:
        design = model.design.to_dict()
        ranker = _ranker(model)
    except CrankError as cause:
        raise NotExportableError(str(cause)) from cause
    return {
        **ranker,
        "design": {"factors": design["factors"], "blocks": design["blocks"]},
        "takes_missing": model.ranker.takes_missing,
        "made_by": model.ranker.made_by,
    }


def _ranker(model: DesignedRecord) -> dict[str, Any]:
    ranker = model.ranker
    if isinstance(ranker, LinearRanker):  # additive ones are linear in their columns
        coef = [None if value != value else value for value in ranker.coef.tolist()]
        return {"kind": "linear", "coef": coef, "centre": ranker.centre.tolist()}
    if isinstance(ranker, BoosterRanker):
        return {"kind": "trees", "nodes": packed(ranker.nodes), "unit": ranker.quantum}
    if isinstance(ranker, ForestRanker) and isinstance(ranker.trees, ColumnTrees):
        return {"kind": "trees", "nodes": packed(ranker.trees.nodes), "unit": 1.0}
    stored = document(model)["ranker"]
    if isinstance(ranker, ForestRanker):
        trees = [
            {"votes": tree["votes"], "nodes": _nodes(tree["nodes"])} for tree in stored["trees"]
        ]
        return {"kind": "rule_trees", "trees": trees}
    if "leaves" not in stored:
        raise NotExportableError(f"a page cannot score rows by a model of kind {model.kind!r}.")
    return {"kind": "tree", "nodes": _nodes(stored["nodes"]), "leaves": stored["leaves"]}


def _nodes(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Keep of the nodes what routes a row."""
    return [{"split": _split(entry["split"])} if "split" in entry else {} for entry in entries]


def _split(stored: dict[str, Any]) -> dict[str, Any]:
    rule = stored["rule"]
    stump = "column" in rule and "threshold" in rule and "kind" not in rule
    if not stump and rule.get("kind") not in RULES:
        raise NotExportableError("its rules are a plugin's, which only Python can run.")
    if rule.get("kind") == "trees" and "levels" in rule:
        raise NotExportableError("its trees part categories, which the page does not know.")
    left_out = ("errors", "share")
    return {
        **{name: stored[name] for name in ("left", "right", "sign", "cut")},
        "rule": {name: value for name, value in rule.items() if name not in left_out},
    }


def packed(nodes: NodeTable) -> dict[str, Any]:
    """Write trees in preorder, the low child first, so that one list tells their form.

    Examples
    --------
    >>> stump = NodeTable([0, 0, 0], [0.5, 0, 0], [1, 1, 2], [2, 1, 2], [True, False, False],
    ...                   value=[0, -1, 1], roots=[0])
    >>> packed(stump)["column"], packed(stump)["value"]
    ([0, -1, -1], [-1, 1])
    """
    column, low, high = nodes.column.tolist(), nodes.low.tolist(), nodes.high.tolist()
    order: list[int] = []
    for root in nodes.roots.tolist():
        stack = [root]
        while stack:
            node = stack.pop()
            order.append(node)
            if low[node] != node:
                stack += [high[node], low[node]]
    at = np.array(order, dtype=np.intp)
    inner, start = nodes.inner[at], nodes.level_start
    by_level = np.diff(start)[at] > 0 if len(start) else np.zeros(len(at), dtype=bool)
    thresholds, cut = np.unique(nodes.threshold[at[inner & ~by_level]], return_inverse=True)
    words = [
        [k, "".join(BRANCHES[b] for b in nodes.level_branch[start[node] : start[node + 1]])]
        for k, node in zip(np.flatnonzero(by_level).tolist(), at[by_level].tolist(), strict=True)
    ]
    return {
        "column": [column[i] if low[i] != i else -1 for i in order],
        "missing_low": "".join("01"[int(b)] for b in nodes.missing_low[at[inner]]),
        "thresholds": thresholds.tolist(),
        "cut": cut.tolist(),
        "levels": words,
        "value": nodes.value[at[~inner]].tolist(),
    }
