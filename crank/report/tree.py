"""What people read of a tree model: summary, tables, text."""

from __future__ import annotations

from typing import Any

import pandas as pd

from crank.criteria import get_criterion
from crank.growing.wording import BRIEF
from crank.metrics.figures import Figure, figures, get_figure
from crank.records.tree import TreeRecord
from crank.report.summary import Section, Summary, data_text, figure_rows, fit_section, missing_text
from crank.report.tables import (
    coefficient_table,
    glance_table,
    importance_table,
    leaf_table,
    pruning_table,
)
from crank.report.text import leaves_text, tree_text

tidy = leaf_table
glance = glance_table
text = tree_text


def importance(model: TreeRecord, metric: str | Figure | None = None) -> pd.DataFrame:
    """Give each node's gain to the terms that earned it, by the figure that pruned the tree."""
    figure = model.figure if metric is None else get_figure(metric, of_trees=True)
    return importance_table(model, figure)


def achieved(model: TreeRecord, metric: str | Figure | None = None) -> str:
    """Say what the importances share out."""
    figure = model.figure if metric is None else get_figure(metric, of_trees=True)
    return f"the tree's {figure.gain_label}"


def short_name(model: TreeRecord) -> str:
    """Name the model beside others."""
    return f"{model.criterion} × {model.learner.name}"


def headline(model: TreeRecord) -> str:
    """Describe the tree in a few words."""
    return f"{model.tree.n_leaves} leaves, {short_name(model)}"


def summary(model: TreeRecord) -> Summary:
    """Collect the sections: call, data, tree, fit, pruning, importance, leaves."""
    sections = [
        Section("Call", (str(model.asked),)),
        Section("Data", tuple(filter(None, (data_text(model), missing_text(model))))),
        Section("Tree", tree_lines(model)),
        fit_section(figure_rows(model) or path_rows(model), unjudged_text(model)),
    ]
    if model.validation is not None:
        table = pruning_table(model)
        sections.append(
            Section(
                f"Pruning ({model.validation.folds}-fold cross-validation of {model.figure.text})",
                table=_thinned(table),
                note="alpha: price of a leaf in units of the figure. se: spread over the folds. "
                "The best held-out figure is optimistic: it was chosen. That of Fit is not.",
            )
        )
    if model.tree.n_leaves > 1:
        table = importance(model)
        whole = table["importance"].sum()
        sections.append(
            Section(
                "Variable importance",
                table=table[table["importance"] != 0.0],
                note=f"Sums to {whole:.4f}, {model.figure.gain_text} of the tree on its training "
                "data.",
            )
        )
    coefficients = coefficient_table(model)
    if len(coefficients):
        sections.append(coefficient_section(coefficients))
    sections.append(Section("Leaves, best first", table=leaf_table(model, BRIEF)))
    return Summary(tuple(sections))


def tree_lines(model: TreeRecord) -> tuple[str, ...]:
    """Say what the tree is and how it came about."""
    tree = model.tree
    depth = max(tree.nodes[i].depth for i in tree.leaves)
    order = "left to right" if tree.leaf_order == "oriented" else "mean rank of y"
    return (
        f"criterion  {model.criterion} ({get_criterion(model.criterion).description})"
        + (f": {model.ranker.because}" if model.ranker.because else ""),
        f"learner    {learner_text(model)}",
        f"size       {leaves_text(tree.n_leaves)}, depth {depth} "
        f"(grown: {leaves_text(model.pruning.tree.n_leaves)}, depth {tree.depth})",
        f"pruned     {model.pruned_by}",
        f"order      {order}",
    )


def learner_text(model: TreeRecord) -> str:
    """Name the learner, with the settings that were given."""
    given = ", ".join(f"{name}={value!r}" for name, value in model.learner.params.items())
    return f"{model.learner.name} ({given})" if given else model.learner.name


def unjudged_text(model: TreeRecord) -> str:
    """Say which figures cross-validation could not give."""
    training = model.training
    if model.validation is None or not training.figures:
        return ""
    lost = [get_figure(name) for name in training.figures if name not in training.crossvalidated]
    return " ".join(
        f"{figure.text} has no cross-validated figure: the rows are too few. Without a fold they "
        f"cannot be split, or too few folds have {figure.members} rows of different y."
        for figure in lost
    )


def path_rows(model: TreeRecord) -> list[dict[str, Any]]:
    """List the training figures of a tree that was pruned by hand: its pruning path knows them."""
    rows = []
    for figure in figures(of_trees=True):
        if model.tree.totals[figure.name] > 0.0:
            found, order = model.ranker.training_figure(figure), ""
            if found != found:  # an old file: only gains are left
                found, order = model.tree.figure(figure), " (leaves left to right)"
            rows.append({"figure": f"{figure.text}, training{order}", "estimate": found})
    return rows


def coefficient_section(table: pd.DataFrame, nodes: int = 3, terms: int = 8) -> Section:
    """Show the largest coefficients of the first nodes."""
    first = table[table["node"].isin(table["node"].unique()[:nodes])]
    shown = first.groupby("node", sort=False).head(terms + 1)  # the intercept comes first
    shown = shown.drop(columns=["ci_low", "ci_high", "original_low", "original_high"])
    rest = len(table) - len(shown)
    return Section(
        "Coefficients, standardised and in the units of the columns",
        table=shown.rename(
            columns={"std_error": "std.error", "pvalue": "P>|z|", "original": "in units"}
        ),
        note="Above 0 goes to the high side. Robust errors within the node, given that the tree "
        "splits there." + (f" {rest} more lines in coefficients()." if rest else ""),
    )


def _thinned(table: pd.DataFrame, most: int = 12) -> pd.DataFrame:
    """Leave out middle rows of a long table, but no chosen one."""
    if len(table) <= most:
        return table
    keep = (table["chosen"] != "") | (table.index % -(-len(table) // most) == 0)
    keep.iloc[-1] = True
    return table[keep]
