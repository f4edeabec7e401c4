"""Counting apart from choosing: sums of scores by bin, which add up over blocks of rows.

Blocks of rows may be counted anywhere; whoever has the sum of their counts chooses the same cuts
as one who has all rows. `crank.kernels.histogram` does both at once for rows in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from crank.kernels.bin_tables import COLUMN, FOUND, WIDTH, Scratch, any_factor, node_table
from crank.kernels.compiled_histogram import choose_cuts, count_columns
from crank.kernels.cuts import FloatArray, Objective, ScoredLayer, noise_of

Sums = TypeVar("Sums")


def added(a: Sums, b: Sums) -> Sums:
    """Add two blocks of sums field by field; what either does not have, the whole does not."""

    def one(x: Any, y: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(p + q for p, q in zip(x, y, strict=True))
        return None if x is None or y is None else x + y

    names = [field.name for field in fields(a)]  # type: ignore[arg-type]  # a dataclass
    return type(a)(*(one(getattr(a, name), getattr(b, name)) for name in names))


@dataclass(frozen=True)
class BinSums:
    """What a block of rows adds to the histograms of a layer.

    Attributes
    ----------
    sums : ndarray of float64, shape (columns, nodes, 256)
        Scores by bin; the last bin is that of the missing values.
    counts : ndarray of int32, shape (columns, nodes, 256)
        Rows by bin.
    masses : ndarray of float64, shape (columns, nodes, 256), or None
        Weight by bin; None if every weight is 1.
    sizes, total, spread, squares : ndarray of shape (nodes,)
        Rows of each node, the sum of their scores, of the scores' sizes and of their squares.
    """

    sums: FloatArray
    counts: NDArray[np.int32]
    masses: FloatArray | None
    sizes: NDArray[np.intp]
    total: FloatArray
    spread: FloatArray
    squares: FloatArray

    def __add__(self, other: BinSums) -> BinSums:
        return added(self, other)

    @property
    def mass(self) -> FloatArray:
        """Weight of each node."""
        if self.masses is None:
            return self.sizes.astype(np.float64)
        return np.asarray(self.masses[0].sum(axis=1))


@dataclass(frozen=True, kw_only=True)
class SummedLayer(ScoredLayer):
    """A layer whose rows are elsewhere: only their sums are here."""

    sums: BinSums

    @classmethod
    def of_sums(cls, sums: BinSums, objective: Objective, min_leaf: int) -> SummedLayer:
        """Make a layer of as many nodes, with no rows in it."""
        return cls(
            np.empty(0, dtype=np.int32),
            np.zeros(len(sums.sizes) + 1, dtype=np.intp),
            score=np.empty(0),
            weight=None,
            objective=objective,
            min_leaf=min_leaf,
            sums=sums,
        )

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """Rows in each node."""
        return self.sums.sizes

    @cached_property
    def total(self) -> FloatArray:
        """Sum of the scores of each node."""
        return self.sums.total

    @cached_property
    def mass(self) -> FloatArray:
        """Weight of each node."""
        return self.sums.mass

    @cached_property
    def spread(self) -> FloatArray:
        """Sum of the absolute scores of each node."""
        return self.sums.spread

    @cached_property
    def squares(self) -> FloatArray:
        """Sum of the squared scores of each node."""
        return self.sums.squares


@dataclass(frozen=True)
class BinCuts:
    """The best cut between bins, of each column in each node.

    Attributes
    ----------
    gain, bound : ndarray of shape (d, nodes)
        Gain of the best cut; for a factor also what any subset of its levels could gain at most,
        where the minimum leaf size forbids the best one.
    found : ndarray of int32, shape (d, nodes, 6)
        See `crank.kernels.compiled_histogram.search_columns`.
    """

    gain: FloatArray
    bound: FloatArray
    found: NDArray[np.int32]

    @classmethod
    def empty(cls, d: int, nodes: int) -> BinCuts:
        """Make room for the cuts of d columns; a column that is not searched gains nothing."""
        found = np.zeros((d, nodes, FOUND), dtype=np.int32)
        return cls(np.zeros((d, nodes)), np.zeros((d, nodes)), found)


def count(
    bins: NDArray[np.uint8],
    columns: NDArray[np.intp],
    index: NDArray[np.int32],
    layer: ScoredLayer,
) -> BinSums:
    """Sum the scores of a block of rows by column, node and bin.

    Parameters
    ----------
    bins : ndarray of uint8, shape (d, n)
        Bins of the block.
    columns : ndarray of int, shape (columns, 3)
        From `column_table`.
    index : ndarray of int32
        Place in ``bins`` of each row of the layer.
    layer : ScoredLayer
        Rows of the block. A block may lack rows of a node; it needs a slice for it all the same.
    """
    shape = (len(columns), len(layer.starts), WIDTH)
    room = Scratch.of(
        (len(columns) * len(layer.starts) + 1) * WIDTH, layer.weight is not None, False
    )
    count_columns(
        bins,
        columns,
        0,
        len(columns),
        index,
        layer.bounds,
        layer.score,
        layer.weight,
        room.sums,
        room.counts,
        room.masses,
    )
    score = layer.score
    running = np.zeros((3, len(score) + 1))
    np.cumsum((score, np.abs(score), score**2), axis=1, out=running[:, 1:])
    total, spread, squares = running[:, layer.bounds[1:]] - running[:, layer.bounds[:-1]]
    return BinSums(
        room.sums[:-WIDTH].reshape(shape),
        room.counts[:-WIDTH].reshape(shape),
        None if room.masses is None else room.masses[:-WIDTH].reshape(shape),
        layer.sizes,
        total,
        spread,
        squares,
    )


def choose(
    sums: BinSums,
    columns: NDArray[np.intp],
    objective: Objective,
    min_leaf: int,
    discount: bool = True,
) -> BinCuts:
    """Find the best cut of each column in each node from sums over all rows."""
    noise = None
    if discount:
        noise = noise_of(sums.squares, sums.total, sums.sizes, sums.mass, objective)
    d = int(columns[:, COLUMN].max()) + 1
    cuts = BinCuts.empty(d, len(sums.sizes))
    room = Scratch.of(0, False, any_factor(columns))
    choose_cuts(
        columns,
        0,
        len(columns),
        sums.sizes,
        node_table(sums.total, sums.mass, sums.spread, noise, objective),
        objective == "variance",
        min_leaf,
        sums.sums.reshape(-1),
        sums.counts.reshape(-1),
        None if sums.masses is None else sums.masses.reshape(-1),
        room.work,
        room.order,
        cuts.gain,
        cuts.bound,
        cuts.found.reshape(-1),
    )
    return cuts
