"""What the columns do: importance of terms, and the score over one feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crank.design.columns import Level
from crank.design.table import Table
from crank.errors import DataError, OptionError, did_you_mean, listed
from crank.options import one_of
from crank.report.plot_style import ACCENT, MUTED, axes, plain, shortened
from crank.report.tables import importance_table
from crank.tree import Metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from crank.model import RankingModel

GRID = 1000
FEW = 12
"""A numeric feature with no more values than this is drawn value by value."""
SCALES = {
    "score": "score",
    "quantile": "mean quantile of {} in the leaf",
    "median": "median of {} in the leaf",
}


def plot_importance(
    model: RankingModel,
    *,
    metric: Metric | None = None,
    most: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw each term's share of what the tree achieves on its training data.

    Parameters
    ----------
    model : RankingModel
    metric : {"iauc", "kendall"}, optional
        What is shared out: 2 IAUC − 1 or Kendall's τ; by default the figure that pruned the tree.
    most : int
        Terms to show; the others, and those below a thousandth, are added up in one bar.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import crank
    >>> from matplotlib.figure import Figure
    >>> sample = crank.datasets.regression(200, p=5, random_state=0)
    >>> m = crank.fit(sample.frame, "y ~ .", max_depth=2, prune=None)
    >>> ax = m.plot_importance(ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()][0]
    'x4'
    """
    metric = metric or model.pruning.metric
    table = importance_table(model, metric)
    size = table["importance"].abs()
    shown = (size >= 0.001 * size.sum()) & (size > 0) & (table.index < most)
    names = [shortened(term) for term in table["term"][shown]]
    values = table["importance"][shown].tolist()
    rest = table[~shown & (size > 0)]
    if len(rest):
        names.append(f"{len(rest)} other{'s' * (len(rest) > 1)}")
        values.append(float(rest["importance"].sum()))
    ax = axes(ax, (6.0, max(1.6, 0.27 * len(names) + 0.9)))
    places = np.arange(len(names))
    ax.barh(places, values, height=0.66, color=ACCENT)
    for place, value in zip(places, values, strict=True):
        ax.annotate(f"{value:.3f}", (value, place), xytext=(3, 0), textcoords="offset points",
                    va="center", fontsize="small", color=MUTED)  # fmt: skip
    ax.set_yticks(places, names)
    ax.invert_yaxis()
    ax.set_xlim(1.25 * min([0.0, *values]), 1.12 * max(values, default=1.0))
    whole = "Kendall's τ" if metric == "kendall" else "2 IAUC − 1"
    ax.set_xlabel(f"share of the tree's {whole} = {sum(values):.3f} (training)")
    ax.tick_params(axis="y", length=0)
    plain(ax)
    return ax


def plot_score(
    model: RankingModel,
    feature: str,
    data: Any,
    *,
    type: str = "score",
    unknown: Any = "error",
    ax: Axes | None = None,
) -> Axes:
    """Draw the scoring function over one feature, the others held at their middle.

    Parameters
    ----------
    model : RankingModel
    feature : str
        A raw column of the formula's right side.
    data : data frame
        Where the feature's range comes from, and the other columns' medians (most frequent
        values, for categories).
    type : {"score", "quantile", "median"}
        What to draw, as in `RankingModel.predict`.
    unknown : {"error", "missing"}
        What to do with a category level that training did not have.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import crank
    >>> from matplotlib.figure import Figure
    >>> train, test = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame, "y ~ x", max_depth=2, prune=None)
    >>> ax = m.plot_score("x", test.frame, ax=Figure().subplots())
    >>> sorted(set(ax.lines[0].get_ydata().tolist()))
    [1.0, 2.0, 3.0, 4.0]
    """
    one_of("type", type, tuple(SCALES))
    values, rows = feature_rows(model, feature, data)
    predicted = model.predict(rows, type, unknown=unknown)
    ax = axes(ax)
    if isinstance(values, tuple):
        places = np.arange(len(values))
        ax.vlines(places, 0.0, predicted, color=ACCENT, lw=1.0, alpha=0.5)
        ax.plot(places, predicted, ls="none", marker="o", color=ACCENT)
        long = sum(len(str(value)) for value in values) > 60
        names = [shortened(str(value), 18) for value in values]
        ax.set_xticks(places, names, rotation=90 if long else 0)
        ax.set_xlim(-0.6, len(values) - 0.4)
    else:
        ax.plot(values, predicted, color=ACCENT, lw=1.5, drawstyle="steps-mid")
    if len(model.design.variables) > 1:
        ax.set_title("other columns at their median or mode", fontsize="small", color=MUTED)
    ax.set(xlabel=feature, ylabel=SCALES[type].format(model.response.name))
    ax.margins(y=0.06)
    plain(ax)
    return ax


def feature_rows(
    model: RankingModel, feature: str, data: Any
) -> tuple[NDArray[np.float64] | tuple[Level, ...], dict[str, NDArray[Any]]]:
    """Return the feature's values, and a table in which it takes them and all else stands still.

    Values are a tuple if they are categories, or few: then only values that occur are shown.
    """
    kinds = {variable.name: variable.kind for variable in model.design.variables}
    if feature not in kinds:
        raise OptionError(
            f"feature={feature!r} is not a column of the formula's right side. "
            f"Columns: {listed(kinds)}.{did_you_mean(feature, kinds)}"
        )
    table = Table.read(data)
    codes, levels = table.codes(feature)
    occurring = np.unique(codes[codes >= 0])
    if not len(occurring):
        raise DataError(f"column {feature!r} has no value in these data: nothing to draw.")
    values: NDArray[np.float64] | tuple[Level, ...]
    if kinds[feature] == "number" and len(occurring) > FEW:
        x = table.numeric(feature)
        values = np.linspace(np.nanmin(x), np.nanmax(x), GRID)
        moving: NDArray[Any] = values
    else:
        values = tuple(levels[k] for k in occurring)
        moving = _column(values)
    rows = {name: np.repeat(_middle(table, name), len(moving)) for name in kinds if name != feature}
    return values, {feature: moving, **rows}


def _middle(table: Table, name: str) -> NDArray[Any]:
    """Return a typical value of a column that occurs in it: the median, or the mode."""
    codes, levels = table.codes(name)
    known = codes[codes >= 0]
    if not len(known):
        return np.array([np.nan])
    counts = np.bincount(known, minlength=len(levels))
    if table.kind(name) == "number":
        middle = int(np.searchsorted(np.cumsum(counts), len(known) / 2.0))
    else:
        middle = int(np.argmax(counts))
    return _column((levels[middle],))


def _column(values: tuple[Level, ...]) -> NDArray[Any]:
    return np.array(values, dtype=object if isinstance(values[0], str) else None)
