"""Criteria: the response within a node, turned into one signed score a row (theory §4).

A criterion never sees X. The scores are antisymmetric over pairs, so pairs inside one side of a
split cancel and the gain of a split is a plain sum over its left side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crank.errors import OptionError, did_you_mean, listed
from crank.ranks import Ranks

Objective = Literal["sum", "variance"]


@dataclass(frozen=True)
class Level:
    """The nodes of one depth that are still to be split.

    Attributes
    ----------
    position : ndarray of int
        Positions in y order (see `Ranks`), node after node, increasing within each node.
    bounds : ndarray of int, shape (nodes + 1,)
        Node k owns ``position[bounds[k]:bounds[k + 1]]``; no node is empty.
    """

    position: NDArray[np.int32]
    bounds: NDArray[np.intp]

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Rows in each node."""
        return np.diff(self.bounds)

    @property
    def node(self) -> NDArray[np.intp]:
        """Index of the node of each position."""
        return np.repeat(np.arange(len(self.bounds) - 1), self.sizes)


@dataclass(frozen=True)
class LocalMass:
    """What each row of a level sees of its own node: weight below it, tied with it, above it."""

    weight: NDArray[np.float64]
    below: NDArray[np.float64]
    upto: NDArray[np.float64]
    total: NDArray[np.float64]
    run_start: NDArray[np.intp]
    run: NDArray[np.intp]
    start: NDArray[np.intp]
    end: NDArray[np.intp]

    def within(self, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Sum values over the rows of the node below each row, and over those above."""
        cumulative = np.concatenate(([0.0], np.cumsum(values)))
        run_end = np.append(self.run_start[1:], len(values))
        below = cumulative[self.run_start][self.run] - cumulative[self.start]
        above = cumulative[self.end] - cumulative[run_end][self.run]
        return below, above


def local_mass(ranks: Ranks, level: Level) -> LocalMass:
    """Locate each row among the rows of its node; ties in y share one place."""
    position, sizes = level.position, level.sizes
    group = ranks.group[position]
    new = np.empty(len(position), dtype=bool)
    new[0] = True
    np.not_equal(group[1:], group[:-1], out=new[1:])
    new[level.bounds[:-1]] = True
    run_start = np.flatnonzero(new)
    run = np.cumsum(new) - 1
    weight = ranks.weight[position]
    cumulative = np.concatenate(([0.0], np.cumsum(weight)))
    start, end = np.repeat(level.bounds[:-1], sizes), np.repeat(level.bounds[1:], sizes)
    run_end = np.append(run_start[1:], len(position))
    base = cumulative[start]
    return LocalMass(
        weight=weight,
        below=cumulative[run_start][run] - base,
        upto=cumulative[run_end][run] - base,
        total=cumulative[end] - base,
        run_start=run_start,
        run=run,
        start=start,
        end=end,
    )


def kendall_scores(ranks: Ranks, level: Level, mass: LocalMass) -> NDArray[np.float64]:
    """Weight of the node below a row minus weight above it: the sum is C − D of the split."""
    return mass.weight * (mass.below + mass.upto - mass.total)


def iauc_scores(ranks: Ranks, level: Level, mass: LocalMass) -> NDArray[np.float64]:
    """Weigh each pair by the weight of the whole sample strictly between its two responses.

    The pair weight is L of the higher minus H of the lower (theory §3), so ties need no care.
    """
    low, high = ranks.below[level.position], ranks.upto[level.position]
    below, _ = mass.within(mass.weight * high)
    _, above = mass.within(mass.weight * low)
    return mass.weight * (low * mass.below - below - above + high * (mass.total - mass.upto))


def crank_scores(ranks: Ranks, level: Level, mass: LocalMass) -> NDArray[np.float64]:
    """Label a row by whether its y lies above the node's median: the paper's subproblem.

    The cut is the distinct value nearest to half of the mass, so both labels occur whenever the
    node has two distinct responses, however heavy the ties.
    """
    off = np.abs(2.0 * mass.upto - mass.total)
    off[mass.upto >= mass.total] = np.inf
    nearest = np.minimum.reduceat(off, level.bounds[:-1])
    # the first of two equally near values: the lower cut
    at_cut = np.flatnonzero(off == np.repeat(nearest, level.sizes))
    first = at_cut[np.searchsorted(at_cut, level.bounds[:-1])]
    cut = np.repeat(mass.upto[first], level.sizes)
    return np.where(mass.upto > cut, mass.weight, -mass.weight)


def spearman_scores(ranks: Ranks, level: Level, mass: LocalMass) -> NDArray[np.float64]:
    """Midrank of y in the full sample, centred within the node."""
    midrank = (ranks.below[level.position] + ranks.upto[level.position]) / 2.0
    sums = np.add.reduceat(mass.weight * midrank, level.bounds[:-1])
    totals = np.add.reduceat(mass.weight, level.bounds[:-1])
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
