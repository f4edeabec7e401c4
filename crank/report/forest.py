"""What people read of a forest: summary, tables, text; one of its trees as a table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from crank.growing.conditions import AnyOf
from crank.growing.wording import WORDS, condition_text, named_columns
from crank.kernels.descent import GOES_HIGH, GOES_LOW, GOES_MISSING, NodeTable
from crank.metrics.figures import KENDALL, Figure, get_figure
from crank.plugins.stump import StumpRule
from crank.rankers.votes import GRID, ColumnTrees
from crank.rankers.ways import Choice, Way
from crank.records.forest import ForestRecord
from crank.report.figure_columns import figure_columns
from crank.report.importances import sums_by_term, table_of_shares
from crank.report.summary import Section, Summary, data_text, missing_text

CUTS = {
    "best": "the best",
    "random": "drawn at random",
    "mixed": "the best and drawn at random in turns",
}
NOTE = (
    "1 is a perfect ranking, 0.5 a random one. Each row is judged by the trees that were grown "
    "without it."
)


def tidy(model: ForestRecord) -> pd.DataFrame:
    """Describe each tree in a row: number, nodes, leaves and depth."""
    trees = model.ranker.trees
    if isinstance(trees, ColumnTrees):
        nodes = trees.nodes
        inside = nodes.tree
        leaves = np.bincount(inside[~nodes.inner], minlength=len(trees))
        sizes, depth = np.bincount(inside, minlength=len(trees)), nodes.depths
    else:
        leaves = np.array([tree.n_leaves for tree in trees.trees])
        sizes = np.array([len(tree.nodes) for tree in trees.trees])
        depth = np.array([max(node.depth for node in tree.nodes) for tree in trees.trees])
    return pd.DataFrame(
        {"tree": np.arange(len(trees)), "nodes": sizes, "leaves": leaves, "depth": depth}
    )


def glance(model: ForestRecord) -> pd.DataFrame:
    """Describe the model in one row."""
    training = model.training
    options = model.ranker.settled(training.n)
    row: dict[str, object] = {
        "formula": model.formula,
        "n": training.n,
        "n_dropped": training.n_dropped,
        "criterion": model.criterion,
        "learner": model.learner.name,
        "n_trees": model.n_trees,
        "n_leaves": model.ranker.trees.n_leaves,
        "thresholds": options.thresholds,
        "max_features": options.features_of(len(model.design.names)),
        "min_samples_leaf": options.leaf_of(training.n),
        "n_oob": model.ranker.n_oob,
    }
    return pd.DataFrame([row | figure_columns(model.oob, "oob_")])


def importance(model: ForestRecord, metric: str | Figure | None = None) -> pd.DataFrame:
    """Share out the trees' mean τ, or 2 IAUC − 1, among the terms: the gains of their splits.

    Each tree's own figure is that of its bag, in its order from left to right; gains add up to it.
    """
    gained = model.ranker.trees.credits(len(model.design.names), _figure(metric))
    return table_of_shares(sums_by_term(model.design.terms, gained.tolist()))


def achieved(model: ForestRecord, metric: str | Figure | None = None) -> str:
    """Say what the importances share out."""
    return f"the trees' mean {_figure(metric).gain_label} on their bags"


def _figure(metric: str | Figure | None) -> Figure:
    return KENDALL if metric is None else get_figure(metric, of_trees=True)


def short_name(model: ForestRecord) -> str:
    """Name the model beside others."""
    return f"forest, {model.n_trees} trees"


def headline(model: ForestRecord) -> str:
    """Describe the model in a few words."""
    return f"{model.n_trees} tree{'s' * (model.n_trees != 1)}"


def text(model: ForestRecord) -> str:
    """Print the forest as R's randomForest does: how it was grown, and its out-of-bag figures."""
    lines = [f"Ranking forest: {model.formula}", f"n = {model.training.n}", "", *_grown(model)]
    for name, found in model.oob.items():
        label = get_figure(name).text
        ends = f"{found.ci_low:.4g} to {found.ci_high:.4g}"
        lines.append(f"out-of-bag {label}: {found.estimate:.4g} ({ends})")
    return "\n".join(lines)


def _grown(model: ForestRecord) -> list[str]:
    options, d = model.ranker.settled(model.training.n), len(model.design.names)
    table = tidy(model)
    bag = "drawn with replacement" if options.bootstrap else "drawn without replacement"
    cuts = CUTS.get(options.thresholds, "the best")
    whose = "groups" if model.training.n_groups is not None else "rows"
    lines = [
        f"{model.n_trees} trees of {table['leaves'].mean():.1f} leaves and depth "
        f"{table['depth'].mean():.1f} on average",
        f"learner {model.learner.name}, criterion {model.criterion}, thresholds {cuts}",
        f"{options.features_of(d)} of {d} columns a node, at least "
        f"{options.leaf_of(model.training.n)} draws a leaf",
        f"bags: {100.0 * options.share:.3g}% of the {whose}, {bag}",
    ]
    judged = model.ranker.choice
    if judged is not None and judged.trees:
        lines.append(
            f"chosen of {len(judged.ways)} ways by d_tau out of bag, {judged.trees} trees each; "
            "choices() lists them"
        )
    if options.monotone:
        named = ", ".join(f"{column} {word}" for column, word in options.monotone.items())
        lines.append(f"monotone: {named}")
    return lines


