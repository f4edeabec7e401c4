"""The curves of an additive model on one page: each with its band and the data's rug."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from crank.checks import check_alpha, whole
from crank.errors import DataError, require
from crank.metrics.student import quantile
from crank.report.effects import Effect, effects
from crank.report.plot_style import ACCENT, CYCLE, MUTED, date_axis, shortened, unframed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Page

    from crank.records.additive import AdditiveRecord

PANEL = (2.9, 2.3)
"""Width and height of a panel, in inches."""
STYLES = ("-", "--", ":")
"""Of lines, when there are more of them than colours."""


def plot_effects(
    model: AdditiveRecord,
    term: str | None = None,
    *,
    alpha: float = 0.05,
    most: int = 24,
    columns: int = 4,
    same_scale: bool = True,
    figure: Page | None = None,
) -> Page:
    """Draw what each term adds to the score, the most important term first.

    Curves have pointwise bands, which take the smoothing as given, and ticks below at training
    values; levels of categories have intervals; surfaces are heat maps, with ticks on both sides.

    Parameters
    ----------
    model : AdditiveModel
    term : str, optional
        One term, by its name or its raw column.
    alpha : float
        One minus the confidence level.
    most : int
        Terms to draw; of more, the most important ones.
    columns : int
        Panels side by side.
    same_scale : bool
        Whether all curves have the same vertical scale, so that panels can be compared.
    figure : matplotlib Figure, optional
        Where to draw.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> import crank
    >>> from matplotlib.figure import Figure
    >>> sample = crank.datasets.regression(200, p=5, random_state=0)
    >>> m = crank.additive(sample.frame, "y ~ x1 + x3", smoothing=0.001)
    >>> page = m.plot_effects(figure=Figure())
    >>> [ax.get_xlabel() for ax in page.axes]
    ['x1', 'x3']
    """
    check_alpha(alpha)
    whole("most", most, 1)
    whole("columns", columns, 1)
    require("matplotlib", "plot")
    drawn = sorted(effects(model, term), key=lambda one: -_size(model, one))[:most]
    if not drawn:
        raise DataError(
            "the model has no term that can be drawn over one or two columns; see coefficients()."
        )
    wide = min(columns, len(drawn))
    tall = math.ceil(len(drawn) / wide)
    if figure is None:
        from matplotlib import pyplot as plt

        figure = plt.figure(figsize=(PANEL[0] * wide + 0.4, PANEL[1] * tall + 0.2))
    figure.set_layout_engine("constrained")
    panels = figure.subplots(tall, wide, squeeze=False).ravel()
    reach = quantile(1.0 - alpha / 2.0, math.inf)
    limits = _limits(drawn, reach)
    for ax, one in zip(panels, drawn, strict=False):
        _draw(ax, model, one, reach)
        if one.part.shape != "surface":
            if same_scale:
                ax.set_ylim(limits)
            ax.axhline(0.0, color=MUTED, lw=0.6, zorder=1)
            unframed(ax)
    for ax in panels[len(drawn) :]:
        ax.remove()
    for k in range(0, len(drawn), wide):
        if drawn[k].part.shape != "surface":
            panels[k].set_ylabel("part of the score")
    return figure


def _size(model: AdditiveRecord, one: Effect) -> float:
    """Measure the variance of the term's part of the score over the training rows."""
    columns = one.part.columns
    coef = np.nan_to_num(model.ranker.coef[columns])
    return float(coef @ model.ranker.covariance[columns, columns] @ coef)


def _limits(drawn: list[Effect], reach: float) -> tuple[float, float]:
    """Find a scale that holds all curves, and of their bands what is not far outside."""
    curves = [one for one in drawn if one.part.shape != "surface"]
    if not curves:
        return (-1.0, 1.0)
    low = min(float(one.value.min()) for one in curves)
    high = max(float(one.value.max()) for one in curves)
    room = 0.35 * (high - low)
    lowest = min(float((one.value - reach * one.se).min()) for one in curves)
    highest = max(float((one.value + reach * one.se).max()) for one in curves)
    gap = 0.08 * (high - low) + 1e-12
    return max(lowest, low - room) - gap, min(highest, high + room) + gap


