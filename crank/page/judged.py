"""A model on the data of a page: figures, curves, calibration, and what they say in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from crank import metrics
from crank.errors import CrankError
from crank.frames.table import Table
from crank.judging.evaluate import estimates
from crank.metrics.figures import get_figure
from crank.page.encoded import number, numbers, table
from crank.records.base import ModelRecord
from crank.records.kinds import reader
from crank.records.scored import Scored
from crank.records.tree import TreeRecord
from crank.report.plot_calibration import GROUPS, positions_by_group
from crank.report.plot_curves import MOST_BOOTSTRAPPED, profile_points
from crank.report.plot_terms import dependence, places

MOST_FEATURES = 12
"""Columns whose partial dependence is drawn, the most important ones."""


def judged(
    model: ModelRecord, rows: Scored, data: Table, unknown: str, *, by_leaf: bool
) -> dict[str, Any]:
    """Judge a model: everything that a page shows of it on these rows."""
    figures = estimates(rows, 0.05)
    found: dict[str, Any] = {
        "figures": table(_named(figures)),
        "words": _words(model, figures),
        "calibration": calibration(model, rows, by_leaf),
        "dependence": dependences(model, data, unknown),
    }
    if len(np.unique(rows.y)) >= 3:  # of two values there is one threshold, and no curve
        found["iroc"] = iroc(rows)
        drawn = map(numbers, profile_points(rows.y, rows.score, rows.weights))
        found["profile"] = dict(zip(("x", "y", "low", "high"), drawn, strict=True))
        found["words"] += _profile_words(model, found["profile"])
    return found


def _named(figures: pd.DataFrame) -> pd.DataFrame:
    shown = figures.rename(columns={"ci_low": "2.5%", "ci_high": "97.5%", "se": "std.error"})
    shown.insert(0, "figure", [get_figure(str(name)).text for name in figures.index])
    return shown


def iroc(rows: Scored) -> dict[str, Any]:
    """Return the IROC curve, with a band unless rows are so many that it would not show."""
    if len(rows.y) > MOST_BOOTSTRAPPED:
        curve = metrics.iroc_curve(rows.y, rows.score, weights=rows.weights, grid=100)
        return {"x": numbers(curve.alpha), "y": numbers(curve.iroc), "area": curve.iauc}
    band = metrics.iroc_band(
        rows.y, rows.score, grid=50, n_boot=100, weights=rows.weights, random_state=0
    )
    return {
        "x": numbers(band.alpha),
        "y": numbers(band.iroc),
        "low": numbers(band.low),
        "high": numbers(band.high),
        "area": metrics.iauc(rows.y, rows.score, weights=rows.weights),
    }


def calibration(model: ModelRecord, rows: Scored, by_leaf: bool) -> list[dict[str, Any]]:
    """Mean position of y in groups of rows by their score: leaves of a tree, or tenths."""
    at, group = np.unique(rows.score, return_inverse=True)
    if len(at) < 2:
        return []
    if by_leaf and isinstance(model, TreeRecord):
        trained = {
            score: model.tree.nodes[i].quantile
            for i, score in zip(model.tree.leaves, model.tree.scores.tolist(), strict=True)
        }
        x = np.array([trained[score] for score in at.tolist()])
    else:
        place = places(rows.score, np.sort(rows.score))
        parts = np.minimum((place * GROUPS).astype(np.intp), GROUPS - 1)
        _, group = np.unique(parts, return_inverse=True)
        count = int(group.max()) + 1
        x = np.bincount(group, place, count) / np.bincount(group, minlength=count)
    mean, reach, count_of = positions_by_group(rows.y, group, len(x), 0.05)
    points = zip(x, mean, mean - reach, mean + reach, count_of, strict=True)
    return [
        {"x": number(a), "y": number(b), "low": number(c), "high": number(d), "n": int(n)}
        for a, b, c, d, n in points
    ]


def dependences(model: ModelRecord, data: Table, unknown: str) -> list[dict[str, Any]]:
    """Partial dependence of the place of the score on the most important columns."""
    found = []
    scale = "quantile"
    for feature in _important(model)[:MOST_FEATURES]:
        try:
            moved = dependence(model, feature, data, scale, unknown, grid=60, most=120)
        except CrankError:  # a column without a value, or a term that not every value may take
            continue
        levels = isinstance(moved.values, tuple)
        some = moved.predicted[:, np.linspace(0, moved.predicted.shape[1] - 1, 15).astype(int)]
        single = [] if len(model.variables) == 1 else [numbers(line) for line in some.T]
        found.append(
            {
                "feature": f"{feature}, days since 1970" if moved.dates and not levels else feature,
                "x": list(map(str, moved.values)) if levels else numbers(moved.values),
                "y": numbers(moved.average),
                "single": [] if levels else single,
            }
        )
    return found


def _important(model: ModelRecord) -> list[str]:
    """Order the raw columns by the importance of the terms that name them; leave out the idle."""
    found = reader(model.kind, "report").importance(model)
    worth = dict(zip(map(str, found["term"]), found["importance"], strict=True))
    terms = {v.name: [k for k, term in enumerate(worth) if v.name in term] for v in model.variables}
    parts = list(worth.values())
    used = [name for name, own in terms.items() if not own or any(parts[k] for k in own)]
    return sorted(used, key=lambda name: min(terms[name], default=len(parts)))


def _words(model: ModelRecord, figures: pd.DataFrame) -> list[str]:
    found = figures.loc["kendall"]
    y = model.response.name
    words = [
        f"Of 100 pairs of rows with different {y}, {100 * found['estimate']:.1f} are put in the "
        f"right order (95% interval {100 * found['ci_low']:.1f} to {100 * found['ci_high']:.1f}); "
        "tied scores count half. 50 is what chance achieves."
    ]
    promised = model.training.crossvalidated.get("kendall")
    if promised is not None:
        gap = found["estimate"] - promised.estimate
        far = abs(gap) > 2.0 * float(np.hypot(found["se"], promised.se))
        words.append(
            f"Cross-validation promised {100 * promised.estimate:.1f}"
            + (
                f": these data are {'above' if gap > 0 else 'below'} that by more than chance "
                "explains. Look at crank drift."
                if far
                else ", and these data agree with it within chance."
            )
        )
    return words


def _profile_words(model: ModelRecord, profile: dict[str, Any]) -> list[str]:
    auc, at = profile["y"], profile["x"]
    low, high = int(np.argmin(auc)), int(np.argmax(auc))
    return [
        f"Along {model.response.name}, the AUC goes from {auc[low]:.3f} (at its "
        f"{100 * at[low]:.0f}% quantile) to {auc[high]:.3f} (at {100 * at[high]:.0f}%)."
    ]
