"""Choose how far to prune, and in which order the leaves stand, from held-out figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crank.criteria import LeafOrder
from crank.errors import DataError
from crank.rankers.validation import spread_over_folds

Heldout = Mapping[LeafOrder, NDArray[np.float64]]
"""For each order of the leaves, held-out figures of each fold (row) at each step (column)."""

ROUNDING = 1e-9
"""An order that is ahead by no more than this is not ahead."""


@dataclass(frozen=True)
class Choice:
    """An order of the leaves and two steps of the pruning path; `step_of` takes one of them."""

    order: LeafOrder
    step: int
    step_1se: int

    def step_of(self, prune: Literal["cv", "1se"]) -> int:
        """Return the step that a way of pruning takes."""
        return self.step if prune == "cv" else self.step_1se


def choose(heldout: Heldout, repeats: int = 1) -> Choice:
    """Choose the step in each order, and the order by rank only if its folds are clearly ahead.

    Each order is judged at its own best step.

    Parameters
    ----------
    heldout : mapping
        With one order there is no order to choose.
    repeats : int
        How often the folds were drawn.
    """
    found = {order: Choice(order, *choose_step(table, repeats)) for order, table in heldout.items()}
    if len(found) == 1:
        return next(iter(found.values()))
    oriented, by_rank = found["oriented"], found["rank"]
    ahead = heldout["rank"][:, by_rank.step] - heldout["oriented"][:, oriented.step]
    se = float(spread_over_folds(ahead[:, None], repeats)[0])
    clear = np.isfinite(se) and np.nanmean(ahead) > max(se, ROUNDING)
    return by_rank if clear else oriented


def choose_by_others(heldout: Heldout, fold: int) -> Choice | None:
    """Choose for a fold by the other folds alone; None if none of them has a figure.

    The figure of a fold at a choice that it had no part in is honest; at the choice of all folds
    it is not, because the best of many figures is too good.
    """
    others = {order: np.delete(table, fold, axis=0) for order, table in heldout.items()}
    if all(np.isnan(table).all() for table in others.values()):
        return None
    return choose(others)


def choose_step(heldout: NDArray[np.float64], repeats: int = 1) -> tuple[int, int]:
    """Choose the best step and the smallest tree within one standard error of it.

    Steps run from the largest tree to the smallest, so the last of equals is the smaller tree.

    Examples
    --------
    >>> choose_step(np.array([[0.70, 0.74, 0.73, 0.5], [0.72, 0.76, 0.75, 0.5]]))
    (1, 2)
    """
    if np.isnan(heldout).all():
        raise DataError(
            "no fold has enough distinct values of y to be judged. "
            "Use prune=None, or fewer folds (cv=...) if there are more than two."
        )
    mean = np.nanmean(heldout, axis=0)
    best = len(mean) - 1 - int(np.argmax(mean[::-1] >= mean.max() - 1e-12))
    se = np.nan_to_num(spread_over_folds(heldout[:, [best]], repeats)[0])
    within = np.flatnonzero(mean >= mean[best] - se - 1e-12)
    return best, int(within[-1])
