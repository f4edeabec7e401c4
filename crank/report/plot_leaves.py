"""Leaves on data: the distribution of y in each."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crank.errors import DataError
from crank.frames.table import Table
from crank.metrics.figures import IAUC
from crank.report.plot_style import (
    MUTED,
    axes,
    leaf_colours,
    short_number,
    shortened,
    unframed,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from crank.records.base import ModelRecord
    from crank.records.tree import TreeRecord


MANY_LEAVES = 30
"""Leaves from which their numbers are written small."""
FEWEST_ROWS = 5
"""Rows that make a box; fewer are drawn as points."""


def known_responses(model: ModelRecord, data: Any) -> tuple[NDArray[np.float64], Table]:
    """Return y and the rows whose response is known."""
    table = Table.read(data)
    y = model.response.values(table)
    known = ~np.isnan(y)
    if not known.any():
        raise DataError(
            f"the response {model.response.name!r} is missing in all {len(y)} rows of the data. "
            "The plot needs rows whose response is known."
        )
    return y[known], table.rows(known)


def plot_leaves(
    model: TreeRecord, data: Any, *, unknown: Any = "error", ax: Axes | None = None
) -> Axes:
    """Draw a boxplot of y for each leaf, best on the left; if y is binary, the share of the higher.

    Boxes are quartiles, whiskers reach to the 5% and 95% quantiles; of fewer than five rows each
    is a point. Shares have 95% intervals (Wilson's), and a line is the share of all rows. Below
    each leaf stands its number of rows.

    Parameters
    ----------
    model : TreeModel
    data : data frame
        Rows with their response; a model keeps none of its training rows.
    unknown : {"error", "missing"}
        What to do with a category level that training did not have.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import crank
    >>> from matplotlib.figure import Figure
    >>> train, test = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame, "y ~ x", max_depth=2, prune=None)
    >>> ax = m.plot_leaves(test.frame, ax=Figure().subplots())
    >>> [label.get_text().split() for label in ax.get_xticklabels()]
    [['0', '275'], ['1', '745'], ['2', '730'], ['3', '250']]
    """
    y, table = known_responses(model, data)
    leaf = model.values(table, "leaf", unknown)
    n = model.tree.n_leaves
    ax = axes(ax, (min(max(4.6, 0.42 * n + 1.2), 14.0), 4.4))
    groups = [y[leaf == k] for k in range(n)]
    values = np.unique(y)
    if len(values) == 2 and model.tree.totals[IAUC.name] <= 0.0:
        _draw_shares(ax, [group == values[1] for group in groups])
        label = f"share with {shortened(model.response.name)} = {short_number(values[1])}"
    else:
        _draw_boxes(ax, groups)
        label = shortened(model.response.name)
    ax.set_xticks(np.arange(n), [f"{k}\n{len(group)}" for k, group in enumerate(groups)])
    ax.tick_params(axis="x", length=0, labelsize="small" if n <= MANY_LEAVES else 6.0)
    ax.set(xlim=(-0.6, n - 0.4), xlabel="leaf (0 ranks best), rows", ylabel=label)
    unframed(ax)
    return ax


def _draw_shares(ax: Axes, groups: list[NDArray[np.bool_]]) -> None:
    """Draw a bar for the share of each leaf, with its interval, and a line for that of all."""
    count = np.array([len(group) for group in groups])
    met = np.flatnonzero(count)
    share = np.array([groups[k].mean() for k in met])
    low, high = wilson(share, count[met])
    colours = np.array(leaf_colours(len(groups)))[met]
    bars = ax.bar(met, share, width=0.62, color=colours, edgecolor="#5c5c5c")
    for k, bar in zip(met.tolist(), bars, strict=True):
        bar.set_gid(f"leaf {k}")
    reach = np.abs(np.stack((share - low, high - share)))
    ax.errorbar(met, share, yerr=reach, fmt="none", ecolor="#3c3c3c", elinewidth=1.0)
    ax.axhline(np.concatenate(groups).mean(), color=MUTED, lw=0.9, ls=(0, (4, 3)), zorder=0)
    ax.set_ylim(0.0, min(1.0, 1.08 * float(high.max())))


def wilson(
    share: NDArray[np.float64], count: NDArray[np.intp], alpha: float = 0.05
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bounds of the interval of a share of so many rows (Wilson 1927).

    Examples
    --------
    >>> [round(float(bound[0]), 3) for bound in wilson(np.array([0.1]), np.array([20]))]
    [0.028, 0.301]
    """
    z = NormalDist().inv_cdf(1.0 - alpha / 2.0)
    spread = z * np.sqrt(share * (1.0 - share) / count + z**2 / (4.0 * count**2))
    middle, size = share + z**2 / (2.0 * count), 1.0 + z**2 / count
    return (middle - spread) / size, (middle + spread) / size


def _draw_boxes(ax: Axes, groups: list[NDArray[np.float64]]) -> None:
    n = len(groups)
    drawn = ax.boxplot(
        [group if len(group) >= FEWEST_ROWS else [] for group in groups],
        positions=np.arange(n),
        widths=0.62,
        whis=(5, 95),
        showfliers=False,
        patch_artist=True,
        manage_ticks=False,
        medianprops={"color": "black", "linewidth": 1.4},
        whiskerprops={"color": "#5c5c5c"},
        capprops={"color": "#5c5c5c"},
    )
    for k, (box, colour) in enumerate(zip(drawn["boxes"], leaf_colours(n), strict=True)):
        box.set(facecolor=colour, edgecolor="#5c5c5c")
        box.set_gid(f"leaf {k}")
        if len(groups[k]) < FEWEST_ROWS:
            box.set_visible(False)
            few: dict[str, Any] = {
                "ls": "none",
                "marker": "o",
                "ms": 4.5,
                "mec": "#5c5c5c",
                "mfc": colour,
            }
            ax.plot(np.full(len(groups[k]), k), groups[k], gid=f"rows {k}", **few)
