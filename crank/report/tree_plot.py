"""The tree as a picture: splits as boxes with their rules, leaves in their order and colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crank.checks import whole
from crank.errors import require
from crank.growing.tree import Tree
from crank.growing.wording import PLOTS
from crank.report.plot_layout import Box, Measure, TreeLayout, arrange, arrange_sideways
from crank.report.plot_style import MUTED, axes, ink_on, leaf_colours, short_number
from crank.report.shares import higher_shares
from crank.report.text import step_texts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from crank.records.tree import TreeRecord

FONT = 8.0
"""Font size of the layout, in points; an `ax` of another size scales it."""
LARGEST_SCALE = 1.4
MARGIN = 6.0
MOST_UPRIGHT = 20
"""Leaves beyond which a tree lies on its side."""
FEW_LEAVES = 8
NOTE = 16.0
"""Room for the line below the tree."""


def plot_tree(model: TreeRecord, *, max_depth: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw the tree: the high side on the left, leaves in one row.

    A box above shows the condition of its left branch and its number of training rows; a leaf shows
    its number (0 ranks best), its training rows and the median of their responses, or, if there
    are but two responses, the share of the higher one. A tree of many
    leaves lies on its side, the high side on top. Long rules end in an ellipsis; `TreeModel.rules`
    has them in full.

    Parameters
    ----------
    model : TreeModel
    max_depth : int, optional
        Draw no split below this depth; what hangs there is one box, which names its leaves.
    ax : matplotlib Axes, optional
        Where to draw; the text shrinks until the tree fits. By default a figure as large as the
        tree needs.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import crank
    >>> from matplotlib.figure import Figure
    >>> train, _ = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame, "y ~ x", max_depth=2, prune=None)
    >>> ax = m.plot(ax=Figure().subplots())
    >>> [text.get_text() for text in ax.texts][:2]
    ['x > 0.46398', 'n 100']
    """
    require("matplotlib", "plot")
    if max_depth is not None:
        whole("max_depth", max_depth, 1)
    drawing = _drawing(model, max_depth)
    upright, sideways = (make(*drawing.content, _measure()) for make in (arrange, arrange_sideways))
    if ax is None:
        layout = sideways if len(drawing.leaves) > MOST_UPRIGHT else upright
        wide = max(layout.width, 0.9 * _measure()(_note(model)))
        size = (wide + 2 * MARGIN, layout.height + NOTE + 2 * MARGIN)
        ax = axes(None, (size[0] / 72.0, size[1] / 72.0))
        ax.get_figure().set_layout_engine("none")  # type: ignore[union-attr]  # it was just made
        ax.set_position((0.0, 0.0, 1.0, 1.0))
    else:
        # whichever has the larger letters; the usual way round unless it costs many points
        larger = _scale(ax, sideways) > 1.25 * _scale(ax, upright)
        layout = sideways if larger and len(drawing.leaves) > FEW_LEAVES else upright
    scale = _fit(ax, layout)
    _draw(ax, model, drawing, layout, scale)
    return ax


@dataclass(frozen=True)
class Drawing:
    """What is drawn of a tree: its upper part, and what the boxes say.

    Attributes
    ----------
    tree : Tree
        Cut where the drawing ends.
    rules, counts, leaves : dict
        Texts by node.
    places : dict
        The leaves of the whole tree, best first from 0, that each drawn leaf stands for.
    """

    tree: Tree
    rules: dict[int, str]
    counts: dict[int, str]
    leaves: dict[int, tuple[str, ...]]
    places: dict[int, list[int]]

    @property
    def content(
        self,
    ) -> tuple[Tree, dict[int, str], dict[int, str], dict[int, tuple[str, ...]]]:
        """What a layout has to place."""
        return self.tree, self.rules, self.counts, self.leaves


def _drawing(model: TreeRecord, max_depth: int | None) -> Drawing:
    tree = model.tree
    shares = higher_shares(tree)
    steps = step_texts(model, PLOTS)
    deep = {i for i, node in tree.walk() if max_depth is not None and node.depth == max_depth}
    upper = tree.collapse(deep) if deep else tree
    old = {node.number: index for index, node in tree.walk()}
    drawing = Drawing(upper, {}, {}, {}, {})
    for index, node in upper.walk():
        whole_index = old[node.number]
        if node.split is not None:
            drawing.rules[index] = steps[tree.nodes[whole_index].left]
            drawing.counts[index] = f"n {node.n:,}"
            continue
        below = (tree.leaf_of_node[i] for i, cell in tree.walk(whole_index) if cell.is_leaf)
        places = sorted(int(place) for place in below)
        drawing.places[index] = places
        drawing.leaves[index] = (
            _leaf_name(places),
            f"n {node.n:,}",
            short_number(node.y_median) if shares is None else _percent(shares[whole_index]),
        )
    return drawing


