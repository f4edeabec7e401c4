"""Ways to grow the trees of a forest: the one that was taken, and those that were tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Way:
    """One way to grow the trees of a forest.

    Attributes
    ----------
    thresholds : {"best", "random", "mixed"}
    min_samples_leaf : int
    max_features : int, float, "sqrt" or None
    kendall : float or None
        d_τ out of bag of the first trees that were grown this way; None if none were tried.
    """

    thresholds: Literal["best", "random", "mixed"]
    min_samples_leaf: int
    max_features: int | float | Literal["sqrt"] | None
    kendall: float | None = None


@dataclass(frozen=True)
class Choice:
    """How the trees of a forest were grown, and which other ways were tried.

    Attributes
    ----------
    ways : tuple of Way
        Those that were tried; the only one if there was nothing to choose.
    taken : int
        Which of them was taken.
    trees : int
        Trees by which each was judged; 0 if none was.
    """

    ways: tuple[Way, ...]
    taken: int = 0
    trees: int = 0

    @property
    def way(self) -> Way:
        """The one that was taken."""
        return self.ways[self.taken]
