"""Curves over thresholds and sizes: IROC, the AUC profile, pruning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crank.errors import DataError, OptionError
from crank.records.base import ModelRecord
from crank.records.kinds import reader
from crank.records.scored import scored
from crank.report.plot_style import ACCENT, CYCLE, MUTED, SECOND, axes, folded, shortened, unframed
from crank.report.tables import pruning_table
from crank.report.text import leaves_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from crank.metrics.profile import Weighting
    from crank.records.tree import TreeRecord

MOST_BOOTSTRAPPED = 10_000
"""Rows beyond which an IROC band is narrower than its line, and slow to draw."""
THRESHOLDS = 50
"""Thresholds of an AUC profile."""
FEWEST_ROWS = 10
"""Rows on either side of a threshold below which its AUC is all noise."""


def plot_iroc(
    models: ModelRecord | Mapping[str, ModelRecord] | Sequence[ModelRecord],
    data: Any,
    *,
    weighting: Weighting = "triple",
    band: bool | None = None,
    weights: Any = None,
    unknown: Any = "error",
    random_state: int | None = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw the IROC curves of one or several models on the same data.

    If y has two values there is one threshold only, and the curve is the ROC curve.

    Parameters
    ----------
    models : RankingModel, mapping of name to ModelRecord, or sequence
    data : data frame
        Rows that the models have not seen, with their response.
    weighting : {"triple", "uniform"}
        How thresholds weigh, in the curves and in the areas that the legend shows alike.
    band : bool, optional
        Whether to add pointwise 95% intervals from the bootstrap; by default up to 10,000 rows.
    weights : str or array-like, optional
        Case weights.
    unknown : {"error", "missing"}
        What to do with a category level that training did not have.
    random_state : int or None
        Seeds the bootstrap.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import crank
    >>> from matplotlib.figure import Figure
    >>> from crank.report.plots import plot_iroc
    >>> train, test = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame, "y ~ x", max_depth=3, prune=None)
    >>> ax = plot_iroc({"stumps": m}, test.frame, band=False, ax=Figure().subplots())
    >>> ax.get_legend().get_texts()[0].get_text()
    'stumps (IAUC 0.938)'
    """
    from crank import metrics

    named = name_models(models)
    ax = axes(ax, (5.0, 4.8))
    ax.plot([0, 1], [0, 1], color=MUTED, lw=0.9, ls=(0, (4, 3)), zorder=1)
    height = f"IROC ({weighting} weighting)"
    for k, (name, model) in enumerate(named.items()):
        colour = CYCLE[k % len(CYCLE)]
        y, score, w = scored(model, data, weights=weights, unknown=unknown)
        if len(np.unique(y)) == 2:
            label = f"{name} (AUC {metrics.kendall(y, score, weights=w):.3f})"
            ax.plot(*roc(y, score, w), color=colour, lw=1.6, label=label, zorder=3)
            height = "true positive rate"
            continue
        curve = metrics.iroc_curve(y, score, weighting=weighting, weights=w)
        if band if band is not None else len(y) <= MOST_BOOTSTRAPPED:
            around = metrics.iroc_band(
                y,
                score,
                weighting=weighting,
                grid=50,
                n_boot=100,
                weights=w,
                random_state=random_state,
            )
            ax.fill_between(around.alpha, around.low, around.high, color=colour, alpha=0.16, lw=0)
        label = f"{name} (IAUC {curve.iauc:.3f})"
        ax.plot(curve.alpha, curve.iroc, color=colour, lw=1.6, label=label, zorder=3)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    ax.set(xlabel="false positive rate α", ylabel=height)
    ax.legend(loc="lower right", frameon=False)
    unframed(ax)
    return ax


