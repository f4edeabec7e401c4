"""What the columns do: importance of terms, and the score over one feature."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crank.checks import one_of, whole
from crank.errors import DataError, OptionError, did_you_mean, listed
from crank.frames.columns import LevelValue
from crank.frames.table import Table
from crank.metrics.figures import Figure
from crank.records.kinds import reader
from crank.report.plot_style import ACCENT, MUTED, axes, date_axis, folded, shortened, unframed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from crank.records.base import ModelRecord

GRID = 200
"""Values at which a numeric feature is put."""
MOST_AVERAGED = 250
"""Rows to average over."""
FEW = 12
"""A numeric feature with no more values than this is drawn value by value."""
MOST_LEVELS = 24
"""Levels of a category that an axis has room for; of more, the most frequent ones are drawn."""
MIDNIGHT = re.compile(r"T00:00:00(\.0+)?$")
SCALES = {
    "score": "score",
    "quantile": "mean quantile of {} in the leaf",
    "median": "median of {} in the leaf",
    "lower": "lower quartile of {} in the leaf",
    "upper": "upper quartile of {} in the leaf",
    "probability": "probability of ranking above a training row",
}
PLACE = "place of the score among those of the data, 0 to 1"
"""What "quantile" means of a model that has none of its own."""


LONG_NAME = 14
"""Characters of a term's name from which the axis of importances is a short one."""


