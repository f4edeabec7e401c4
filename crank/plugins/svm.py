"""The support vector learner: a curved cut with the Gaussian kernel, or a straight one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crank.checks import one_of, positive, whole
from crank.errors import OptionError
from crank.plugins.base import SplitRule
from crank.plugins.linear import LinearRule, fit_linear_rule, place_bias
from crank.plugins.rbf import RbfRule, kernel, slope_share
from crank.plugins.sampling import systematic_counts
from crank.plugins.standardise import REFERENCE_WEIGHT, Standardiser, StandardisingLearner


class SupportVector(StandardisingLearner):
    """Split by a support vector machine on standardised columns.

    Parameters
    ----------
    kernel : {"rbf", "linear"}
        ``"rbf"`` fits scikit-learn's `SVC`. ``"linear"`` has the squared hinge loss, like
        `LinearSVC`, and takes any number of rows.
    C : float
        Inverse strength of the penalty, against the weighted mean of the losses: as strong as
        scikit-learn's on 300 rows, whatever the number of rows.
    gamma : "scale" or float
        Width of the Gaussian kernel: exp(−gamma · |x − x'|²). ``"scale"`` is 1 over the summed
        variance of the standardised columns in the node.
    max_rows : int
        The time of an exact kernel machine grows with the cube of the rows, and every support
        vector is stored. In a larger node the kernel is fitted on that many rows, drawn
        systematically in proportion to weight within each label. The linear kernel uses all.

    Examples
    --------
    A ring around the origin, which no straight cut can split off:

    >>> import numpy as np
    >>> angle = np.arange(40.0)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)]) * np.repeat([[1.0], [3.0]], 20, axis=0)
    >>> label = np.repeat([-1.0, 1.0], 20)
    >>> rule = SupportVector().fit(X, label, np.ones(40), rng=np.random.default_rng(0))
    >>> bool((np.sign(rule.decision(X)) == label).all())
    True
    """

    description: ClassVar[str] = "a support vector machine, Gaussian kernel or linear"
    rule: ClassVar[type[SplitRule]] = RbfRule
    exports_onnx: ClassVar[bool] = True

    def __init__(
        self,
        kernel: str = "rbf",
        C: float = 1.0,
        gamma: str | float = "scale",
        max_rows: int = 2000,
    ) -> None:
        self.kernel = one_of("kernel", kernel, ("rbf", "linear"), of=self)
        self.takes_monotone = kernel == "linear"
        self.C = positive("C", C, of=self)
        if isinstance(gamma, str) and gamma != "scale":
            raise OptionError(
                f"gamma of SupportVector is {gamma!r}. Allowed: 'scale' or a number above 0."
            )
        self.gamma = gamma if isinstance(gamma, str) else positive("gamma", gamma, of=self)
        self.max_rows = whole("max_rows", max_rows, 10, of=self)

    def fit_standardised(
        self,
        standardiser: Standardiser,
        Z: NDArray[np.float64],
        label: NDArray[np.float64],
        weight: NDArray[np.float64],
        rng: np.random.Generator,
        monotone: Sequence[int] = (),
    ) -> LinearRule | RbfRule | None:
        """Fit the machine on the rows of a node."""
        if self.kernel == "linear":
            return fit_linear_rule(
                standardiser,
                Z,
                label,
                weight,
                penalty=1.0 / self.C,
                loss="squared_hinge",
                monotone=monotone,
            )
        return self._fit_rbf(standardiser, Z, label, weight, rng)

    def _fit_rbf(
        self,
        standardiser: Standardiser,
        Z: NDArray[np.float64],
        label: NDArray[np.float64],
        weight: NDArray[np.float64],
        rng: np.random.Generator,
    ) -> RbfRule | None:
        from sklearn.svm import SVC

        if len(weight) > self.max_rows:
            counts = systematic_counts(label, weight, self.max_rows, rng)
            drawn = np.flatnonzero(counts)
            Z, label, weight = Z[drawn], label[drawn], counts[drawn].astype(np.float64)
        share = weight / weight.sum()
        spread = share @ (Z - share @ Z) ** 2
        columns = np.flatnonzero(spread > 1e-20)
        if not len(columns):
            return None
        Z, standardiser = Z[:, columns], standardiser.pick(columns)
        gamma = self.gamma if isinstance(self.gamma, float) else 1.0 / float(spread[columns].sum())
        # seeded, though nothing depends on it: else it draws from the global generator
        machine = SVC(C=self.C, gamma=gamma, random_state=0)
        machine.fit(Z, label, sample_weight=share * REFERENCE_WEIGHT)
        vectors = Z[machine.support_]
        dual = machine.dual_coef_[0]
        if not len(dual):
            return None
        shift = vectors.mean(axis=0)
        vectors = vectors - shift
        value = kernel(Z - shift, vectors, gamma) @ dual
        bias = float(machine.intercept_[0])
        if np.ptp(value) <= 1e-12 * np.abs(dual).sum():
            return None
        return RbfRule(
            columns,
            standardiser.centre,
            standardiser.scale,
            shift,
            vectors,
            dual.copy(),
            gamma,
            place_bias(value, bias),
            slope_share(vectors, dual, gamma),
        )
