"""The figures that judge a ranking: what each is called, what it counts, how it is estimated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crank.errors import OptionError, did_you_mean, listed
from crank.kernels.cuts import Layer
from crank.mass import LocalMass
from crank.metrics.jackknife import iauc_influences, kendall_influences
from crank.metrics.node_scores import iauc_scores, kendall_scores
from crank.metrics.pairs import kendall_rate
from crank.metrics.profile import Weighting, check_weighting, integrated
from crank.metrics.sample import Sample, read_sample
from crank.ranks import Ranks

if TYPE_CHECKING:
    from crank.metrics.inference import Concordance

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Figure:
    """A rate of correctly ordered pairs or triples: 1 for a perfect order, ½ for a random one.

    Attributes
    ----------
    name : str
        What users write.
    label, text, title : str
        What people read: with Greek letters, in ASCII, and spelt out beside an axis.
    gain_label, gain_text : str
        What a tree's gains add up to: twice the figure, minus one.
    metric, weighting : str, str or None
        The metric it is one form of, and which form: the thresholds' weighting of an IAUC.
    members : int
        Observations in one comparison, 2 for pairs and 3 for triples: as many distinct responses
        it takes.
    total : callable
        ``(ranks) -> float``: weight of all comparisons.
    rate : callable
        ``(sample) -> float``: the estimate.
    influences : callable
        ``(sample) -> (float, ndarray)``: the estimate and the influence of each row on it.
    bearing : float
        How much of the independent pairs bears on it, for intervals in small samples; see
        `crank.metrics.intervals.evidence`.
    node_scores : callable or None
        ``(ranks, layer, mass) -> ndarray``: scores whose sum over the left side of a split is what
        the split adds; None if gains do not add up over the nodes of a tree.
    """

    name: str
    label: str
    text: str
    title: str
    gain_label: str
    gain_text: str
    metric: str
    members: int
    total: Callable[[Ranks], float] = field(repr=False)
    rate: Callable[[Sample], float] = field(repr=False)
    influences: Callable[[Sample], tuple[float, FloatArray]] = field(repr=False)
    node_scores: Callable[[Ranks, Layer, LocalMass], FloatArray] | None = field(
        default=None, repr=False
    )
    weighting: Weighting | None = None
    bearing: float = 1.0

    def __reduce__(self) -> tuple[Any, ...]:
        return get_figure, (self.name,)  # a pickled model names its figure

    @property
    def full_label(self) -> str:
        """The label with the weighting, if there is one to tell apart."""
        return self.label if self.weighting is None else f"IAUC ({self.weighting})"

    def read(
        self, y: ArrayLike, s: ArrayLike, weights: ArrayLike | None = None, score_name: str = "s"
    ) -> Sample:
        """Read the arguments that the figure is to be computed from."""
        return read_sample(
            y, s, weights, distinct=self.members, purpose=self.name, score_name=score_name
        )

    def estimate(self, y: ArrayLike, s: ArrayLike, weights: ArrayLike | None = None) -> float:
        """Compute the figure of a score."""
        return self.rate(self.read(y, s, weights))

    def influence(
        self, y: ArrayLike, s: ArrayLike, weights: ArrayLike | None = None
    ) -> tuple[float, FloatArray]:
        """Compute the figure and the influence of each row on it; 0 for rows of weight 0."""
        sample = self.read(y, s, weights)
        estimate, found = self.influences(sample)
        influence = np.zeros(sample.n_given)
        influence[sample.kept] = found
        return estimate, influence

    def concordance(
        self,
        y: ArrayLike,
        s: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        groups: Any = None,
        alpha: float = 0.05,
    ) -> Concordance:
        """Compute the figure of a score with standard error and interval."""
        from crank.metrics.inference import figure_concordance

        return figure_concordance(self, y, s, weights=weights, groups=groups, alpha=alpha)


_FIGURES: dict[str, Figure] = {}


def register(figure: Figure) -> Figure:
    """Make a figure known by its name."""
    if figure.name in _FIGURES:
        raise OptionError(f"a figure named {figure.name!r} exists already. Choose another name.")
    _FIGURES[figure.name] = figure
    return figure


def figures(*, of_trees: bool = False) -> tuple[Figure, ...]:
    """Return all figures, or those whose gains add up over the nodes of a tree."""
    every = _FIGURES.values()
    return tuple(f for f in every if f.node_scores is not None or not of_trees)


def get_figure(name: Any, *, of_trees: bool = False, option: str = "metric") -> Figure:
    """Look a figure up by name; a figure stands for itself.

    Examples
    --------
    >>> get_figure("kendall").label
    'd_τ'
    """
    if isinstance(name, Figure):
        return name
    known = {figure.name: figure for figure in figures(of_trees=of_trees)}
    if not isinstance(name, str) or name not in known:
        raise OptionError(
            f"{option}={name!r} is not allowed. Allowed: {listed(map(repr, known))}."
            f"{did_you_mean(name, known)}"
        )
    return known[name]


def figure_of(metric: str | Figure, weighting: Weighting = "triple") -> Figure:
    """Find the figure that a metric and a weighting of its thresholds name together.

    Examples
    --------
    >>> figure_of("iauc", "uniform").name, figure_of("kendall", "uniform").name
    ('iauc_uniform', 'kendall')
    """
    check_weighting(weighting)
    figure = get_figure(metric)
    return _FIGURES.get(f"{figure.name}_{weighting}", figure)


KENDALL = register(
    Figure(
        name="kendall",
        label="d_τ",
        text="d_tau",
        title=r"$d_\tau$ (rate of concordant pairs)",
        gain_label="Kendall's τ",
        gain_text="Kendall's tau (with tied scores, Somers' D)",
        metric="kendall",
        members=2,
        total=lambda ranks: ranks.pairs,
        rate=kendall_rate,
        influences=kendall_influences,
        node_scores=kendall_scores,
    )
)
IAUC = register(
    Figure(
        name="iauc",
        label="IAUC",
        text="IAUC",
        title="IAUC",
        gain_label="2 IAUC − 1",
        gain_text="2 IAUC - 1",
        metric="iauc",
        members=3,
        total=lambda ranks: ranks.triples,
        rate=lambda sample: integrated(sample, "triple"),
        influences=lambda sample: iauc_influences(sample, "triple"),
        node_scores=iauc_scores,
        weighting="triple",
    )
)
IAUC_UNIFORM = register(
    Figure(
        name="iauc_uniform",
        label="IAUC (uniform)",
        text="IAUC (uniform)",
        title="IAUC (uniform)",
        gain_label="2 IAUC − 1",
        gain_text="2 IAUC - 1",
        metric="iauc",
        members=3,
        total=lambda ranks: ranks.triples,
        rate=lambda sample: integrated(sample, "uniform"),
        influences=lambda sample: iauc_influences(sample, "uniform"),
        weighting="uniform",
        bearing=0.5,
    )
)