def plot_importance(
    model: ModelRecord,
    *,
    metric: str | Figure | None = None,
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
    report = reader(model.kind, "report")
    table = report.importance(model, metric)
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
    if not names:
        ax.text(
            0.5, 0.5, "no column adds anything", ha="center", color=MUTED, transform=ax.transAxes
        )
    ax.set_xlim(1.25 * min([0.0, *values]), 1.12 * max(values, default=1.0))
    label = f"part of {report.achieved(model, metric)} = {sum(values):.3f}, training rows"
    # long names push the axis to the right: centred below it, the label would leave the picture
    shifted = max(map(len, names), default=0) > LONG_NAME
    ax.set_xlabel(folded(label, 60), loc="right" if shifted else "center", ma="center")
    ax.tick_params(axis="y", length=0)
    unframed(ax)
    return ax


def plot_score(
    model: ModelRecord,
    feature: str,
    data: Any,
    *,
    type: str = "score",
    rows: int = 40,
    unknown: Any = "error",
    ax: Axes | None = None,
) -> Axes:
    """Draw how the score moves with one feature: the average over the data, and single rows.

    The thick line is the partial dependence: the feature takes one value in all rows, which keep
    their other columns, and predictions are averaged. Thin lines do the same for single rows; where
    they cross, the feature acts together with others. Ticks below show the values that occur.

    Parameters
    ----------
    model : RankingModel
    feature : str
        A raw column of the formula's right side.
    data : data frame
        Rows to average over; of many, 250 spread evenly over the data.
    type : str
        What to draw, as in `RankingModel.predict`. "quantile" serves every model: one that cannot
        predict it shows where the score lies among the scores of the data, from 0 to 1, which
        makes rankers of any kind comparable.
    rows : int
        Rows to show beside the average.
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
    >>> sorted(set(ax.lines[-1].get_ydata().tolist()))
    [1.0, 2.0, 3.0, 4.0]
    """
    if not isinstance(feature, str):
        raise OptionError(
            f"plot_score takes the name of a column and then the data; got "
            f"{feature.__class__.__name__} for the name."
        )
    allowed = (name for name in SCALES if name in (*model.predictions, "quantile"))
    one_of("type", type, tuple(allowed))
    whole("rows", rows, 0)
    moved = dependence(model, feature, data, type, unknown)
    ax = axes(ax)
    single = moved.predicted[:, _spread(moved.predicted.shape[1], rows)]
    if len(model.variables) == 1:  # then every row has the same line
        single = single[:, :0]
    if isinstance(moved.values, tuple):
        _draw_values(ax, moved.values, moved.average, single)
    else:
        if moved.dates:
            date_axis(ax)
        # rankers of steps stand still between most neighbours, others never do
        steps = bool((np.diff(moved.predicted, axis=0) == 0.0).mean() > 0.5)
        _draw_range(ax, moved.values, moved.average, single, moved.occurring, steps)
    notes = []
    if single.shape[1]:
        notes = [f"average over {moved.predicted.shape[1]} rows, and {single.shape[1]} of them"]
    if moved.left_out:
        drawn = len(moved.values)
        notes.append(f"the {drawn} most frequent of {drawn + moved.left_out} levels")
    if notes:
        ax.set_title("; ".join(notes), fontsize="small", color=MUTED)
    name = shortened(model.response.name)
    known = type in model.predictions
    scale = SCALES[type].format(name) if known else PLACE
    ax.set(xlabel=shortened(feature, 60), ylabel=folded(scale))
    ax.margins(y=0.06)
    unframed(ax)
    return ax


def _draw_range(
    ax: Axes,
    x: NDArray[np.float64],
    average: NDArray[np.float64],
    single: NDArray[np.float64],
    occurring: NDArray[np.float64],
    steps: bool,
) -> None:
    style: dict[str, Any] = {"drawstyle": "steps-mid" if steps else "default"}
    style["solid_joinstyle"] = "miter" if steps else "round"
    if single.shape[1]:
        ax.plot(x, single, color=MUTED, lw=0.6, alpha=0.3, zorder=2, **style)
    ticks = ax.get_xaxis_transform()
    few = occurring[_spread(len(occurring), 200)]
    ax.plot(few, np.full(len(few), 0.012), "|", ms=5, mew=0.5, color=MUTED, transform=ticks)
    ax.plot(x, average, color=ACCENT, lw=2.0, zorder=3, **style)


def _draw_values(
    ax: Axes,
    values: tuple[LevelValue, ...],
    average: NDArray[np.float64],
    single: NDArray[np.float64],
) -> None:
    places = np.arange(len(values))
    if single.shape[1]:
        aside = places[:, None] + np.linspace(-0.22, 0.22, single.shape[1])
        dots: dict[str, Any] = {"ls": "none", "marker": "o", "ms": 2.2, "mew": 0.0}
        ax.plot(aside.ravel(), single.ravel(), color=MUTED, alpha=0.45, zorder=2, **dots)
    names = [shortened(str(value), 18) for value in values]
    long = sum(map(len, names)) > 60
    ax.set_xticks(places, names, rotation=90 if long else 0, fontsize="small" if long else None)
    ax.set_xlim(-0.6, len(values) - 0.4)
    ax.hlines(average, places - 0.3, places + 0.3, color=ACCENT, lw=2.0, zorder=3)
    ax.plot(places, average, ls="none", marker="o", ms=5, color=ACCENT, zorder=3)


class Dependence(NamedTuple):
    """Predictions with one feature moved.

    Attributes
    ----------
    values : ndarray or tuple
        Where the feature was put; a tuple if these are categories, or all of few values.
    predicted : ndarray of shape (values, rows)
    average : ndarray of shape (values,)
    occurring : ndarray
        The values of a numeric feature in the data.
    dates : bool
        Whether numbers are days since 1970-01-01.
    left_out : int
        Levels that are too many to draw.
    """

    values: NDArray[np.float64] | tuple[LevelValue, ...]
    predicted: NDArray[np.float64]
    average: NDArray[np.float64]
    occurring: NDArray[np.float64]
    dates: bool = False
    left_out: int = 0


def dependence(
    model: ModelRecord,
    feature: str,
    data: Any,
    type: str,
    unknown: str = "error",
    *,
    grid: int = GRID,
    most: int = MOST_AVERAGED,
) -> Dependence:
    """Put a feature to one value after the other in rows that keep all else, and predict.

    A number or a date is put at so many values (``grid``), in at most so many rows (``most``).
    """
    kinds = {variable.name: variable.kind for variable in model.variables}
    if feature not in kinds:
        raise OptionError(
            f"feature={feature!r} is not a column of the formula's right side. "
            f"Columns: {listed(kinds)}.{did_you_mean(feature, kinds)}"
        )
    table = Table.read(data)
    codes, levels = table.codes(feature)
    found = np.unique(codes[codes >= 0])
    if not len(found):
        raise DataError(f"column {feature!r} has no value in these data: nothing to draw.")
    values: NDArray[np.float64] | tuple[LevelValue, ...]
    occurring = np.empty(0)
    few = max(1, min(FEW, len(codes) // 2))  # values of which each occurs twice or so
    dates, left_out = kinds[feature] == "date", 0
    if (dates or kinds[feature] == "number") and len(found) > few:
        x = table.days(feature) if dates else table.numeric(feature).astype(np.float64)
        occurring = x[~np.isnan(x)]
        values = np.linspace(occurring.min(), occurring.max(), grid)
        column: NDArray[Any] = values
        if dates:
            column = np.round(values * 86_400.0).astype("datetime64[s]")
    else:
        if len(found) > MOST_LEVELS:
            often = np.argsort(-np.bincount(codes[codes >= 0])[found], kind="stable")
            left_out = len(found) - MOST_LEVELS
            found = np.sort(found[often[:MOST_LEVELS]])
        values = tuple(levels[k] for k in found)
        if dates:
            values = tuple(MIDNIGHT.sub("", str(text)) for text in values)
        column = np.array(values, dtype=object if isinstance(values[0], str) else None)
    rows = _spread(table.n_rows, most)
    kept = table.rows(np.tile(rows, len(column)))
    moved = Table.read({feature: np.repeat(column, len(rows))})
    both = Table(
        kept.names,
        kept.n_rows,
        lambda name: (moved if name == feature else kept)._column(name),
        lambda name: (moved if name == feature else kept).dtype(name),
    )
    if type in model.predictions:
        predicted = model.values(both, type, unknown)
    else:
        score = np.sort(model.values(table, "score", unknown))
        predicted = places(model.values(both, "score", unknown), score)
    predicted = predicted.reshape(len(column), len(rows))
    average = predicted.mean(axis=1)
    return Dependence(values, predicted, average, occurring, dates, left_out)


def places(score: NDArray[np.float64], among: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of sorted scores that lie below each score, and half of those that equal it.

    Examples
    --------
    >>> places(np.array([0.0, 2.0, 9.0]), np.array([1.0, 2.0, 2.0, 3.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    below, upto = (np.searchsorted(among, score, side) for side in ("left", "right"))
    return np.asarray((below + upto) / (2.0 * len(among)))


def _spread(n: int, most: int) -> NDArray[np.intp]:
    """Choose up to so many of n places, evenly."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))
