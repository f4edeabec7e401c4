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

from crank.errors import DataError, OptionError, did_you_mean, listed
from crank.kernels.cuts import Layer, Objective
from crank.mass import LocalMass
from crank.metrics.figures import IAUC, KENDALL, Figure, figures
from crank.metrics.node_scores import iauc_scores, kendall_scores
from crank.ranks import Ranks

LeafOrder = Literal["oriented", "rank"]

ROUNDING = 1e-12
"""Sums that differ by no more than this share of their scale count as equal."""


def crank_scores(ranks: Ranks, layer: Layer, mass: LocalMass) -> NDArray[np.float64]:
    """Label a row by whether its y lies above the node's median: the paper's subproblem.

    The cut is the distinct value nearest to half of the mass, so both labels occur whenever the
    node has two distinct responses, however heavy the ties. Of two equally near values the upper
    one is the cut: with an odd number of rows, the median, which is not above itself.
    """
    if ranks.are_positions:
        return np.asarray(2.0 * (2.0 * mass.below >= mass.total) - 1.0, dtype=np.float64)
    if ranks.unweighted:
        above = layer.within >= layer.spread_out(_median_cut(layer, mass))
        return np.asarray(2.0 * above - 1.0, dtype=np.float64)
    off = np.abs(2.0 * mass.upto - mass.total)
    off[mass.past == mass.end] = np.inf
    nearest = np.minimum.reduceat(off, layer.starts) + ROUNDING * mass.total[layer.starts]
    at_cut = np.flatnonzero(off <= layer.spread_out(nearest))
    last = at_cut[np.searchsorted(at_cut, layer.bounds[1:]) - 1]
    above = mass.first >= layer.spread_out(mass.past[last])
    return np.where(above, mass.weight, -mass.weight)


