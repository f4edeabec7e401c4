"""The booster: a sum of many small trees in whole numbers, and how its length was chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from crank.checks import one_of, positive, whole
from crank.errors import OptionError
from crank.growing.matrix import FloatArray
from crank.kernels.descent import NodeTable
from crank.kernels.shapley import shapley_values
from crank.kernels.threads import count
from crank.metrics.figures import Figure, get_figure
from crank.rankers.base import Ranker
from crank.rankers.directions import in_words, signs_of
from crank.rankers.validation import spread_over_folds

LOSSES = ("concordance", "rank", "y")
TREES = ("small", "large")
EXACT = 2**24
"""What the largest values of all trees may add up to: sums are exact even in single precision."""


@dataclass(frozen=True)
class BoosterOptions:
    """How a booster is fitted.

    Attributes
    ----------
    loss : {"concordance", "rank", "y"}
        What is boosted: the logistic loss of all pairs, or squared error on the ranks of y or on
        y itself.
    kappa : float
        How steep the targets of the pairs are, for the loss "concordance"; infinite for 0 and 1.
    rounds : int or None
        Number of trees; None lets cross-validation choose it.
    max_rounds, patience : int
        Most trees that are tried, and how many in vain before no more are.
    trees : {"small", "large"}
        Settings of the engine to start from.
    params : mapping
        Settings of the engine that replace those.
    metric : str
        Figure by which rounds are chosen.
    cv : int or None
        Folds; None lets the number of rows decide.
    monotone : mapping of str, optional
        "increasing" or "decreasing" for columns in which the score must be monotone.
    interaction : sequence of sequences of str, or "none", optional
        Columns that may act together; "none" if none may.
    random_state : int
    n_jobs : int
    """

    loss: Literal["concordance", "rank", "y"] = "concordance"
    kappa: float = 10.0
    rounds: int | None = None
    max_rounds: int = 1000
    patience: int = 50
    trees: Literal["small", "large"] = "small"
    params: Mapping[str, Any] = field(default_factory=dict)
    metric: str = "kendall"
    cv: int | None = None
    monotone: Mapping[str, str] | None = None
    interaction: Sequence[Sequence[str]] | Literal["none"] | None = None
    random_state: int = 0
    n_jobs: int = 1

    def __post_init__(self) -> None:
        one_of("loss", self.loss, LOSSES)
        if not (isinstance(self.kappa, int | float) and self.kappa == math.inf):
            object.__setattr__(self, "kappa", positive("kappa", self.kappa))
        if self.rounds is not None:
            whole("rounds", self.rounds, 1, remedy="Use None to choose by cross-validation.")
        whole("max_rounds", self.max_rounds, 1)
        whole("patience", self.patience, 1)
        one_of("trees", self.trees, TREES)
        object.__setattr__(self, "metric", get_figure(self.metric).name)
        if self.cv is not None:
            whole("cv", self.cv, 2)
        whole("random_state", self.random_state, 0)
        if self.n_jobs != -1:
            whole("n_jobs", self.n_jobs, 1, remedy="Use -1 for one thread a core.")
        if not isinstance(self.params, Mapping):
            raise OptionError(
                f"params={self.params!r} is not allowed. Allowed: a mapping of settings of "
                "LightGBM, such as {'num_leaves': 15}."
            )
        # NumPy's numbers and arrays become Python's, which files can hold
        for name in ("rounds", "max_rounds", "patience", "cv", "random_state", "n_jobs"):
            given = getattr(self, name)
            object.__setattr__(self, name, None if given is None else int(given))
        of_python = {
            name: value.tolist() if isinstance(value, np.generic | np.ndarray) else value
            for name, value in self.params.items()
        }
        object.__setattr__(self, "params", of_python)
        object.__setattr__(self, "monotone", in_words(self.monotone))
        if self.interaction is not None and self.interaction != "none":
            object.__setattr__(self, "interaction", _sets(self.interaction))

    @property
    def figure(self) -> Figure:
        """The figure by which rounds are chosen."""
        return get_figure(self.metric)

    @property
    def directions(self) -> dict[str, int]:
        """1 or −1 for each column in which the score must be monotone."""
        return signs_of(self.monotone)

    @property
    def threads(self) -> int:
        """Number of threads, resolved."""
        return count(self.n_jobs)


def _sets(interaction: Any) -> list[list[Any]]:
    """Take sets of columns as lists."""
    lists = isinstance(interaction, Sequence) and not isinstance(interaction, str)
    if not lists or any(
        isinstance(one, str) or not isinstance(one, Sequence) for one in interaction
    ):
        raise OptionError(
            f"interaction={interaction!r} is not allowed. Allowed: sets of columns that may act "
            "together, such as [['x1', 'x2'], ['x3', 'x4']], or 'none'."
        )
    return [list(one) for one in interaction]


@dataclass(frozen=True, eq=False)
class Rounds:
    """What cross-validation says of each number of rounds that was looked at.

    The best is chosen by these figures, so its own is optimistic; the figure of the whole
    procedure is `TrainingInfo.crossvalidated`.

    Attributes
    ----------
    rounds : ndarray of int, shape (k,)
    heldout : ndarray of shape (folds, k)
        Held-out figure; NaN where a fold has none.
    """

    rounds: NDArray[np.intp]
    heldout: NDArray[np.float64]

    @property
    def estimate(self) -> NDArray[np.float64]:
        """Mean held-out figure of each number of rounds."""
        return mean_over_folds(self.heldout)

    @property
    def se(self) -> NDArray[np.float64]:
        """Spread over the folds, as a standard error of the mean."""
        return spread_over_folds(self.heldout, 1)

    @property
    def best(self) -> int:
        """Position of the best number of rounds."""
        return int(np.argmax(self.estimate))


def mean_over_folds(heldout: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average over the folds (rows) that have a figure; a half, that of chance, if none has."""
    known = ~np.isnan(heldout)
    sums, counts = np.where(known, heldout, 0.0).sum(axis=0), known.sum(axis=0)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), 0.5))


