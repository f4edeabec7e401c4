"""The logistic learner: an oblique cut by penalised logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crank.checks import positive
from crank.plugins.base import SplitRule
from crank.plugins.linear import LinearRule, fit_linear_rule
from crank.plugins.standardise import Standardiser, StandardisingLearner


class Logistic(StandardisingLearner):
    """Split along a hyperplane found by ridge logistic regression.

    Nodes are often separated perfectly, hence the penalty. Columns are standardised once for a
    tree; a missing value counts as the column's mean.

    Parameters
    ----------
    C : float
        Inverse strength of the penalty: it minimises C · 300 · mean of log(1 + exp(−label · f))
        + |b|² / 2, the mean weighted, the intercept not penalised. On 300 rows that is
        scikit-learn's C; on more or fewer it is as strong, and repeated rows change nothing.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 2.0]])
    >>> label = np.array([-1.0, -1.0, 1.0, 1.0])
    >>> rule = Logistic().fit(X, label, np.ones(4), rng=np.random.default_rng(0))
    >>> rule.describe(["a", "b"])
    '3.56439 a + 3.36752 b > 7.03034 [missing: a as 1.5, b as 1]'
    """

    description: ClassVar[str] = "a hyperplane by penalised logistic regression"
    rule: ClassVar[type[SplitRule]] = LinearRule
    takes_monotone = True
    exports_onnx: ClassVar[bool] = True

    def __init__(self, C: float = 1.0) -> None:
        self.C = positive("C", C, of=self)

    def fit_standardised(
        self,
        standardiser: Standardiser,
        Z: NDArray[np.float64],
        label: NDArray[np.float64],
        weight: NDArray[np.float64],
        rng: np.random.Generator,
        monotone: Sequence[int] = (),
    ) -> LinearRule | None:
        """Fit the regression on the rows of a node."""
        return fit_linear_rule(
            standardiser,
            Z,
            label,
            weight,
            penalty=1.0 / self.C,
            loss="logistic",
            monotone=monotone,
        )
