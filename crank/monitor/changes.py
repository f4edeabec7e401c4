"""Drift: whether new data are like the training data, and the model still ranks as well."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crank.checks import check_alpha
from crank.frames.profile import ColumnProfile
from crank.metrics.figures import KENDALL
from crank.metrics.student import two_sided
from crank.monitor.stability import stability
from crank.monitor.tally import Tally
from crank.records.base import ModelRecord

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MODERATE, LARGE = 0.1, 0.25
"""The customary bounds of the population stability index."""
SCORE = "(score)"


@dataclass(frozen=True)
class Drift:
    """What has changed since training; print it.

    Attributes
    ----------
    table : DataFrame
        A row for the scores (of a forest: beside those of training rows out of bag), then one for
        each column: psi (the population stability index), se, by_chance (what sampling alone would
        give), pvalue, drift ("none", "moderate", "large"), missing, missing_before, unknown and
        outside (shares of rows; outside the training range).
    parts : DataFrame
        Columns name, part, before, now: the share of each leaf, bin or level.
    figure : DataFrame or None
        d_τ before and now with its change, se, pvalue; None without responses.
    n, n_unscored : int
        Rows, and those that could not be scored.
    alpha : float

    Examples
    --------
    >>> import crank
    >>> train, test = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
    >>> found = drift(m, test.frame)
    >>> found.table["drift"].to_dict(), found.n
    ({'(score)': 'none', 'x': 'none'}, 2000)
    """

    table: pd.DataFrame
    parts: pd.DataFrame
    figure: pd.DataFrame | None
    n: int
    n_unscored: int
    alpha: float

    @property
    def drifted(self) -> tuple[str, ...]:
        """Name what has changed: "(score)", columns, "(d_tau)" if the model ranks worse."""
        found = self.table.index[self.table["drift"] == "large"].tolist()
        if self.figure is not None and self.ranks_worse:
            found.append("(d_tau)")
        return tuple(found)

    @property
    def ranks_worse(self) -> bool:
        """Whether d_τ has fallen by more than chance explains."""
        if self.figure is None:
            return False
        row = self.figure.iloc[0]
        return bool(row["change"] < 0.0 and row["pvalue"] < self.alpha)

    def plot(self, name: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the indices of all columns, or the shares of one; see `crank.monitor.plot`."""
        from crank.monitor.plot import plot_drift

        return plot_drift(self, name, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        figure = None if self.figure is None else self.figure.iloc[0].to_dict()
        rows = [{"name": name, **row.to_dict()} for name, row in self.table.iterrows()]
        about = {"n": self.n, "n_unscored": self.n_unscored, "drifted": list(self.drifted)}
        return {**about, "columns": rows, "d_tau": figure}

    def __str__(self) -> str:
        unscored = f", {self.n_unscored} not scored" if self.n_unscored else ""
        shown = self.table.copy()
        for column in ("missing", "missing_before", "unknown", "outside"):
            shown[column] = [f"{100.0 * share:.2g}%" for share in shown[column]]
        text = [
            f"Drift since training, n = {self.n}{unscored}:",
            shown.to_string(float_format="{:.4g}".format),
            f"psi: population stability index; drift is moderate from {MODERATE} above what "
            f"chance gives, large from {LARGE}, if also p < {self.alpha:g} (Holm).",
        ]
        if self.figure is not None:
            text += ["", self.figure.to_string(index=False, float_format="{:.4g}".format)]
        found = ", ".join(self.drifted)
        return "\n".join([*text, "", f"Drifted: {found}." if found else "No large drift."])

    __repr__ = __str__


def drift(
    model: ModelRecord,
    data: Any,
    *,
    weights: str | None = None,
    alpha: float = 0.01,
) -> Drift:
    """Compare new data with what the model knows of its training data.

    Parameters
    ----------
    model : RankingModel
        Fitted with this version or a later one: older files do not say how data were spread.
    data : data frame, or iterator of data frames
        With the raw columns of the formula's right side; with those of the response, it is tested
        whether the model still ranks as well. Pieces are read one after the other.
    weights : str, optional
        Column of case weights, for d_τ.
    alpha : float
        Level of the tests. Those of columns are adjusted for their number.

    Returns
    -------
    Drift

    Notes
    -----
    d_τ on new data is compared with the cross-validated one if the model has it, else with the
    optimistic one of training, by Student's t: the two samples are independent.

    Examples
    --------
    >>> import crank
    >>> from crank.monitor import drift
    >>> sample = crank.datasets.regression(600, p=5, random_state=0).frame
    >>> m = crank.fit(sample, "y ~ x1 + x2", max_depth=3)
    >>> later = crank.datasets.regression(400, p=5, random_state=1).frame
    >>> drift(m, later).drifted
    ()
    >>> drift(m, later.assign(x1=later["x1"] + 1.0)).drifted
    ('(score)', 'x1', '(d_tau)')
    """
    check_alpha(alpha)
    tally = Tally(model)
    for piece in data if hasattr(data, "__next__") else (data,):
        tally.add(piece, weights)
    return judged(tally, alpha)


def judged(tally: Tally, alpha: float) -> Drift:
    """Turn counts into indices, tests and a verdict."""
    profiles, counts = dict(tally.columns), dict(tally.counts)
    if tally.profile is not None and tally.scores is not None:
        profiles = {SCORE: tally.profile, **profiles}
        counts[SCORE] = tally.scores
    rows, parts = {}, []
    for name, profile in profiles.items():
        now = counts[name]
        before = np.append(profile.counts, 0)
        found = stability(before, now)
        total = max(1, int(now.sum()))
        rows[name] = {
            "psi": found.index,
            "se": found.se,
            "by_chance": found.chance,
            "pvalue": found.pvalue,
            "missing": int(now[-2]) / total,
            "missing_before": profile.missing / max(1, profile.n),
            "unknown": int(now[-1]) / total,
            "outside": tally.outside.get(name, 0) / total,
        }
        parts.append(_shares(name, profile, before, now))
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("name")
    sure = _holm(table["pvalue"].to_numpy()) < alpha
    beyond = np.where(sure, table["psi"] - table["by_chance"], 0.0)
    words = np.select([beyond >= LARGE, beyond >= MODERATE], ["large", "moderate"], "none")
    table.insert(4, "drift", words)
    return Drift(
        table, pd.concat(parts, ignore_index=True), _figure(tally), tally.n, tally.n_unscored, alpha
    )


def _shares(name: str, profile: ColumnProfile, before: Any, now: Any) -> pd.DataFrame:
    kept = (before > 0) | (now > 0)
    labels = [label for label, keep in zip(profile.labels, kept, strict=True) if keep]
    shares = {key: c[kept] / max(1, c.sum()) for key, c in (("before", before), ("now", now))}
    return pd.DataFrame({"name": name, "part": labels, **shares})


def _holm(pvalue: NDArray[np.float64]) -> NDArray[np.float64]:
    """Adjust p-values for their number (Holm 1979)."""
    order = np.argsort(pvalue)
    stepped = pvalue[order] * np.arange(len(pvalue), 0, -1)
    adjusted = np.empty(len(pvalue))
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted


def _figure(tally: Tally) -> pd.DataFrame | None:
    """Test whether d_τ is what it was."""
    known, training = tally.responses, tally.model.training
    source, figures = tally.model.known_figures
    if known is None or KENDALL.name not in figures:
        return None
    before = figures[KENDALL.name]
    now = KENDALL.concordance(*known)
    change, se = now.estimate - before.estimate, math.hypot(now.se, before.se)
    # Welch's degrees of freedom, each sample having those of its rows
    df = se**4 / (now.se**4 / max(1, now.n - 1) + before.se**4 / max(1, training.n - 1) or math.inf)
    pvalue = two_sided(change / se, df) if se > 0.0 else 1.0
    return pd.DataFrame(
        {
            "figure": [KENDALL.label],
            "compared_with": [source],
            "before": [before.estimate],
            "now": [now.estimate],
            "change": [change],
            "se": [se],
            "pvalue": [pvalue],
            "n": [now.n],
        }
    )


def drawn(found: Drift) -> Figure:
    """Draw the indices of all columns on a page of their own."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(6.4, 0.8 + 0.3 * len(found.table)), layout="constrained")
    found.plot(ax=picture.subplots())
    return picture
