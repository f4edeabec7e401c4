"""Criteria: the response within a node, turned into one signed score a row (theory §4).

A criterion never sees X. The scores are antisymmetric over pairs, so pairs inside one side of a
split cancel and the gain of a split is a sum over its left side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crank import entries
from crank.entries import OWN, Entry
from crank.errors import (
    CrankError,
    DataError,
    OptionError,
    PluginError,
    did_you_mean,
    listed,
)
from crank.kernels.cuts import Layer, Objective
from crank.mass import LocalMass
from crank.metrics.figures import IAUC, KENDALL, Figure, figures
from crank.metrics.node_scores import iauc_scores, kendall_scores
from crank.ranks import Ranks

LeafOrder = Literal["oriented", "rank"]

Scores = Callable[[Ranks, Layer, LocalMass], NDArray[np.float64]]
"""``(ranks, layer, mass) -> ndarray``: one signed score for each row of the layer."""

GROUP = "crank.criteria"
"""The entry-point group under which distributions announce criteria."""

CONTRACTS = (1,)
"""Versions of the contract of criteria that this crank keeps; see docs/plugin-contract.md."""

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
        By which trees grown with it are pruned and validated: one whose gains add up over nodes.
    objective : {"sum", "variance"}
        What the best split maximises: |Σ left − Σ right| of the scores, or the variance of the
        scores explained by the split.
    leaf_order : {"oriented", "rank"}
        The order of the leaves where no cross-validation chooses it.
    least_distinct : int
        Fewest distinct responses that it can tell apart.
    additive : bool
        Whether a row's score is a sum over the pairs that it forms with the other rows of its
        node, so that the gains of a tree's splits add up to a figure of the whole tree.
    contract : int
        Version of the contract that it was written for.

    Examples
    --------
    >>> import crank
    >>> found = crank.criteria.get_criterion("kendall")
    >>> found.figure.name, found.objective, found.leaf_order, found.additive
    ('kendall', 'sum', 'oriented', True)
    """

    name: str
    description: str
    scores: Scores
    figure: Figure
    objective: Objective = "sum"
    leaf_order: LeafOrder = "oriented"
    least_distinct: int = 2
    additive: bool = False
    contract: int = 1

    def figure_for(self, ranks: Ranks) -> Figure:
        """Choose the figure to prune by, and refuse responses that cannot be ranked.

        A response with two distinct values has no triples: only d_τ, the AUC then, is defined.
        """
        distinct = require_distinct(ranks)
        if distinct < self.least_distinct:
            others = [c.name for c in criteria() if c.least_distinct <= distinct]
            raise DataError(
                f"criterion={self.name!r} needs at least {self._fewest} distinct "
                f"values of y; got {distinct}. Use another: {listed(others)}. On a binary y "
                "'kendall' maximises the AUC."
            )
        if self.figure.total(ranks) > 0.0:
            return self.figure
        return next(figure for figure in figures(of_trees=True) if figure.total(ranks) > 0.0)

    @property
    def _fewest(self) -> str:
        return {2: "two", 3: "three"}.get(self.least_distinct, str(self.least_distinct))


_CRITERIA: dict[str, Criterion] = {}


def register(criterion: Criterion) -> Criterion:
    """Make a criterion known by its name, for as long as the process runs."""
    if criterion.name in _CRITERIA:
        raise OptionError(f"a criterion named {criterion.name!r} exists already. Choose another.")
    _CRITERIA[criterion.name] = criterion
    return criterion


def criteria() -> tuple[Criterion, ...]:
    """Return crank's own criteria and those registered since, the default first."""
    return tuple(_CRITERIA.values())


def criterion_names() -> list[str]:
    """List what ``criterion=`` may be, installed plugins last; none of them is imported.

    Examples
    --------
    >>> criterion_names()[:5]
    ['auto', 'crank', 'kendall', 'iauc', 'spearman']
    """
    return [AUTO, *_CRITERIA, *(n for n in entries.known(GROUP) if n not in _CRITERIA)]


AUTO = "auto"
"""Lets the response choose between the paper's criterion and Kendall's τ."""

MOST_TIED = 0.1
"""Share of pairs tied in y up to which the paper's median subproblem serves; see docs/theory."""


def choose_criterion(
    name: str, ranks: Ranks, squares: float | None = None
) -> tuple[Criterion, str]:
    """Look a criterion up; "auto" takes the one that suits the ties in y, and says why.

    Where rows stand for several, ``squares`` is the sum of all rows' squared weights.

    Examples
    --------
    >>> import numpy as np
    >>> from crank.ranks import rank
    >>> criterion, because = choose_criterion("auto", rank(np.array([0.0, 0.0, 0.0, 1.0])))
    >>> criterion.name, because
    ('kendall', 'y has two distinct values')
    """
    if name != AUTO:
        announced = entries.known(GROUP).get(name)
        if announced is not None and name in _CRITERIA:
            announced.warn_of_rivals()
        return get_criterion(name), ""
    tied = tied_pairs(ranks, squares)
    if ranks.n_distinct == 2:
        return _CRITERIA["kendall"], "y has two distinct values"
    share = f"{100.0 * tied:.2g}% of all pairs are tied in y" if tied else "no pairs are tied in y"
    return _CRITERIA["kendall" if tied > MOST_TIED else "crank"], share


