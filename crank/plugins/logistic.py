"""The logistic learner: an oblique cut by penalised logistic regression."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crank.plugins.base import SplitRule
from crank.plugins.linear import LinearRule, fit_linear_rule
from crank.plugins.params import positive
from crank.plugins.standardise import Standardiser, StandardisingLearner


class Logistic(StandardisingLearner):
    """Split along a hyperplane found by ridge logistic regression.

    Nodes are often separated perfectly, hence the penalty. Columns are standardised once for a
    tree; a missing value counts as the column's mean.

    Parameters
    ----------
    C : float
        Inverse strength of the penalty, as in scikit-learn: it minimises
        C · Σ weight · log(1 + exp(−label · f)) + |b|² / 2, the intercept not penalised.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]])
    >>> label = np.array([-1.0, -1.0, 1.0, 1.0])
    >>> rule = Logistic().fit(X, label, np.ones(4), rng=np.random.default_rng(0))
    >>> rule.describe(["a", "b"])
    '0.746 a + 0.746 b > 0, standardised'
    """

    description: ClassVar[str] = "a hyperplane by penalised logistic regression"
    rule: ClassVar[type[SplitRule]] = LinearRule
    exports_onnx: ClassVar[bool] = True

    def __init__(self, C: float = 1.0) -> None:
        self.C = positive(self, "C", C)

    def fit_standardised(
        self,
        standardiser: Standardiser,
        Z: NDArray[np.float64],
        label: NDArray[np.float64],
        weight: NDArray[np.float64],
        rng: np.random.Generator,
    ) -> LinearRule | None:
        """Fit the regression on the rows of a node."""
        return fit_linear_rule(
            standardiser, Z, label, weight, penalty=1.0 / self.C, loss="logistic"
        )
