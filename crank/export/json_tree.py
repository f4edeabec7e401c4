"""The tree of a model file: nodes as grown, once, and the leaves that it is pruned to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from crank.errors import ModelFileError
from crank.export.json_rules import RuleReader, stored_rule
from crank.tree import MAX_DEPTH, LeafOrder, Node, Split, Tree

_ROUNDING = 1e-9


def node_entries(grown: Tree, learner: str) -> list[dict[str, Any]]:
    """Write the nodes of the tree as grown; depth and place follow from the children."""
    return [_entry(node, learner) for node in grown.nodes]


def _entry(node: Node, learner: str) -> dict[str, Any]:
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
            "gain_kendall": float(node.gain_kendall),
            "gain_iauc": float(node.gain_iauc),
            "rule": stored_rule(learner, node.split.rule),
        }
    return entry


def leaf_entries(tree: Tree, grown: Tree) -> list[dict[str, Any]]:
    """Write the leaves of a pruned tree, best first, as nodes of the tree as grown."""
    position = {node.number: i for i, node in enumerate(grown.nodes)}
    pairs = zip(tree.leaves, tree.scores.tolist(), strict=True)
    return [{"node": position[tree.nodes[i].number], "score": score} for i, score in pairs]


def read_grown(
    entries: Sequence[dict[str, Any]], rules: RuleReader, pairs: float, triples: float
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
            limits = {"gain_kendall": pairs, "gain_iauc": triples}
            for name, most in limits.items():
                if abs(split[name]) > most * (1.0 + _ROUNDING):
                    raise ModelFileError(f"nodes[{i}].split.{name} exceeds what there is to gain.")
        nodes.append(_node(entry, depth[i], place[i], rules, f"nodes[{i}]"))
    return Tree(tuple(nodes), max(depth), pairs, triples)


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
        gain_kendall=float(stored["gain_kendall"]),
        gain_iauc=float(stored["gain_iauc"]),
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
