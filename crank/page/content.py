"""All that a page says, as plain data: of each model, and of the models against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from crank._version import __version__
from crank.api import distill
from crank.errors import CrankError, NotExportableError
from crank.frames.table import Table
from crank.judging.comparison import compare
from crank.judging.diagnose import diagnose
from crank.page.carried import carried
from crank.page.drawn_tree import drawn_tree
from crank.page.encoded import table
from crank.page.form import form_fields, standing
from crank.page.judged import judged
from crank.page.terms import shown_coefficients, shown_effects
from crank.records.additive import AdditiveRecord
from crank.records.base import ModelRecord
from crank.records.kinds import reader
from crank.records.linear import LinearRecord
from crank.records.scored import scored_rows
from crank.records.tree import TreeRecord

REPEATED = 20_000
"""Rows up to which a diagnosis repeats the fit, and to which a distilled tree is fitted."""
DIAGNOSED = {
    "auc_model": "AUC, this model",
    "auc_one_order": "AUC, one order",
    "auc_dedicated": "AUC, for it alone",
    "se": "std.error",
    "pvalue": "p",
}
"""What the columns of a diagnosis are called on a page."""
MOST_MEMBERS = 1_000
"""Trees that the table of members lists."""


def content(
    models: Mapping[str, ModelRecord], data: Any, weights: Any, unknown: str, title: str | None
) -> dict[str, Any]:
    """Collect what the page shows."""
    first = next(iter(models.values()))
    by_leaf = all(isinstance(model, TreeRecord) for model in models.values())
    about: dict[str, Any] = {
        "title": title or f"Ranking {first.response.name}",
        "version": __version__,
        "models": [
            _model(name, model, data, weights, unknown, by_leaf) for name, model in models.items()
        ],
    }
    if data is not None:
        about["rows"] = Table.read(data).n_rows
    if data is not None and len(models) > 1:
        about["comparison"] = _comparison(models, data, weights, unknown)
    return about


def _model(
    name: str, model: ModelRecord, data: Any, weights: Any, unknown: str, by_leaf: bool
) -> dict[str, Any]:
    report = reader(model.kind, "report")
    summary = report.summary(model)
    found: dict[str, Any] = {
        "name": name,
        "kind": model.kind,
        "headline": report.headline(model),
        "formula": model.formula,
        "response": model.response.name,
        "n": model.training.n,
        "created": model.training.created,
        "summary": [
            {
                "title": section.title,
                "lines": list(section.lines),
                "table": None if section.table is None else table(section.table),
                "note": section.note,
            }
            for section in summary.sections
        ],
        "importance": table(report.importance(model)),
        "achieved": report.achieved(model),
        "fields": form_fields(model),
        "notes": [],
    }
    try:
        found["scores"] = carried(model)
    except NotExportableError as cause:
        found["notes"].append(f"No what-if form: {cause}")
    rows = None if data is None else Table.read(data)
    scored = None if rows is None else scored_rows(model, data, weights=weights, unknown=unknown)
    found["standing"] = standing(model, None if scored is None else scored.score)
    if rows is not None and scored is not None:
        found["judged"] = judged(model, scored, rows, unknown, by_leaf=by_leaf)
        found["judged"]["n"] = len(scored.y)
        found["diagnosis"] = _diagnosis(model, data, weights, unknown)
    if isinstance(model, TreeRecord):
        found["tree"] = drawn_tree(model, rows, unknown)
        found["leaves"] = table(report.tidy(model))
    elif isinstance(model, LinearRecord):
        found["coefficients"] = shown_coefficients(model)
        if isinstance(model, AdditiveRecord):
            found["effects"] = shown_effects(model)
    else:
        members = report.tidy(model).head(MOST_MEMBERS)
        found["members"] = table(members)
        if rows is not None:
            found["distilled"] = _distilled(model, rows, unknown)
    return found


def _diagnosis(model: ModelRecord, data: Any, weights: Any, unknown: str) -> dict[str, Any]:
    """Ask whether one order serves: of trees by repeating the fit, of others by their scores.

    The rows of a page are new to the model, so its scores need no second fit; the rankers made for
    one threshold are fitted to these rows, and judged on folds without them.
    """
    rows = Table.read(data).n_rows
    if rows > REPEATED:
        return {"verdict": f"Not asked: {rows} rows are many to repeat the fit on. Use diagnose()."}
    refit = None if isinstance(model, TreeRecord) else lambda *_: model
    try:
        found = diagnose(model, data, refit=refit, weights=weights, unknown=unknown, progress=False)
    except CrankError as cause:
        return {"verdict": f"Not asked: {cause}"}
    shown = found.table.drop(columns=["finer", "se_finer", "gain_model", "se_model"])
    shown = shown.rename(columns=lambda name: DIAGNOSED.get(name, name))
    return {"verdict": found.verdict, "table": table(shown), "folds": found.folds}


def _distilled(model: ModelRecord, rows: Table, unknown: Any) -> dict[str, Any]:
    """Fit a small tree to the model's order, and say how far it can be trusted."""
    if rows.n_rows > REPEATED:
        rows = rows.rows(np.linspace(0, rows.n_rows - 1, REPEATED).astype(np.intp))
    try:
        found = distill(model, rows, unknown=unknown)
    except CrankError as cause:
        return {"note": f"No tree: {cause}"}
    assert isinstance(found.model, TreeRecord)
    named = replace(found.model.response, name="the model's score")
    words = (
        f"A tree of {found.model.tree.n_leaves} leaves puts {100 * found.fidelity.estimate:.1f} "
        "of 100 pairs of rows in the same order as the model"
    )
    if found.price is not None:
        words += (
            f", and {abs(100 * found.price.estimate):.1f} "
            f"{'fewer' if found.price.estimate >= 0 else 'more'} in the order of "
            f"{model.response.name} (95% interval {100 * found.price.ci_low:.1f} to "
            f"{100 * found.price.ci_high:.1f} fewer)"
        )
    known = rows if _has_response(model, rows) else None
    return {
        "note": words + ".",
        "tree": drawn_tree(replace(found.model, response=named), known, unknown, model.response),
    }


def _has_response(model: ModelRecord, rows: Table) -> bool:
    return all(variable.name in rows.names for variable in model.response.variables)


def _comparison(
    models: Mapping[str, ModelRecord], data: Any, weights: Any, unknown: Any
) -> list[dict[str, Any]]:
    """Test which of the models ranks better, by each figure that the responses allow."""
    found: list[dict[str, Any]] = []
    for metric in ("kendall", "iauc"):
        try:
            result = compare(
                dict(models), data=data, metric=metric, weights=weights, unknown=unknown
            )
        except CrankError:
            if not found:  # no figure can compare them
                raise
            continue
        found.append(
            {
                "metric": result.metric,
                "n": result.n,
                "estimates": table(result.estimates),
                "tests": table(result.tests),
                "words": _winner(result.tests),
            }
        )
    return found


def _winner(tests: pd.DataFrame) -> list[str]:
    words = []
    for row in tests.to_dict("records"):
        one, two = row["model_1"], row["model_2"]
        p = row.get("pvalue_adjusted", row["pvalue"])
        if not p < 0.05:
            words.append(f"{one} and {two} cannot be told apart on these rows (p = {p:.2g}).")
        else:
            better, worse = (one, two) if row["difference"] > 0 else (two, one)
            words.append(
                f"{better} ranks better than {worse}, by {abs(row['difference']):.4f} "
                f"(p = {p:.2g})."
            )
    return words