def tied_pairs(ranks: Ranks, squares: float | None = None) -> float:
    """Share of the pairs of rows, by weight, whose responses are equal; without rounding errors."""
    same = float((ranks.weight**2).sum()) if squares is None else squares
    pairs = (ranks.total**2 - same) / 2.0
    return max(round(1.0 - ranks.pairs / pairs, 9), 0.0) if pairs > 0.0 else 0.0


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
    if isinstance(name, str):
        if name in _CRITERIA:  # a built-in keeps its name, and needs no look at the metadata
            return _CRITERIA[name]
        entry = entries.look_up(GROUP, name)
        if entry is not None:
            return from_entry(entry, name)
    names = criterion_names()
    raise OptionError(
        f"no criterion named {name!r}. Allowed: {listed(names)}.{did_you_mean(name, names)}"
    )


def from_entry(entry: Entry, name: str) -> Criterion:
    """Load an installed criterion, held to its form; ``name`` is what models will call it."""
    found: Any = entry.load()
    problem = form_problem(found)
    if problem is not None:
        raise PluginError(f"criterion {entry.label} {problem} Ask for a new version.")
    if entry.distribution == OWN:
        return _CRITERIA[found.name]
    criterion: Criterion = found
    return replace(criterion, name=name, scores=Guarded(criterion.scores, entry.label))


def form_problem(found: object) -> str | None:
    """Say what keeps an object from being used as a criterion; None if nothing does."""
    if not isinstance(found, Criterion):
        return f"is {found!r}. Allowed: a crank.criteria.Criterion."
    if type(found.contract) is not int or found.contract not in CONTRACTS:
        return f"has contract = {found.contract!r}. Allowed: {listed(CONTRACTS)}."
    if not callable(found.scores):
        return f"has scores = {found.scores!r}. Allowed: a function of (ranks, layer, mass)."
    own = figures(of_trees=True)
    if found.figure not in own:
        allowed = ", ".join(f.name.upper() for f in own)
        return f"has figure = {found.figure!r}. Allowed: {allowed} of crank.metrics.figures."
    for option, allowed_values in (
        ("objective", ("sum", "variance")),
        ("leaf_order", ("oriented", "rank")),
    ):
        value = getattr(found, option)
        if value not in allowed_values:
            return f"has {option} = {value!r}. Allowed: {listed(map(repr, allowed_values))}."
    return None


@dataclass(frozen=True)
class Guarded:
    """The scores of a plugin's criterion: what goes wrong in them is said to be the plugin's."""

    scores: Scores
    label: str

    def __call__(self, ranks: Ranks, layer: Layer, mass: LocalMass) -> NDArray[np.float64]:
        """Score the rows, and hold the answer to its form."""
        try:
            found = self.scores(ranks, layer, mass)
        except CrankError:
            raise
        except (Exception, SystemExit) as cause:
            raise PluginError(
                f"criterion {self.label} failed: {type(cause).__name__}: {cause}. {_ADVICE}"
            ) from cause
        problem = scores_problem(found, len(layer.position))
        if problem is not None:
            raise PluginError(f"criterion {self.label} gave {problem} {_ADVICE}")
        return found


_ADVICE = "crank.testing.check_criterion tells its author more."


def scores_problem(found: object, n: int) -> str | None:
    """Say what is wrong with the form of a layer's scores; None if nothing is."""
    if not isinstance(found, np.ndarray) or found.dtype != np.float64:
        form = f"an array of {found.dtype}" if isinstance(found, np.ndarray) else f"{found!r:.60}"
        return f"{form}, not an array of float64."
    if found.shape != (n,):
        return f"scores of shape {found.shape} for {n} rows."
    odd = int(np.count_nonzero(~np.isfinite(found)))
    return f"{odd} of {n} scores that are NaN or infinite." if odd else None


CRANK = register(Criterion("crank", "accuracy of the median subproblem", crank_scores, IAUC))
KENDALL_TAU = register(
    Criterion("kendall", "Kendall's τ of the whole tree", kendall_scores, KENDALL, additive=True)
)
TRIPLES = register(
    Criterion(
        *("iauc", "IAUC of the whole tree", iauc_scores, IAUC),
        least_distinct=3,
        additive=True,
    )
)
SPEARMAN = register(
    Criterion(
        *("spearman", "variance of ranks, as CART", spearman_scores, IAUC),
        objective="variance",
        leaf_order="rank",
    )
)
