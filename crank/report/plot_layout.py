"""Where the boxes of a drawn tree go: plain geometry in points, which no plotting library sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from crank.tree import Tree

Measure = Callable[[str], float]
"""Width of a line of text in points, at the font size of the layout."""

LINE = 10.0
"""Height of a line of text."""
PAD = 5.0
"""Between a box and its text."""
GAP = 7.0
"""Least distance between two boxes side by side."""
DROP = 20.0
"""Between one row of boxes and the next: room for the words on the branches."""
WIDEST_RULE = 190.0
RULE_LINES = 3
GENEROUS = 560.0
"""Width that a small tree spreads over, so that its rules have room."""


@dataclass(frozen=True)
class Box:
    """A node as drawn: its centre, size and lines of text, in points from the lower left."""

    node: int
    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Branch:
    """The way from a node to one of its children: sideways, then down."""

    start: tuple[float, float]
    end: tuple[float, float]
    left: bool
    label: tuple[float, float]


@dataclass(frozen=True)
class TreeLayout:
    """All boxes and branches of a tree, and the size of the whole."""

    boxes: tuple[Box, ...]
    branches: tuple[Branch, ...]
    width: float
    height: float


def fold(text: str, width: float, lines: int, measure: Measure) -> tuple[str, ...]:
    """Break a text at spaces into lines of limited width; what does not fit ends in an ellipsis.

    Examples
    --------
    >>> fold("cut in {Fair, Good, Very Good, Ideal}", 15, 2, len)
    ('cut in {Fair,', 'Good, Very…')
    >>> fold("x > 0.25", 12, 2, len)
    ('x > 0.25',)
    """
    words = text.split()
    done: list[str] = []
    while words:
        line = words.pop(0)
        while words and measure(f"{line} {words[0]}") <= width:
            line = f"{line} {words.pop(0)}"
        last = len(done) == lines - 1
        if last and words:
            return (*done, _shorten(f"{line} {' '.join(words)}", width, measure))
        done.append(line if measure(line) <= width else _shorten(line, width, measure))
    return tuple(done)


def _shorten(text: str, width: float, measure: Measure) -> str:
    """Cut a text, between words unless that loses too much."""
    if measure(text) <= width:
        return text
    low, high = 0, len(text)
    while low < high:  # the longest beginning that leaves room for the ellipsis
        middle = (low + high + 1) // 2
        if measure(text[:middle] + "…") <= width:
            low = middle
        else:
            high = middle - 1
    space = text.rfind(" ", 0, low + 1)
    return text[: space if space > 0.6 * low else low].rstrip(" ,{") + "…"


def arrange(
    tree: Tree,
    rules: Mapping[int, str],
    counts: Mapping[int, str],
    leaves: Mapping[int, tuple[str, ...]],
    measure: Measure,
) -> TreeLayout:
    """Place the leaves in one row, the best on the left, and each split between its children.

    A subtree owns the columns of its leaves and nothing of it is drawn outside them, so that
    nothing can overlap: a split has two columns at least, and its rule is folded to fit.

    Parameters
    ----------
    tree : Tree
    rules, counts : mapping of node to str
        What inner nodes say: the condition of the left branch, and their rows.
    leaves : mapping of node to tuple of str
        What leaves say, line by line.
    measure : callable
        Width of a line of text.
    """
    column = {index: k for k, index in enumerate(tree.oriented_leaves)}
    needed = max(measure(line) for lines in leaves.values() for line in lines) + 2 * PAD + GAP
    slot = max(needed, GENEROUS / max(len(column), 4))
    x, span = _columns(tree, column, slot)

    lines: dict[int, tuple[str, ...]] = dict(leaves)
    for index in rules:
        room = 2 * min(x[index] - span[index][0], span[index][1] - x[index]) - GAP - 2 * PAD
        room = min(room, WIDEST_RULE)
        lines[index] = (
            *fold(rules[index], room, RULE_LINES, measure),
            _shorten(counts[index], room, measure),
        )

    rows = _rows(tree, lines)
    boxes = {}
    for index, node in tree.walk():
        text = lines[index]
        y = rows[-1] if node.is_leaf else rows[node.depth]
        width = needed - GAP if node.is_leaf else max(map(measure, text)) + 2 * PAD
        boxes[index] = Box(index, x[index], y, width, len(text) * LINE + 2 * PAD, text)

    branches = []
    for index in rules:
        node, box = tree.nodes[index], boxes[index]
        below = box.y - box.height / 2.0 - DROP * 0.4
        for child in (node.left, node.right):
            end = (x[child], boxes[child].y)
            left = child == node.left
            branches.append(Branch((box.x, box.y), end, left, (x[child], below)))
    top = max(box.y + box.height / 2.0 for box in boxes.values())
    return TreeLayout(tuple(boxes.values()), tuple(branches), slot * len(column), top)


def _columns(
    tree: Tree, column: Mapping[int, int], slot: float
) -> tuple[dict[int, float], dict[int, tuple[float, float]]]:
    """Place every node sideways, and tell which stretch it may fill."""
    x: dict[int, float] = {}
    span: dict[int, tuple[float, float]] = {}
    for index, node in reversed(list(tree.walk())):  # children before parents
        if node.is_leaf:
            start = slot * column[index]
            x[index], span[index] = start + slot / 2.0, (start, start + slot)
        else:
            x[index] = (x[node.left] + x[node.right]) / 2.0
            span[index] = (span[node.left][0], span[node.right][1])
    return x, span


def _rows(tree: Tree, lines: Mapping[int, tuple[str, ...]]) -> list[float]:
    """Heights of the rows' middles: one row for each depth of splits, the leaves' row last."""
    tallest: dict[int, int] = {}
    for index, node in tree.walk():
        row = -1 if node.is_leaf else node.depth
        tallest[row] = max(tallest.get(row, 0), len(lines[index]))
    at_bottom = tallest.pop(-1) * LINE + 2 * PAD
    middles, bottom = [], at_bottom
    for depth in sorted(tallest, reverse=True):
        height = tallest[depth] * LINE + 2 * PAD
        middles.append(bottom + DROP + height / 2.0)
        bottom += DROP + height
    return [*reversed(middles), at_bottom / 2.0]
