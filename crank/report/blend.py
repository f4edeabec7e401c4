"""What people read of a blend: summary, tables, text."""

from __future__ import annotations

import pandas as pd

from crank.metrics.figures import Figure, get_figure
from crank.records.blend import BlendRecord
from crank.records.kinds import reader
from crank.report.figure_columns import training_columns
from crank.report.importances import refuse_metric, table_of_shares
from crank.report.summary import (
    Section,
    Summary,
    data_text,
    figure_rows,
    fit_section,
    missing_text,
)


def member_table(model: BlendRecord) -> pd.DataFrame:
    """List members and what was left out; see `BlendModel.table`."""
    total = sum(member.weight for member in model.members)
    rows: list[dict[str, object]] = [
        {
            "member": member.name,
            "model": reader(member.model.kind, "report").headline(member.model),
            "weight": member.weight / total,
            "heldout": member.heldout,
            "left_out": "",
        }
        for member in model.members
    ]
    rows += [
        {
            "member": out.name,
            "model": "",
            "weight": 0.0,
            "heldout": out.heldout,
            "left_out": out.because,
        }
        for out in model.left_out
    ]
    return pd.DataFrame(rows)


tidy = member_table


def glance(model: BlendRecord) -> pd.DataFrame:
    """Describe the model in one row."""
    training = model.training
    row: dict[str, object] = {
        "formula": model.formula,
        "n": training.n,
        "n_dropped": training.n_dropped,
        "n_members": len(model.members),
        "metric": model.metric,
    }
    row |= training_columns(training)
    return pd.DataFrame([row])


def importance(model: BlendRecord, metric: str | Figure | None = None) -> pd.DataFrame:
    """Average the members' shares of each term, by their weights."""
    _refuse(metric)
    total = sum(member.weight for member in model.members)
    shares: dict[str, float] = {}
    for member in model.members:
        own = reader(member.model.kind, "report").importance(member.model, None)
        for term, share in zip(own["term"], own["share"], strict=True):
            shares[term] = shares.get(term, 0.0) + share * member.weight / total
    return table_of_shares(shares)


def achieved(model: BlendRecord, metric: str | Figure | None = None) -> str:
    """Say what the importances share out."""
    _refuse(metric)
    return "the members' weighted importance"


def _refuse(metric: object) -> None:
    refuse_metric(metric, "a blend is the mean of its members' shares")


def short_name(model: BlendRecord) -> str:
    """Name the model beside others."""
    return f"blend of {len(model.members)}"


def headline(model: BlendRecord) -> str:
    """Describe the model in a few words."""
    return " + ".join(f"{member.weight} {member.name}" for member in model.members)


def text(model: BlendRecord) -> str:
    """Print the members and their weights."""
    total = sum(member.weight for member in model.members)
    wide = max(len(member.name) for member in model.members)
    lines = [
        f"  {member.name.ljust(wide)}  {member.weight / total:6.1%}" for member in model.members
    ]
    head = f"Blend: {model.formula}\nn = {model.training.n}"
    return "\n".join([head, "", "Members:", *lines])


def summary(model: BlendRecord) -> Summary:
    """Collect the sections: call, data, members, what was left out, fit, importance."""
    table = member_table(model)
    label = f"{get_figure(model.metric).text}, held out"
    used = table[table["left_out"] == ""].drop(columns="left_out")
    sections = [
        Section("Call", (str(model.asked),)),
        Section("Data", tuple(filter(None, (data_text(model), missing_text(model))))),
        Section(
            "Members",
            table=used.rename(columns={"heldout": label}),
            note=f"Chosen one by one on the scores of rows held out, in {model.folds} folds.",
        ),
    ]
    out = [f"{left.name}: {left.because}" for left in model.left_out]
    if out:
        sections.append(Section("Left out", tuple(out)))
    sections.append(fit_section(figure_rows(model)))
    sections.append(
        Section(
            "Variable importance",
            table=importance(model),
            note="The members' own shares, weighted by the members' weights.",
        )
    )
    return Summary(tuple(sections))
