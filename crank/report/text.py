"""The tree as text: the indented print, rules, and one row's way through the tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crank.tree import Node, Split

if TYPE_CHECKING:
    from crank.model import RankingModel


def side_text(model: RankingModel, split: Split, *, left: bool) -> str:
    """Describe the rows that take one side of a split."""
    design = model.design
    extra: dict[str, Any] = {"levels": design.levels} if model.learner.takes_categories else {}
    # a split with sign −1 sends the learner's low side left
    high = left == (split.sign > 0)
    describe = split.rule.describe if high else split.rule.describe_right
    text = describe(design.names, **extra)
    return text if split.cut == 0.0 else f"{text} [cut at {split.cut:.4g}]"


def conditions(model: RankingModel) -> Iterator[tuple[int, Node, tuple[str, ...]]]:
    """Visit the nodes in preorder with the conditions that lead to each."""
    stack: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    while stack:
        index, so_far = stack.pop()
        node = model.tree.nodes[index]
        yield index, node, so_far
        if node.split is not None:
            right = side_text(model, node.split, left=False)
            left = side_text(model, node.split, left=True)
            stack.append((node.right, (*so_far, right)))
            stack.append((node.left, (*so_far, left)))


def tree_text(model: RankingModel) -> str:
    """Print the tree in rpart's manner: one line a node, the high side first, * for leaves."""
    tree = model.tree
    lines = [
        f"Ranking tree: {model.formula}",
        f"n = {model.training.n}"
        + (f" ({model.training.n_dropped} dropped)" if model.training.n_dropped else ""),
        "",
        "node) split, n, median of y, quantile, score",
        "      * denotes a leaf",
        "",
    ]
    for index, node, path in conditions(model):
        text = path[-1] if path else "root"
        line = f"{'  ' * node.depth}{node.number}) {text} {node.n} {node.y_median:.4g}"
        line += f" {node.quantile:.2f}"
        if node.is_leaf:
            line += f" {tree.scores[tree.leaf_of_node[index]]:g} *"
        lines.append(line)
    return "\n".join(lines)


def leaf_rules(model: RankingModel) -> list[str]:
    """Say what leads to each leaf, best first."""
    found = {i: " & ".join(path) or "all rows" for i, _, path in conditions(model)}
    return [found[i] for i in model.tree.leaves]


def rules_text(model: RankingModel) -> str:
    """Write one line a leaf, best first."""
    tree = model.tree
    lines = []
    for place, (index, rule) in enumerate(zip(tree.leaves, leaf_rules(model), strict=True)):
        node = tree.nodes[index]
        lines.append(f"leaf {place}: score {tree.scores[place]:g}, n = {node.n}: {rule}")
    return "\n".join(lines)
