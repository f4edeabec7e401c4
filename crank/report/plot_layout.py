"""Where the boxes of a drawn tree go: plain geometry in points, which no plotting library sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from crank.growing.tree import Tree

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
ROW = 17.0
"""Height of a leaf in a tree that is drawn sideways."""
ELBOW = 30.0
"""Between one column of splits and the next."""
WIDEST_SIDEWAYS = 165.0
GENEROUS = 560.0
"""Width that a small tree spreads over, so that its rules have room."""


@dataclass(frozen=True)
class Box:
    """A node as drawn: its centre, size and texts, in points from the lower left.

    ``at`` are the places of the texts, from the centre.
    """

    node: int
    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    at: tuple[tuple[float, float], ...]


def stacked(lines: tuple[str, ...]) -> tuple[tuple[float, float], ...]:
    """Places of lines one below another."""
    return tuple((0.0, (len(lines) - 1) * LINE / 2.0 - k * LINE) for k in range(len(lines)))


@dataclass(frozen=True)
class Branch:
    """The way from a node to one of its children, corner by corner."""

    corners: tuple[tuple[float, float], ...]
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


def _shorten(text: str, width: float, measure: Measure, most_lost: float = 0.4) -> str:
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
    return text[: space if space > (1.0 - most_lost) * low else low].rstrip(" ,{") + "…"


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
        height = len(text) * LINE + 2 * PAD
        boxes[index] = Box(index, x[index], y, width, height, text, stacked(text))

    branches = []
    for index in rules:
        node, box = tree.nodes[index], boxes[index]
        below = box.y - box.height / 2.0 - DROP * 0.4
        for child in (node.left, node.right):
            end = (x[child], boxes[child].y)
            left = child == node.left
            corners = (box.x, box.y), (x[child], box.y), end
            branches.append(Branch(corners, left, (x[child], below)))
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


def arrange_sideways(
    tree: Tree,
    rules: Mapping[int, str],
    counts: Mapping[int, str],
    leaves: Mapping[int, tuple[str, ...]],
    measure: Measure,
) -> TreeLayout:
    """Place the leaves one below another, the best on top, and splits to their left by depth.

    A leaf takes one line, its texts in columns, so that many leaves stay legible. A split has the
    height of two leaves at least. Parameters as those of `arrange`.
    """
    row = {index: k for k, index in enumerate(tree.oriented_leaves)}
    y: dict[int, float] = {}
    for index, node in reversed(list(tree.walk())):  # children before parents
        if node.is_leaf:
            y[index] = (len(row) - row[index] - 0.5) * ROW
        else:
            y[index] = (y[node.left] + y[node.right]) / 2.0
    lines = {
        index: (_shorten(rules[index], WIDEST_SIDEWAYS, measure, 0.2), counts[index])
        for index in rules
    }
    starts, start = {}, 0.0
    for depth in sorted({tree.nodes[index].depth for index in rules}):
        here = [index for index in rules if tree.nodes[index].depth == depth]
        starts[depth] = start
        widest = max(measure(line) for index in here for line in lines[index])
        start += widest + 2 * PAD + ELBOW
    boxes = {}
    for index in rules:
        text = lines[index]
        width = max(map(measure, text)) + 2 * PAD
        x = starts[tree.nodes[index].depth] + width / 2.0
        height = len(text) * LINE + PAD
        boxes[index] = Box(index, x, y[index], width, height, text, stacked(text))
    cells = [max(map(measure, column)) + 2 * PAD for column in zip(*leaves.values(), strict=True)]
    width = sum(cells)
    centres = [sum(cells[:k]) + cells[k] / 2.0 - width / 2.0 for k in range(len(cells))]
    across = tuple((centre, 0.0) for centre in centres)
    for index, texts in leaves.items():
        boxes[index] = Box(
            index, start + width / 2.0, y[index], width, ROW - 2.0, texts, across[: len(texts)]
        )
    branches = []
    for index in rules:
        node, box = tree.nodes[index], boxes[index]
        for child in (node.left, node.right):
            elbow = box.x + box.width / 2.0 + ELBOW / 4.0
            end = (boxes[child].x - boxes[child].width / 2.0, y[child])
            corners = (box.x, box.y), (elbow, box.y), (elbow, y[child]), end
            label = (elbow + 0.4 * ELBOW, y[child])
            branches.append(Branch(corners, child == node.left, label))
    return TreeLayout(tuple(boxes.values()), tuple(branches), start + width, ROW * len(row))