def choices(model: ForestRecord) -> pd.DataFrame:
    """List the ways to grow that were tried, or the only one, and the one that was taken."""
    choice, n = model.ranker.choice, model.training.n
    if choice is None:
        options = model.ranker.settled(n)
        choice = Choice((Way(options.thresholds, options.leaf_of(n), options.max_features),))  # type: ignore[arg-type]  # settled
    return pd.DataFrame(
        {
            "thresholds": [way.thresholds for way in choice.ways],
            "min_samples_leaf": [way.min_samples_leaf for way in choice.ways],
            "max_features": [
                model.options.settled(way).features_of(len(model.design.names))
                for way in choice.ways
            ],
            "trees": choice.trees,
            "oob_kendall": np.array([way.kendall for way in choice.ways], dtype=np.float64),
            "chosen": [way is choice.way for way in choice.ways],
        }
    )


def summary(model: ForestRecord) -> Summary:
    """Collect the sections: call, data, forest, fit, importance."""
    sections = [
        Section("Call", (str(model.asked),)),
        Section("Data", tuple(filter(None, (data_text(model), missing_text(model))))),
        Section("Forest", tuple(_grown(model))),
    ]
    rows = [
        {
            "figure": f"{get_figure(name).text}, out of bag",
            "estimate": found.estimate,
            "std.error": found.se,
            "2.5%": found.ci_low,
            "97.5%": found.ci_high,
        }
        for name, found in model.oob.items()
    ]
    if rows:
        judged = model.ranker.n_oob
        some = f" {judged} of {model.training.n} rows." if judged < model.training.n else ""
        sections.append(Section("Fit", table=pd.DataFrame(rows), note=NOTE + some))
    else:
        lines = ("no rows were left out of the bags: evaluate the model on other data",)
        sections.append(Section("Fit", lines))
    sections.append(
        Section(
            "Variable importance",
            table=importance(model),
            note="Gains of the splits: they add up to the trees' mean Kendall's tau on their bags.",
        )
    )
    return Summary(tuple(sections))


def tree_table(model: ForestRecord, number: int) -> pd.DataFrame:
    """List the nodes of one tree, from the root, left branches first."""
    trees = model.ranker.trees
    if not isinstance(trees, ColumnTrees):
        return _rule_table(model, number)
    nodes = trees.tree(number)
    first = int(trees.nodes.roots[number])
    named = named_columns(model.design.names, model.design.levels)
    rows, stack = [], [(0, 1, "all rows")]
    while stack:
        k, place, rule = stack.pop()
        leaf = bool(nodes.low[k] == k)
        rows.append(
            {
                "node": place,
                "depth": place.bit_length() - 1,
                "rule": rule,
                "n": int(trees.size[first + k]),
                "quantile": float(nodes.value[k]) / GRID if leaf else np.nan,
                "leaf": leaf,
            }
        )
        if leaf:
            continue
        low_is_left = bool(trees.low_is_left[first + k])
        test = _rule(nodes, k, low_is_left)
        sides = (int(nodes.low[k]), int(nodes.high[k]))
        left, right = sides if low_is_left else sides[::-1]
        words = [_words(test.condition(sign), named) for sign in (">", "<=")]
        stack += [(right, 2 * place + 1, words[1]), (left, 2 * place, words[0])]
    return pd.DataFrame(rows)


def _words(condition: AnyOf, named: object) -> str:
    return condition_text(condition, named, WORDS)  # type: ignore[arg-type]


def _rule(nodes: NodeTable, k: int, low_is_left: bool) -> StumpRule:
    """Write a node as the rule that single trees have."""
    column, missing_left = int(nodes.column[k]), bool(nodes.missing_low[k]) == low_is_left
    if len(nodes.level_start) and nodes.level_start[k + 1] > nodes.level_start[k]:
        branch = nodes.level_branch[nodes.level_start[k] : nodes.level_start[k + 1]]
        sides = {
            side: tuple(np.flatnonzero(branch == side).tolist())
            for side in (GOES_LOW, GOES_HIGH, GOES_MISSING)
        }
        left, right = (GOES_LOW, GOES_HIGH) if low_is_left else (GOES_HIGH, GOES_LOW)
        return StumpRule(column, levels=(sides[left], sides[right]), missing_left=missing_left)
    threshold = float(nodes.threshold[k])
    if threshold == np.finfo(np.float64).max:
        return StumpRule(column, None, above=low_is_left, missing_left=missing_left)
    if low_is_left:  # x <= t is the contrary of x > t: below the next double
        threshold = float(np.nextafter(threshold, np.inf))
    return StumpRule(column, threshold, above=not low_is_left, missing_left=missing_left)


def _rule_table(model: ForestRecord, number: int) -> pd.DataFrame:
    trees = model.ranker.trees
    assert not isinstance(trees, ColumnTrees)
    tree, votes = trees.trees[number], trees.votes_by_leaf[number]
    rows, words = [], {0: "all rows"}
    for index, node in tree.walk():
        if node.split is not None:
            shown = node.split.rule.describe(model.design.names).removesuffix(" > 0")
            sign, other = (">", "<=") if node.split.sign > 0 else ("<", ">=")
            words[node.left] = f"{shown} {sign} {node.split.cut:.4g}"
            words[node.right] = f"{shown} {other} {node.split.cut:.4g}"
        leaf = node.is_leaf
        rows.append(
            {
                "node": node.number,
                "depth": node.depth,
                "rule": words[index],
                "n": node.n,
                "quantile": float(votes[tree.leaf_of_node[index]]) / GRID if leaf else np.nan,
                "leaf": leaf,
            }
        )
    return pd.DataFrame(rows)