def roc(
    y: NDArray[np.float64], score: NDArray[np.float64], weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rates of false and true positives of a binary y from the best score down, a step a score.

    Examples
    --------
    >>> [rate.tolist() for rate in roc(np.array([0, 1, 1]), np.array([1.0, 1.0, 2.0]), None)]
    [[0.0, 0.0, 1.0], [0.0, 0.5, 1.0]]
    """
    weight = np.ones(len(y)) if weight is None else weight
    step = np.unique(-score, return_inverse=True)[1]
    high = y == y.max()
    counts = (np.bincount(step, weight * side) for side in (~high, high))
    false, true = (np.concatenate(([0.0], np.cumsum(count) / count.sum())) for count in counts)
    return false, true


def name_models(
    models: ModelRecord | Mapping[str, ModelRecord] | Sequence[ModelRecord],
) -> dict[str, ModelRecord]:
    """Give every model of a plot a name of its own."""
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
    else:
        given = [models] if isinstance(models, ModelRecord) else list(models)
        names = [reader(m.kind, "report").short_name(m) for m in given]
        if len(set(names)) < len(names):
            names = [f"{k}. {name}" for k, name in enumerate(names, 1)]
        named = dict(zip(names, given, strict=True))
    if not named:
        raise OptionError(
            "plot_iroc got no model. Give at least one, or a mapping of names to them."
        )
    return named


def plot_profile(
    model: ModelRecord,
    data: Any,
    *,
    band: bool = True,
    weights: Any = None,
    unknown: Any = "error",
    ax: Axes | None = None,
) -> Axes:
    """Draw the AUC of the model at each threshold of y, against the threshold's quantile.

    A flat curve says that the model ranks as well among low responses as among high ones; ½ is
    no better than chance at that threshold. Fifty thresholds are spread over y's distribution;
    those with fewer than ten rows on either side are left out.

    Parameters
    ----------
    model : RankingModel
    data : data frame
        Rows that the model has not seen, with their response.
    band : bool
        Whether to add pointwise 95% confidence intervals, their ends averaged over five
        neighbouring thresholds.
    weights, unknown
        As in `plot_iroc`.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import crank
    >>> from matplotlib.figure import Figure
    >>> train, test = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame, "y ~ x", max_depth=3, prune=None)
    >>> ax = m.plot_profile(test.frame, ax=Figure().subplots())
    >>> ax.get_xlabel()
    'threshold: quantile of y'
    """
    ax = axes(ax)
    y, score, w = scored(model, data, weights=weights, unknown=unknown)
    quantile, auc, low, high = profile_points(y, score, w)
    if band:
        ax.fill_between(quantile, low, high, color=ACCENT, alpha=0.16, lw=0)
    few = len(quantile) < 8
    ax.plot(quantile, auc, color=ACCENT, lw=1.6, zorder=3, marker="o" if few else None, ms=4)
    ax.axhline(0.5, color=MUTED, lw=0.9, ls=(0, (4, 3)), zorder=1)
    lowest = float(np.nanmin(low if band else auc))
    ax.set(xlim=(0.0, 1.0), ylim=(min(0.45, max(lowest, 0.0) - 0.03), 1.01))
    name = shortened(model.response.name)
    ax.set(
        xlabel=f"threshold: quantile of {name}", ylabel=folded(f"AUC of {name} above the threshold")
    )
    unframed(ax)
    return ax


def profile_points(
    y: NDArray[np.float64], score: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], ...]:
    """Return quantiles of thresholds, the AUC at each, and the ends of its interval."""
    from crank import metrics

    if len(np.unique(y)) < 3:
        raise DataError(
            "y has two values in these data, or one: there is no threshold between them, so no "
            "profile. Draw the ROC curve: plot_iroc(data)."
        )
    # evenly spread thresholds: neighbours share most of their rows, more of them only add noise
    found = metrics.profile_band(y, score, points=THRESHOLDS, weights=weights)
    inner = np.minimum(found.quantile, 1.0 - found.quantile) * len(y) >= FEWEST_ROWS
    keep = inner if inner.any() else ~inner
    auc = found.auc[keep]
    low = np.minimum(_smooth(found.low[keep]), auc)
    return found.quantile[keep], auc, low, np.maximum(_smooth(found.high[keep]), auc)


def _smooth(limit: NDArray[np.float64], window: int = 5) -> NDArray[np.float64]:
    """Average a limit over neighbouring thresholds, fewer of them at the ends."""
    near = np.ones(min(window, len(limit)))
    return np.convolve(limit, near, "same") / np.convolve(np.ones(len(limit)), near, "same")


def plot_pruning(model: TreeRecord, *, ax: Axes | None = None) -> Axes:
    r"""Draw the pruning path: held-out and training figure against the number of leaves.

    Bars are one standard error of the held-out figure; the dotted line lies one standard error
    below its best value, and the smallest tree above it is the choice of ``prune="1se"``. A model
    that was fitted without cross-validation has a training curve only.

    Parameters
    ----------
    model : RankingModel
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import crank
    >>> from matplotlib.figure import Figure
    >>> train, _ = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall")
    >>> ax = m.plot_pruning(ax=Figure().subplots())
    >>> print(ax.get_ylabel())
    $d_\tau$ (rate of concordant pairs)
    """
    ax = axes(ax)
    table = pruning_table(model)
    leaves = table["n_leaves"].to_numpy()
    ax.plot(leaves, table["training"], color=MUTED, lw=1.1, ls="--", label="training (optimistic)")
    shown = [table["training"].to_numpy()]
    if model.validation is not None:
        held, se = table["heldout"].to_numpy(), table["se"].to_numpy()
        label = f"held out ({model.validation.folds} folds) ± one se"
        ax.errorbar(
            leaves,
            held,
            yerr=se,
            color=ACCENT,
            lw=1.4,
            marker="o",
            ms=3.2,
            elinewidth=0.8,
            label=label,
        )
        best, small = model.validation.step, model.validation.step_1se
        limit = float(held[best] - se[best])
        ax.axhline(limit, color=ACCENT, lw=0.9, ls=":", label="one se below the best")
        ring: dict[str, Any] = {"ls": "none", "mfc": "none", "mec": SECOND, "mew": 1.6}
        both = best == small
        name = f"best{' and 1-se' * both}: {leaves_text(leaves[best])}"
        ax.plot(leaves[best], held[best], marker="o", ms=9, label=name, **ring)
        if not both:
            name = f"1-se: {leaves_text(leaves[small])}"
            ax.plot(leaves[small], held[small], marker="s", ms=9, label=name, **ring)
        shown += [held - se, held + se]
    size = model.tree.n_leaves
    ax.axvline(
        size, color=SECOND, lw=0.8, alpha=0.5, zorder=0, label=f"this model: {leaves_text(size)}"
    )
    if leaves.max() > 16:
        ax.set_xscale("log", base=2)
        ax.xaxis.set_major_formatter("{x:g}")
    else:
        from matplotlib.ticker import MaxNLocator

        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    low, high = np.nanmin(np.concatenate(shown)), np.nanmax(np.concatenate(shown))
    ax.set_ylim(low - 0.04 * (high - low), min(high + 0.04 * (high - low), 1.01))
    ax.set(xlabel="leaves", ylabel=model.figure.title)
    ax.legend(loc="best", edgecolor="none", framealpha=0.9, fontsize="small")
    unframed(ax)
    return ax
