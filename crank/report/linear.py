"""What people read of a linear model: summary, tables, text."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from crank.design.slopes import slopes
from crank.errors import listed
from crank.metrics.figures import Figure
from crank.rankers.directions import signs_of
from crank.records.linear import LinearRecord
from crank.report.coefficients import ODDS, coefficients, term_tests
from crank.report.figure_columns import training_columns
from crank.report.importances import refuse_metric, table_of_shares
from crank.report.summary import (
    Section,
    Summary,
    data_text,
    figure_rows,
    fit_section,
    judged_text,
    missing_text,
)

READING = {
    "logit": "exp(estimate): odds that, of two rows alike but for one unit of the column, the one "
    "with more of it ranks above.",
    "probit": "P(above): probability that, of two rows alike but for one unit of the column, the "
    "one with more of it ranks above.",
}
SHOWN = {
    "std_error": "std.error",
    "pvalue": "P>|t|",
    "odds": "exp(estimate)",
    "probability": "P(above)",
}


def tidy(model: LinearRecord) -> pd.DataFrame:
    """Tabulate the coefficients; see `LinearModel.coefficients`."""
    return coefficients(model)


def glance(model: LinearRecord) -> pd.DataFrame:
    """Describe the model in one row."""
    ranker, training = model.ranker, model.training
    row: dict[str, object] = {
        "formula": model.formula,
        "n": training.n,
        "n_dropped": training.n_dropped,
        "link": model.options.link,
        "penalty": ranker.penalty,
        "l1_ratio": model.options.l1_ratio,
        "n_coefficients": int(ranker.estimated.sum()),
        "n_groups": pd.NA if ranker.n_groups is None else ranker.n_groups,
    }
    row |= training_columns(training)
    return pd.DataFrame([row]).astype({"n_groups": "Int64"})


def importance(model: LinearRecord, metric: str | Figure | None = None) -> pd.DataFrame:
    """Give each term the standard deviation of its part of the score over the training rows.

    For a term of one column that is |coefficient| times the column's standard deviation.
    """
    _refuse(metric)
    ranker = model.ranker
    coef = np.where(ranker.estimated, ranker.coef, 0.0)
    terms = np.array(model.design.terms, dtype=object)
    names = list(dict.fromkeys(model.design.terms))
    sizes = []
    for name in names:
        part = np.where(terms == name, coef, 0.0)
        sizes.append(math.sqrt(max(float(part @ ranker.covariance @ part), 0.0)))
    return table_of_shares(dict(zip(names, sizes, strict=True)))


def achieved(model: LinearRecord, metric: str | Figure | None = None) -> str:
    """Say what the importances share out."""
    _refuse(metric)
    return "the terms' standard deviations in the score"


def _refuse(metric: object) -> None:
    meaning = "a linear model is the standard deviation of a term's part of the score"
    refuse_metric(metric, meaning)


def short_name(model: LinearRecord) -> str:
    """Name the model beside others."""
    return f"linear, {model.options.link}"


def headline(model: LinearRecord) -> str:
    """Describe the model in a few words."""
    count = int(model.ranker.estimated.sum())
    penalised = f", penalty {model.ranker.penalty:.3g}" if model.ranker.penalty else ""
    return f"{count} coefficient{'s' * (count != 1)}, {model.options.link}{penalised}"


def text(model: LinearRecord) -> str:
    """Print the coefficients as R prints those of a glm."""
    names, values = model.design.names, model.ranker.coef.tolist()
    shown = ["NA" if np.isnan(value) else f"{value:.4g}" for value in values]
    wide = max(map(len, names))
    lines = [f"  {name.ljust(wide)}  {value:>10}" for name, value in zip(names, shown, strict=True)]
    head = f"Linear ranker ({model.options.link}): {model.formula}\nn = {model.training.n}"
    return "\n".join([head, "", "Coefficients:", *lines])


def summary(model: LinearRecord) -> Summary:
    """Collect the sections: call, data, coefficients, terms, fit, importance."""
    sections = [
        Section("Call", (str(model.asked),)),
        Section("Data", tuple(filter(None, (data_text(model), missing_text(model))))),
        coefficient_section(model, monotone_lines(model)),
    ]
    if model.ranker.path is not None:
        sections.insert(2, penalty_section(model))
    if not model.options.l1_ratio and len(set(model.design.terms)) < len(model.design.terms):
        tests = term_tests(model).rename(columns={"df_error": "df.error", "pvalue": "P>F"})
        sections.append(Section("Terms (Wald tests)", table=tests))
    sections.append(fit_section(figure_rows(model), judged_text(model)))
    sections.append(
        Section(
            "Variable importance",
            table=importance(model),
            note="Standard deviation of the term's part of the score, over the training rows.",
        )
    )
    return Summary(tuple(sections))


def coefficient_section(model: LinearRecord, more: Sequence[str] = ()) -> Section:
    """Show the coefficients in the manner of R's ``summary.glm``."""
    table, options = coefficients(model), model.options
    unit = ODDS[options.link]
    lines = []
    if model.aliased:
        lines = [f"not estimated (constant, or a combination of others): {listed(model.aliased)}"]
    lines += more
    note = READING[options.link]
    if options.l1_ratio:
        used = table[np.nan_to_num(model.ranker.coef) != 0.0]
        shown = used[["term", "estimate", unit]].rename(columns=SHOWN)
        count = int(model.ranker.estimated.sum())
        lines.append(f"{len(used)} of {count} are not 0; the others are not shown")
        note += " The lasso shrinks estimates and chooses them, so they have no standard errors."
        return Section("Coefficients", tuple(lines), table=shown if len(used) else None, note=note)
    shown = table[model.ranker.estimated].drop(columns=["ci_low", "ci_high"])
    shown = shown.rename(columns=SHOWN | {f"{unit}_low": "2.5%", f"{unit}_high": "97.5%"})
    note += f" {_errors(model)}"
    if model.ranker.penalty:
        note += " The penalty shrinks estimates towards 0; their errors do not count that bias."
    return Section("Coefficients", tuple(lines), table=shown, note=note)


