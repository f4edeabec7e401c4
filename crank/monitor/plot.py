"""Drift as a picture: the index of every column, or the shares of one, before and now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crank.errors import OptionError, did_you_mean, listed
from crank.report.plot_style import ACCENT, MUTED, SECOND, axes, shortened, unframed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from crank.monitor.changes import Drift

COLOURS = {"none": MUTED, "moderate": "#b08a00", "large": "#b2182b"}


def plot_drift(drift: Drift, name: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the stability index of each column, or the shares of the parts of one.

    Parameters
    ----------
    drift : Drift
    name : str, optional
        A column, or "(score)"; without it all of them are compared.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import crank
    >>> from crank.monitor import drift
    >>> from matplotlib.figure import Figure
    >>> sample = crank.datasets.regression(300, p=5, random_state=0).frame
    >>> m = crank.fit(sample, "y ~ x1 + x2", max_depth=2, prune=None)
    >>> ax = drift(m, sample).plot(ax=Figure().subplots())
    >>> ax.get_xlabel()
    'population stability index, ± one standard error'
    """
    ax = axes(ax)
    if name is None:
        _indices(drift, ax)
    else:
        _shares(drift, name, ax)
    unframed(ax)
    return ax


def _indices(drift: Drift, ax: Axes) -> None:
    from crank.monitor.changes import LARGE, MODERATE

    table = drift.table.iloc[::-1]
    at = np.arange(len(table))
    colours = [COLOURS[word] for word in table["drift"]]
    ax.barh(at, table["psi"], xerr=table["se"], color=colours, height=0.6, ecolor="#4d4d4d")
    ax.plot(table["by_chance"], at, ls="", marker="|", ms=12, color="black", label="by chance")
    for bound, word in ((MODERATE, "moderate"), (LARGE, "large")):
        ax.axvline(bound, color=COLOURS[word], lw=0.9, ls=(0, (4, 3)), label=word)
    ax.set_yticks(at, [shortened(str(label)) for label in table.index])
    ax.set(xlabel="population stability index, ± one standard error")
    ax.set_xlim(0.0, max(1.2 * LARGE, 1.1 * float((table["psi"] + table["se"]).max())))
    ax.legend(frameon=False, fontsize="small", loc="lower right")


def _shares(drift: Drift, name: str, ax: Axes) -> None:
    known = drift.table.index.tolist()
    if name not in known:
        raise OptionError(
            f"no drift of {name!r} was measured. Allowed: {listed(map(repr, known))}."
            f"{did_you_mean(name, known)}"
        )
    parts = drift.parts[drift.parts["name"] == name]
    at = np.arange(len(parts))
    ax.bar(at - 0.2, parts["before"], width=0.4, color=ACCENT, label="training")
    ax.bar(at + 0.2, parts["now"], width=0.4, color=SECOND, label="now")
    labels = [shortened(str(part)) for part in parts["part"]]
    ax.set_xticks(at, labels, rotation=45, ha="right")
    ax.set(ylabel="share of rows", xlabel=shortened(name))
    ax.legend(frameon=False, fontsize="small")