def _median_cut(layer: Layer, mass: LocalMass) -> NDArray[np.intp]:
    """Find the first row of each node above its cut, from the middle outwards; without weights."""
    start, size = layer.starts, layer.sizes
    high = mass.past[start + (size + 1) // 2 - 1] - start
    low = mass.first[start + size // 2] - start
    lower = (high == size) | ((low > 0) & (size - 2 * low < 2 * high - size))
    return np.asarray(np.where(lower, np.where(low > 0, low, size), high))


def spearman_scores(ranks: Ranks, layer: Layer, mass: LocalMass) -> NDArray[np.float64]:
    """Midrank of y in the full sample, centred within the node."""
    midrank = (ranks.below[layer.position] + ranks.upto[layer.position]) / 2.0
    sums = np.add.reduceat(mass.weight * midrank, layer.starts)
    totals = np.add.reduceat(mass.weight, layer.starts)
    return mass.weight * (midrank - layer.spread_out(sums / totals))


def require_distinct(ranks: Ranks) -> int:
    """Return the number of distinct responses; raise if there is one only."""
    if ranks.n_distinct < 2:
        raise DataError(
            f"y is constant ({ranks.y[0]:g} in {len(ranks.y)} rows): there is nothing to rank. "
            "Allowed: at least two distinct values."
        )
    return ranks.n_distinct


@dataclass(frozen=True)
class Criterion:
    """A named way to score the rows of a node, and what follows from it for the tree.

    Attributes
    ----------
    name, description : str
    scores : callable
        ``(ranks, layer, mass) -> ndarray``, case weights included.
    figure : Figure
        By which trees grown with it are pruned and validated.
    objective : {"sum", "variance"}
        What the best split maximises: |Σ left − Σ right| of the scores, or the variance of the
        scores explained by the split.
    leaf_order : {"oriented", "rank"}
        The order of the leaves where no cross-validation chooses it.
    least_distinct : int
        Fewest distinct responses that it can tell apart.
    """

    name: str
    description: str
    scores: Callable[[Ranks, Layer, LocalMass], NDArray[np.float64]]
    figure: Figure
    objective: Objective = "sum"
    leaf_order: LeafOrder = "oriented"
    least_distinct: int = 2

    def figure_for(self, ranks: Ranks) -> Figure:
        """Choose the figure to prune by, and refuse responses that cannot be ranked.

        A response with two distinct values has no triples: only d_τ, the AUC then, is defined.
        """
        distinct = require_distinct(ranks)
        if distinct < self.least_distinct:
            others = [c.name for c in criteria() if c.least_distinct <= distinct]
            raise DataError(
                f"criterion={self.name!r} needs at least {_WORDS[self.least_distinct]} distinct "
                f"values of y; got {distinct}. Use another: {listed(others)}. On a binary y "
                "'kendall' maximises the AUC."
            )
        if self.figure.total(ranks) > 0.0:
            return self.figure
        return next(figure for figure in figures(of_trees=True) if figure.total(ranks) > 0.0)


_WORDS = {2: "two", 3: "three"}
_CRITERIA: dict[str, Criterion] = {}


def register(criterion: Criterion) -> Criterion:
    """Make a criterion known by its name."""
    if criterion.name in _CRITERIA:
        raise OptionError(f"a criterion named {criterion.name!r} exists already. Choose another.")
    _CRITERIA[criterion.name] = criterion
    return criterion


def criteria() -> tuple[Criterion, ...]:
    """Return all criteria, the default first."""
    return tuple(_CRITERIA.values())


AUTO = "auto"
"""Lets the response choose between the paper's criterion and Kendall's τ."""

MOST_TIED = 0.1
"""Share of pairs tied in y up to which the paper's median subproblem serves; see docs/theory."""


def choose_criterion(name: str, ranks: Ranks) -> tuple[Criterion, str]:
    """Look a criterion up; "auto" takes the one that suits the ties in y, and says why.

    Examples
    --------
    >>> import numpy as np
    >>> from crank.ranks import rank
    >>> criterion, because = choose_criterion("auto", rank(np.array([0.0, 0.0, 0.0, 1.0])))
    >>> criterion.name, because
    ('kendall', 'y has two distinct values')
    """
    if name != AUTO:
        return get_criterion(name), ""
    tied = tied_pairs(ranks)
    if ranks.n_distinct == 2:
        return _CRITERIA["kendall"], "y has two distinct values"
    share = f"{100.0 * tied:.2g}% of all pairs are tied in y" if tied else "no pairs are tied in y"
    return _CRITERIA["kendall" if tied > MOST_TIED else "crank"], share


def tied_pairs(ranks: Ranks) -> float:
    """Share of the pairs of rows, by weight, whose responses are equal."""
    pairs = (ranks.total**2 - float((ranks.weight**2).sum())) / 2.0
    return max(1.0 - ranks.pairs / pairs, 0.0) if pairs > 0.0 else 0.0


def check_criterion(name: object) -> None:
    """Raise unless there is a criterion of that name, or it is "auto"."""
    if name != AUTO:
        get_criterion(name)  # type: ignore[arg-type]  # it refuses what is no name


def get_criterion(name: str) -> Criterion:
    """Look a criterion up by name.

    Examples
    --------
    >>> get_criterion("kendall").description
    "Kendall's τ of the whole tree"
    """
    try:
        return _CRITERIA[name]
    except (KeyError, TypeError):
        raise OptionError(
            f"no criterion named {name!r}. Allowed: {listed([AUTO, *_CRITERIA])}."
            f"{did_you_mean(name, [AUTO, *_CRITERIA])}"
        ) from None


register(Criterion("crank", "accuracy of the median subproblem", crank_scores, IAUC))
register(Criterion("kendall", "Kendall's τ of the whole tree", kendall_scores, KENDALL))
register(Criterion("iauc", "IAUC of the whole tree", iauc_scores, IAUC, least_distinct=3))
register(
    Criterion(
        *("spearman", "variance of ranks, as CART", spearman_scores, IAUC),
        objective="variance",
        leaf_order="rank",
    )
)
