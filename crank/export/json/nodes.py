"""A table of nodes in a model file: plain lists, and back with every value checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.errors import DataError, ModelFileError
from crank.kernels.descent import NodeTable
from crank.plugins import fields
from crank.plugins.level_words import level_words, misplaced_levels, read_level_words


def write_nodes(nodes: NodeTable) -> dict[str, Any]:
    """Return a table of nodes as plain data; level sets are words of one letter a level.

    Examples
    --------
    >>> stump = NodeTable([0, 0, 0], [0, 0, 0], [1, 1, 2], [2, 1, 2], [0, 0, 0], [0, 5, 7], [0],
    ...                   level_start=[0, 3, 3, 3], level_branch=[0, 1, 0])
    >>> write_nodes(stump)["levels"], write_nodes(stump)["value"]
    ([[0, 'lhl']], [0, 5, 7])
    """
    stored: dict[str, Any] = {
        "column": nodes.column.tolist(),
        "threshold": nodes.threshold.tolist(),
        "low": nodes.low.tolist(),
        "high": nodes.high.tolist(),
        "missing_low": nodes.missing_low.astype(int).tolist(),
        "value": nodes.value.tolist(),
        "roots": nodes.roots.tolist(),
    }
    if len(nodes.level_start):
        stored["levels"] = level_words(nodes)
    return stored


def read_nodes(stored: dict[str, Any], levels: Sequence[int], *, whole: bool) -> NodeTable:
    """Build a table of nodes from plain data.

    Parameters
    ----------
    stored : dict
    levels : sequence of int
        For each column of the design the number of its levels, 0 if it holds numbers.
    whole : bool
        Whether leaf values must be whole numbers.
    """
    try:
        column = fields.indices(stored, "column", len(levels))
        n = len(column)
        value = _values(stored, n) if whole else fields.numbers(stored, "value", n)
        start, branch = read_level_words(stored.get("levels", []), n)
        nodes = NodeTable(
            column,
            fields.numbers(stored, "threshold", n),
            fields.indices(stored, "low", n, n),
            fields.indices(stored, "high", n, n),
            fields.indices(stored, "missing_low", 2, n).astype(bool),
            value,
            fields.indices(stored, "roots", n),
            start,
            branch,
        )
    except (DataError, ValueError) as cause:
        raise ModelFileError(f"ranker.nodes: {cause}") from cause
    problem = misplaced_levels(nodes, levels)
    if problem is not None:
        raise ModelFileError(f"ranker.nodes: {problem}")
    return nodes


def _values(stored: dict[str, Any], n: int) -> NDArray[np.int64]:
    values = np.array(fields.field(stored, "value"))
    if values.shape != (n,) or values.dtype.kind != "i":
        raise ModelFileError(f"ranker.nodes.value is not a list of {n} whole numbers.")
    return values
