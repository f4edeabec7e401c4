"""Shares of the higher response in the nodes of a tree, if y has two values only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crank.growing.tree import Tree
from crank.metrics.figures import IAUC, KENDALL

SLACK = 1e-9
"""Rounding of a share; nearer to none or all it is none or all."""


def higher_shares(tree: Tree) -> NDArray[np.float64] | None:
    """Share of the higher of two responses in each node; None if y has more, or it is not known.

    A row's position in the distribution of y is one of two, half of it apart, so the mean position
    of a node is its share up to a constant: that of the root's own share. Of that the number of
    pairs leaves two candidates, of which nodes tell the right one: quartiles that differ
    show which value is the root's median, and shares lie between 0 and 1.

    Examples
    --------
    >>> import crank
    >>> x = np.arange(40.0)
    >>> m = crank.fit({"x": x, "y": x >= 30}, "y ~ x", max_depth=1, prune=None)
    >>> higher_shares(m.tree).round(3).tolist()
    [0.25, 1.0, 0.0]
    """
    root = tree.nodes[0]
    if tree.totals[IAUC.name] > 0.0 or tree.totals[KENDALL.name] <= 0.0:
        return None
    quantile = np.array([node.quantile for node in tree.nodes])
    gap = np.sqrt(max(1.0 - 4.0 * tree.totals[KENDALL.name] / root.weight**2, 0.0))
    few, many = (2.0 * quantile - 1.0 + (1.0 + sign * gap) / 2.0 for sign in (-1.0, 1.0))
    lower = min(node.y_lower for node in tree.nodes)
    upper = max(node.y_upper for node in tree.nodes)
    if lower < root.y_median or not _possible(few):
        found = many
    elif root.y_median < upper or not _possible(many):
        found = few
    else:
        return None
    found[found < SLACK], found[found > 1.0 - SLACK] = 0.0, 1.0
    return np.asarray(found)


def _possible(share: NDArray[np.float64]) -> bool:
    return bool((share >= -SLACK).all() and (share <= 1.0 + SLACK).all())
