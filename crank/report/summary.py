"""The summary of a model in R's order, as text, HTML or LaTeX."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from crank.criteria import get_criterion
from crank.report.tables import (
    coefficient_table,
    importance_table,
    leaf_table,
    pruning_table,
)

if TYPE_CHECKING:
    from crank.model import RankingModel
    from crank.tree import Metric

FIGURE_NAMES = {"iauc": "IAUC", "kendall": "d_tau"}


@dataclass(frozen=True)
class Section:
    """A titled part: lines of text, a table, or both; a note stands below them."""

    title: str
    lines: tuple[str, ...] = ()
    table: pd.DataFrame | None = None
    note: str = ""


@dataclass(frozen=True)
class Summary:
    """What `RankingModel.summary` returns; `print` it, or let a notebook show it."""

    sections: tuple[Section, ...]

    def __str__(self) -> str:
        parts = []
        for section in self.sections:
            lines = [f"{section.title}:"]
            lines += [f"  {line}" for line in section.lines]
            if section.table is not None:
                lines += [f"  {line}" for line in _text_table(section.table)]
            if section.note:
                lines.append(f"  {section.note}")
            parts.append("\n".join(lines))
        return "\n\n".join(parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(self) -> str:
        """Return the summary as an HTML fragment."""
        parts = []
        for section in self.sections:
            parts.append(f"<h4>{html.escape(section.title)}</h4>")
            if section.lines:
                parts.append("<p>" + "<br>".join(map(html.escape, section.lines)) + "</p>")
            if section.table is not None:
                parts.append(_rounded(section.table).to_html(index=False, border=0))
            if section.note:
                parts.append(f"<p><small>{html.escape(section.note)}</small></p>")
        return '<div class="crank-summary">\n' + "\n".join(parts) + "\n</div>"

    def to_latex(self) -> str:
        """Return the summary as LaTeX; its tables use booktabs."""
        parts = []
        for section in self.sections:
            parts.append(rf"\paragraph{{{_tex(section.title)}}}")
            parts += [_tex(line) + r"\\" for line in section.lines]
            if section.table is not None:
                parts.append(_latex_table(section.table))
            if section.note:
                parts.append(_tex(section.note))
        return "\n".join(parts) + "\n"


def summarise(model: RankingModel) -> Summary:
    """Collect the sections: call, data, tree, fit, pruning, importance, leaves."""
    sections = [
        Section("Call", (call_text(model),)),
        Section("Data", (data_text(model),)),
        Section("Tree", tree_lines(model)),
        fit_section(model),
    ]
    if model.validation is not None:
        table = pruning_table(model.pruning, model.validation)
        name = FIGURE_NAMES[model.pruning.metric]
        sections.append(
            Section(
                f"Pruning ({model.options.cv}-fold cross-validation of {name})",
                table=_thinned(table),
                note="alpha: price of a leaf in units of the figure. se: spread over the folds.",
            )
        )
    if model.tree.n_leaves > 1:
        metric = model.pruning.metric
        table = importance_table(model, metric)
        target = "Kendall's tau" if metric == "kendall" else "2 IAUC - 1"
        whole = table["importance"].sum()
        sections.append(
            Section(
                "Variable importance",
                table=table[table["importance"] != 0.0],
                note=f"Sums to {whole:.4f}, {target} of the tree on its training data.",
            )
        )
    coefficients = coefficient_table(model)
    if len(coefficients):
        sections.append(coefficient_section(coefficients))
    sections.append(Section("Leaves, best first", table=leaf_table(model)))
    return Summary(tuple(sections))


def call_text(model: RankingModel) -> str:
    """Write the call back."""
    options = model.options
    given = [repr(model.formula), f"learner={model.learner.name!r}"]
    if model.learner.params:
        given.append(f"learner_params={dict(model.learner.params)!r}")
    given += [
        f"criterion={options.criterion!r}",
        f"max_depth={options.max_depth}",
        f"min_samples_leaf={options.min_samples_leaf}",
        f"prune={options.prune!r}",
    ]
    return f"crank.fit(data, {', '.join(given)})"


def data_text(model: RankingModel) -> str:
    """Say how many rows were used, dropped and whether they were weighted."""
    training = model.training
    dropped = f", {training.n_dropped} dropped (missing values)" if training.n_dropped else ""
    return f"n = {training.n}{dropped}, {'case weights' if training.weighted else 'unweighted'}"


def tree_lines(model: RankingModel) -> tuple[str, ...]:
    """Say what the tree is and how it came about."""
    tree, options = model.tree, model.options
    depth = max(tree.nodes[i].depth for i in tree.leaves)
    order = "left to right" if tree.leaf_order == "oriented" else "mean rank of y"
    return (
        f"criterion  {options.criterion} ({get_criterion(options.criterion).description})",
        f"learner    {model.learner.name}",
        f"size       {tree.n_leaves} leaves, depth {depth} "
        f"(grown: {model.pruning.tree.n_leaves} leaves, depth {tree.depth})",
        f"pruned     {model.pruned_by}",
        f"order      {order}",
    )


def fit_section(model: RankingModel) -> Section:
    """Tabulate the figures, cross-validated ones first; training figures are labelled."""
    rows = []
    sources = (
        ("cross-validated", model.training.crossvalidated),
        ("training", model.training.figures),
    )
    for label, figures in sources:
        for name, found in figures.items():
            rows.append(
                {
                    "figure": f"{FIGURE_NAMES[name]}, {label}",
                    "estimate": found.estimate,
                    "std.error": found.se,
                    "2.5%": found.ci_low,
                    "97.5%": found.ci_high,
                }
            )
    if not rows:
        names: tuple[Metric, ...] = ("iauc", "kendall") if model.tree.triples > 0 else ("kendall",)
        for name in names:
            figure = model.tree.figure(name)
            order = "" if model.tree.leaf_order == "oriented" else " (leaves left to right)"
            rows.append({"figure": f"{FIGURE_NAMES[name]}, training{order}", "estimate": figure})
    note = "1 is a perfect ranking, 0.5 a random one. Training figures are optimistic."
    return Section("Fit", table=pd.DataFrame(rows), note=note)


def coefficient_section(table: pd.DataFrame, nodes: int = 3, terms: int = 8) -> Section:
    """Show the largest coefficients of the first nodes."""
    first = table[table["node"].isin(table["node"].unique()[:nodes])]
    shown = first.groupby("node", sort=False).head(terms)
    rest = len(table) - len(shown)
    return Section(
        "Coefficients, standardised",
        table=shown.rename(columns={"std_error": "std.error", "pvalue": "P>|z|"}),
        note="Robust errors within the node, given that the tree splits there."
        + (f" {rest} more lines in coefficients()." if rest else ""),
    )


def _thinned(table: pd.DataFrame, most: int = 12) -> pd.DataFrame:
    """Leave out middle rows of a long table, but no chosen one."""
    if len(table) <= most:
        return table
    keep = (table["chosen"] != "") | (table.index % -(-len(table) // most) == 0)
    keep.iloc[-1] = True
    return table[keep]


def _rounded(table: pd.DataFrame) -> pd.DataFrame:
    """Show numbers as people read them: four significant digits."""
    shown = table.copy()
    for name in shown.columns:
        if pd.api.types.is_float_dtype(shown[name]):
            shown[name] = [f"{value:.4g}" for value in shown[name]]
    return shown


def _text_table(table: pd.DataFrame) -> list[str]:
    """Set a table in columns, words to the left and numbers to the right."""
    shown = _rounded(table)
    columns = []
    for name in table.columns:
        cells = [str(name), *map(str, shown[name])]
        width = max(map(len, cells))
        words = not pd.api.types.is_numeric_dtype(table[name])
        columns.append([c.ljust(width) if words else c.rjust(width) for c in cells])
    return ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]


def _tex(text: str) -> str:
    escapes = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    escapes |= {char: f"\\{char}" for char in "&%$#_{}"}
    escapes |= {"<": "$<$", ">": "$>$"}
    return "".join(escapes.get(char, char) for char in text)


def _latex_table(table: pd.DataFrame) -> str:
    numeric = [pd.api.types.is_numeric_dtype(table[name]) for name in table.columns]
    lines = [r"\begin{tabular}{" + "".join("r" if n else "l" for n in numeric) + "}", r"\toprule"]
    lines.append(" & ".join(_tex(str(name)) for name in table) + r" \\")
    lines.append(r"\midrule")
    for row in _rounded(table).itertuples(index=False):
        lines.append(" & ".join(_tex(str(value)) for value in row) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])