def _percent(share: float) -> str:
    """Write a share; none and all are exact."""
    if 0.0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 < share < 1.0 else f"{100.0 * share:.0f}%"


def _leaf_name(places: list[int]) -> str:
    if len(places) == 1:
        return f"leaf {places[0]}"
    if places[-1] - places[0] == len(places) - 1:
        return f"leaves {places[0]}–{places[-1]}"
    return f"{len(places)} leaves"


def _measure() -> Measure:
    """Measure text without a canvas, so that every backend gets the same layout."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=FONT)

    def width(text: str) -> float:
        found = text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]
        return 1.06 * float(found)  # hinting widens letters on a coarse canvas

    return width


def _scale(ax: Axes, layout: TreeLayout) -> float:
    """Tell how large a layout can be drawn."""
    extent, dpi = ax.get_window_extent(), ax.figure.dpi
    wide, high = 72.0 * extent.width / dpi, 72.0 * extent.height / dpi
    needed = (layout.width + 2 * MARGIN, layout.height + NOTE + 2 * MARGIN)
    return min(wide / needed[0], high / needed[1], LARGEST_SCALE)


def _fit(ax: Axes, layout: TreeLayout) -> float:
    """Make one data unit the same length both ways, with the tree in the middle."""
    extent, dpi = ax.get_window_extent(), ax.figure.dpi
    wide, high = 72.0 * extent.width / dpi, 72.0 * extent.height / dpi
    needed = (layout.width + 2 * MARGIN, layout.height + NOTE + 2 * MARGIN)
    scale = _scale(ax, layout)
    spare = (wide / scale - needed[0]) / 2.0, (high / scale - needed[1]) / 2.0
    ax.set_xlim(-MARGIN - spare[0], layout.width + MARGIN + spare[0])
    ax.set_ylim(-NOTE - MARGIN - spare[1], layout.height + MARGIN + spare[1])
    ax.set_axis_off()
    return scale


def _draw(ax: Axes, model: TreeRecord, drawing: Drawing, layout: TreeLayout, scale: float) -> None:
    colours = leaf_colours(model.tree.n_leaves)
    for branch in layout.branches:
        x, y = zip(*branch.corners, strict=True)
        ax.plot(x, y, color="#9a9a9a", lw=0.9 * scale, zorder=1)
    for box in layout.boxes:
        places = drawing.places.get(box.node)
        if places is None:
            _box(ax, box, scale, None, f"node {drawing.tree.nodes[box.node].number}")
        else:
            middle = colours[round(sum(places) / len(places))]
            kind = "leaf" if len(places) == 1 else "leaves"
            _box(ax, box, scale, middle, " ".join([kind, *map(str, places)]))
    quiet = {"color": MUTED, "ha": "center", "va": "center"}
    on_line = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
    for branch in layout.branches:
        word = "yes" if branch.left else "no"
        size = 0.75 * FONT * scale
        ax.text(*branch.label, word, fontsize=size, zorder=2, bbox=on_line, **quiet)  # type: ignore[arg-type]  # mixed keywords
    where = (layout.width / 2.0, -NOTE / 2.0 - 2.0)
    ax.text(*where, _note(model), fontsize=0.9 * FONT * scale, parse_math=False, **quiet)  # type: ignore[arg-type]


def _note(model: TreeRecord) -> str:
    """Say what the boxes of leaves hold."""
    name = model.response.name
    what = f"median of {name}" if higher_shares(model.tree) is None else f"share with higher {name}"
    return f"leaf: number (0 ranks best), training rows, {what}"


def _box(
    ax: Axes, box: Box, scale: float, colour: tuple[float, float, float] | None, name: str
) -> None:
    from matplotlib.patches import FancyBboxPatch

    is_leaf = colour is not None
    patch = FancyBboxPatch(
        (box.x - box.width / 2.0, box.y - box.height / 2.0),
        box.width,
        box.height,
        boxstyle="round,pad=0,rounding_size=3",
        facecolor=colour or "#f7f7f7",
        edgecolor="#5c5c5c" if is_leaf else "#9a9a9a",
        linewidth=0.8 * scale,
        zorder=3,
    )
    patch.set_gid(name)
    ax.add_patch(patch)
    ink = ink_on(colour) if colour is not None else "black"
    for k, (line, (right, up)) in enumerate(zip(box.lines, box.at, strict=True)):
        quiet = not is_leaf and k == len(box.lines) - 1
        bold = is_leaf and k == 0
        ax.text(
            box.x + right,
            box.y + up,
            line,
            fontsize=FONT * scale,
            fontweight="bold" if bold else "normal",
            color=MUTED if quiet else ink,
            ha="center",
            va="center_baseline",
            zorder=4,
            parse_math=False,
        )
