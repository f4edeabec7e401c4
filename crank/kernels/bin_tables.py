"""What the histogram kernels read of columns and nodes, as tables, and the room they work in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crank.kernels.cuts import FloatArray, Objective, grain_of, rounding_of

WIDTH = 256
"""Bins of a column, the one of the missing values included."""
COLUMN, N_BINS, KIND = 0, 1, 2
"""What is known of a column: its number, its bins, and the direction in which it may be cut."""
FACTOR = 2
"""The kind of a column of categories; that of numbers is their direction: −1, 1, or 0 for both."""
FOUND = 6
"""Numbers that are found for a column of numbers in a node; see `search_columns`."""
TOTAL, MASS, ROUNDING, GRAIN, NOISE = 0, 1, 2, 3, 4
"""What is known of a node; see `crank.kernels.cuts.ScoredLayer`."""


def any_factor(columns: NDArray[np.intp]) -> bool:
    """Tell whether a table of columns (see `column_table`) has categories among them."""
    return bool((columns[:, KIND] == FACTOR).any())


def column_table(
    levels: NDArray[np.intp], n_bins: NDArray[np.intp], direction: NDArray[np.integer]
) -> NDArray[np.intp]:
    """Describe the binned columns as compiled code reads them: number, bins and kind of each."""
    kind = np.where(levels > 0, FACTOR, direction)
    table = np.column_stack((np.arange(len(levels)), n_bins, kind))
    return np.ascontiguousarray(table[levels < WIDTH], dtype=np.intp)


def node_table(
    total: FloatArray,
    mass: FloatArray,
    spread: FloatArray,
    noise: FloatArray | None,
    objective: Objective,
) -> FloatArray:
    """Describe the nodes as compiled code reads them; without noise nothing is taken off."""
    rounding, grain = rounding_of(spread, mass, objective), grain_of(spread, mass)
    return np.column_stack(
        (total, mass, rounding, grain, np.zeros(len(total)) if noise is None else noise)
    )


@dataclass(frozen=True)
class Scratch:
    """Arrays that compiled code works in: one set for each call."""

    sums: FloatArray
    counts: NDArray[np.int32]
    masses: FloatArray | None
    work: FloatArray
    order: NDArray[np.intp] | None

    @classmethod
    def of(cls, bins: int, weighted: bool, factors: bool) -> Scratch:
        """Make room for the sums of that many bins, all 0."""
        return cls(
            np.zeros(bins),
            np.zeros(bins, dtype=np.int32),
            np.zeros(bins) if weighted else None,
            np.empty(WIDTH),
            np.empty(WIDTH, dtype=np.intp) if factors else None,
        )
