"""Coefficients of a blend in few digits, so that sums of trees are exact on every platform."""

from __future__ import annotations

import math
from collections.abc import Sequence

from crank.rankers.base import Ranker
from crank.rankers.booster import BoosterRanker
from crank.rankers.forest import ForestRanker
from crank.records.base import DesignedRecord

LARGEST = 2**27
"""Units in the score of a sum of trees: 2²⁴ of a booster, 2¹⁶ for each tree of a forest."""
EXACT_BITS = 46
"""Coefficients are rounded so that sums of trees have no more digits: then sums are exact."""


def in_few_digits(models: Sequence[DesignedRecord], coef: Sequence[float]) -> list[float]:
    """Round the coefficients of sums of trees so that their weighted sum is exact.

    A booster's score is a whole number of its quanta, a forest's a whole number of votes; times
    coefficients of few binary digits, all on one grid, they stay exact in double, added up in
    any order.
    """
    units = [_unit(model.ranker) for model in models]
    sizes = [c * unit * LARGEST for c, unit in zip(coef, units, strict=True) if unit]
    if not sizes:
        return list(map(float, coef))
    grid = 2.0 ** (math.ceil(math.log2(max(sizes))) - EXACT_BITS)
    return [
        float(c) if not unit else max(1, round(c * unit / grid)) * grid / unit
        for c, unit in zip(coef, units, strict=True)
    ]


def _unit(ranker: Ranker) -> float:
    """Return what the scores of a sum of trees are whole multiples of; 0 for other rankers."""
    if isinstance(ranker, BoosterRanker):
        return ranker.quantum
    return 1.0 if isinstance(ranker, ForestRanker) else 0.0
