"""What all plots share: a figure when none is given, the leaves' colours, numbers as labels."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from crank.errors import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACCENT = "#1f5a8c"
SECOND = "#c1571a"
MUTED = "#767676"
CYCLE = (ACCENT, SECOND, "#3a7d44", "#8e4a9e", "#b08a00", "#4d4d4d")
"""Colours of several models in one plot; they differ in lightness as well as in hue."""


def axes(ax: Axes | None, size: tuple[float, float] = (6.4, 4.4)) -> Axes:
    """Return the axes given, or those of a new figure."""
    require("matplotlib", "plot")
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    _, made = plt.subplots(figsize=size, layout="constrained")
    return made


def unframed(ax: Axes) -> None:
    """Remove the frame's upper and right sides, which say nothing."""
    ax.spines[["top", "right"]].set_visible(False)


def leaf_colours(n: int) -> list[tuple[float, float, float]]:
    """Colour the leaves by their order, the best darkest."""
    from matplotlib import colormaps

    places = np.linspace(0.85, 0.08, n) if n > 1 else np.array([0.45])
    return [tuple(colour[:3]) for colour in colormaps["YlGnBu"](places).tolist()]


def ink_on(colour: Sequence[float]) -> str:
    """Choose black or white text, whichever can be read on a colour."""
    red, green, blue = colour[:3]
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.5 else "black"


def short_number(value: float) -> str:
    """Write a number as people read it: four digits, no exponent unless it is huge or tiny.

    Examples
    --------
    >>> short_number(12345.6), short_number(0.123456), short_number(2e9), short_number(500)
    ('12,346', '0.1235', '2e+09', '500')
    """
    if 1000 <= abs(value) < 1e7:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def shortened(text: str, most: int = 32) -> str:
    """Cut a long name for an axis label.

    Examples
    --------
    >>> shortened("a_very_long_name", 8)
    'a_very_…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def date_axis(ax: Axes, most: int = 9) -> None:
    """Label an axis of days since 1970-01-01, which is how matplotlib counts too."""
    from matplotlib import dates

    untyped: Any = dates
    places = untyped.AutoDateLocator(minticks=3, maxticks=most)
    ax.xaxis.set_major_locator(places)
    ax.xaxis.set_major_formatter(untyped.ConciseDateFormatter(places))


def folded(text: str, width: int = 36) -> str:
    r"""Break a long axis label into lines that an axis of usual height holds.

    Examples
    --------
    >>> folded("AUC of progression above the threshold, cross-fitted")
    'AUC of progression above the\nthreshold, cross-fitted'
    """
    return "\n".join(wrap(text, width, break_long_words=False, break_on_hyphens=False))
