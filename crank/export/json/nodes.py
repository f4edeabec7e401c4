"""A table of nodes in a model file: plain lists, and back with every value checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.errors import DataError, ModelFileError
from crank.kernels.descent import NodeTable
from crank.plugins import fields

BRANCHES = "lhm"
"""How a level's branch is written: low, high, where missing values go."""


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
        start = nodes.level_start.tolist()
        letters = "".join(BRANCHES[branch] for branch in nodes.level_branch.tolist())
        words = ((k, letters[start[k] : start[k + 1]]) for k in range(len(nodes.column)))
        stored["levels"] = [[k, word] for k, word in words if word]
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
        start, branch = _level_sets(stored.get("levels", []), n)
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
    _check_columns(nodes, levels)
    return nodes


def _values(stored: dict[str, Any], n: int) -> NDArray[np.int64]:
    values = np.array(fields.field(stored, "value"))
    if values.shape != (n,) or values.dtype.kind != "i":
        raise ModelFileError(f"ranker.nodes.value is not a list of {n} whole numbers.")
    return values


def _level_sets(stored: list[Any], n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Read the words of nodes of categories: where each starts, and all letters as branches."""
    none = np.zeros(0, dtype=np.intp)
    if stored == []:
        return none, none
    width, letters, last = np.zeros(n, dtype=np.intp), [], -1
    for node, word in stored:
        if not last < node < n:
            raise ModelFileError(f"ranker.nodes.levels has node {node} out of place.")
        last = node
        width[last] = len(word)
        letters.append(word)
    branch = np.array([BRANCHES.index(letter) for letter in "".join(letters)], dtype=np.intp)
    return np.concatenate(([0], np.cumsum(width))), branch


def _check_columns(nodes: NodeTable, levels: Sequence[int]) -> None:
    """Refuse level sets on numbers, comparisons of codes, and sets of too many levels."""
    has = np.array(levels, dtype=np.intp)[nodes.column]
    width = np.diff(nodes.level_start) if len(nodes.level_start) else np.zeros(len(has), np.intp)
    wrong = nodes.inner & (((has > 0) != (width > 0)) | (width > has)) | ~nodes.inner & (width > 0)
    if wrong.any():
        raise ModelFileError(
            f"ranker.nodes: node {int(np.flatnonzero(wrong)[0])} does not fit what its column "
            "holds, numbers or levels."
        )
