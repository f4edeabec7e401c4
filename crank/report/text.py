"""The tree as text: the indented print, rules, and one row's way through the tree."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crank.growing.conditions import AnyOf, Box, Condition, Sum, Values
from crank.growing.rule import Split, described
from crank.growing.tree import Node
from crank.growing.wording import BRIEF, FULL, RULES, ColumnWords, Wording, joined, means_text
from crank.plugins.base import FloatArray
from crank.report.words import column_words

if TYPE_CHECKING:
    import pandas as pd

    from crank.records.tree import TreeRecord


@dataclass(frozen=True)
class Way:
    """What leads from the root to a node: every condition, those on one column as one.

    Attributes
    ----------
    parts : mapping
        `Values` by column, other conditions by their split, in the order of the path.
    last_step : condition or str
        What leads from the parent to the node; "root" for the root.
    """

    parts: Mapping[Hashable, Values | Condition | str]
    last_step: Condition | str = "root"

    def then(self, model: TreeRecord, index: int, split: Split, *, left: bool) -> Way:
        """Go down one side of a split."""
        step = split.condition(left=left)
        if isinstance(step, AnyOf) and len(step.boxes) == 1:
            return self._narrowed(step.boxes[0])
        words = opaque_text(model, split, left=left) if step is None else step
        return Way({**self.parts, (index, left): words}, words)

    def _narrowed(self, box: Box) -> Way:
        """Meet a condition on some columns as well: what they may be is what all allow."""
        parts, shown = dict(self.parts), {}
        for column, values in box.items():
            before = parts.get(column)
            assert before is None or isinstance(before, Values)
            shown[column] = values.within(before)
            parts[column] = values if before is None else before & values
        return Way(parts, AnyOf((shown,)))

    def rule(self, columns: tuple[ColumnWords, ...], wording: Wording) -> str:
        """Say all of it in one line."""
        conditions: list[Condition | str] = []
        for column, part in self.parts.items():
            if isinstance(part, Values):
                assert isinstance(column, int)
                conditions.append(AnyOf(({column: part},)))
            else:
                conditions.append(part)
        return joined(conditions, columns, wording)

    def last(self, columns: tuple[ColumnWords, ...], wording: Wording) -> str:
        """Say the last condition in one line."""
        return joined([self.last_step], columns, wording)


def opaque_text(model: TreeRecord, split: Split, *, left: bool) -> str:
    """Let a rule speak for itself that cannot say what it demands of a row."""
    design = model.design
    # a split with sign −1 sends the learner's low side left
    high = left == (split.sign > 0)
    levels = design.level_names if model.learner.takes_categories else None
    text = described(split.rule, design.names, levels, left=high)
    return text if split.cut == 0.0 else f"{text} [cut at {split.cut:.4g}]"


def ways(model: TreeRecord) -> Iterator[tuple[int, Node, Way]]:
    """Visit the nodes in preorder, each with what leads to it."""
    stack: list[tuple[int, Way]] = [(0, Way({}))]
    while stack:
        index, way = stack.pop()
        node = model.tree.nodes[index]
        yield index, node, way
        if node.split is not None:
            for child, left in ((node.right, False), (node.left, True)):
                stack.append((child, way.then(model, index, node.split, left=left)))


def step_texts(model: TreeRecord, wording: Wording) -> dict[int, str]:
    """Say what leads from its parent to each node, in preorder; "root" for the root."""
    columns = column_words(model)
    return {index: way.last(columns, wording) for index, _, way in ways(model)}


def tree_text(model: TreeRecord) -> str:
    """Print the tree in rpart's manner: one line a node, the high side first, * for leaves."""
    tree = model.tree
    lines = [
        f"Ranking tree: {model.formula}",
        f"n = {model.training.n}"
        + (f", {model.training.left_out}" if model.training.left_out else ""),
        "",
        "node) split, n, median of y, quantile, score",
        "      * denotes a leaf",
        "",
    ]
    for index, text in step_texts(model, BRIEF).items():
        node = tree.nodes[index]
        line = f"{'  ' * node.depth}{node.number}) {text} {node.n} {node.y_median:.4g}"
        line += f" {node.quantile:.2f}"
        if node.is_leaf:
            line += f" {tree.scores[tree.leaf_of_node[index]]:g} *"
        lines.append(line)
    return "\n".join(lines)


def leaf_rules(model: TreeRecord, wording: Wording) -> list[str]:
    """Say what leads to each leaf, best first."""
    columns = column_words(model)
    found = {i: way.rule(columns, wording) for i, node, way in ways(model) if node.is_leaf}
    return [found[i] for i in model.tree.leaves]


def rules_text(model: TreeRecord, *, full: bool = False) -> str:
    """Write one line a leaf, best first; what missing values count as in sums is said once."""
    tree = model.tree
    lines: list[str] = []
    wording, means = FULL if full else RULES, common_means(model)
    if means is not None:
        wording = replace(wording, means=False)
    rules = leaf_rules(model, wording)
    for place, (index, rule) in enumerate(zip(tree.leaves, rules, strict=True)):
        node = tree.nodes[index]
        lines.append(f"leaf {place}: score {tree.scores[place]:g}, n = {node.n}: {rule}")
    counted = means_text(means or {}, column_words(model), wording)
    if counted:
        lines.append(f"missing values in sums count: {counted}")
    return "\n".join(lines)


def common_means(model: TreeRecord) -> dict[int, float] | None:
    """Find what a missing value of each column counts as, if all sums of the tree agree."""
    found: dict[int, float] = {}
    for _, _, way in ways(model):
        if isinstance(way.last_step, Sum):
            for column, mean in zip(way.last_step.columns, way.last_step.missing_as, strict=True):
                if found.setdefault(column, mean) != mean:
                    return None
    return dict(sorted(found.items()))


def path_table(model: TreeRecord, X: FloatArray) -> pd.DataFrame:
    """Follow one row from the root to its leaf; see `TreeModel.path`."""
    import pandas as pd

    tree = model.tree
    columns, way = column_words(model), Way({})
    rows, index = [], 0
    while (split := tree.nodes[index].split) is not None:
        left = bool(split.goes_left(X)[0])
        way = way.then(model, index, split, left=left)
        index = tree.nodes[index].left if left else tree.nodes[index].right
        node = tree.nodes[index]
        within = [tree.leaf_of_node[i] for i, cell in tree.walk(index) if cell.is_leaf]
        rows.append(
            {
                "node": node.number,
                "condition": way.last(columns, RULES),
                "side": "high" if left else "low",
                "n": node.n,
                "y_median": node.y_median,
                "quantile": node.quantile,
                "best": tree.scores[min(within)],
                "worst": tree.scores[max(within)],
            }
        )
    names = ["node", "condition", "side", "n", "y_median", "quantile", "best", "worst"]
    return pd.DataFrame(rows, columns=names)


def leaves_text(n: int) -> str:
    """Count leaves in words.

    Examples
    --------
    >>> leaves_text(1), leaves_text(8)
    ('1 leaf', '8 leaves')
    """
    return f"{n} {'leaf' if n == 1 else 'leaves'}"
