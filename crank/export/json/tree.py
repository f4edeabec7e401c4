"""The tree of a model file: nodes as grown, once, and the leaves that it is pruned to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from crank.blame import is_foreign
from crank.criteria import AUTO, LeafOrder
from crank.design.probes import probe_rows
from crank.design.spec import DesignSpec
from crank.errors import ModelFileError, OptionError, PluginError
from crank.export.json.criterion import read_criterion, stored_origin
from crank.export.json.rules import RuleReader, require_installed, require_readable, stored_rule
from crank.export.json.schema import check_schema, ranker_schema
from crank.export.json.settings import read_setting, stored_setting
from crank.export.json.text import number, read_number
from crank.growing.rule import Split
from crank.growing.tree import MAX_DEPTH, Node, Tree
from crank.metrics.figures import get_figure
from crank.rankers.options import TreeOptions
from crank.rankers.pruning import PruningPath, weakest_links
from crank.rankers.tree import LearnerInfo, TreeRanker
from crank.rankers.validation import Validation

_ROUNDING = 1e-9


def write(ranker: TreeRanker) -> dict[str, Any]:
    """Return a tree with its history as plain data."""
    learner, tree, grown = ranker.learner, ranker.tree, ranker.pruning.tree
    return {
        "learner": stored_learner(learner),
        "options": {k: stored_setting(v) for k, v in ranker.options.to_dict().items()},
        **_criterion(ranker),
        "totals": {name: float(total) for name, total in tree.totals.items()},
        "pruning": {
            "figure": ranker.figure.name,
            "how": ranker.pruned_by,
            **_by_rank(ranker),
            "validation": _validation(ranker.validation),
        },
        "leaf_order": tree.leaf_order,
        "leaves": leaf_entries(tree, grown),
        "nodes": node_entries(grown, learner),
    }


def stored_learner(learner: LearnerInfo) -> dict[str, Any]:
    """Write which learner it was, and what provides it."""
    entry = require_installed(learner)
    return {
        "name": learner.name,
        "params": {str(k): stored_setting(v) for k, v in learner.params.items()},
        "takes_missing": bool(learner.takes_missing),
        "takes_categories": bool(learner.takes_categories),
        "distribution": entry.distribution,
        "version": entry.version,
        "contract": int(learner.contract),
    }


def read_learner(about: dict[str, Any]) -> LearnerInfo:
    """Read back which learner it was; it must be here."""
    params = {name: read_setting(value) for name, value in about["params"].items()}
    learner = LearnerInfo(**(about | {"params": params}))
    require_readable(learner)
    return learner


def prove(ranker: TreeRanker, stored: dict[str, Any], design: DesignSpec) -> None:
    """Raise unless the rules of a plugin decide alike once they have been read again."""
    if any(node.split and is_foreign(type(node.split.rule)) for node in ranker.tree.nodes):
        again = read(stored, design)
        counts = [0 if names is None else len(names) for names in design.levels]
        X = probe_rows(counts, missing=ranker.takes_missing)
        wrong = int(np.count_nonzero(again.tree.apply(X) != ranker.tree.apply(X)))
        if wrong:
            raise PluginError(
                f"split learner {ranker.learner.name!r} of {ranker.learner.distribution} "
                f"{ranker.learner.version} sends {wrong} of {len(X)} rows elsewhere after its "
                "rules have been written and read. to_dict must keep all that decision needs, "
                "numbers in full. No file is written."
            )


def read(stored: dict[str, Any], design: DesignSpec) -> TreeRanker:
    """Build a tree from plain data, every value checked."""
    check_schema(stored, ranker_schema("tree"), where="ranker")
    learner = read_learner(stored["learner"])
    try:
        criterion, because = _read_criterion(stored)
        figure = get_figure(stored["pruning"]["figure"], of_trees=True, option="pruning.figure")
    except OptionError as cause:
        raise ModelFileError(f"{cause} Install what provides it.") from cause
    totals = {name: float(total) for name, total in stored["totals"].items()}
    if totals.get("kendall", 0.0) <= 0.0 or min(totals.values()) < 0.0:
        raise ModelFileError("ranker.totals has no positive weight of pairs, or a negative weight.")
    if totals.get(figure.name, 0.0) <= 0.0:
        raise ModelFileError(
            f"ranker.pruning.figure is {figure.name!r}, of which the training sample has none."
        )
    grown = read_grown(stored["nodes"], RuleReader(learner, design), totals)
    path = _read_path(stored, weakest_links(grown, figure))
    return TreeRanker(
        tree=read_pruned(stored["leaves"], grown, stored["leaf_order"]),
        pruning=path,
        options=TreeOptions(**stored["options"]),
        learner=learner,
        validation=_read_validation(stored["pruning"]["validation"], path),
        pruned_by=stored["pruning"]["how"],
        criterion=criterion,
        because=because,
    )


def _criterion(ranker: TreeRanker) -> dict[str, Any]:
    origin = stored_origin(ranker.criterion)
    if ranker.options.criterion != AUTO and not origin:
        return {}
    return {"criterion": {"name": ranker.criterion, "because": ranker.because} | origin}


def _read_criterion(stored: dict[str, Any]) -> tuple[str, str]:
    """Return the criterion that grew the tree, and why "auto" chose it."""
    asked, chosen = stored["options"]["criterion"], stored.get("criterion")
    if chosen is None and asked == AUTO:
        raise ModelFileError("ranker.options.criterion is 'auto', and ranker.criterion is missing.")
    chosen = chosen or {"name": asked, "because": ""}
    name = read_criterion(chosen)
    if asked not in (AUTO, name) or (asked == name and chosen["because"]):
        raise ModelFileError(
            f"ranker.options.criterion is {asked!r}, and ranker.criterion is {name!r}. "
            "Allowed: the same one, or 'auto' and a reason."
        )
    return name, chosen["because"]


def _by_rank(ranker: TreeRanker) -> dict[str, Any]:
    known = ranker.pruning.by_rank
    return {"by_rank": {name: list(of_steps) for name, of_steps in known.items()}} if known else {}


def _read_path(stored: dict[str, Any], path: PruningPath) -> PruningPath:
    """Put training figures of the order by rank in their place; older files have none."""
    known = stored["pruning"].get("by_rank")
    if known is None:
        return path
    steps = len(path.steps)
    if stored["leaf_order"] != "rank" or path.figure.name not in known:
        raise ModelFileError(
            "ranker.pruning.by_rank is there though leaves are not ordered by rank, or lacks the "
            "figure that prunes."
        )
    if any(len(of_steps) != steps for of_steps in known.values()):
        raise ModelFileError(f"ranker.pruning.by_rank is not one figure for each of {steps} steps.")
    return path.ordered_by_rank(
        {name: tuple(map(float, of_steps)) for name, of_steps in known.items()}
    )


def _validation(validation: Validation | None) -> dict[str, Any] | None:
    if validation is None:
        return None
    return {
        "folds": int(validation.folds),
        "repeats": int(validation.repeats),
        "step": int(validation.step),
        "step_1se": int(validation.step_1se),
        "heldout": [[number(value) for value in row] for row in validation.heldout.tolist()],
    }


def _read_validation(stored: dict[str, Any] | None, path: PruningPath) -> Validation | None:
    if stored is None:
        return None
    folds, repeats, rows = stored["folds"], stored["repeats"], stored["heldout"]
    steps = len(path.steps)
    if len(rows) != folds * repeats or any(len(row) != steps for row in rows):
        raise ModelFileError(
            f"pruning.validation.heldout is not a table of {folds} × {repeats} folds by {steps} "
            f"pruning steps."
        )
    heldout = np.array([[read_number(value) for value in row] for row in rows])
    with np.errstate(invalid="ignore"):
        figures = np.isnan(heldout) | ((heldout > -_ROUNDING) & (heldout < 1.0 + _ROUNDING))
    if not figures.all() or np.isnan(heldout).all(axis=0).any():
        raise ModelFileError(
            "pruning.validation.heldout has numbers that are not from 0 to 1, or none at a step."
        )
    if max(stored["step"], stored["step_1se"]) >= steps:
        raise ModelFileError(f"pruning.validation names a step beyond the last, {steps - 1}.")
    return Validation(path.figure, folds, repeats, heldout, stored["step"], stored["step_1se"])


def node_entries(grown: Tree, learner: LearnerInfo) -> list[dict[str, Any]]:
    """Write the nodes of the tree as grown; depth and place follow from the children."""
    return [_entry(node, learner) for node in grown.nodes]


def _entry(node: Node, learner: LearnerInfo) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "n": int(node.n),
        "weight": float(node.weight),
        "quantile": float(node.quantile),
        "quartiles": [float(node.y_lower), float(node.y_median), float(node.y_upper)],
    }
    if node.split is not None:
        entry["split"] = {
            "left": int(node.left),
            "right": int(node.right),
            "sign": int(node.split.sign),
            "cut": float(node.split.cut),
            "gains": {name: float(gain) for name, gain in node.gains.items()},
            "rule": stored_rule(learner, node.split.rule),
        }
    return entry


def leaf_entries(tree: Tree, grown: Tree) -> list[dict[str, Any]]:
    """Write the leaves of a pruned tree, best first, as nodes of the tree as grown."""
    position = {node.number: i for i, node in enumerate(grown.nodes)}
    pairs = zip(tree.leaves, tree.scores.tolist(), strict=True)
    return [{"node": position[tree.nodes[i].number], "score": score} for i, score in pairs]


def read_grown(
    entries: Sequence[dict[str, Any]], rules: RuleReader, totals: Mapping[str, float]
) -> Tree:
    """Rebuild the tree as grown, or raise `ModelFileError`.

    Children come after their parents and have one each, so there is no cycle to fall into.
    """
    depth, place, parent = [0], [0], [-1]
    depth += [-1] * (len(entries) - 1)
    place += [0] * (len(entries) - 1)
    parent += [-1] * (len(entries) - 1)
    nodes = []
    for i, entry in enumerate(entries):
        if i and parent[i] < 0:
            raise ModelFileError(f"nodes[{i}] is no node's child, or stands before its parent.")
        split = entry.get("split")
        if split is not None:
            _adopt(i, split, parent)
            if depth[i] == MAX_DEPTH:
                raise ModelFileError(f"nodes[{i}] is split at depth {MAX_DEPTH}, the greatest.")
            for side, child in enumerate((split["left"], split["right"])):
                depth[child], place[child] = depth[i] + 1, 2 * place[i] + side
            if entry["n"] != sum(entries[split[side]]["n"] for side in ("left", "right")):
                raise ModelFileError(f"nodes[{i}].n is not the sum of its children's.")
            if split["gains"].keys() != totals.keys():
                raise ModelFileError(f"nodes[{i}].split.gains are not of the figures in totals.")
            for name, most in totals.items():
                if abs(split["gains"][name]) > most * (1.0 + _ROUNDING):
                    raise ModelFileError(
                        f"nodes[{i}].split.gains.{name} exceeds what there is to gain."
                    )
        nodes.append(_node(entry, depth[i], place[i], rules, f"nodes[{i}]"))
    return Tree(tuple(nodes), max(depth), totals)


def _adopt(i: int, split: dict[str, Any], parent: list[int]) -> None:
    for side in ("left", "right"):
        child = split[side]
        if not i < child < len(parent):
            raise ModelFileError(
                f"nodes[{i}].split.{side} is {child}. Allowed: a later node, {i + 1} to "
                f"{len(parent) - 1}."
            )
        if parent[child] >= 0:
            raise ModelFileError(f"nodes[{child}] has two parents.")
        parent[child] = i


def _node(entry: dict[str, Any], depth: int, place: int, rules: RuleReader, where: str) -> Node:
    lower, median, upper = map(float, entry["quartiles"])
    node = Node(
        depth=depth,
        place=place,
        n=entry["n"],
        weight=float(entry["weight"]),
        quantile=float(entry["quantile"]),
        y_lower=lower,
        y_median=median,
        y_upper=upper,
    )
    stored = entry.get("split")
    if stored is None:
        return node
    rule = rules.read(stored["rule"], f"{where}.split")
    return node._replace(
        split=Split(rule, float(stored["cut"]), stored["sign"]),
        left=stored["left"],
        right=stored["right"],
        gains={name: float(gain) for name, gain in stored["gains"].items()},
    )


def read_pruned(entries: Sequence[dict[str, Any]], grown: Tree, order: LeafOrder) -> Tree:
    """Cut the tree as grown back to the listed leaves; they must cover it, best first."""
    listed = [entry["node"] for entry in entries]
    wanted = set(listed)
    met, collapsed, stack = 0, set(), [0]
    while stack:
        index = stack.pop()
        node = grown.nodes[index]
        if index in wanted:
            met += 1
            if not node.is_leaf:
                collapsed.add(index)
        elif node.is_leaf:
            raise ModelFileError(f"leaves lack nodes[{index}] or a node above it.")
        else:
            stack += [node.left, node.right]
    if met < len(listed):
        raise ModelFileError("leaves name a node twice, one below another, or one that is absent.")
    tree = replace(grown.collapse(collapsed) if collapsed else grown, leaf_order=order)
    if leaf_entries(tree, grown) != list(entries):
        raise ModelFileError(
            f"leaves are not in the {order!r} order, best first, or have other scores than the "
            f"tree gives them."
        )
    return tree
