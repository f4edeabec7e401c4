"""Fit a forest to partitions: each tree is grown by one worker, from a bag of rows as bins.

A bag has at most a million rows on average, of a byte a column: so much fits everywhere, while
the data is in one place at no time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from crank.cluster.bags import (
    MOST_DRAWS,
    Drawing,
    Grower,
    JudgeVotes,
    add_votes,
    draw_rows,
    no_votes,
    out_of_bag,
)
from crank.cluster.engine import Cluster
from crank.cluster.formula import Learned
from crank.cluster.grow import count_nodes
from crank.cluster.prepared import Plan, bin_values, extremes, numbered, repeated
from crank.cluster.saplings import Levels, Sapling
from crank.cluster.scoring import counted, table_figures
from crank.cluster.spread import Spread
from crank.cluster.tree import prepared
from crank.criteria import AUTO
from crank.errors import DataError, OptionError
from crank.fitting.bag_trees import growth_of
from crank.fitting.forest import FittedForest, forest_criterion, response_rungs, tree_seed
from crank.kernels.bins import MISSING_BIN
from crank.rankers.forest import AUTO_FEATURES, ForestOptions, auto_leaf
from crank.rankers.validation import Estimate
from crank.rankers.votes import GRID, ColumnTrees
from crank.rankers.ways import Choice, Way

LEAVES = 2**12
"""Leaves of a tree, about, if the smallest leaf is not given: 500 trees take 250 MB."""

FEWEST = 32
"""Draws of a bag on average at least: no bag is empty."""

WAVE = 4
"""Trees that are grown at a time for each worker, or in this process."""

MOST_JUDGED = 2**20
"""Rows that are judged out of bag, on average, at most: standard errors are 0.0003 then."""

VOTING = 16
"""Trees that vote in one pass."""


def fit_forest(
    cluster: Cluster,
    learned: Learned,
    spread: Spread,
    *,
    options: ForestOptions,
    directions: Sequence[int],
    done: Callable[[], None],
) -> FittedForest:
    """Fit a forest of stumps; see `crank.cluster.tree.fit_tree`."""
    n, units, d = learned.survey.used, spread.units, len(learned.design.levels)
    plan, parts = prepared(cluster, learned, spread, keyed=True)
    _check(plan, learned)
    drawing = Drawing(min(options.share, MOST_DRAWS / n), options.bootstrap)
    if n * drawing.share < FEWEST:
        raise DataError(
            f"bags of {n} rows with max_samples={options.share:g} are too small to be drawn on a "
            "cluster. Fit the rows in this process: crank.forest(frame.compute(), ...)."
        )
    low, high = bin_values(plan, parts.sum(extremes))
    many = repeated(parts, n)
    parts = parts.keep(numbered, many.key, each=many.before)
    levels = Levels(spread.y.value, 0, units)
    root = Sapling(levels)
    count_nodes(parts, [(root, [0])])
    counts = root.nodes[0].counts
    ranks, position = root.ranks, root.position
    assert ranks is not None
    assert position is not None
    assert counts is not None
    criterion, because = forest_criterion(options.criterion, ranks)
    rung, rungs = response_rungs(ranks)
    at = np.maximum(position, 0)
    way = _way(options, max(auto_leaf(n), int(n * drawing.share) // LEAVES))
    grower = Grower(
        growth_of(criterion, options.settled(way), n, directions or (0,) * d, units.unweighted),
        plan.n_bins,
        np.array(plan.levels, dtype=np.intp),
        low,
        high,
        np.asarray(GRID * ranks.quantile)[at],
        rung[at],
        units.scale,
    )
    done()
    seeds = [tree_seed(options, k) for k in range(options.n_trees)]
    trees: list[ColumnTrees] = []
    wave = WAVE * parts.workers
    for first in range(0, len(seeds), wave):
        some = seeds[first : first + wave]
        trees += parts.assemble(draw_rows, some, drawing, grower.grow)
        for _ in some:
            done()
    oob, n_oob = _judged(
        parts, seeds, trees, drawing, high, spread, units.scale, min(1.0, MOST_JUDGED / n)
    )
    grown = ColumnTrees.joined(trees)
    return FittedForest(grown, criterion.name, because, rungs, oob, n_oob, Choice((way,)))


def _way(options: ForestOptions, leaf: int) -> Way:
    """Settle what is "auto": nothing is tried on a cluster, whose data are large."""
    if options.thresholds == "mixed":
        raise OptionError(
            "thresholds='mixed' is for data in one process. Allowed on a Dask data frame: 'auto', "
            "'best', 'random'. Fit a sample to mix them: sample=100_000."
        )
    return Way(
        "random" if options.thresholds == "random" else "best",
        leaf if options.min_samples_leaf == AUTO else int(options.min_samples_leaf),
        AUTO_FEATURES if options.max_features == AUTO else options.max_features,  # type: ignore[arg-type]  # not "auto"
    )


def _check(plan: Plan, learned: Learned) -> None:
    for j in plan.wide:
        raise OptionError(
            f"column {learned.design.names[j]!r} has {plan.levels[j]} levels; a forest on a Dask "
            f"data frame takes at most {MISSING_BIN}. Join rare levels, or fit a sample: "
            "sample=100_000."
        )


def _judged(
    parts: Cluster,
    seeds: Sequence[int],
    trees: Sequence[ColumnTrees],
    drawing: Drawing,
    high: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    spread: Spread,
    scale: float,
    share: float,
) -> tuple[dict[str, Estimate], int]:
    """Judge the mean votes for a share of the rows out of bag, from counts over partitions."""
    value = np.where(np.isinf(high), 0.0, high)
    voted = parts.keep(no_votes, share)
    for first in range(0, len(trees), VOTING):
        some = list(zip(seeds, trees, strict=True))[first : first + VOTING]
        before = voted
        voted = parts.keep(add_votes, some, drawing, value, each=before.parts)
        voted.wait()
        before.release()
    judged = parts.keep(out_of_bag, spread.y.value, scale, each=voted.parts)
    sizes = judged.gather(_known)
    n = int(sum(size for size, _, _ in sizes))
    lowest = min((low for size, low, _ in sizes if size), default=0.0)
    highest = max((top for size, _, top in sizes if size), default=0.0)
    if n < 2 or lowest == highest:
        return {}, n
    return table_figures(counted(judged, JudgeVotes())), n


def _known(part: object) -> tuple[int, float, float]:
    y = part.y  # type: ignore[attr-defined]  # OutOfBag
    return len(y), float(y.min()) if len(y) else 0.0, float(y.max()) if len(y) else 0.0
