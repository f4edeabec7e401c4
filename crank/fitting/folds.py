"""Folds for cross-validation: they span the quantiles of y, can be judged, keep groups whole."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crank.criteria import tied_pairs
from crank.errors import DataError
from crank.ranks import Ranks

FEW_ROWS, FEW_FOLDS = 200, 6
"""Below so many rows, counted by `few_rows`, there are at most so many folds."""

ROWS_A_FOLD = 10
"""Fewest rows of a fold, unless there are two folds: fewer make up no figure worth averaging."""

OUTSIDE_THE_LARGEST_TIE = 2
"""Rows of a fold, on average, that differ from the commonest y: a fold without any has no pairs."""

CLASSES = 10
"""Classes of y by which groups are dealt out."""


def fold_count(
    ranks: Ranks,
    most: int,
    labels: NDArray[np.intp] | None = None,
    *,
    otherwise: str = "prune=None",
) -> int:
    """Choose the number of folds: as many as asked for, fewer if they would be too small.

    Parameters
    ----------
    ranks : Ranks
    most : int
        Folds asked for.
    labels : ndarray, optional
        Group of each position, numbered from 0.
    otherwise : str
        What to ask for if there are too few rows to be dealt out.

    Examples
    --------
    >>> from crank.ranks import rank
    >>> [fold_count(rank(np.arange(n)), 10) for n in (200, 150, 12)]
    [10, 6, 2]
    >>> fold_count(rank(np.repeat([0.0, 1.0], [90, 10])), 10)
    5
    """
    n = len(ranks.row)
    tied = int(np.bincount(ranks.group).max())
    judged = largest_fold_count(n, tied, most, few_rows(ranks))
    units = n if labels is None else int(labels.max()) + 1
    if units < 4:
        what = "rows" if labels is None else "groups"
        raise DataError(
            f"cross-validation needs at least 4 {what}; got {units}. Use {otherwise}"
            + ("." if labels is None else ", or leave groups out.")
        )
    return min(judged, units // 2)


def largest_fold_count(n: int, tied: int, most: int, few: bool) -> int:
    """Choose the number of folds of n rows, few or not, of which at most so many are tied in y."""
    most = min(most, FEW_FOLDS) if few else most
    return max(2, min(most, n // ROWS_A_FOLD, (n - tied) // OUTSIDE_THE_LARGEST_TIE))


def few_rows(ranks: Ranks) -> bool:
    """Tell whether rows are few; ties make them fewer, by the share of pairs that have no order.

    Examples
    --------
    >>> from crank.ranks import rank
    >>> few_rows(rank(np.arange(200))), few_rows(rank(np.repeat([0.0, 1.0], 100)))
    (False, True)
    """
    return len(ranks.row) * (1.0 - tied_pairs(ranks)) < FEW_ROWS


def some_rows(
    n: int, most: int, labels: NDArray[np.intp] | None, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Choose rows at random, no more than so many; groups stay whole, at least four of them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> int(some_rows(1000, 300, None, rng).sum())
    300
    >>> int(some_rows(1000, 300, np.repeat(np.arange(10), 100), rng).sum())
    400
    """
    if n <= most:
        return np.ones(n, dtype=bool)
    chosen = np.zeros(n if labels is None else int(labels.max()) + 1, dtype=bool)
    order = rng.permutation(len(chosen))
    if labels is None:
        chosen[order[:most]] = True
        return chosen
    size = np.cumsum(np.bincount(labels)[order])
    chosen[order[: max(4, int(np.searchsorted(size, most, side="right")))]] = True
    return chosen[labels]


def deal(
    ranks: Ranks, labels: NDArray[np.intp] | None, folds: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Deal positions out to folds, whole groups if there are groups."""
    if labels is None:
        return stratified_folds(ranks, folds, rng)
    return grouped_folds(ranks, labels, folds, rng)


def stratified_folds(ranks: Ranks, folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Deal positions out to folds so that each fold has its share of either half of y.

    Values of y that many rows share are dealt out one by one. Other rows are shuffled within their
    half: dealing them out in the order of y would part the nearest neighbours, the hardest pairs to
    rank, and make every held-out figure too good.

    Parameters
    ----------
    ranks : Ranks
    folds : int
    rng : Generator

    Examples
    --------
    >>> from crank.ranks import rank
    >>> fold = stratified_folds(rank(np.repeat([0.0, 1.0], 6)), 3, np.random.default_rng(0))
    >>> np.bincount(fold[:6]).tolist(), np.bincount(fold[6:]).tolist()
    ([2, 2, 2], [2, 2, 2])
    """
    n = len(ranks.row)
    upper = ranks.quantile > 0.5
    shared = np.bincount(ranks.group)[ranks.group] >= folds
    value = np.where(shared, ranks.group, -1)
    order = np.lexsort((rng.random(n), value, upper))
    blocks = -(-n // folds)
    dealt = rng.permuted(np.tile(np.arange(folds), (blocks, 1)), axis=1).ravel()
    fold = np.empty(n, dtype=np.intp)
    fold[order] = dealt[:n]
    return fold


def grouped_folds(
    ranks: Ranks, labels: NDArray[np.intp], folds: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Deal groups out to folds, the largest first, each to the fold that lacks its rows most.

    Folds end up alike in size and in the classes of y as far as whole groups allow.

    Parameters
    ----------
    ranks : Ranks
    labels : ndarray
        Group of each position, numbered from 0.
    folds : int
    rng : Generator

    Examples
    --------
    >>> from crank.ranks import rank
    >>> labels = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    >>> fold = grouped_folds(rank(np.arange(8)), labels, 2, np.random.default_rng(0))
    >>> bool((fold[::2] == fold[1::2]).all()), np.bincount(fold).tolist()
    (True, [4, 4])
    """
    groups = int(labels.max()) + 1
    kind = np.minimum((ranks.quantile * CLASSES).astype(np.intp), CLASSES - 1)
    held = np.zeros((groups, CLASSES + 1))
    np.add.at(held, (labels, kind), 1.0)
    held[:, CLASSES] = held[:, :CLASSES].sum(axis=1)  # the size counts as much as all classes
    filled = np.zeros((folds, CLASSES + 1))
    fold = np.empty(groups, dtype=np.intp)
    chance = rng.random((groups, folds))
    for group in np.lexsort((chance[:, 0], -held[:, CLASSES])):
        crowded = filled @ held[group]
        taker = int(np.lexsort((chance[group], filled[:, CLASSES], crowded))[0])
        fold[group] = taker
        filled[taker] += held[group]
    return fold[labels]
