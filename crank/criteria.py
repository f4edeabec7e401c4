"""Criteria: the response within a node, turned into one signed score a row (theory §4).

A criterion never sees X. The scores are antisymmetric over pairs, so pairs inside one side of a
split cancel and the gain of a split is a plain sum over its left side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crank.errors import OptionError, did_you_mean, listed
from crank.kernels.cuts import Level, Objective
from crank.ranks import Ranks

ROUNDING = 1e-12
"""Sums that differ by no more than this share of their scale count as equal."""

IAUC_ROUNDING = 1e-14
"""Scores of the IAUC below this share of the squared total weight are rounding."""


class LocalMass:
    """What each row of a level sees of its own node; each array is made when it is first read.

    Parameters
    ----------
    ranks : Ranks
    level : Level
    """

    def __init__(self, ranks: Ranks, level: Level) -> None:
        self.ranks, self.level = ranks, level

    @cached_property
    def start(self) -> NDArray[np.intp]:
        """First row of the node."""
        return self.level.spread_out(self.level.starts)

    @cached_property
    def end(self) -> NDArray[np.intp]:
        """One past the last row of the node."""
        return self.level.spread_out(self.level.bounds[1:])

    @cached_property
    def _ties(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        position = self.level.position
        if not self.ranks.tied:
            first = np.arange(len(position))
            return first, first + 1
        group = self.ranks.group[position]
        new = np.ones(len(position), dtype=bool)
        np.not_equal(group[1:], group[:-1], out=new[1:])
        new[self.level.starts] = True
        run = new.cumsum() - 1
        edges = np.append(np.flatnonzero(new), len(position))
        return edges[run], edges[run + 1]

    @property
    def first(self) -> NDArray[np.intp]:
        """First row tied with the row."""
        return self._ties[0]

    @property
    def past(self) -> NDArray[np.intp]:
        """One past the last row tied with the row."""
        return self._ties[1]

    @cached_property
    def weight(self) -> NDArray[np.float64]:
        """Weight of the row."""
        position = self.level.position
        return np.ones(len(position)) if self.ranks.unweighted else self.ranks.weight[position]

    @cached_property
    def _running(self) -> NDArray[np.float64]:
        return running_sums(self.weight, self.level)

    @cached_property
    def below(self) -> NDArray[np.float64]:
        """Weight of the rows of the node with a smaller y."""
        if self.ranks.plain:
            return self.level.within.astype(np.float64)
        if self.ranks.unweighted:
            return (self.first - self.start).astype(np.float64)
        return self.sum_below(self._running)

    @cached_property
    def upto(self) -> NDArray[np.float64]:
        """Weight of the rows of the node with y not larger."""
        if self.ranks.plain:
            return self.below + 1.0
        if self.ranks.unweighted:
            return (self.past - self.start).astype(np.float64)
        return self._running[self.past - 1]

    @cached_property
    def total(self) -> NDArray[np.float64]:
        """Weight of the node."""
        if self.ranks.unweighted:
            return self.level.spread_out(self.level.sizes.astype(np.float64))
        return self._running[self.end - 1]

    def sum_below(self, running: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum over the rows of the node strictly below each row, from running sums."""
        before = np.empty(len(running) + 1)
        before[1:] = running
        before[self.level.starts] = 0.0
        return before[self.first]

    def sum_above(self, running: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum over the rows of the node strictly above each row, from running sums."""
        return running[self.end - 1] - running[self.past - 1]


def running_sums(
    values: NDArray[np.float64], level: Level, whole: bool = False
) -> NDArray[np.float64]:
    """Add values up within each node.

    Node by node, because the rounding of a sum over the level would swamp its smallest nodes;
    ``whole`` numbers, whose sums stay below 2⁵³, have no rounding and go in one sweep.
    """
    if whole:
        sums = values.cumsum()
        if len(level.sizes) > 1:
            sums[level.bounds[1] :] -= sums[level.bounds[1:-1] - 1].repeat(level.sizes[1:])
        return sums
    out = np.empty(len(values))
    edges = level.bounds.tolist()
    for start, end in pairwise(edges):
        np.add.accumulate(values[start:end], out=out[start:end])
    return out


def kendall_scores(ranks: Ranks, level: Level, mass: LocalMass) -> NDArray[np.float64]:
    """Weight of the node below a row minus weight above it: the sum is C − D of the split."""
    score = mass.below + mass.upto - mass.total
    return score if ranks.unweighted else mass.weight * score


def iauc_scores(ranks: Ranks, level: Level, mass: LocalMass) -> NDArray[np.float64]:
    """Weigh each pair by the weight of the whole sample strictly between its two responses.

    The pair weight is L of the higher minus H of the lower (theory §3), so ties need no care.
    """
    if ranks.plain:  # m (R − mean R) less the kendall score (theory §4), in whole numbers
        position = level.position.astype(np.float64)
        total = level.spread_out(np.add.reduceat(position, level.starts))
        score: NDArray[np.float64] = mass.total * position - total
        return score - kendall_scores(ranks, level, mass)
    low, high = ranks.below[level.position], ranks.upto[level.position]
    if ranks.unweighted:
        below = mass.sum_below(running_sums(high, level, whole=True))
        above = mass.sum_above(running_sums(low, level, whole=True))
        return low * mass.below - below - above + high * (mass.total - mass.upto)
    below = mass.sum_below(running_sums(mass.weight * high, level))
    above = mass.sum_above(running_sums(mass.weight * low, level))
    score = low * mass.below - below - above + high * (mass.total - mass.upto)
    # nothing lies between neighbouring values: what is left there is rounding, not a score
    score[np.abs(score) <= IAUC_ROUNDING * ranks.total**2] = 0.0
    return mass.weight * score


def crank_scores(ranks: Ranks, level: Level, mass: LocalMass) -> NDArray[np.float64]:
    """Label a row by whether its y lies above the node's median: the paper's subproblem.

    The cut is the distinct value nearest to half of the mass, so both labels occur whenever the
    node has two distinct responses, however heavy the ties. Of two equally near values the upper
    one is the cut: with an odd number of rows, the median, which is not above itself.
    """
    if ranks.plain:
        return np.asarray(2.0 * (2.0 * mass.below >= mass.total) - 1.0, dtype=np.float64)
    if ranks.unweighted:
        above = level.within >= level.spread_out(_median_cut(level, mass))
        return np.asarray(2.0 * above - 1.0, dtype=np.float64)
    off = np.abs(2.0 * mass.upto - mass.total)
    off[mass.past == mass.end] = np.inf
    nearest = np.minimum.reduceat(off, level.starts) + ROUNDING * mass.total[level.starts]
    at_cut = np.flatnonzero(off <= level.spread_out(nearest))
    last = at_cut[np.searchsorted(at_cut, level.bounds[1:]) - 1]
    above = mass.first >= level.spread_out(mass.past[last])
    return np.where(above, mass.weight, -mass.weight)


def _median_cut(level: Level, mass: LocalMass) -> NDArray[np.intp]:
    """Find the first row of each node above its cut, from the middle outwards; without weights."""
    start, size = level.starts, level.sizes
    high = mass.past[start + (size + 1) // 2 - 1] - start
    low = mass.first[start + size // 2] - start
    lower = (high == size) | ((low > 0) & (size - 2 * low < 2 * high - size))
    return np.asarray(np.where(lower, np.where(low > 0, low, size), high))


def spearman_scores(ranks: Ranks, level: Level, mass: LocalMass) -> NDArray[np.float64]:
    """Midrank of y in the full sample, centred within the node."""
    midrank = (ranks.below[level.position] + ranks.upto[level.position]) / 2.0
    sums = np.add.reduceat(mass.weight * midrank, level.starts)
    totals = np.add.reduceat(mass.weight, level.starts)
    return mass.weight * (midrank - level.spread_out(sums / totals))


@dataclass(frozen=True)
class Criterion:
    """A named way to score the rows of a node.

    Attributes
    ----------
    name : str
    scores : callable
        ``(ranks, level, mass) -> ndarray``, case weights included.
    objective : {"sum", "variance"}
        What the best split maximises: |Σ left − Σ right| of the scores, or the variance of the
        scores explained by the split.
    metric : {"iauc", "kendall"}
        The figure by which trees grown with it are pruned and validated.
    """

    name: str
    scores: Callable[[Ranks, Level, LocalMass], NDArray[np.float64]]
    objective: Objective
    metric: Literal["iauc", "kendall"]
    description: str


CRITERIA = {
    criterion.name: criterion
    for criterion in (
        Criterion("crank", crank_scores, "sum", "iauc", "accuracy of the median subproblem"),
        Criterion("kendall", kendall_scores, "sum", "kendall", "Kendall's τ of the whole tree"),
        Criterion("iauc", iauc_scores, "sum", "iauc", "IAUC of the whole tree"),
        Criterion("spearman", spearman_scores, "variance", "iauc", "variance of ranks, as CART"),
    )
}


def get_criterion(name: str) -> Criterion:
    """Look a criterion up by name.

    Examples
    --------
    >>> get_criterion("kendall").description
    "Kendall's τ of the whole tree"
    """
    try:
        return CRITERIA[name]
    except (KeyError, TypeError):
        raise OptionError(
            f"no criterion named {name!r}. Allowed: {listed(CRITERIA)}."
            f"{did_you_mean(name, CRITERIA)}"
        ) from None
