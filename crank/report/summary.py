"""A summary in R's manner: titled sections of text and tables, as text, HTML or LaTeX."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

import pandas as pd

from crank.errors import listed
from crank.metrics.figures import get_figure
from crank.records.base import ModelRecord
from crank.report.latex import document, latex_table, tex


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
                parts.append(html_table(section.table))
            if section.note:
                parts.append(f"<p><small>{html.escape(section.note)}</small></p>")
        return '<div class="crank-summary">\n' + "\n".join(parts) + "\n</div>"

    def to_latex(self, *, standalone: bool = False) -> str:
        """Return the summary as LaTeX, which pdflatex compiles.

        Parameters
        ----------
        standalone : bool
            Whether to make a whole document of it. A part of your own document needs the packages
            booktabs, array and longtable.
        """
        parts = []
        for section in self.sections:
            parts.append(rf"\paragraph{{{tex(section.title)}}}\mbox{{}}\par\noindent")
            if section.lines:
                parts.append("\\\\\n".join(map(tex, section.lines)) + r"\par")
            if section.table is not None:
                parts.append(
                    rf"\noindent {latex_table(section.table, _rounded(section.table))}\par"
                )
            if section.note:
                parts.append(rf"\noindent {tex(section.note)}\par")
        body = "\n".join(parts) + "\n"
        return document(body) if standalone else body


def data_text(model: ModelRecord) -> str:
    """Say how many rows were used, left out and whether they were weighted."""
    training = model.training
    dropped = f", {training.left_out}" if training.left_out else ""
    weighted = "case weights" if training.weighted else "unweighted"
    groups = (
        f", errors clustered by {training.n_groups} groups" if training.n_groups is not None else ""
    )
    return f"n = {training.n}{dropped}, {weighted}{groups}"


def missing_text(model: ModelRecord) -> str:
    """Count the missing values of each predictor that has some, the most first; empty if none."""
    counts = {name: count for name, count in (model.training.missing or {}).items() if count}
    ordered = sorted(counts, key=lambda name: -counts[name])
    found = listed(f"{name} {counts[name]}" for name in ordered)
    return f"missing values: {found}" if counts else ""


def judged_text(model: ModelRecord) -> str:
    """Say what cross-validated figures stand on if that is only a part of the rows."""
    judged = model.training.n_judged
    if judged is None:
        return ""
    return (
        f"Cross-validation fitted and judged {judged} of the {model.training.n} rows, chosen at "
        "random."
    )


def figure_rows(model: ModelRecord) -> list[dict[str, Any]]:
    """List the figures of a fit, cross-validated ones first; training figures are labelled."""
    rows = []
    sources = (
        ("cross-validated", model.training.crossvalidated),
        ("training", model.training.figures),
    )
    for label, figures in sources:
        for name, found in figures.items():
            rows.append(
                {
                    "figure": f"{get_figure(name).text}, {label}",
                    "estimate": found.estimate,
                    "std.error": found.se,
                    "2.5%": found.ci_low,
                    "97.5%": found.ci_high,
                }
            )
    return rows


def fit_section(rows: list[dict[str, Any]], more: str = "") -> Section:
    """Tabulate figures, and say how to read them."""
    note = "1 is a perfect ranking, 0.5 a random one. Training figures are optimistic."
    return Section("Fit", table=pd.DataFrame(rows), note=f"{note} {more}".rstrip())


def _rounded(table: pd.DataFrame) -> pd.DataFrame:
    """Show numbers as people read them: four significant digits."""
    shown = table.copy()
    for name in shown.columns:
        if pd.api.types.is_float_dtype(shown[name]):
            shown[name] = [_number(value) for value in shown[name]]
    return shown


def html_table(table: pd.DataFrame) -> str:
    """Write a table as HTML without colours of its own: light and dark notebooks give theirs."""
    return _rounded(table).to_html(index=False, border=0)


def _number(value: float) -> str:
    if value != value:
        return "NA"
    # p-values end here: double precision has no smaller ones
    return "<1e-300" if 0.0 < value < 1e-300 else f"{value:.4g}"


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
