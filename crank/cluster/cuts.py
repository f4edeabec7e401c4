"""Choose the cuts of a layer from sums over all partitions, as the local kernels choose them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crank.cluster.layers import HALF_BITS, SlotSums
from crank.cluster.prepared import Plan
from crank.cluster.saplings import Sapling
from crank.cluster.tally import FloatArray
from crank.kernels.bin_sums import BinCuts, BinSums, SummedLayer, choose
from crank.kernels.bin_tables import COLUMN, FACTOR, KIND, WIDTH, column_table
from crank.kernels.bins import MISSING_BIN
from crank.kernels.categories import CategoryColumn, CategorySearch
from crank.kernels.cuts import Cut, Objective
from crank.kernels.stumps import best_columns, directions, undecided
from crank.plugins.stump import StumpRule, rule_of

Found = tuple[StumpRule, int, NDArray[np.bool_]]
"""A split: its rule, the column as routes number it and whether each bin goes left."""


@dataclass(frozen=True)
class Chooser:
    """What does not change from layer to layer.

    Attributes
    ----------
    plan : Plan
    low, high : ndarray of shape (d, 256)
        Smallest and largest value in each bin.
    direction : sequence of int
        See `crank.kernels.stumps.StumpKernel`.
    objective : {"sum", "variance"}
    min_leaf : int
    discount : bool
    """

    plan: Plan
    low: FloatArray
    high: FloatArray
    direction: Sequence[int]
    objective: Objective
    min_leaf: int
    discount: bool

    @property
    def columns(self) -> NDArray[np.intp]:
        """The narrow columns, as kernels read them."""
        levels = np.array(self.plan.levels, dtype=np.intp)
        return column_table(levels, self.plan.n_bins, directions(self.direction, len(levels)))

    @property
    def wide_levels(self) -> list[int]:
        """Number of levels of each wide column."""
        return [self.plan.levels[j] for j in self.plan.wide]

    def cells(self, sapling: Sapling) -> int:
        """Cells of the largest table that a pass fills for a node."""
        sums = len(self.columns) * WIDTH + sum(k + 1 for k in self.wide_levels)
        return max(sums, len(sapling.levels.value))

    def choose(self, sums: SlotSums, exponent: NDArray[np.intp]) -> list[Found | None]:
        """Find the best split of each slot.

        Parameters
        ----------
        sums : SlotSums
            Over all partitions.
        exponent : ndarray of int, shape (slots,)
            Scores were multiplied by 2^exponent.
        """
        columns = self.columns
        found = _in_scores(sums, exponent)
        layer = SummedLayer.of_sums(found, self.objective, self.min_leaf)
        numeric = columns[:, KIND] != FACTOR
        d, nodes = len(self.plan.levels), len(layer.sizes)
        cuts = BinCuts.empty(d, nodes)
        if numeric.any():
            part = BinSums(
                np.ascontiguousarray(found.sums[numeric]),
                np.ascontiguousarray(found.counts[numeric]),
                None if found.masses is None else np.ascontiguousarray(found.masses[numeric]),
                found.sizes,
                found.total,
                found.spread,
                found.squares,
            )
            best = choose(part, columns[numeric], self.objective, self.min_leaf, discount=False)
            width = len(best.gain)
            cuts.gain[:width], cuts.found[:width] = best.gain, best.found
        factors = self._factors(layer, found, sums, exponent, columns)
        gain = cuts.gain
        for j, search in factors.items():
            gain[j] = search.best
        for j, k in undecided(gain, {j: s.bound for j, s in factors.items()}, layer):
            gain[j, k] = factors[j].settle(k)
        chosen = best_columns(gain, layer).tolist()
        return [
            None if j < 0 else self._split(j, k, cuts, factors.get(j), int(layer.sizes[k]))
            for k, j in enumerate(chosen)
        ]

    def _factors(
        self,
        layer: SummedLayer,
        found: BinSums,
        sums: SlotSums,
        exponent: NDArray[np.intp],
        columns: NDArray[np.intp],
    ) -> dict[int, CategorySearch]:
        """Search the subsets of every factor's levels."""
        searched = {}
        none = np.empty(0, dtype=np.intp)
        for c in np.flatnonzero(columns[:, KIND] == FACTOR).tolist():
            j = int(columns[c, COLUMN])
            k = self.plan.levels[j]
            taken = [*range(k), MISSING_BIN]
            count = found.counts[c][:, taken].astype(np.intp)
            weight = count if found.masses is None else found.masses[c][:, taken]
            column = CategoryColumn(none, k, self.discount)
            searched[j] = column.search_sums(layer, count, found.sums[c][:, taken], weight)
        for j, table in zip(self.plan.wide, sums.wide, strict=True):
            score = np.ldexp(table[0].astype(np.float64), -exponent[:, None])
            count = table[1].astype(np.intp)
            weight = count if sums.masses is None else table[2].astype(np.float64)
            column = CategoryColumn(none, self.plan.levels[j], self.discount)
            searched[j] = column.search_sums(layer, count, score, weight)
        return searched

    def _split(
        self, j: int, node: int, cuts: BinCuts, factor: CategorySearch | None, rows: int
    ) -> Found:
        if factor is not None:
            cut = factor.cut(node, np.empty(0, dtype=bool))
            rule = rule_of(cut, j, rows)
            codes = np.append(np.arange(float(self.plan.levels[j])), np.nan)
            if j in self.plan.wide:
                number = len(self.plan.levels) + self.plan.wide.index(j)
                return rule, number, rule.goes_left(codes)
            value = np.full(MISSING_BIN + 1, np.nan)
            value[: len(codes) - 1] = codes[:-1]
            return rule, j, rule.goes_left(value)
        low, high, n_low, missing_low, low_is_left, n_missing = cuts.found[j, node].tolist()
        rule = rule_of(
            Cut(
                low_is_left=bool(low_is_left),
                low=float(self.high[j, low]),
                high=float(self.low[j, high]) if high != MISSING_BIN else np.nan,
                levels=None,
                missing_left=missing_low == low_is_left if n_missing else None,
                n_left=n_low if low_is_left else rows - n_low,
            ),
            j,
            rows,
        )
        return rule, j, rule.goes_left(self.high[j])


def _in_scores(sums: SlotSums, exponent: NDArray[np.intp]) -> BinSums:
    """Turn whole numbers back into scores."""

    def scaled(values: NDArray[np.int64]) -> FloatArray:
        return np.ldexp(values.astype(np.float64), -exponent)

    masses = sums.masses
    if masses is not None and not len(masses):  # all columns are wide: any of them has the mass
        masses = sums.wide[0][2][None]
    high, both, low = (values.astype(np.float64) for values in sums.squares)
    squares = np.ldexp(high, 2 * HALF_BITS) + np.ldexp(both, HALF_BITS + 1) + low
    return BinSums(
        np.ldexp(sums.sums.astype(np.float64), -exponent[None, :, None]),
        sums.counts,
        None if masses is None else masses.astype(np.float64),
        sums.sizes.astype(np.intp),
        scaled(sums.total),
        scaled(sums.spread),
        np.ldexp(squares, -2 * exponent),
    )
