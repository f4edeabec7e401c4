"""A plot of how long to boost: the held-out figure over the rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crank.errors import OptionError
from crank.records.booster import BoosterRecord
from crank.report.plot_style import ACCENT, SECOND, axes, unframed

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_rounds(model: BoosterRecord, *, ax: Axes | None = None) -> Axes:
    r"""Draw the held-out figure of a booster over its rounds, with the number that was chosen.

    The band is one standard error over the folds.

    Parameters
    ----------
    model : BoosterModel
        Whose rounds cross-validation chose.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import crank
    >>> from matplotlib.figure import Figure
    >>> sample = crank.datasets.regression(200, p=5, random_state=0).frame
    >>> m = crank.boost(sample, "y ~ .", max_rounds=20, cv=2)
    >>> print(m.plot_rounds(ax=Figure().subplots()).get_xlabel())
    rounds
    """
    found = model.ranker.validation
    if found is None:
        raise OptionError(
            "the rounds of this booster were given, so there is no curve. Fit with rounds=None."
        )
    ax = axes(ax)
    held, se, best = found.estimate, found.se, found.best
    ax.fill_between(found.rounds, held - se, held + se, color=ACCENT, alpha=0.15, lw=0)
    label = f"held out ({len(found.heldout)} folds) ± one se"
    ax.plot(found.rounds, held, color=ACCENT, lw=1.4, label=label)
    ax.plot(
        found.rounds[best],
        held[best],
        marker="o",
        ms=9,
        ls="none",
        mfc="none",
        mec=SECOND,
        mew=1.6,
        label=f"best: {found.rounds[best]} rounds",
    )
    ax.set(xlabel="rounds", ylabel=model.options.figure.title)
    ax.legend(loc="lower right", edgecolor="none", framealpha=0.9, fontsize="small")
    unframed(ax)
    return ax
