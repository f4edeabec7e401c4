"""Tables of a model as data frames, with stable column names."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pandas as pd

from crank.errors import DataError
from crank.growing.rule import INTERCEPT
from crank.growing.wording import TABLES, Wording
from crank.metrics.figures import Figure, figures
from crank.metrics.student import two_sided
from crank.records.tree import TreeRecord
from crank.report.figure_columns import training_columns
from crank.report.importances import sums_by_term, table_of_shares
from crank.report.text import leaf_rules, step_texts

REORDERED = "(order of the leaves)"


def leaf_table(model: TreeRecord, wording: Wording = TABLES) -> pd.DataFrame:
    """Tabulate the leaves, best first; see `TreeModel.tidy`."""
    tree = model.tree
    cells = [tree.nodes[i] for i in tree.leaves]
    return pd.DataFrame(
        {
            "leaf": np.arange(len(cells)),
            "score": tree.scores,
            "n": [c.n for c in cells],
            "share": [c.weight / tree.nodes[0].weight for c in cells],
            "quantile": [c.quantile for c in cells],
            "y_lower": [c.y_lower for c in cells],
            "y_median": [c.y_median for c in cells],
            "y_upper": [c.y_upper for c in cells],
            "rule": leaf_rules(model, wording),
        }
    )


def node_table(model: TreeRecord) -> pd.DataFrame:
    """Tabulate the nodes in the order of printing; see `TreeModel.nodes`."""
    tree = model.tree
    rows = []
    for index, condition in step_texts(model, TABLES).items():
        node, leaf = tree.nodes[index], tree.leaf_of_node[index]
        rows.append(
            {
                "node": node.number,
                "depth": node.depth,
                "condition": condition,
                "n": node.n,
                "weight": node.weight,
                "quantile": node.quantile,
                "y_lower": node.y_lower,
                "y_median": node.y_median,
                "y_upper": node.y_upper,
                **{
                    f"gain_{figure.name}": node.gain(figure) / (tree.totals[figure.name] or np.nan)
                    for figure in figures(of_trees=True)
                },
                "is_leaf": node.is_leaf,
                "leaf": leaf if node.is_leaf else pd.NA,
                "score": tree.scores[leaf] if node.is_leaf else np.nan,
            }
        )
    return pd.DataFrame(rows).astype({"leaf": "Int64"})


def glance_table(model: TreeRecord) -> pd.DataFrame:
    """Describe the model in one row; see `TreeModel.glance`."""
    tree = model.tree
    row: dict[str, object] = {
        "formula": model.formula,
        "n": model.training.n,
        "n_dropped": model.training.n_dropped,
        "criterion": model.criterion,
        "learner": model.learner.name,
        "depth": max(tree.nodes[i].depth for i in tree.leaves),
        "n_leaves": tree.n_leaves,
        "leaf_order": tree.leaf_order,
        "pruned": model.pruned_by,
    }
    row |= training_columns(model.training)
    if not model.training.figures:  # pruned by hand: the path knows, without an error
        row |= {f.name: model.ranker.training_figure(f) for f in figures(of_trees=True)}
    return pd.DataFrame([row])


def pruning_table(model: TreeRecord) -> pd.DataFrame:
    """Tabulate the pruning path, as rpart's cp table; see `TreeModel.pruning_path`."""
    path, validation = model.pruning, model.validation
    if validation is None and model.tree.n_leaves > path.steps[0].n_leaves:
        return _with_useless_branches(model)
    table = pd.DataFrame(
        {
            "alpha": path.alphas,
            "n_leaves": [step.n_leaves for step in path.steps],
            "training": [step.figure for step in path.steps],
        }
    )
    table.attrs["metric"] = path.figure.name
    if validation is not None:
        table["heldout"] = validation.estimate
        table["se"] = validation.se
        chosen = [""] * len(table)
        for step, name in ((validation.step, "cv"), (validation.step_1se, "1se")):
            chosen[step] = f"{chosen[step]} {name}".strip()
        table["chosen"] = chosen
    return table


def _with_useless_branches(model: TreeRecord) -> pd.DataFrame:
    """Begin with a tree that no price prunes to: some of its branches gain nothing."""
    path, known = model.pruning, model.training.figures.get(model.pruning.figure.name)
    own = model.ranker.training_figure(path.figure) if known is None else known.estimate
    table = pd.DataFrame(
        {
            "alpha": [np.nan, *path.alphas],
            "n_leaves": [model.tree.n_leaves, *(step.n_leaves for step in path.steps)],
            "training": [own, *(step.figure for step in path.steps)],
        }
    )
    table.attrs["metric"] = path.figure.name
    return table


def importance_table(model: TreeRecord, figure: Figure) -> pd.DataFrame:
    """Give each node's gain to the terms that earned it; see `TreeModel.importance`."""
    tree = model.tree
    columns = tree.column_gains(figure, len(model.design.names))
    earned = sums_by_term(model.design.terms, columns.tolist())
    if tree.leaf_order == "rank":
        known = model.training.figures.get(figure.name)
        found = model.ranker.training_figure(figure) if known is None else known.estimate
        if not np.isnan(found):
            earned[REORDERED] = 2.0 * (found - tree.figure(figure))
    return table_of_shares(earned)


def coefficient_table(model: TreeRecord, alpha: float = 0.05) -> pd.DataFrame:
    """Tabulate the coefficients of the nodes that have some, in the order of printing.

    See `TreeModel.coefficients`. The p-values describe, they do not test.
    """
    rows = []
    for _, node in model.tree.walk():
        if node.split is None:
            continue
        sign, cut = node.split.sign, node.split.cut
        for term, estimate, se, units in node.split.rule.coefficients(model.design.names):
            less = cut if term == INTERCEPT else 0.0
            rows.append((node.number, term, sign * (estimate - less), se, sign * (units - less)))
    table = pd.DataFrame(rows, columns=["node", "term", "estimate", "std_error", "original"])
    original = table.pop("original")
    table["z"] = table["estimate"] / table["std_error"]
    table["pvalue"] = [
        two_sided(z, math.inf) if np.isfinite(z) else np.nan for z in table["z"].tolist()
    ]
    reach = NormalDist().inv_cdf(1.0 - alpha / 2.0) * table["std_error"]
    table["ci_low"], table["ci_high"] = table["estimate"] - reach, table["estimate"] + reach
    # one unit of a column is so many of its standard deviations
    scale = (original / table["estimate"]).abs()
    table["original"] = original
    table["original_low"] = original - reach * scale
    table["original_high"] = original + reach * scale
    return table


def no_coefficients(model: TreeRecord) -> DataError:
    """Say why a model has no coefficients, and what it has instead."""
    if model.tree.n_leaves == 1:
        return DataError("the tree has no split, and so no coefficients.")
    return DataError(
        f"the nodes of this tree have no coefficients: learner {model.learner.name!r} does not "
        "split by a weighted sum. Use importance() for what each term earns and rules() for the "
        "splits, or fit with learner='logistic'."
    )
