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
from crank.ranks import Ranks

Objective = Literal["sum", "variance"]

ROUNDING = 1e-12
"""Sums that differ by no more than this share of their scale count as equal."""

IAUC_ROUNDING = 1e-14
"""Scores of the IAUC below this share of the squared total weight are rounding."""


@dataclass(frozen=True)
class Level:
    """The nodes of one depth that are still to be split.

    Attributes
    ----------
    position : ndarray of int
        Positions in y order (see `Ranks`), node after node, increasing within each node.
    bounds : ndarray of int, shape (nodes + 1,)
        Node k owns ``position[bounds[k]:bounds[k + 1]]``; no node is empty.
    turn : int
        The left children of the level above come first: this many rows are theirs.
    """

    position: NDArray[np.int32]
    bounds: NDArray[np.intp]
    turn: int = 0

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """Rows in each node."""
        return self.bounds[1:] - self.bounds[:-1]

    @property
    def starts(self) -> NDArray[np.intp]:
        """First row of each node."""
        return self.bounds[:-1]


@dataclass(frozen=True)
class LocalMass:
    """What each row of a level sees of its own node: weight below it, tied with it, above it.

    Attributes
    ----------
    weight, below, upto, total : ndarray of float64
        The row's own weight; that of the rows of its node with smaller y, and with y not larger;
        that of the node.
    first, past : ndarray of int
        The rows tied with it within its node are those from ``first`` to before ``past``.
    start, end : ndarray of int
        The rows of its node are those from ``start`` to before ``end``.
    """

    weight: NDArray[np.float64]
    below: NDArray[np.float64]
    upto: NDArray[np.float64]
    total: NDArray[np.float64]
    first: NDArray[np.intp]
    past: NDArray[np.intp]
    start: NDArray[np.intp]
    end: NDArray[np.intp]

    def sum_below(self, running: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum over the rows of the node strictly below each row, from running sums."""
        before = np.empty(len(running) + 1)
        before[1:] = running
        before[self.start] = 0.0
        return before[self.first]

    def sum_above(self, running: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum over the rows of the node strictly above each row, from running sums."""
        return running[self.end - 1] - running[self.past - 1]


def running_sums(values: NDArray[np.float64], level: Level) -> NDArray[np.float64]:
    """Add values up within each node.

    Node by node, because the rounding of a sum over the level would swamp its smallest nodes.
    """
    out = np.empty(len(values))
    edges = level.bounds.tolist()
    for start, end in pairwise(edges):
        np.add.accumulate(values[start:end], out=out[start:end])
    return out


def local_mass(ranks: Ranks, level: Level) -> LocalMass:
    """Locate each row among the rows of its node; ties in y share one place."""
    position, sizes = level.position, level.sizes
    start, end = np.repeat(level.bounds[:-1], sizes), np.repeat(level.bounds[1:], sizes)
    first = np.arange(len(position))
    past = first + 1
    if ranks.tied:
        group = ranks.group[position]
        new = np.ones(len(position), dtype=bool)
        np.not_equal(group[1:], group[:-1], out=new[1:])
        new[level.starts] = True
        run = np.cumsum(new) - 1
        run_first = np.flatnonzero(new)
        first, past = run_first[run], np.append(run_first[1:], len(position))[run]
    if ranks.unweighted:
        weight = np.ones(len(position))
        below, upto, total = ((edge - start).astype(np.float64) for edge in (first, past, end))
    else:
        weight = ranks.weight[position]
        running = running_sums(weight, level)
        before = np.concatenate(([0.0], running))
        before[start] = 0.0
        below, upto, total = before[first], running[past - 1], running[end - 1]
    return LocalMass(weight, below, upto, total, first, past, start, end)


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
        total = np.repeat(np.add.reduceat(position, level.starts), level.sizes)
        score: NDArray[np.float64] = mass.total * position - total
        return score - kendall_scores(ranks, level, mass)
    low, high = ranks.below[level.position], ranks.upto[level.position]
    below = mass.sum_below(running_sums(mass.weight * high, level))
    above = mass.sum_above(running_sums(mass.weight * low, level))
    score = low * mass.below - below - above + high * (mass.total - mass.upto)
    if not ranks.unweighted:
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
        return np.where(2.0 * mass.below >= mass.total, 1.0, -1.0)
    off = np.abs(2.0 * mass.upto - mass.total)
    off[mass.past == mass.end] = np.inf
    nearest = np.minimum.reduceat(off, level.starts) + ROUNDING * mass.total[level.starts]
    at_cut = np.flatnonzero(off <= np.repeat(nearest, level.sizes))
    last = at_cut[np.searchsorted(at_cut, level.bounds[1:]) - 1]
    above = mass.first >= np.repeat(mass.past[last], level.sizes)
    return np.where(above, mass.weight, -mass.weight)


def spearman_scores(ranks: Ranks, level: Level, mass: LocalMass) -> NDArray[np.float64]:
    """Midrank of y in the full sample, centred within the node."""
    midrank = (ranks.below[level.position] + ranks.upto[level.position]) / 2.0
    sums = np.add.reduceat(mass.weight * midrank, level.starts)
    totals = np.add.reduceat(mass.weight, level.starts)
    return mass.weight * (midrank - np.repeat(sums / totals, level.sizes))


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
