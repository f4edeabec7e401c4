"""The forest of a model file: nodes as lists of numbers, each checked when they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.design.spec import DesignSpec
from crank.errors import DataError, ModelFileError, OptionError
from crank.export.json.criterion import read_criterion, stored_origin
from crank.export.json.nodes import read_nodes, write_nodes
from crank.export.json.rules import RuleReader
from crank.export.json.schema import check_schema, ranker_schema
from crank.export.json.settings import stored_setting
from crank.export.json.text import number, read_number
from crank.export.json.tree import node_entries, read_grown, read_learner, stored_learner
from crank.growing.tree import Tree
from crank.metrics.figures import get_figure
from crank.plugins import fields
from crank.rankers.forest import ForestOptions, ForestRanker
from crank.rankers.tree import LearnerInfo
from crank.rankers.validation import Estimate
from crank.rankers.votes import GRID, ColumnTrees, RuleTrees, VoteTrees
from crank.rankers.ways import Choice, Way


def write(ranker: ForestRanker) -> dict[str, Any]:
    """Return a forest as plain data."""
    return {
        "learner": stored_learner(ranker.learner),
        "options": {k: stored_setting(v) for k, v in ranker.options.to_dict().items()},
        "criterion": {"name": ranker.criterion, "because": ranker.because}
        | stored_origin(ranker.criterion),
        "rungs": ranker.rungs.tolist(),
        "n_oob": int(ranker.n_oob),
        "oob": {name: _estimate(found) for name, found in ranker.oob.items()},
        **({} if ranker.choice is None else {"choice": _choice(ranker.choice)}),
        **_trees(ranker.trees, ranker.learner),
    }


def _estimate(found: Estimate) -> dict[str, float | None]:
    return {name: number(getattr(found, name)) for name in ("estimate", "se", "ci_low", "ci_high")}


def _choice(choice: Choice) -> dict[str, Any]:
    ways = [
        {name: stored_setting(value) for name, value in vars(way).items()}
        | {"kendall": None if way.kendall is None else number(way.kendall)}
        for way in choice.ways
    ]
    return {"ways": ways, "taken": choice.taken, "trees": choice.trees}


def _trees(trees: VoteTrees, learner: LearnerInfo) -> dict[str, Any]:
    if isinstance(trees, ColumnTrees):
        stored = {
            "nodes": write_nodes(trees.nodes),
            "low_is_left": trees.low_is_left.astype(int).tolist(),
            "drawn": trees.drawn.tolist(),
            "size": trees.size.tolist(),
            "gain": trees.gain.tolist(),
        }
        if trees.gain_iauc is not None:
            stored["gain_iauc"] = trees.gain_iauc.tolist()
        return stored
    parts = zip(trees.trees, trees.votes_by_leaf, trees.drawns, strict=True)
    return {"trees": [_tree(tree, votes, drawn, learner) for tree, votes, drawn in parts]}


def _tree(
    tree: Tree, votes: NDArray[np.int32], drawn: NDArray[np.int32], learner: LearnerInfo
) -> dict[str, Any]:
    return {
        "totals": {name: float(total) for name, total in tree.totals.items()},
        "votes": votes.tolist(),
        "drawn": drawn.tolist(),
        "nodes": node_entries(tree, learner),
    }


def read(stored: dict[str, Any], design: DesignSpec) -> ForestRanker:
    """Build a forest from plain data, every value checked."""
    check_schema(stored, ranker_schema("forest"), where="ranker")
    learner = read_learner(stored["learner"])
    criterion = read_criterion(stored["criterion"])
    try:
        options = ForestOptions(**stored["options"])
        oob = {get_figure(k).name: _read_estimate(v) for k, v in stored["oob"].items()}
        rungs = fields.numbers(stored, "rungs")
        choice = _read_choice(stored.get("choice"), options)
    except (OptionError, DataError, TypeError) as cause:
        raise ModelFileError(f"ranker: {cause}") from cause
    if not (np.diff(rungs) >= 0.0).all():
        raise ModelFileError("ranker.rungs is not increasing.")
    if ("nodes" in stored) == ("trees" in stored):
        raise ModelFileError("ranker has both nodes and trees, or neither. Allowed: one of them.")
    try:
        if "nodes" in stored:
            trees: VoteTrees = _read_columns(stored, design, len(rungs))
        else:
            trees = _read_rules(stored["trees"], RuleReader(learner, design), len(rungs))
    except DataError as cause:
        raise ModelFileError(f"ranker: {cause}") from cause
    if len(trees) != options.n_trees:
        raise ModelFileError(
            f"ranker has {len(trees)} trees; ranker.options.n_trees is {options.n_trees}."
        )
    return ForestRanker(
        options=options,
        learner=learner,
        criterion=criterion,
        because=stored["criterion"]["because"],
        trees=trees,
        rungs=rungs,
        oob=oob,
        n_oob=stored["n_oob"],
        choice=choice,
    )


def _read_choice(stored: Mapping[str, Any] | None, options: ForestOptions) -> Choice | None:
    if stored is None:  # files of older versions
        return None
    ways = tuple(Way(**way) for way in stored["ways"])
    for way in ways:
        options.settled(way)  # which checks it
    if stored["taken"] >= len(ways):
        raise DataError(f"choice.taken is {stored['taken']} of {len(ways)} ways, counted from 0.")
    return Choice(ways, stored["taken"], stored["trees"])


def _read_estimate(stored: Mapping[str, float | None]) -> Estimate:
    return Estimate(**{name: read_number(value) for name, value in stored.items()})


def _read_columns(stored: dict[str, Any], design: DesignSpec, rungs: int) -> ColumnTrees:
    levels = [0 if names is None else len(names) for names in design.levels]
    nodes = read_nodes(stored["nodes"], levels, whole=True)
    n = len(nodes.column)
    roots = nodes.roots
    in_order = roots[0] == 0 and (np.diff(roots) > 0).all() and (np.diff(nodes.tree) >= 0).all()
    if not in_order or (nodes.tree < 0).any():
        raise ModelFileError("ranker.nodes are not tree after tree, each from its root.")
    _check_votes(nodes.value)
    return ColumnTrees(
        nodes,
        fields.indices(stored, "low_is_left", 2, n).astype(bool),
        fields.indices(stored, "drawn", rungs, n).astype(np.int32),
        fields.indices(stored, "size", 2**31, n).astype(np.int32),
        fields.numbers(stored, "gain", n),
        fields.numbers(stored, "gain_iauc", n) if "gain_iauc" in stored else None,
    )


def _read_rules(stored: list[dict[str, Any]], rules: RuleReader, rungs: int) -> RuleTrees:
    trees, votes, drawns = [], [], []
    for one in stored:
        totals = {name: float(total) for name, total in one["totals"].items()}
        if totals.get("kendall", -1.0) < 0.0:
            raise ModelFileError("ranker.trees: totals lack the pairs of a tree.")
        tree = read_grown(one["nodes"], rules, totals)
        trees.append(tree)
        votes.append(fields.indices(one, "votes", GRID + 1, tree.n_leaves).astype(np.int32))
        drawns.append(fields.indices(one, "drawn", rungs, tree.n_leaves).astype(np.int32))
    return RuleTrees(tuple(trees), tuple(votes), tuple(drawns))


def _check_votes(votes: NDArray[Any]) -> None:
    if votes.min() < 0 or votes.max() > GRID:
        raise ModelFileError(f"ranker.nodes.value has votes that are not from 0 to {GRID}.")
