"""Grow an oriented ranking tree level by level: criterion × split learner (theory §4–§5)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crank.criteria import Criterion, Level, iauc_scores, kendall_scores, local_mass
from crank.plugins.base import SplitLearner, TrainingMatrix
from crank.ranks import Ranks
from crank.splitter import LevelSplits, LevelTask, bind
from crank.tree import Node, Tree


def grow(
    data: TrainingMatrix,
    ranks: Ranks,
    learner: SplitLearner,
    criterion: Criterion,
    *,
    max_depth: int,
    min_samples_leaf: int,
    seed: int = 0,
) -> Tree:
    """Grow a tree until no split improves, or the limits are reached.

    Parameters
    ----------
    data : TrainingMatrix
    ranks : Ranks
        Of the response of the same rows.
    learner, criterion
        The two independent choices that make a tree.
    max_depth, min_samples_leaf : int
    seed : int
        Each node derives its own generator from it and from its place, so a tree does not depend
        on the order in which nodes are worked on.

    Returns
    -------
    Tree
        With the oriented leaf order.
    """
    splitter = bind(learner, data)
    level = Level(
        np.arange(len(ranks.row), dtype=np.int32), np.array([0, len(ranks.row)], dtype=np.intp)
    )
    nodes = describe_nodes(ranks, level, depth=0, places=[0])
    open_nodes = [0]
    depth = 0
    while True:
        level, open_nodes = _still_splittable(
            ranks, level, open_nodes, depth < max_depth, min_samples_leaf
        )
        if not open_nodes:
            break
        mass = local_mass(ranks, level)
        score = criterion.scores(ranks, level, mass)
        places = [nodes[i].place for i in open_nodes]

        def rng(k: int, depth: int = depth, places: list[int] = places) -> np.random.Generator:
            return np.random.default_rng([seed, depth, places[k]])

        found = splitter.split(
            LevelTask(level, score, ranks, criterion.objective, min_samples_leaf, rng)
        )
        gains = [
            np.add.reduceat(
                np.where(found.left, scores(ranks, level, mass), 0.0), level.bounds[:-1]
            )
            for scores in (kendall_scores, iauc_scores)
        ]
        level, parents = _partition(level, found)
        below = [2 * places[k] + side for k in parents for side in (0, 1)]
        children = describe_nodes(ranks, level, depth + 1, below)
        for at, k in enumerate(parents):
            i = open_nodes[k]
            nodes[i] = replace(
                nodes[i],
                split=found.splits[k],
                left=len(nodes) + 2 * at,
                right=len(nodes) + 2 * at + 1,
                gain_kendall=float(gains[0][k]),
                gain_iauc=float(gains[1][k]),
            )
        open_nodes = list(range(len(nodes), len(nodes) + len(children)))
        nodes += children
        depth += 1
    grown = max(node.depth for node in nodes)
    return Tree(tuple(nodes), grown, ranks.pairs, ranks.triples)


def describe_nodes(ranks: Ranks, level: Level, depth: int, places: list[int]) -> list[Node]:
    """Record what is known of each cell of a level before it is split."""
    if not places:
        return []
    starts = level.bounds[:-1]
    weight = ranks.weight[level.position]
    mass = np.add.reduceat(weight, starts)
    quantile = np.add.reduceat(weight * ranks.quantile[level.position], starts) / mass
    described = []
    for k, place in enumerate(places):
        here = level.position[level.bounds[k] : level.bounds[k + 1]]
        y, w = ranks.y[here], None if ranks.unweighted else ranks.weight[here]
        lower, median, upper = sorted_quartiles(y, w)
        described.append(
            Node(
                depth=depth,
                place=place,
                n=len(here),
                weight=float(mass[k]),
                quantile=float(quantile[k]),
                y_lower=lower,
                y_median=median,
                y_upper=upper,
            )
        )
    return described


def sorted_quartiles(
    y: NDArray[np.float64], weight: NDArray[np.float64] | None
) -> tuple[float, float, float]:
    """Quartiles of sorted values: R's type 7, or with weights the inverse of the weighted law."""
    if weight is None:
        at = (len(y) - 1) * np.array([0.25, 0.5, 0.75])
        low = np.floor(at).astype(np.intp)
        high = np.minimum(low + 1, len(y) - 1)
        values = y[low] + (at - low) * (y[high] - y[low])
    else:
        law = np.cumsum(weight)
        values = y[np.searchsorted(law, law[-1] * np.array([0.25, 0.5, 0.75]))]
    return float(values[0]), float(values[1]), float(values[2])


def _still_splittable(
    ranks: Ranks, level: Level, nodes: list[int], deeper: bool, min_leaf: int
) -> tuple[Level, list[int]]:
    """Keep the nodes that are large enough and have two distinct responses."""
    if not nodes or not deeper:
        return level, []
    group = ranks.group[level.position]
    varied = group[level.bounds[:-1]] != group[level.bounds[1:] - 1]
    keep = varied & (level.sizes >= 2 * min_leaf)
    if not keep.all():
        sizes = level.sizes[keep]
        position = level.position[np.repeat(keep, level.sizes)]
        level = Level(position, np.concatenate(([0], np.cumsum(sizes))))
    return level, [node for node, kept in zip(nodes, keep, strict=True) if kept]


def _partition(level: Level, found: LevelSplits) -> tuple[Level, list[int]]:
    """Form the level of the children; a stable partition keeps every node in y order."""
    parents = [k for k, split in enumerate(found.splits) if split is not None]
    pieces: list[NDArray[np.int32]] = []
    for k in parents:
        here = slice(level.bounds[k], level.bounds[k + 1])
        position, left = level.position[here], found.left[here]
        pieces += [position[left], position[~left]]
    sizes = [len(piece) for piece in pieces]
    position = np.concatenate(pieces) if pieces else level.position[:0]
    return Level(position, np.concatenate(([0], np.cumsum(sizes))).astype(np.intp)), parents
