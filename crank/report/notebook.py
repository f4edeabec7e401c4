"""What a notebook shows of a model: a line that names it, its figures, and a tree as inline SVG."""

from __future__ import annotations

import html

import pandas as pd

from crank.growing.wording import BRIEF
from crank.records.base import ModelRecord
from crank.records.kinds import reader
from crank.records.tree import TreeRecord
from crank.report.plot_style import short_number, shortened
from crank.report.summary import figure_rows, html_table
from crank.report.text import step_texts

BOX = (150, 36)
"""Width and height of a node, in pixels."""
STEP = (172, 42)
"""From a node to its child, and from a leaf to the next."""
MOST_LEAVES = 32
"""Leaves that are drawn; a larger tree is described in words."""


def model_html(model: ModelRecord) -> str:
    """Write a model as an HTML fragment.

    Examples
    --------
    >>> import crank
    >>> train, _ = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame, "y ~ x", max_depth=2, prune=None)
    >>> model_html(m).count("<rect")
    14
    """
    report = reader(model.kind, "report")
    parts = [
        f"<p><strong>{html.escape(type(model).__name__)}</strong> "
        f"<code>{html.escape(model.formula)}</code>, {html.escape(report.headline(model))}, "
        f"n = {model.training.n}</p>"
    ]
    if isinstance(model, TreeRecord) and model.tree.n_leaves <= MOST_LEAVES:
        parts.append(tree_svg(model))
    rows = figure_rows(model)
    if rows:
        parts.append(html_table(pd.DataFrame(rows)))
    return f"<div>{''.join(parts)}</div>"


def tree_svg(model: TreeRecord) -> str:
    """Draw a tree from left to right, in the colours of the text around it."""
    tree, words = model.tree, step_texts(model, BRIEF)
    place: dict[int, float] = {}
    line = 0
    for index in reversed(list(words)):  # children come after their parents in preorder
        node = tree.nodes[index]
        if node.split is not None:
            place[index] = (place[node.left] + place[node.right]) / 2
        else:
            place[index], line = float(tree.n_leaves - 1 - line), line + 1
    deepest = max(tree.nodes[i].depth for i in tree.leaves)
    width, height = deepest * STEP[0] + BOX[0] + 4, tree.n_leaves * STEP[1] + 2
    drawn = []
    for index, text in words.items():
        node = tree.nodes[index]
        x, y = 2 + node.depth * STEP[0], 2 + place[index] * STEP[1]
        if node.split is not None:
            drawn += [_edge(x, y, 2 + place[child] * STEP[1]) for child in (node.left, node.right)]
        leaf = int(tree.leaf_of_node[index])
        about = f"n {node.n} · {short_number(node.y_median)}"
        drawn.append(_box(x, y, text, f"leaf {leaf} · {about}" if node.is_leaf else about,
                          node.quantile))  # fmt: skip
    label = html.escape(f"Ranking tree of {tree.n_leaves} leaves: {model.formula}", quote=True)
    return (
        f'<div style="overflow-x:auto"><svg role="img" aria-label="{label}" width="{width}" '
        f'height="{height:.0f}" font-family="sans-serif" font-size="11" fill="currentColor">'
        f"{''.join(drawn)}</svg></div>"
    )


def _edge(x: float, y: float, child: float) -> str:
    start, middle, end = x + BOX[0], x + BOX[0] + 11, x + STEP[0]
    half = BOX[1] / 2
    return (
        f'<path d="M{start} {y + half:.1f}H{middle}V{child + half:.1f}H{end}" fill="none" '
        'stroke="currentColor" stroke-opacity=".4"/>'
    )


def _box(x: float, y: float, first: str, second: str, quantile: float) -> str:
    """Draw a node: a frame, a strip as dark as its mean rank is high, two lines of text."""
    return (
        f'<g transform="translate({x} {y:.1f})"><title>{html.escape(first)}</title>'
        f'<rect width="{BOX[0]}" height="{BOX[1]}" rx="4" fill="none" stroke="currentColor" '
        f'stroke-opacity=".5"/><rect width="7" height="{BOX[1]}" rx="3" fill="#2f7fc1" '
        f'fill-opacity="{0.15 + 0.85 * quantile:.2f}"/>'
        f'<text x="13" y="15">{html.escape(shortened(first, 24))}</text>'
        f'<text x="13" y="29" opacity=".75">{html.escape(second)}</text></g>'
    )
