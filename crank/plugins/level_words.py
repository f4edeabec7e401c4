"""Sets of levels in stored trees: for each node of categories a word of one letter a level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.errors import DataError
from crank.kernels.descent import NodeTable

BRANCHES = "lhm"
"""How a level's branch is written: low, high, where missing values go."""


def level_words(nodes: NodeTable) -> list[list[Any]]:
    """Return the number and the word of each node of categories.

    Examples
    --------
    >>> stump = NodeTable([0, 0, 0], [0, 0, 0], [1, 1, 2], [2, 1, 2], [0, 0, 0], [0, 5, 7], [0],
    ...                   level_start=[0, 3, 3, 3], level_branch=[0, 1, 0])
    >>> level_words(stump)
    [[0, 'lhl']]
    """
    if not len(nodes.level_start):
        return []
    start = nodes.level_start.tolist()
    letters = "".join(BRANCHES[branch] for branch in nodes.level_branch.tolist())
    words = ((k, letters[start[k] : start[k + 1]]) for k in range(len(nodes.column)))
    return [[k, word] for k, word in words if word]


def read_level_words(stored: Any, n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Read the words of n nodes: where each starts, and all letters as branches.

    Examples
    --------
    >>> [part.tolist() for part in read_level_words([[0, "lhl"]], 3)]
    [[0, 3, 3, 3], [0, 1, 0]]
    """
    none = np.zeros(0, dtype=np.intp)
    if stored == []:
        return none, none
    width, letters, last = np.zeros(n, dtype=np.intp), [], -1
    for node, word in _pairs(stored):
        if not last < node < n:
            raise DataError(f"levels of stored trees has node {node} out of place.")
        last = node
        width[last] = len(word)
        letters.append(word)
    branch = np.array([BRANCHES.index(letter) for letter in "".join(letters)], dtype=np.intp)
    return np.concatenate(([0], np.cumsum(width))), branch


def _pairs(stored: Any) -> list[tuple[int, str]]:
    def right(pair: Any) -> bool:
        if not isinstance(pair, (list, tuple)) or list(map(type, pair)) != [int, str]:
            return False
        return pair[1] != "" and set(pair[1]) <= set(BRANCHES)

    if not isinstance(stored, list) or not all(map(right, stored)):
        raise DataError(
            "levels of stored trees is not a list of a node and a word each. "
            f"Allowed in a word: {', '.join(BRANCHES)}."
        )
    return [(node, word) for node, word in stored]


def misplaced_levels(
    nodes: NodeTable, levels: Sequence[int], *, codes_compared: bool = False
) -> str | None:
    """Say which node does not fit the columns of a design; None if all do.

    Parameters
    ----------
    nodes : NodeTable
    levels : sequence of int
        For each column of the design the number of its levels, 0 if it holds numbers.
    codes_compared : bool
        Whether nodes may compare codes as if they were numbers.

    Examples
    --------
    >>> stump = NodeTable([0, 0, 0], [0, 0, 0], [1, 1, 2], [2, 1, 2], [0, 0, 0], [0, 5, 7], [0],
    ...                   level_start=[0, 3, 3, 3], level_branch=[0, 1, 0])
    >>> misplaced_levels(stump, [3]) is None
    True
    >>> misplaced_levels(stump, [0])
    'node 0 does not fit what its column holds, numbers or levels.'
    """
    has = np.array(levels, dtype=np.intp)[nodes.column]
    width = np.diff(nodes.level_start) if len(nodes.level_start) else np.zeros(len(has), np.intp)
    wrong = np.where(nodes.inner, width > has, width > 0)
    if not codes_compared:
        wrong |= nodes.inner & (has > 0) & (width == 0)
    if not wrong.any():
        return None
    first = int(np.flatnonzero(wrong)[0])
    return f"node {first} does not fit what its column holds, numbers or levels."