def monotone_lines(model: LinearRecord) -> list[str]:
    """Say in which columns the score is monotone by request, and which terms that holds back."""
    wanted = model.options.monotone
    if not wanted:
        return []
    found = slopes(model.design, signs_of(wanted))
    held = np.flatnonzero(found.rows[found.binding(model.ranker.coef)].any(axis=0))
    flat = [model.design.terms[k] for k in held]
    lines = ["monotone: " + ", ".join(f"{name} {way}" for name, way in wanted.items())]
    if flat:
        lines.append(
            f"held flat by that, at least in part: {listed(dict.fromkeys(flat))}; errors and tests "
            "are those without the constraint, on the careful side"
        )
    return lines


def _errors(model: LinearRecord) -> str:
    """Say what standard errors stand on."""
    if not math.isnan(model.error_df):
        return f"Student's t with {model.error_df:.4g} degrees of freedom."
    what = "rows" if model.ranker.n_groups is None else "groups"
    return (
        f"There are no standard errors: {model.n_units} {what} are too few for "
        f"{model.ranker.total_freedom:.4g} degrees of freedom of the fit."
    )


def penalty_section(model: LinearRecord) -> Section:
    """Say which penalty was chosen, and from what."""
    path, ratio = model.ranker.path, model.options.l1_ratio
    assert path is not None
    name = {0.0: "ridge", 1.0: "lasso"}.get(ratio, f"elastic net, l1_ratio {ratio:g}")
    rule = {"cv": "of least loss", "1se": "the heaviest within a standard error of the least loss"}
    tried = f"{path.penalty[0]:.3g} to {path.penalty[-1]:.3g} ({len(path.penalty)} values)"
    return Section(
        "Penalty",
        (
            f"{name}, {model.ranker.penalty:.4g}: {rule[str(model.options.penalty)]} in "
            f"{path.folds}-fold cross-validation",
            f"tried: {tried}",
        ),
    )
