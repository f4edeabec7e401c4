"""The forest: trees on bags of rows, whose leaves vote with their mean rank."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from crank.checks import flag, one_of, whole
from crank.criteria import AUTO, check_criterion
from crank.errors import OptionError
from crank.growing.matrix import FloatArray
from crank.growing.tree import MAX_DEPTH
from crank.kernels.threads import count
from crank.rankers.base import Ranker
from crank.rankers.directions import in_words, signs_of
from crank.rankers.tree import LearnerInfo
from crank.rankers.validation import Estimate
from crank.rankers.votes import GRID, VoteTrees
from crank.rankers.ways import Choice, Way

MOST_TREES = 10_000
MOST_RUNGS = 1024
"""Responses that a forest keeps, evenly spread over their order, for quantiles."""
BLOCK = 2**21
"""Leaves that are looked up at a time."""
IN_TURNS: Mapping[str, tuple[str, ...]] = {
    "best": ("best",),
    "random": ("random",),
    "mixed": ("best", "random"),
}
"""Thresholds of one tree after another, which begin anew."""
SHARES = {"lower": 0.25, "median": 0.5, "upper": 0.75}


@dataclass(frozen=True)
class ForestOptions:
    """How a forest is grown; see `crank.forest`."""

    n_trees: int = 500
    criterion: str = AUTO
    max_depth: int = 30
    min_samples_leaf: int | Literal["auto"] = "auto"
    max_features: int | float | Literal["auto", "sqrt"] | None = "auto"
    thresholds: Literal["auto", "best", "random", "mixed"] = "auto"
    bootstrap: bool = True
    max_samples: float | None = None
    random_state: int | None = 0
    n_jobs: int = -1
    monotone: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        whole("n_trees", self.n_trees, 1, MOST_TREES)
        check_criterion(self.criterion)
        whole("max_depth", self.max_depth, 1, MAX_DEPTH)
        if self.min_samples_leaf != AUTO:
            whole("min_samples_leaf", self.min_samples_leaf, 1)
        self._check_features()
        one_of("thresholds", self.thresholds, (AUTO, *IN_TURNS))
        flag("bootstrap", self.bootstrap)
        if self.max_samples is not None and not _is_share(self.max_samples):
            raise OptionError(
                f"max_samples={self.max_samples!r} is not allowed. Allowed: a share of the rows "
                "above 0 and up to 1, or None."
            )
        if self.random_state is not None:
            whole("random_state", self.random_state, 0)
        if self.n_jobs != -1:
            whole("n_jobs", self.n_jobs, 1, remedy="Use -1 for one thread a core.")
        object.__setattr__(self, "monotone", in_words(self.monotone))

    def _check_features(self) -> None:
        value = self.max_features
        if value is None or value in (AUTO, "sqrt"):
            return
        if isinstance(value, float) and _is_share(value):
            return
        if isinstance(value, str | float):
            raise OptionError(
                f"max_features={value!r} is not allowed. Allowed: 'auto', 'sqrt', a number of "
                "columns, a share of them above 0 and up to 1, or None for all."
            )
        whole("max_features", value, 1)

    @property
    def directions(self) -> dict[str, int]:
        """1 or −1 for each column in which the score must be monotone."""
        return signs_of(self.monotone)

    @property
    def threads(self) -> int:
        """Number of threads, resolved."""
        return count(self.n_jobs)

    @property
    def share(self) -> float:
        """Share of the rows that a bag draws."""
        if self.max_samples is not None:
            return float(self.max_samples)
        return 1.0 if self.bootstrap else 0.632

    def features_of(self, d: int) -> int:
        """Columns that a node looks at, of d."""
        value = self.max_features
        if value is None:
            return d
        if value == "sqrt":
            return max(1, math.isqrt(d))
        if value == AUTO:
            return max(1, math.ceil(d * AUTO_FEATURES))
        if isinstance(value, float):
            return max(1, math.ceil(d * value))
        return min(int(value), d)

    def leaf_of(self, n: int) -> int:
        """Fewest draws in a leaf, of n rows."""
        if self.min_samples_leaf == AUTO:
            return auto_leaf(n)
        return int(self.min_samples_leaf)

    def settled(self, way: Way) -> ForestOptions:
        """Return the options with one way to grow the trees."""
        return replace(
            self,
            thresholds=way.thresholds,
            min_samples_leaf=way.min_samples_leaf,
            max_features=way.max_features,
        )

    @property
    def in_turns(self) -> tuple[ForestOptions, ...]:
        """The options of the trees, which take turns if thresholds are mixed."""
        kinds = IN_TURNS.get(self.thresholds, ("best",))
        return tuple(replace(self, thresholds=kind) for kind in kinds)  # type: ignore[arg-type]  # words of the literal

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain data; without `monotone` if no column is."""
        options = {item.name: getattr(self, item.name) for item in fields(self)}
        if self.monotone is None:
            del options["monotone"]
        return options


