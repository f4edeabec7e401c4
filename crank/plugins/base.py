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
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crank.errors import NotExportableError
from crank.growing.matrix import FloatArray, TrainingMatrix
from crank.growing.rule import Coefficient, Levels, SplitRule
from crank.growing.splitter import Splitter
from crank.kernels.column_tests import ColumnTest
from crank.plugins.parameters import Parameters

__all__ = [
    "Coefficient",
    "ColumnTest",
    "FloatArray",
    "Levels",
    "NotExportableError",
    "SplitLearner",
    "SplitRule",
    "Splitter",
    "TrainingMatrix",
]


class SplitLearner(Parameters, ABC):
    """A way to split a node; built as ``Learner(**learner_params)``.

    Class attributes state what the learner takes and gives; the defaults promise the least. The
    constructor keeps each parameter as the attribute of its name, and does nothing else but check
    it: from that follow ``get_params``, ``set_params``, copies and a repr that builds it again.

    Whatever its code raises reaches the user as a `crank.errors.PluginError` that names the
    learner and its distribution; errors of `crank.errors` pass as they are.

    Examples
    --------
    >>> from crank.plugins.stump import StumpRule
    >>> class MeanCut(SplitLearner):
    ...     description = "cuts the first column at its weighted mean"
    ...     rule = StumpRule
    ...     def fit(self, X, label, weight, *, rng):
    ...         cut = float(np.average(X[:, 0], weights=weight))
    ...         return StumpRule(0, cut, above=bool(np.sum(weight * label * (X[:, 0] - cut)) > 0))
    >>> import crank
    >>> data = crank.datasets.regression(60, p=5, random_state=0)
    >>> m = crank.fit(data.frame, "y ~ x1", learner=MeanCut(), max_depth=1, prune=None)
    >>> m.tree.n_leaves
    2
    """

    contract: ClassVar[int] = 1
    """The version of this contract that the learner was written for. State it: what says nothing
    counts as 1 for ever, whatever crank's own version is."""

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
    takes_monotone: bool = False
    """Whether decision values can be kept monotone in some columns. Then ``fit`` is called, where
    the user asks for it, with the keyword ``monotone`` as well (see `TrainingMatrix`): decision
    values must not decrease in a column with 1, nor increase in one with −1, as far as it has
    numbers. A missing value is not compared with a number."""
    exports_onnx: ClassVar[bool] = False
    """Whether its rules override ``to_onnx``."""
    saves_json: ClassVar[bool] = True
    """Whether models with it can be saved: False warns a user before a long fit, not after."""
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
            Design rows of the node, float64. Like the other arrays it cannot be written to.
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

    def check_size(self, rows: int, columns: int) -> None:
        """Raise `OptionError` if a design is too large; asked before the design is computed."""

    def prepare(self, data: TrainingMatrix) -> SplitLearner | Splitter:
        """Do once for a tree what need not be done for each node.

        A learner that standardises, sorts or bins may return a copy of itself that knows the
        columns' centre and scale, or a `Splitter` of its own that splits whole layers. It
        must not change itself: one learner serves many fits, also in threads.
        """
        return self
