"""The tree as a picture: splits as boxes with their rules, leaves in their order and colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crank.errors import require
from crank.report.plot_layout import LINE, Box, Measure, TreeLayout, arrange
from crank.report.plot_style import MUTED, axes, ink_on, leaf_colours, short_number
from crank.report.text import side_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from crank.model import RankingModel

FONT = 8.0
"""Font size of the layout, in points; an `ax` of another size scales it."""
LARGEST_SCALE = 1.4
MARGIN = 6.0
NOTE = 16.0
"""Room for the line below the tree."""


def plot_tree(model: RankingModel, *, ax: Axes | None = None) -> Axes:
    """Draw the tree: the high side on the left, leaves in one row.

    A box above shows the condition of its left branch and its number of training rows; a leaf shows
    its number (0 ranks best), its training rows and the median of their responses. Long rules end
    in an ellipsis; `RankingModel.rules` has them in full.

    Parameters
    ----------
    model : RankingModel
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
    layout = _layout(model)
    if ax is None:
        size = (layout.width + 2 * MARGIN, layout.height + NOTE + 2 * MARGIN)
        ax = axes(None, (size[0] / 72.0, size[1] / 72.0))
        ax.get_figure().set_layout_engine("none")  # type: ignore[union-attr]  # it was just made
        ax.set_position((0.0, 0.0, 1.0, 1.0))
    scale = _fit(ax, layout)
    _draw(ax, model, layout, scale)
    return ax


def _layout(model: RankingModel) -> TreeLayout:
    tree = model.tree
    rules, counts, leaves = {}, {}, {}
    for index, node in tree.walk():
        if node.split is None:
            lines = (
                f"leaf {tree.leaf_of_node[index]}",
                f"n {node.n:,}",
                short_number(node.y_median),
            )
            leaves[index] = lines
        else:
            rules[index] = side_text(model, node.split, left=True)
            counts[index] = f"n {node.n:,}"
    return arrange(tree, rules, counts, leaves, _measure())


def _measure() -> Measure:
    """Measure text without a canvas, so that every backend gets the same layout."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=FONT)

    def width(text: str) -> float:
        found = text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]
        return 1.06 * float(found)  # hinting widens letters on a coarse canvas

    return width


def _fit(ax: Axes, layout: TreeLayout) -> float:
    """Make one data unit the same length both ways, with the tree in the middle."""
    extent, dpi = ax.get_window_extent(), ax.figure.dpi
    wide, high = 72.0 * extent.width / dpi, 72.0 * extent.height / dpi
    needed = (layout.width + 2 * MARGIN, layout.height + NOTE + 2 * MARGIN)
    scale = min(wide / needed[0], high / needed[1], LARGEST_SCALE)
    spare = (wide / scale - needed[0]) / 2.0, (high / scale - needed[1]) / 2.0
    ax.set_xlim(-MARGIN - spare[0], layout.width + MARGIN + spare[0])
    ax.set_ylim(-NOTE - MARGIN - spare[1], layout.height + MARGIN + spare[1])
    ax.set_axis_off()
    return scale


def _draw(ax: Axes, model: RankingModel, layout: TreeLayout, scale: float) -> None:
    tree = model.tree
    colours = leaf_colours(tree.n_leaves)
    for branch in layout.branches:
        (x, y), (child_x, child_y) = branch.start, branch.end
        ax.plot([x, child_x, child_x], [y, y, child_y], color="#9a9a9a", lw=0.9 * scale, zorder=1)
    for box in layout.boxes:
        leaf = int(tree.leaf_of_node[box.node])
        _box(ax, box, scale, None if leaf < 0 else colours[leaf], leaf, tree.nodes[box.node].number)
    quiet = {"color": MUTED, "ha": "center", "va": "center"}
    on_line = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
    for branch in layout.branches:
        word = "yes" if branch.left else "no"
        size = 0.75 * FONT * scale
        ax.text(*branch.label, word, fontsize=size, zorder=2, bbox=on_line, **quiet)  # type: ignore[arg-type]  # mixed keywords
    note = f"leaf: number (0 ranks best), training rows, median of {model.response.name}"
    where = (layout.width / 2.0, -NOTE / 2.0 - 2.0)
    ax.text(*where, note, fontsize=0.9 * FONT * scale, parse_math=False, **quiet)  # type: ignore[arg-type]


def _box(
    ax: Axes,
    box: Box,
    scale: float,
    colour: tuple[float, float, float] | None,
    leaf: int,
    number: int,
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
    patch.set_gid(f"leaf {leaf}" if is_leaf else f"node {number}")
    ax.add_patch(patch)
    ink = ink_on(colour) if colour is not None else "black"
    top = box.y + (len(box.lines) - 1) * LINE / 2.0
    for k, line in enumerate(box.lines):
        quiet = not is_leaf and k == len(box.lines) - 1
        bold = is_leaf and k == 0
        ax.text(
            box.x,
            top - k * LINE,
            line,
            fontsize=FONT * scale,
            fontweight="bold" if bold else "normal",
            color=MUTED if quiet else ink,
            ha="center",
            va="center_baseline",
            zorder=4,
            parse_math=False,
        )
