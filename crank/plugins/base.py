"""The contract of split learners: all that a plugin author has to read.

A tree asks its learner one question at each node: given the rows of the node with a label ±1 and
a weight each, which rows belong on the high side? Any weighted binary classifier can answer
(theory §4). The learner sees neither the response nor the criterion, and the grower owns
everything else: orientation, minimum leaf size, stopping.

A plugin is a class derived from `SplitLearner`, published under the entry-point group
``crank.learners``; `crank.testing.check_learner` tells its author whether it keeps the contract.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crank.errors import CrankError
from crank.kernels.routing import ColumnTest

if TYPE_CHECKING:
    from crank.splitter import Splitter

FloatArray = NDArray[np.floating[Any]]


class NotExportableError(CrankError, TypeError):
    """A rule cannot be written in the format that was asked for."""


@dataclass(frozen=True)
class TrainingMatrix:
    """The design on which one tree is grown.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Design columns, float64 or float32. NaN is a missing value.
    levels : tuple of int
        For each column its number of levels if it holds category codes 0, 1, …, else 0.
    n_jobs : int
        Threads that the fit may use.
    shared : dict
        What learners have prepared from the matrix, by name: fits on other rows of the same
        matrix, such as the folds of a cross-validation, need not prepare it again.
    """

    X: FloatArray
    levels: tuple[int, ...]
    n_jobs: int = 1
    shared: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def has_categories(self) -> bool:
        """Whether any column holds category codes."""
        return any(self.levels)


class Coefficient(NamedTuple):
    """One line of a rule's coefficient table; NaN where the error is not known."""

    term: str
    estimate: float
    std_error: float


class SplitRule(ABC):
    """What a learner returns for one node: a decision value for any row."""

    @abstractmethod
    def decision(self, X: FloatArray) -> NDArray[np.float64]:
        """Return one finite value a row; above 0 the row goes left, the high side.

        Parameters
        ----------
        X : ndarray of shape (n, p)
            Rows of the design that the rule was fitted on.
        """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain JSON types: dict, list, str, int, finite float, bool, None."""

    @classmethod
    @abstractmethod
    def from_dict(cls, d: Mapping[str, Any]) -> SplitRule:
        """Rebuild the rule that `to_dict` wrote; it must decide identically.

        A learner with rules of several classes names one of them as its ``rule``, and that one's
        ``from_dict`` tells them apart.
        """

    def decision_at(self, X: FloatArray, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the decision values of some rows; override it to read only the columns needed."""
        return self.decision(X[rows])

    def describe(self, names: Sequence[str]) -> str:
        """Say in one line which rows go left, e.g. ``log(carat) > 0.31``.

        Rules of a learner that takes categories get the keyword ``levels`` as well: for each
        column its level names, or None.
        """
        used = ", ".join(names[j] for j in sorted(self.credit())) or "all columns"
        return f"{type(self).__name__}({used}) > 0"

    def describe_right(self, names: Sequence[str]) -> str:
        """Say in one line which rows go right; by default those that do not go left."""
        return f"not ({self.describe(names)})"

    def topic(self, *, left: bool) -> Hashable:
        """Name what a side's condition is about; further down a path it replaces its equals.

        ``x > 3`` makes an earlier ``x > 1`` superfluous: both have the topic "x from below". None,
        the default, replaces nothing.
        """
        return None

    def coefficients(self, names: Sequence[str]) -> list[Coefficient]:
        """Return the rule's coefficient table, if it has one."""
        return []

    def column_test(self) -> ColumnTest | None:
        """Return the rule as a test on one column, if that is all it is.

        Trees of such rules are routed as one table, compiled for large batches.
        """
        return None

    def credit(self) -> dict[int, float]:
        """Return the share of the node's gain that each column earned; shares sum to 1.

        An empty dict, the default, shares the gain equally among all columns.
        """
        return {}

    def to_onnx(self, graph: Any, x: str) -> str:
        """Add nodes that compute the decision value, and return its tensor's name.

        Parameters
        ----------
        graph : crank.export.onnx_graph.Graph
            ``graph.op("Mul", a, b)`` adds a node; ``graph.columns([2, 5])`` gives design columns,
            so that a file asks for no others.
        x : str
            All design columns, double, shape [N, p].

        Returns
        -------
        str
            A tensor in double, shape [N, 1]; its NaN goes right.
        """
        raise NotExportableError(
            f"{type(self).__name__} has no ONNX translation. "
            "Allowed: rules that override to_onnx. Use a learner that exports, or JSON."
        )


class SplitLearner(ABC):
    """A way to split a node; built as ``Learner(**learner_params)``.

    Class attributes state what the learner takes and gives; the defaults promise the least.
    """

    description: ClassVar[str] = ""
    """One line for `crank.learners()`."""
    url: ClassVar[str] = ""
    """Where its users find help."""
    rule: ClassVar[type[SplitRule]]
    """The class on which ``from_dict`` is called when a model is loaded."""
    takes_missing: ClassVar[bool] = False
    """Whether ``X`` may hold NaN. If not, rows with missing predictors are dropped or refused."""
    takes_categories: ClassVar[bool] = False
    """Whether a categorical column may come as one column of codes instead of dummies.
    Then ``fit`` is called with the keyword ``levels`` as well (see `TrainingMatrix`)."""
    exports_onnx: ClassVar[bool] = False
    """Whether its rules override ``to_onnx``."""
    requires: ClassVar[Mapping[str, str]] = {}
    """Packages that fitting imports, each with what to pip install for it, for instance
    ``{"lightgbm": "crank-rank[lightgbm]"}``. They are looked for, not imported, when the learner
    is asked for; rules must be read and decide without them."""

    @abstractmethod
    def fit(
        self,
        X: FloatArray,
        label: NDArray[np.float64],
        weight: NDArray[np.float64],
        *,
        rng: np.random.Generator,
    ) -> SplitRule | None:
        """Learn to tell label +1 from −1 where the weight says that it matters.

        Parameters
        ----------
        X : ndarray of shape (m, p)
            Design rows of the node, float64.
        label : ndarray of shape (m,)
            +1.0 for rows that belong on the high side, −1.0 for the others; both occur.
        weight : ndarray of shape (m,)
            Positive weights with mean 1.
        rng : numpy.random.Generator
            The only allowed source of randomness.

        Returns
        -------
        SplitRule or None
            None if the learner finds nothing to tell the labels apart.
        """

    def prepare(self, data: TrainingMatrix) -> SplitLearner | Splitter:
        """Do once for a tree what need not be done for each node.

        A learner that standardises, sorts or bins may return a copy of itself that knows the
        columns' centre and scale, or a `crank.splitter.Splitter` of its own that splits whole
        levels. It must not change itself: one learner serves many fits, also in threads.
        """
        return self
