"""What is counted of a column of numbers in every partition, however it is cut afterwards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Distinct = tuple[FloatArray, NDArray[np.int64]] | tuple[None, None]
"""Values, increasing, and the rows of each; nothing if they are too many."""


@dataclass(frozen=True)
class Tally:
    """What is known of a column of numbers; sums over partitions know all of it.

    Attributes
    ----------
    n, missing : int
        Rows with a number, and without.
    lowest, highest : float
        Infinite (∞, −∞) if there is no number.
    most : int
        So many distinct values are told apart.
    values, counts : ndarray or None
        The distinct values and their rows; None if there are more.
    """

    n: int
    missing: int
    lowest: float
    highest: float
    most: int
    values: FloatArray | None
    counts: NDArray[np.int64] | None

    @property
    def distinct(self) -> int | None:
        """Number of distinct values; None if they are more than `most`."""
        return None if self.values is None else len(self.values)

    def with_counts_of(self, other: Tally) -> Tally:
        """Count two partitions together.

        Examples
        --------
        >>> both = tally(np.array([2.0]), 1, 2).with_counts_of(tally(np.array([2.0, 1.0]), 0, 2))
        >>> both.values.tolist(), both.counts.tolist(), both.missing
        ([1.0, 2.0], [1, 2], 1)
        """
        return Tally(
            self.n + other.n,
            self.missing + other.missing,
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
            self.most,
            *_both(self, other),
        )


def tally(known: FloatArray, missing: int, most: int) -> Tally:
    """Count the numbers of one partition, none of them NaN; −0.0 is 0.0."""
    ends = (float(known.min()) + 0.0, float(known.max()) + 0.0) if len(known) else (np.inf, -np.inf)
    return Tally(len(known), missing, *ends, most, *_few(known, most))


def _few(known: FloatArray, most: int) -> Distinct:
    # most columns show in their first rows that they have too many values
    if len(np.unique(known[: 4 * most])) > most:
        return None, None
    values, counts = np.unique(known, return_counts=True)
    return (values + 0.0, counts.astype(np.int64)) if len(values) <= most else (None, None)


def _both(one: Tally, two: Tally) -> Distinct:
    if one.values is None or two.values is None:
        return None, None
    assert one.counts is not None
    assert two.counts is not None
    values, place = np.unique(np.concatenate((one.values, two.values)), return_inverse=True)
    counts = np.zeros(len(values), dtype=np.int64)
    np.add.at(counts, place, np.concatenate((one.counts, two.counts)))
    return (values, counts) if len(values) <= one.most else (None, None)
