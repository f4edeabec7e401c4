"""The diagnosis as a picture: where rankers made for one threshold win."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

from crank.report.plot_style import ACCENT, MUTED, SECOND, axes, folded, shortened, unframed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from crank.judging.diagnose import Diagnosis

CONFLICT = "#b2182b"


def plot_diagnosis(diagnosis: Diagnosis, *, ax: Axes | None = None) -> Axes:
    """Draw AUC against the threshold's quantile: model, one order, dedicated rankers.

    Bars at the dedicated rankers show the 95% interval of their gain over the one order; filled
    red marks are conflicts.

    Parameters
    ----------
    diagnosis : Diagnosis
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import crank
    >>> from matplotlib.figure import Figure
    >>> sample = crank.datasets.no_optimal_rule(400, random_state=0)
    >>> m = crank.fit(sample.frame, "y ~ x", prune=None)
    >>> ax = m.diagnose(sample.frame).plot(ax=Figure().subplots())
    >>> [line.get_label() for line in ax.lines][:2]
    ['this model', 'one order, finer']
    """
    ax = axes(ax)
    table, profile = diagnosis.table, diagnosis.profile
    alone = len(profile) == 1  # a binary response has one threshold, and a point is no line
    ax.plot(
        profile["quantile"],
        profile["auc_model"],
        color=ACCENT,
        lw=1.5,
        marker="o" if alone else "",
        label="this model",
    )
    ax.plot(
        profile["quantile"],
        profile["auc_one_order"],
        color=SECOND,
        lw=1.3,
        ls="--",
        marker="s" if alone else "",
        label="one order, finer",
    )
    reach = NormalDist().inv_cdf(0.975) * table["se"]
    for conflict, label in ((False, "made for the threshold"), (True, "… and in conflict")):
        rows = table["conflict"] == conflict
        if not rows.any():
            continue
        ax.errorbar(
            table["quantile"][rows],
            table["auc_dedicated"][rows],
            yerr=reach[rows],
            fmt="D",
            ms=6,
            color=CONFLICT if conflict else "#4d4d4d",
            mfc=CONFLICT if conflict else "none" if alone else "white",
            elinewidth=0.9,
            zorder=4,
            label=label,
        )
    ax.axhline(0.5, color=MUTED, lw=0.9, ls=(0, (4, 3)), zorder=1)
    shown = [profile["auc_model"], profile["auc_one_order"], table["auc_dedicated"] - reach]
    lowest = min(0.5, *(float(values.min()) for values in shown))
    ax.set(xlim=(0.0, 1.0), ylim=(lowest - 0.05, 1.01))
    name = shortened(diagnosis.response)
    ax.set(xlabel=f"threshold: quantile of {name}")
    ax.set(ylabel=folded(f"AUC of {name} above the threshold, cross-fitted"))
    ax.legend(frameon=False, fontsize="small", loc="best")
    unframed(ax)
    return ax
