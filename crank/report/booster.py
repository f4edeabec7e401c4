"""What people read of a booster: summary, tables, text."""

from __future__ import annotations

import numpy as np
import pandas as pd

from crank.metrics.figures import Figure
from crank.records.booster import BoosterRecord
from crank.report.figure_columns import training_columns
from crank.report.importances import refuse_metric, sums_by_term, table_of_shares
from crank.report.summary import (
    Section,
    Summary,
    data_text,
    figure_rows,
    fit_section,
    missing_text,
)

LOSSES = {
    "concordance": "logistic loss of all pairs",
    "rank": "squared error on the ranks of y",
    "y": "squared error on y",
}
SHOWN = 6
"""Numbers of rounds that a summary shows."""


def tidy(model: BoosterRecord) -> pd.DataFrame:
    """Tabulate the trees in their order: their leaves, depth, and the range of their values."""
    ranker = model.ranker
    nodes, trees = ranker.nodes, np.arange(ranker.n_trees)
    leaf = ~nodes.inner
    of_leaf, value = nodes.tree[leaf], nodes.value[leaf] * ranker.quantum
    lowest, highest = np.full(len(trees), np.inf), np.full(len(trees), -np.inf)
    np.minimum.at(lowest, of_leaf, value)
    np.maximum.at(highest, of_leaf, value)
    return pd.DataFrame(
        {
            "tree": trees,
            "n_leaves": np.bincount(of_leaf, minlength=len(trees)),
            "depth": nodes.depths,
            "lowest": lowest,
            "highest": highest,
        }
    )


def glance(model: BoosterRecord) -> pd.DataFrame:
    """Describe the model in one row."""
    training, options = model.training, model.options
    row: dict[str, object] = {
        "formula": model.formula,
        "n": training.n,
        "n_dropped": training.n_dropped,
        "loss": options.loss,
        "kappa": options.kappa if options.loss == "concordance" else np.nan,
        "n_trees": model.ranker.n_trees,
        "n_leaves": int((~model.ranker.nodes.inner).sum()),
    }
    row |= training_columns(training)
    return pd.DataFrame([row])


def importance(model: BoosterRecord, metric: str | Figure | None = None) -> pd.DataFrame:
    """Give each term what its splits gained in the loss, as a share of all gains."""
    _refuse(metric)
    return table_of_shares(sums_by_term(model.design.terms, model.ranker.gain.tolist()))


def achieved(model: BoosterRecord, metric: str | Figure | None = None) -> str:
    """Say what the importances share out."""
    _refuse(metric)
    return "the gains of the splits in the loss"


def _refuse(metric: object) -> None:
    refuse_metric(metric, "a booster is what splits gain in its loss")


def short_name(model: BoosterRecord) -> str:
    """Name the model beside others."""
    return f"booster, {model.options.loss}"


def headline(model: BoosterRecord) -> str:
    """Describe the model in a few words."""
    count = model.ranker.n_trees
    return f"{model.options.loss}, {count} tree{'s' * (count != 1)}"


def text(model: BoosterRecord) -> str:
    """Print what it is and what it rests on."""
    lines = [f"Booster ({LOSSES[model.options.loss]}): {model.formula}", _size(model), ""]
    lines.append("Share of the gains:")
    table = importance(model).head(8)
    wide = max(len(str(term)) for term in table["term"])
    for term, share in zip(table["term"], table["share"], strict=True):
        lines.append(f"  {str(term).ljust(wide)}  {share:6.1%}")
    return "\n".join(lines)


def _size(model: BoosterRecord) -> str:
    nodes = model.ranker.nodes
    leaves = int((~nodes.inner).sum())
    count = model.ranker.n_trees
    return f"n = {model.training.n}, {count} tree{'s' * (count != 1)}, {leaves} leaves"


def rounds_table(model: BoosterRecord) -> pd.DataFrame:
    """Tabulate what cross-validation found; see `BoosterModel.rounds`."""
    found = model.ranker.validation
    if found is None:
        return pd.DataFrame(
            {"rounds": pd.Series(dtype=int), "heldout": pd.Series(dtype=float)}
            | {"se": pd.Series(dtype=float), "chosen": pd.Series(dtype=bool)}
        )
    chosen = np.arange(len(found.rounds)) == found.best
    table = {"rounds": found.rounds, "heldout": found.estimate, "se": found.se, "chosen": chosen}
    return pd.DataFrame(table)


def summary(model: BoosterRecord) -> Summary:
    """Collect the sections: call, data, booster, rounds, fit, importance."""
    options = model.options
    lines = [f"loss: {LOSSES[options.loss]}{_targets(model)}", _size(model)]
    if options.monotone:
        lines.append("monotone: " + ", ".join(f"{c} {d}" for c, d in options.monotone.items()))
    if options.interaction is not None:
        lines.append(f"acting together: {_together(options.interaction)}")
    sections = [
        Section("Call", (str(model.asked),)),
        Section("Data", tuple(filter(None, (data_text(model), missing_text(model))))),
        Section("Booster", tuple(lines)),
    ]
    if model.ranker.validation is not None:
        sections.append(_rounds_section(model))
    sections.append(fit_section(figure_rows(model)))
    sections.append(
        Section(
            "Variable importance",
            table=importance(model),
            note="What splits on the term gained in the loss, in training.",
        )
    )
    return Summary(tuple(sections))


def _targets(model: BoosterRecord) -> str:
    if model.options.loss != "concordance":
        return ""
    kappa = model.options.kappa
    return ", targets 0 and 1" if np.isinf(kappa) else f", soft targets (kappa = {kappa:g})"


def _together(interaction: object) -> str:
    if isinstance(interaction, str):
        return "no columns"
    assert isinstance(interaction, list)
    return "; ".join(", ".join(map(str, names)) for names in interaction)


def _rounds_section(model: BoosterRecord) -> Section:
    """Show a few numbers of rounds, the chosen one among them."""
    table = rounds_table(model)
    found = model.ranker.validation
    assert found is not None
    wanted = {*np.linspace(0, len(table) - 1, SHOWN).astype(int).tolist(), found.best}
    shown = table.iloc[sorted(wanted)].copy()
    shown["chosen"] = np.where(shown["chosen"], "*", "")
    shown = shown.rename(columns={"heldout": f"{model.options.figure.text}, held out"})
    folds = len(found.heldout)
    return Section(
        "Rounds",
        table=shown,
        note=f"Mean over {folds} folds. The best was chosen by it; the cross-validated figure below"
        " was not.",
    )
