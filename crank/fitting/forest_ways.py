"""Which ways to grow a forest are tried, and which of them is taken."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from crank.criteria import AUTO
from crank.rankers.forest import AUTO_FEATURES, ForestOptions
from crank.rankers.ways import Way

GRAINS: tuple[tuple[int, float | None], ...] = (
    (2, AUTO_FEATURES),
    (1, None),
    (5, 0.45),
    (12, 0.45),
)
"""Draws in a leaf and share of the columns a node: little noise wants fine trees that look at all
columns, much noise coarse ones; measured, see docs/design/forest.md. The usual one comes first."""
PILOT = 50
"""Trees by which a way is judged; those of the way that is taken stay in the forest."""
FEWEST_TREES = 200
"""Trees of a forest from which trials repay: they are never more than three quarters of it."""
MOST_ROWS = 10_000
"""Rows from which nothing is tried and thresholds are the best: time counts more there."""


def ways_to_grow(options: ForestOptions, n: int, d: int, *, stumps: bool) -> list[Way]:
    """List the ways to try for n rows and d columns, the usual one first; one if none is tried.

    What the options give is the same in all of them.

    Examples
    --------
    >>> [way.min_samples_leaf for way in ways_to_grow(ForestOptions(), 300, 8, stumps=True)]
    [2, 1, 5, 12]
    >>> ways_to_grow(ForestOptions(max_features=3), 10**6, 8, stumps=True)
    [Way(thresholds='best', min_samples_leaf=5, max_features=3, kendall=None)]
    """
    small = stumps and n < MOST_ROWS
    grains = GRAINS if small else ((options.leaf_of(n), AUTO_FEATURES),)
    if options.n_trees < FEWEST_TREES or not leaves_rows_out(options):
        grains = grains[:1]
    thresholds = options.thresholds
    if thresholds == AUTO:
        thresholds = "mixed" if small else "best"
    found: dict[tuple[int, int], Way] = {}
    for leaf, share in grains:
        if options.min_samples_leaf != AUTO:
            leaf = int(options.min_samples_leaf)
        features = share if options.max_features == AUTO else options.max_features
        way = Way(thresholds, leaf, features)  # type: ignore[arg-type]  # neither is "auto"
        found.setdefault((leaf, options.settled(way).features_of(d)), way)
    return list(found.values())


def leaves_rows_out(options: ForestOptions) -> bool:
    """Tell whether there are rows out of the bags, by which ways are judged."""
    return options.bootstrap or options.share < 1.0


def best_of(figures: Sequence[float]) -> int:
    """Return the place of the largest figure: the first of equal ones, and where there are none.

    Examples
    --------
    >>> best_of([0.7, 0.8, float("nan"), 0.8])
    1
    """
    return max(range(len(figures)), key=lambda at: -1.0 if isnan(figures[at]) else figures[at])
