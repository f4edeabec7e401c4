"""Tables of a model as data frames, with stable column names."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pandas as pd

from crank.errors import DataError
from crank.options import one_of
from crank.prune import PruningPath
from crank.report.text import conditions, leaf_rules
from crank.tree import Metric
from crank.validate import Validation

if TYPE_CHECKING:
    from crank.model import RankingModel

REORDERED = "(order of the leaves)"


def leaf_table(model: RankingModel) -> pd.DataFrame:
    """Tabulate the leaves, best first; see `RankingModel.tidy`."""
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
            "rule": leaf_rules(model),
        }
    )


def node_table(model: RankingModel) -> pd.DataFrame:
    """Tabulate the nodes in the order of printing; see `RankingModel.nodes`."""
    tree = model.tree
    triples = tree.triples or np.nan
    rows = []
    for index, node, path in conditions(model):
        leaf = tree.leaf_of_node[index]
        rows.append(
            {
                "node": node.number,
                "depth": node.depth,
                "condition": path[-1] if path else "root",
                "n": node.n,
                "weight": node.weight,
                "quantile": node.quantile,
                "y_lower": node.y_lower,
                "y_median": node.y_median,
                "y_upper": node.y_upper,
                "gain_kendall": node.gain_kendall / tree.pairs,
                "gain_iauc": node.gain_iauc / triples,
                "is_leaf": node.is_leaf,
                "leaf": leaf if node.is_leaf else pd.NA,
                "score": tree.scores[leaf] if node.is_leaf else np.nan,
            }
        )
    return pd.DataFrame(rows).astype({"leaf": "Int64"})


def glance_table(model: RankingModel) -> pd.DataFrame:
    """Describe the model in one row; see `RankingModel.glance`."""
    tree = model.tree
    row: dict[str, object] = {
        "formula": model.formula,
        "n": model.training.n,
        "n_dropped": model.training.n_dropped,
        "criterion": model.options.criterion,
        "learner": model.learner.name,
        "depth": max(tree.nodes[i].depth for i in tree.leaves),
        "n_leaves": tree.n_leaves,
        "leaf_order": tree.leaf_order,
        "pruned": model.pruned_by,
    }
    sources = (("", model.training.figures), ("cv_", model.training.crossvalidated))
    names: tuple[Metric, ...] = ("iauc", "kendall")
    for prefix, figures in sources:
        for name in names:
            found = figures.get(name)
            row[prefix + name] = found.estimate if found else np.nan
            row[f"{prefix}{name}_se"] = found.se if found else np.nan
    return pd.DataFrame([row])


def pruning_table(path: PruningPath, validation: Validation | None) -> pd.DataFrame:
    """Tabulate the pruning path, as rpart's cp table; see `RankingModel.pruning_path`."""
    table = pd.DataFrame(
        {
            "alpha": path.alphas,
            "n_leaves": [step.n_leaves for step in path.steps],
            "training": [step.figure for step in path.steps],
        }
    )
    table.attrs["metric"] = path.metric
    if validation is not None:
        table["heldout"] = validation.estimate
        table["se"] = validation.se
        chosen = [""] * len(table)
        for step, name in ((validation.step, "cv"), (validation.step_1se, "1se")):
            chosen[step] = f"{chosen[step]} {name}".strip()
        table["chosen"] = chosen
    return table


def importance_table(model: RankingModel, metric: Metric) -> pd.DataFrame:
    """Give each node's gain to the terms that earned it; see `RankingModel.importance`."""
    one_of("metric", metric, ("kendall", "iauc"))
    tree = model.tree
    total = tree.pairs if metric == "kendall" else tree.triples
    columns = np.zeros(len(model.design.names))
    for _, node in tree.walk():
        if node.split is None:
            continue
        credit = node.split.rule.credit()
        if not credit:
            columns += node.gain(metric) / total / len(columns)
        for column, share in credit.items():
            columns[column] += share * node.gain(metric) / total
    earned: dict[str, float] = {}
    for term, gain in zip(model.design.terms, columns.tolist(), strict=True):
        earned[term] = earned.get(term, 0.0) + gain
    figure = model.training.figures.get(metric)
    if tree.leaf_order == "rank" and figure is not None:
        reordered = 2.0 * (figure.estimate - tree.figure(metric))
        earned[REORDERED] = reordered
    table = pd.DataFrame({"term": list(earned), "importance": list(earned.values())})
    table = table.sort_values("importance", ascending=False, kind="stable", ignore_index=True)
    whole = table["importance"].sum()
    table["share"] = table["importance"] / whole if whole else 0.0
    return table


def coefficient_table(model: RankingModel) -> pd.DataFrame:
    """Tabulate the coefficients of the nodes that have some, in the order of printing.

    See `RankingModel.coefficients`. The p-values describe, they do not test.
    """
    rows = []
    for _, node in model.tree.walk():
        if node.split is not None:
            for line in node.split.rule.coefficients(model.design.names):
                rows.append((node.number, *line))
    table = pd.DataFrame(rows, columns=["node", "term", "estimate", "std_error"])
    table["z"] = table["estimate"] / table["std_error"]
    normal = NormalDist()
    table["pvalue"] = [2.0 * normal.cdf(-abs(z)) if np.isfinite(z) else np.nan for z in table["z"]]
    return table


def augmented(model: RankingModel, data: Any, unknown: Any) -> Any:
    """Add the model's predictions to a data frame, under names that start with a dot."""
    leaf = model.predict(data, "leaf", unknown=unknown)
    cells = leaf_table(model)
    names = {"score": "score", "leaf": "leaf", "quantile": "quantile", "median": "y_median"}
    new = {f".{name}": cells[column].to_numpy()[leaf] for name, column in names.items()}
    if isinstance(data, pd.DataFrame):
        return data.assign(**new)
    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError:
        raise DataError(
            f"augment adds columns to a data frame; got {type(data).__name__}. "
            "Allowed: pandas, polars or pyarrow."
        ) from None
    backend = nw.get_native_namespace(frame)
    columns = [nw.new_series(name, values, backend=backend) for name, values in new.items()]
    return frame.with_columns(*columns).to_native()
