"""LightGBM's trees as a table of nodes: read from its dump, so that scoring needs no LightGBM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crank.kernels.descent import GOES_HIGH, GOES_LOW, NodeTable


class Node(NamedTuple):
    """One node of a dumped tree: its row of the table, its gain, the levels that go low."""

    column: int
    threshold: float
    low: int
    high: int
    missing_low: bool
    value: float
    rows: int = 0
    gain: float = 0.0
    chosen: frozenset[int] | None = None


class ReadTrees(NamedTuple):
    """A booster's trees; by node, the gain of its split and the training rows in it."""

    nodes: NodeTable
    gain: NDArray[np.float64]
    cover: NDArray[np.int64]


def read_trees(booster: Any, levels: Sequence[int] = ()) -> ReadTrees:
    """Read a booster's trees.

    Parameters
    ----------
    booster : lightgbm.Booster
    levels : sequence of int
        For each column the number of its levels, 0 if it holds numbers; all do by default.
    """
    rows: list[Node] = []
    roots = []
    for info in booster.dump_model()["tree_info"]:
        roots.append(len(rows))
        rows += _flat(info["tree_structure"], len(rows))
    sets = {k: row for k, row in enumerate(rows) if row.chosen is not None}
    start, branch = _level_sets(sets, len(rows), levels)
    column, threshold, low, high, missing_low, value = map(
        np.array, zip(*(row[:6] for row in rows), strict=True)
    )
    nodes = NodeTable(
        column, threshold, low, high, missing_low, value, np.array(roots), start, branch
    )
    gain, cover = np.array([row.gain for row in rows]), np.array([row.rows for row in rows])
    return ReadTrees(nodes, gain, cover.astype(np.int64))


def _level_sets(
    sets: Mapping[int, Node], n: int, levels: Sequence[int]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Lay out the branches of the levels of nodes of categories."""
    width = np.zeros(n, dtype=np.intp)
    parts = []
    for k, node in sets.items():
        width[k] = levels[node.column]
        branch = np.full(width[k], GOES_HIGH, dtype=np.intp)
        branch[[code for code in node.chosen or () if code < width[k]]] = GOES_LOW
        parts.append(branch)
    if not parts:
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    return np.concatenate(([0], np.cumsum(width))), np.concatenate(parts)


def _flat(structure: Mapping[str, Any], start: int) -> Iterator[Node]:
    """List the nodes of one dumped tree, parents first, numbered from ``start``."""
    queue = [structure]
    for at, node in enumerate(queue):  # the queue grows while it is read
        own = start + at
        if "split_index" not in node:
            # a tree without splits does not say how many rows it has: no share is taken of them
            count = int(node.get("leaf_count", 1))
            yield Node(0, 0.0, own, own, False, float(node["leaf_value"]), count)
            continue
        low = start + len(queue)
        queue += [node["left_child"], node["right_child"]]
        column, gain = int(node["split_feature"]), float(node["split_gain"])
        count = int(node["internal_count"])
        if node["decision_type"] == "==":
            # whatever is not in the set goes high: other levels, unknown ones and missing values
            chosen = frozenset(_codes(node["threshold"]))
            yield Node(column, 0.0, low, low + 1, False, 0.0, count, gain, chosen)
            continue
        threshold = _past_zero(float(node["threshold"]))
        # a column without missing values in training: LightGBM reads NaN as 0
        unseen = node["missing_type"] == "None"
        missing_low = threshold >= 0.0 if unseen else bool(node["default_left"])
        yield Node(column, threshold, low, low + 1, missing_low, 0.0, count, gain)


def _codes(text: Any) -> Iterable[int]:
    return (int(code) for code in str(text).split("||") if code)


_ZERO = float(np.float32(1e-35))


def _past_zero(threshold: float) -> float:
    """Move a threshold to the end of the numbers that LightGBM takes for 0 when it predicts."""
    if 0.0 <= threshold <= _ZERO:
        return _ZERO
    if -_ZERO <= threshold < 0.0:
        return float(np.nextafter(-_ZERO, -1.0))
    return threshold
