"""How smooth curves shall be: the penalty on bending whose curves rank held-out rows best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crank.fitting.pairs import Floats, Pairs
from crank.kernels.links import Link
from crank.metrics.figures import KENDALL
from crank.ranks import Ranks

GRID: tuple[float, ...] = tuple(np.geomspace(1e-1, 1e-6, 11).tolist())
"""Smoothing parameters that are tried, the smoothest first."""
WIDTH = 1.0 / 8.0
"""Of the grid on which the pairs of a fold are summed: a held-out order needs few digits."""
FIRST_STEPS, STEPS = 8, 2
"""Steps of Newton's method from 0, and from one smoothing parameter to the next."""
LEAST = 1e-9
"""Smallest penalty of a fold, in which columns may be constant that are not in the whole."""
FARTHEST = 6.0
"""Farthest that a step may move a score, in units of the link."""
STILL = 1e-3
"""A step that moves no score by more is the last."""


@dataclass(frozen=True)
class Fold:
    """The training rows of a fold as all their pairs, and the rows held out.

    Attributes
    ----------
    pairs : Pairs
        Without a penalty.
    held : ndarray of bool
        Rows that are held out, by position.
    rows : Ranks
        Of the rows held out.
    """

    pairs: Pairs
    held: NDArray[np.bool_]
    rows: Ranks

    def figure(self, score: Floats) -> float:
        """Concordance of the rows held out; NaN if their responses are all equal."""
        if not self.rows.pairs:
            return float("nan")
        weights = None if self.rows.unweighted else self.rows.weight
        return KENDALL.estimate(self.rows.y, score, weights)


def folds_of(Z: Floats, ranks: Ranks, link: Link, fold: NDArray[np.intp]) -> list[Fold]:
    """Set up the folds; rows of ``Z`` and ``fold`` are in the order of y."""
    found = []
    for k in range(int(fold.max()) + 1):
        held = fold == k
        rest = ranks.subset(~held)
        if rest.n_distinct > 1:
            pairs = Pairs(np.ascontiguousarray(Z[~held]), rest, link, ridge=0.0, width=WIDTH)
            found.append(Fold(pairs, held, ranks.subset(held)))
    return found


@dataclass(frozen=True)
class Choice:
    """What the folds say of each smoothing parameter.

    Attributes
    ----------
    grid : tuple of float
    heldout : ndarray of shape (folds, grid)
        Concordance of the rows held out.
    coefs : ndarray of shape (folds, grid, k)
    """

    grid: tuple[float, ...]
    heldout: Floats
    coefs: Floats

    @property
    def best(self) -> int:
        """The place of the parameter that ranks best."""
        return best_of(self.heldout)

    def without(self, fold: int) -> int:
        """Find the place of the parameter that ranks best if one fold has no say."""
        others = np.delete(self.heldout, fold, axis=0)
        return best_of(others) if len(others) else self.best


def best_of(heldout: Floats) -> int:
    """Find the column with the largest mean over the folds that have a figure; the first if tied.

    Examples
    --------
    >>> best_of(np.array([[0.6, 0.7, 0.7], [0.5, np.nan, np.nan]]))
    1
    """
    known = ~np.isnan(heldout).all(axis=1)
    if not known.any():
        return int(heldout.shape[1]) - 1
    return int(np.argmax(np.nanmean(heldout[known], axis=0)))


def choose_smoothing(
    Z: Floats, folds: Sequence[Fold], bending: Floats, ridge: Floats, grid: Sequence[float] = GRID
) -> Choice:
    """Fit each fold along a path of smoothing parameters, and judge every fit.

    Parameters
    ----------
    Z : ndarray of shape (n, k)
        Columns, rows in increasing order of y.
    folds : sequence of Fold
    bending, ridge : ndarray of shape (k,)
        The penalty on half of a squared coefficient, relative to the mean loss of a pair, is
        smoothing · bending + ridge.
    grid : sequence of float
        Smoothing parameters, the largest first.
    """
    heldout = np.full((len(folds), len(grid)), np.nan)
    coefs = np.zeros((len(folds), len(grid), Z.shape[1]))
    for i, fold in enumerate(folds):
        b = np.zeros(Z.shape[1])
        for j, smoothing in enumerate(grid):
            pairs = penalised(fold.pairs, np.maximum(smoothing * bending + ridge, LEAST))
            b = approached(pairs, b, FIRST_STEPS if j == 0 else STEPS)
            coefs[i, j] = b
            heldout[i, j] = fold.figure(Z[fold.held] @ b)
    return Choice(tuple(grid), heldout, coefs)


def penalised(pairs: Pairs, penalty: Floats) -> Pairs:
    """Put a penalty, relative to the mean loss of a pair, on the coefficients."""
    return replace(pairs, ridge=penalty * pairs.ranks.total**2 / 2.0)


def approached(pairs: Pairs, b: Floats, steps: int) -> Floats:
    """Go some steps of Newton's method towards the least penalised loss."""
    for _ in range(steps):
        score, information = pairs.newton(b)
        step = np.linalg.solve(information, score)
        moved = float(np.abs(pairs.Z @ step).max())
        b = b + step * min(1.0, FARTHEST / max(moved, FARTHEST))
        if moved <= STILL:
            break
    return b
