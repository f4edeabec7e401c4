"""The path of penalties of a linear model: as a table and as a drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crank.errors import OptionError
from crank.rankers.penalty import PenaltyPath
from crank.records.linear import LinearRecord
from crank.report.plot_style import ACCENT, CYCLE, MUTED, axes, shortened, unframed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMED = 12
"""Columns with the largest coefficients, which are drawn in colour and named."""


def known_path(model: LinearRecord) -> PenaltyPath:
    """Return the penalties that were tried, or say how to try some."""
    if model.ranker.path is None:
        remedy = (
            "Fit it with penalty='cv' or penalty='1se'."
            if model.kind == "linear"
            else "Additive rankers choose how smooth each term is instead: see summary()."
        )
        raise OptionError(
            f"the model was fitted with penalty={model.options.penalty!r} and tried no other. "
            f"{remedy}"
        )
    return model.ranker.path


def penalty_table(model: LinearRecord) -> pd.DataFrame:
    """Tabulate the penalties that were tried; see `LinearModel.penalty_path`."""
    path = known_path(model)
    chosen = [""] * len(path.penalty)
    for step, word in _choices(path).items():
        chosen[step] = word
    return pd.DataFrame(
        {
            "penalty": path.penalty,
            "nonzero": np.count_nonzero(np.nan_to_num(path.coef), axis=1),
            "loss": path.mean_loss,
            "loss_se": path.se,
            "kendall": path.kendall,
            "chosen": chosen,
        }
    )


def _choices(path: PenaltyPath) -> dict[int, str]:
    """Name the rules that choose a penalty, by step."""
    if path.step == path.step_1se:
        return {path.step: "cv, 1se"}
    return {path.step: "cv", path.step_1se: "1se"}


def plot_path(model: LinearRecord, *, ax: Axes | None = None) -> Axes:
    """Draw the coefficients over the penalty, and the penalty that was chosen.

    Coefficients are those of columns in units of their standard deviation; the largest are named.
    Above stands how many are not 0.

    Parameters
    ----------
    model : LinearModel
        Fitted with ``penalty="cv"`` or ``"1se"``.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import crank
    >>> from matplotlib.figure import Figure
    >>> from crank.report.plots import plot_path
    >>> sample = crank.datasets.regression(100, p=5, noise=1.0, random_state=0).frame
    >>> m = crank.linear(sample, "y ~ .", penalty="cv", l1_ratio=1.0)
    >>> plot_path(m, ax=Figure().subplots()).get_xlabel()
    'penalty'
    """
    path, ranker = known_path(model), model.ranker
    ax = axes(ax, (7.2, 4.6))
    size = np.nan_to_num(path.coef) * ranker.spread
    order = np.argsort(-np.abs(size[0]), kind="stable")
    for place, k in enumerate(order.tolist()):
        named = place < NAMED and bool(size[0, k])
        ax.plot(
            path.penalty,
            size[:, k],
            color=CYCLE[place % len(CYCLE)] if named else MUTED,
            linestyle=("-", "--")[place // len(CYCLE) % 2] if named else "-",
            linewidth=1.6 if named else 0.7,
            label=shortened(model.design.names[k]) if named else None,
            zorder=2 if named else 1,
        )
    for line, (step, word) in enumerate(_choices(path).items()):
        at = path.penalty[step]
        style = "-" if at == ranker.penalty else ":"
        ax.axvline(at, color=ACCENT, linewidth=1.0, linestyle=style, zorder=0)
        ax.annotate(
            word,
            (at, 0.0),
            xycoords=("data", "axes fraction"),
            xytext=(3, 4 + 11 * line),  # one above the other: penalties may be close
            textcoords="offset points",
            color=ACCENT,
            fontsize="small",
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.8},
            zorder=4,  # coefficients near 0 would cross it out
        )
    ax.axhline(0.0, color=MUTED, linewidth=0.8, zorder=0)
    ax.set_xscale("log")
    ax.set_xlabel("penalty")
    ax.set_ylabel("coefficient of one standard deviation")
    _count_above(ax, path)
    if order.size and size.any():
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")
    unframed(ax)
    return ax


def _count_above(ax: Axes, path: PenaltyPath) -> None:
    """Say above the plot how many coefficients are not 0, where that changes along the path."""
    count = np.count_nonzero(np.nan_to_num(path.coef), axis=1)
    if count.min() == count.max():
        return
    some = np.unique(np.linspace(0, len(count) - 1, 9).astype(int))
    for k in some.tolist():
        ax.annotate(
            str(count[k]),
            (path.penalty[k], 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            color=MUTED,
            fontsize="small",
        )