@dataclass(frozen=True, eq=False)
class BoosterRanker(Ranker):
    """A sum of trees whose leaves hold whole numbers: exact in any order and in any runtime.

    Attributes
    ----------
    options : BoosterOptions
    nodes : NodeTable
        All trees, values in units of `quantum`.
    quantum : float
        A power of two; the score is the sum times it.
    gain : ndarray of shape (p,)
        What the splits on each column gained in the loss.
    validation : Rounds or None
        What cross-validation found; None if the rounds were given.
    cover : ndarray of int, shape (nodes,), or None
        Training rows in each node; None in files of earlier versions.
    """

    kind: ClassVar[str] = "booster"

    options: BoosterOptions
    nodes: NodeTable
    quantum: float
    gain: NDArray[np.float64]
    validation: Rounds | None = None
    cover: NDArray[np.int64] | None = None

    @property
    def takes_missing(self) -> bool:
        """Missing values go the way that was better in training."""
        return True

    @property
    def made_by(self) -> str:
        """Name it in messages."""
        return "a booster"

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.nodes.roots)

    def predict(self, X: FloatArray, type: str = "score") -> NDArray[Any]:
        """Sum the trees."""
        return self.nodes.sum(X) * self.quantum

    def contributions(self, X: FloatArray) -> tuple[NDArray[np.float64], float]:
        """Return the Shapley values of the trees."""
        if self.cover is None:
            raise OptionError(
                "the file of this booster does not say how many training rows its nodes have, "
                "which Shapley values need: an earlier version wrote it. Fit it again."
            )
        values, base = shapley_values(self.nodes, self.cover.astype(np.float64), X)
        return values * self.quantum, base * self.quantum


def in_whole_numbers(nodes: NodeTable) -> tuple[NodeTable, float]:
    """Round leaf values to multiples of a power of two, so that sums are exact.

    Examples
    --------
    >>> stump = NodeTable([0, 0, 0], [0.5, 0, 0], [1, 1, 2], [2, 1, 2], [True, False, False],
    ...                   value=[0.0, -0.1, 0.3], roots=[0])
    >>> whole, quantum = in_whole_numbers(stump)
    >>> whole.value.tolist(), quantum == 2.0**-25
    ([0, -3355443, 10066330], True)
    """
    from dataclasses import replace

    leaf = ~nodes.inner & (nodes.tree >= 0)
    largest = np.zeros(len(nodes.roots))
    np.maximum.at(largest, nodes.tree[leaf], np.abs(nodes.value[leaf]))
    # every value may be rounded up by half a unit
    room = EXACT - len(largest)
    total = float(largest.sum())
    exponent = math.ceil(math.log2(total / room)) if total > 0.0 else 0
    quantum = math.ldexp(1.0, exponent)
    value = np.where(leaf, np.rint(nodes.value / quantum), 0.0).astype(np.int64)
    return replace(nodes, value=value), quantum
