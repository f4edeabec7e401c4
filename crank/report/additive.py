"""What people read of an additive model: summary, tables, text."""

from __future__ import annotations

import numpy as np
import pandas as pd

from crank.records.additive import AdditiveRecord
from crank.report import linear as linear_report
from crank.report.additive_terms import term_table
from crank.report.linear import achieved, importance, monotone_lines
from crank.report.summary import (
    Section,
    Summary,
    data_text,
    figure_rows,
    fit_section,
    judged_text,
    missing_text,
)

__all__ = ["achieved", "glance", "headline", "importance", "short_name", "summary", "text", "tidy"]

READING = (
    "edf: effective degrees of freedom, 1 for a line. P>F: no effect. P>F (line): the curve is a "
    "line."
)


CHOSEN = " Tests of products do not count that they may have been chosen because they look strong."


def tidy(model: AdditiveRecord) -> pd.DataFrame:
    """Tabulate the terms; see `AdditiveModel.terms`."""
    return term_table(model)


def glance(model: AdditiveRecord) -> pd.DataFrame:
    """Describe the model in one row."""
    table = linear_report.glance(model)
    place = list(table.columns).index("n_coefficients")
    one = model.ranker.smoothing
    table.insert(place, "smoothing", np.nan if one is None else one)
    table.insert(place + 1, "edf", model.ranker.total_freedom)
    return table


def short_name(model: AdditiveRecord) -> str:
    """Name the model beside others."""
    return f"additive, {model.options.link}"


def headline(model: AdditiveRecord) -> str:
    """Describe the model in a few words."""
    count = len(model.smooth_parts)
    freedom = f"{model.ranker.total_freedom:.1f} degrees of freedom"
    return f"{count} smooth term{'s' * (count != 1)}, {freedom}, {model.options.link}"


def text(model: AdditiveRecord) -> str:
    """Print the terms with their degrees of freedom, as mgcv does."""
    table = term_table(model)
    wide = max(map(len, table["term"]))
    lines = [
        f"  {name.ljust(wide)}  {freedom:6.2f}"
        for name, freedom in zip(table["term"], table["edf"], strict=True)
    ]
    head = f"Additive ranker ({model.options.link}): {model.formula}\nn = {model.training.n}"
    total = f"  {'total'.ljust(wide)}  {model.ranker.total_freedom:6.2f}"
    return "\n".join([head, "", "Effective degrees of freedom:", *lines, total])


def summary(model: AdditiveRecord) -> Summary:
    """Collect the sections: call, data, coefficients, terms, fit, importance."""
    sections = [
        Section("Call", (str(model.asked),)),
        Section("Data", tuple(filter(None, (data_text(model), missing_text(model))))),
    ]
    straight = straight_section(model)
    if straight is not None:
        sections.append(straight)
    sections += [
        terms_section(model),
        fit_section(figure_rows(model), judged_text(model)),
        Section(
            "Variable importance",
            table=importance(model),
            note="Standard deviation of the term's part of the score, over the training rows.",
        ),
    ]
    return Summary(tuple(sections))


def straight_section(model: AdditiveRecord) -> Section | None:
    """Show the coefficients of terms that are neither smooth nor levels, as for a linear model."""
    chosen = np.zeros(len(model.ranker.coef), dtype=bool)
    for part in model.parts:
        if part.shape == "columns":
            chosen[part.columns] = True
    if not (chosen & model.ranker.estimated).any():
        return None
    whole = linear_report.coefficient_section(model)
    assert whole.table is not None
    kept = whole.table[chosen[model.ranker.estimated]]
    return Section(whole.title, whole.lines, table=kept, note=whole.note)


def terms_section(model: AdditiveRecord) -> Section:
    """Show the terms with their tests."""
    table = term_table(model)
    shown = table[["term", "edf", "df", "F", "pvalue", "pvalue_bent"]].rename(
        columns={"pvalue": "P>F", "pvalue_bent": "P>F (line)"}
    )
    shown["P>F (line)"] = ["" if np.isnan(p) else f"{p:.4g}" for p in shown["P>F (line)"]]
    one = model.ranker.smoothing
    how = "each smooth by itself" if one is None else f"smoothing {one:.3g}"
    how += f", ridge {model.options.penalty:.3g}"
    note = READING + (CHOSEN if model.chosen_pairs else "")
    return Section(
        f"Terms ({how}; {model.ranker.total_freedom:.1f} degrees of freedom in all)",
        tuple(monotone_lines(model)),
        table=shown,
        note=note,
    )