def _draw(ax: Axes, model: AdditiveRecord, one: Effect, reach: float) -> None:
    ax.set_xlabel(shortened(one.names[0], 30))
    if one.part.shape == "surface":
        _surface(ax, model, one)
    elif isinstance(one.x, tuple):
        _levels(ax, one, reach)
    elif one.by is not None:
        _curves(ax, one)
        _rug(ax, model, one, 0)
    elif len(one.x) == 2:
        _points(ax, one.x, one, reach)
        ax.set_xticks(one.x)
        ax.set_xmargin(0.35)
    else:
        ax.fill_between(
            one.x, one.value - reach * one.se, one.value + reach * one.se,
            color=ACCENT, alpha=0.18, lw=0,
        )  # fmt: skip
        ax.plot(one.x, one.value, color=ACCENT, lw=1.8)
        _rug(ax, model, one, 0)
    steps = getattr(one.factors[0], "steps", ())
    if not isinstance(one.x, tuple) and [step.op for step in steps] == ["days"]:
        date_axis(ax, 5)


def _curves(ax: Axes, one: Effect) -> None:
    """Draw a curve for each level of a category, or one per unit of a number."""
    x = np.asarray(one.x)
    if not isinstance(one.by, tuple):
        ax.plot(x, one.value[:, -1] - one.value[:, 0], color=ACCENT, lw=1.8)
        ax.set_title(f"times {one.names[1]}", fontsize="small", color=MUTED)
        return
    for k, level in enumerate(one.by):
        colour, style = CYCLE[k % len(CYCLE)], STYLES[k // len(CYCLE) % len(STYLES)]
        label = shortened(str(level), 14)
        ax.plot(x, one.value[:, k], style, color=colour, lw=1.6, label=label)
    title = shortened(one.names[1], 18)
    ax.legend(
        title=title, fontsize="x-small", title_fontsize="x-small", labelspacing=0.2, frameon=False,
        ncols=1 + len(one.by) // 5, handlelength=1.4, columnspacing=0.8,
    )  # fmt: skip


def _levels(ax: Axes, one: Effect, reach: float) -> None:
    places = np.arange(len(one.x))
    _points(ax, places, one, reach)
    names = [shortened(str(level), 12) for level in one.x]
    long = sum(map(len, names)) > 24
    ax.set_xticks(
        places, names, rotation=90 if long else 0, fontsize="x-small" if long else "small"
    )
    ax.set_xlim(-0.6, len(places) - 0.4)


def _points(ax: Axes, places: Any, one: Effect, reach: float) -> None:
    """Draw values with their intervals."""
    style: dict[str, Any] = {"color": ACCENT, "marker": "o", "ms": 4, "lw": 0, "elinewidth": 1.4}
    ax.errorbar(places, one.value, reach * one.se, **style)


def _surface(ax: Axes, model: AdditiveRecord, one: Effect) -> None:
    assert one.by is not None
    top = float(np.abs(one.value).max()) or 1.0
    mesh = ax.pcolormesh(
        np.asarray(one.x), np.asarray(one.by), one.value.T,
        cmap="RdBu_r", vmin=-top, vmax=top, shading="gouraud", rasterized=True,
    )  # fmt: skip
    ax.figure.colorbar(mesh, ax=ax, fraction=0.06, pad=0.02).ax.tick_params(labelsize="x-small")
    ax.set_ylabel(shortened(one.names[1], 30))
    _rug(ax, model, one, 0)
    _rug(ax, model, one, 1)


def _rug(ax: Axes, model: AdditiveRecord, one: Effect, side: int) -> None:
    rug = model.ranker.rugs[one.factors[side].name]
    style: dict[str, Any] = {"color": MUTED, "ms": 4, "mew": 0.5, "clip_on": True}
    if side == 0:
        ax.plot(rug, np.full(len(rug), 0.015), "|", transform=ax.get_xaxis_transform(), **style)
    else:
        ax.plot(np.full(len(rug), 0.015), rug, "_", transform=ax.get_yaxis_transform(), **style)
