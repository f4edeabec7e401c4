"""The tree as text: the indented print, rules, and one row's way through the tree."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any

from crank.plugins.base import FloatArray
from crank.tree import Node, Split

if TYPE_CHECKING:
    import pandas as pd

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
    """Visit the nodes in preorder with the conditions that lead to each, the last one last.

    A condition that a later one makes superfluous is left out.
    """
    stack: list[tuple[int, dict[Hashable, str]]] = [(0, {})]
    while stack:
        index, so_far = stack.pop()
        node = model.tree.nodes[index]
        yield index, node, tuple(so_far.values())
        if node.split is not None:
            for child, left in ((node.right, False), (node.left, True)):
                high = left == (node.split.sign > 0)
                topic = node.split.rule.topic(left=high)
                # a condition without a topic is a topic of its own
                key = (index, left) if topic is None else topic
                kept = {k: text for k, text in so_far.items() if k != key}
                stack.append((child, kept | {key: side_text(model, node.split, left=left)}))


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


def path_table(model: RankingModel, X: FloatArray) -> pd.DataFrame:
    """Follow one row from the root to its leaf; see `RankingModel.path`."""
    import pandas as pd

    tree = model.tree
    rows, index = [], 0
    while (split := tree.nodes[index].split) is not None:
        left = bool(split.goes_left(X)[0])
        index = tree.nodes[index].left if left else tree.nodes[index].right
        node = tree.nodes[index]
        within = [tree.leaf_of_node[i] for i, cell in tree.walk(index) if cell.is_leaf]
        rows.append(
            {
                "node": node.number,
                "condition": side_text(model, split, left=left),
                "turn": "high" if left else "low",
                "n": node.n,
                "y_median": node.y_median,
                "quantile": node.quantile,
                "best": tree.scores[min(within)],
                "worst": tree.scores[max(within)],
            }
        )
    columns = ["node", "condition", "turn", "n", "y_median", "quantile", "best", "worst"]
    return pd.DataFrame(rows, columns=columns)
