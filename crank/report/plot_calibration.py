"""Whether the order of a model holds on data: the position of y, predicted and found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crank.checks import check_alpha
from crank.metrics.student import quantile
from crank.ranks import rank
from crank.records.forest import ForestRecord
from crank.report.plot_leaves import known_responses, wilson
from crank.report.plot_style import MUTED, axes, folded, leaf_colours, shortened, unframed
from crank.report.shares import higher_shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from crank.records.tree import TreeRecord

GROUPS = 10
"""Parts of about equal size into which the rows are put whose scores are of no leaf."""


def plot_calibration(
    model: TreeRecord | ForestRecord,
    data: Any,
    *,
    alpha: float = 0.05,
    unknown: Any = "error",
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean position of y on new data against what the model says: by leaf, or by tenths.

    Positions are quantiles: 1 for the largest response, 0 for the smallest; of a binary response,
    shares of the higher value in the leaves of a tree. If the order holds on the new data, points
    rise from left to right. A tree says the positions of training, which are optimistic, so points
    lie a little nearer to the middle than the diagonal. A forest says the mean vote; its rows are
    drawn in tenths of their scores. Votes are means, nearer to the middle than the rows themselves,
    so points may lie on the outer side of the diagonal. Intervals are Student's; those of shares,
    Wilson's.

    Parameters
    ----------
    model : TreeModel or ForestModel
    data : data frame
        Rows that the model has not seen, with their response.
    alpha : float
        One minus the confidence level of the intervals.
    unknown : {"error", "missing"}
        What to do with a category level that training did not have.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import crank
    >>> from matplotlib.figure import Figure
    >>> train, test = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame, "y ~ x", max_depth=2, prune=None)
    >>> ax = m.plot_calibration(test.frame, ax=Figure().subplots())
    >>> len(ax.collections[-1].get_offsets())
    4
    """
    check_alpha(alpha)
    y, table = known_responses(model, data)
    name = shortened(model.response.name)
    if isinstance(model, ForestRecord):
        found = _tenths(y, model.values(table, "quantile", unknown), alpha)
        labels = "mean vote of the forest", f"mean quantile of {name}, these data"
    else:
        found, what = _leaves(model, y, model.values(table, "leaf", unknown), alpha, name)
        labels = f"{what}, training", f"{what}, these data"
    met = found.count > 0  # a leaf that no new row reaches says nothing

    ax = axes(ax, (5.0, 4.8))
    ax.plot([0, 1], [0, 1], color=MUTED, lw=0.9, ls=(0, (4, 3)), zorder=1)
    x, mean = found.said[met], found.mean[met]
    reach = np.abs(np.stack((mean - found.low[met], found.high[met] - mean)))
    ax.errorbar(x, mean, yerr=reach, fmt="none", ecolor="#5c5c5c", elinewidth=0.9)
    colours = np.array(leaf_colours(len(found.said)))[met]
    size = 24 + 160 * found.count[met] / found.count.sum()
    ax.scatter(x, mean, s=size, c=colours, edgecolors="#5c5c5c", zorder=3)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set(xlabel=folded(labels[0], 48), ylabel=folded(labels[1], 48))
    unframed(ax)
    return ax


@dataclass(frozen=True)
class _Groups:
    """Of groups of rows, best first: the position said and found, with its interval, and rows."""

    said: NDArray[np.float64]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    count: NDArray[np.intp]


def _leaves(
    model: TreeRecord, y: NDArray[np.float64], leaf: NDArray[np.intp], alpha: float, name: str
) -> tuple[_Groups, str]:
    trained = np.array([model.tree.nodes[i].quantile for i in model.tree.leaves])
    shares, values = higher_shares(model.tree), np.unique(y)
    if shares is not None and len(values) == 2:
        count = np.bincount(leaf, minlength=len(trained))
        mean = np.bincount(leaf, y == values[1], len(trained)) / np.maximum(count, 1)
        low, high = wilson(mean, np.maximum(count, 1), alpha)
        trained = shares[list(model.tree.leaves)]
        return _Groups(trained, mean, low, high, count), f"share with higher {name}"
    mean, reach, count = positions_by_group(y, leaf, len(trained), alpha)
    found = _Groups(trained, mean, mean - reach, mean + reach, count)
    return found, f"mean quantile of {name} in the leaf"


def _tenths(y: NDArray[np.float64], vote: NDArray[np.float64], alpha: float) -> _Groups:
    """Put rows into groups by their votes, the highest first; equal votes stay together."""
    place = rank(-vote)
    group = np.empty(len(vote), dtype=np.intp)
    group[place.row] = np.minimum((place.quantile * GROUPS).astype(np.intp), GROUPS - 1)
    mean, reach, count = positions_by_group(y, group, GROUPS, alpha)
    said = np.bincount(group, vote, GROUPS) / np.maximum(count, 1)
    return _Groups(said, mean, mean - reach, mean + reach, count)


def positions_by_group(
    y: NDArray[np.float64], leaf: NDArray[np.intp], groups: int, alpha: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]:
    """Mean position of y by leaf, half the width of its interval (none for a single row), rows."""
    ranks = rank(y)
    position = np.empty(len(y))
    position[ranks.row] = ranks.quantile
    count = np.bincount(leaf, minlength=groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.bincount(leaf, position, minlength=len(count)) / count
        squares = np.bincount(leaf, (position - mean[leaf]) ** 2, minlength=len(count))
        error = np.sqrt(squares / (count - 1) / count)
    sizes, which = np.unique(np.maximum(count, 2), return_inverse=True)
    reach = np.array([quantile(1.0 - alpha / 2.0, n - 1) for n in sizes.tolist()])[which] * error
    return mean, np.where(count > 1, reach, 0.0), count
