"""Weights as whole numbers, so that their sums depend on no order."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log2

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

EXACT_BITS = 52
"""Whole numbers up to 2⁵² add up exactly in doubles."""


@dataclass(frozen=True)
class Units:
    """How weights are written in whole numbers.

    Attributes
    ----------
    factor : float or None
        What multiplies a weight; None if all rows weigh the same, and none is needed.
    scale : float
        What multiplies whole numbers to give weights as `crank.ranks.in_units` would.
    unit : float
        What such a weight of 1 was in the data.
    heaviest : float
        Largest weight, in whole units.
    """

    factor: float | None = None
    scale: float = 1.0
    unit: float = 1.0
    heaviest: float = 1.0

    @classmethod
    def of(cls, ends: tuple[float, float] | None, multiples: bool, n: int) -> Units:
        """Choose units for n weights.

        Parameters
        ----------
        ends : (float, float) or None
            The smallest and the largest weight.
        multiples : bool
            Whether all are multiples of the smallest.
        n : int

        Examples
        --------
        >>> Units.of((0.5, 2.0), True, 100)
        Units(factor=2.0, scale=1.0, unit=0.5, heaviest=4.0)
        >>> Units.of((3.0, 3.0), True, 100).whole(np.array([3.0])) is None
        True
        """
        if ends is None:
            return cls()
        smallest, largest = ends
        if smallest == largest:
            return cls(unit=smallest)
        if multiples and n * (largest / smallest) <= 2.0**EXACT_BITS:
            return cls(1.0 / smallest, 1.0, smallest, float(np.rint(largest / smallest)))
        power = 2.0 ** floor(EXACT_BITS - log2(n) - log2(largest))
        return cls(power, 1.0 / power, 1.0, float(np.rint(largest * power)))

    @property
    def unweighted(self) -> bool:
        """Whether all rows weigh the same."""
        return self.factor is None

    def whole(self, weight: FloatArray | None) -> FloatArray | None:
        """Write weights in whole units, at least one each."""
        if weight is None or self.factor is None:
            return None
        return np.maximum(np.rint(weight * self.factor), 1.0)