AUTO_FEATURES = 0.6
"""Share of the columns that "auto" looks at in a node; measured, see docs/design/forest.md."""


def auto_leaf(n: int) -> int:
    """Fewest draws in a leaf that "auto" chooses; measured, see docs/design/forest.md."""
    return 2 if n < 10_000 else 5


def _is_share(value: object) -> bool:
    number = isinstance(value, float | int | np.floating) and not isinstance(value, bool)
    return number and 0.0 < float(value) <= 1.0  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class ForestRanker(Ranker):
    """A forest.

    Attributes
    ----------
    options : ForestOptions
    learner : LearnerInfo
    criterion, because : str
        By which trees were grown, and why "auto" chose it.
    trees : ColumnTrees or RuleTrees
    rungs : ndarray
        Training responses, increasing: all distinct ones if they are few, else evenly spread over
        their order.
    oob : mapping of str to Estimate
        Figures of the votes of trees whose bag lacked the row; empty if there are no such rows.
    n_oob : int
        Rows that some bag lacked.
    choice : Choice, optional
        How "auto" was settled; absent from files of older versions, which had fixed rules.
    """

    kind: ClassVar[str] = "forest"
    predictions: ClassVar[tuple[str, ...]] = ("score", "quantile", "median", "lower", "upper")

    options: ForestOptions
    learner: LearnerInfo
    criterion: str
    because: str
    trees: VoteTrees
    rungs: NDArray[np.float64]
    oob: Mapping[str, Estimate] = field(default_factory=dict)
    n_oob: int = 0
    choice: Choice | None = None

    def settled(self, n: int) -> ForestOptions:
        """Return the options with nothing left to be chosen, for n training rows."""
        if self.choice is None:
            return replace(self.options, min_samples_leaf=self.options.leaf_of(n))
        return self.options.settled(self.choice.way)

    @property
    def takes_missing(self) -> bool:
        """Whether its learner does."""
        return self.learner.takes_missing

    @property
    def made_by(self) -> str:
        """Name the learner."""
        return f"learner {self.learner.name!r}"

    def predict(self, X: FloatArray, type: str = "score") -> NDArray[Any]:
        """Return the sum of votes of each row, their mean from 0 to 1, or a quantile of y."""
        if type in SHARES:
            return self.quantiles(X, [SHARES[type]])[:, 0]
        votes = self.trees.sums(X, self.options.threads).astype(np.float64)
        return votes if type == "score" else votes / (GRID * len(self.trees))

    def contributions(self, X: FloatArray) -> tuple[NDArray[np.float64], float]:
        """Return the Shapley values of the votes."""
        return self.trees.shapley(X)

    def quantiles(self, X: FloatArray, shares: Any) -> NDArray[np.float64]:
        """Return quantiles of the responses that the row's leaves drew, shape (n, shares)."""
        at = quantile_places(shares, len(self.trees))
        found = np.empty((len(X), len(at)))
        rows = max(1, BLOCK // len(self.trees))
        for start in range(0, len(X), rows):
            here = slice(start, start + rows)
            rung = np.sort(self.trees.drawn[self.trees.leaves(X[here])], axis=1)
            found[here] = self.rungs[rung[:, at]]
        return found

    def proximity(self, X: FloatArray, other: FloatArray) -> NDArray[np.float64]:
        """Share of the trees in which two rows share a leaf, shape (len(X), len(other))."""
        near = np.zeros((len(X), len(other)))
        for a, b in zip(self.trees.leaves(X).T, self.trees.leaves(other).T, strict=True):
            near += a[:, None] == b[None, :]
        return np.asarray(near / len(self.trees))


def quantile_places(shares: Any, trees: int) -> NDArray[np.intp]:
    """Where quantiles stand among sorted responses: R's type 1, the inverse of the distribution.

    Examples
    --------
    >>> quantile_places([0.0, 0.25, 0.5, 1.0], 4).tolist()
    [0, 0, 1, 3]
    """
    at = np.ceil(np.asarray(shares, dtype=np.float64) * trees - 1e-9).astype(np.intp) - 1
    return np.clip(at, 0, trees - 1)
