"""Linear discriminant splits: two normal clouds of one covariance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from crank.checks import positive
from crank.plugins.base import FloatArray, Levels, SplitLearner, SplitRule

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LdaRule(SplitRule):
    """Σ slope · (x − centre) + offset."""

    centre: Array
    slope: Array
    offset: float

    def decision(self, X: FloatArray) -> Array:
        """Evaluate the sum."""
        value: Array = (np.asarray(X, dtype=np.float64) - self.centre) @ self.slope + self.offset
        return value

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers."""
        return {
            "centre": self.centre.tolist(),
            "slope": self.slope.tolist(),
            "offset": self.offset,
        }

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> Self:
        """Rebuild the rule."""
        return cls(np.array(d["centre"]), np.array(d["slope"]), float(d["offset"]))

    def describe(self, names: Any, *, levels: Levels | None = None) -> str:
        """Name the leading column."""
        return f"lda({names[int(np.argmax(np.abs(self.slope)))]}, …) > 0"

    def to_onnx(self, graph: Any, x: str) -> str:
        """Add the sum to a graph."""
        product = graph.op("MatMul", graph.op("Sub", x, self.centre), self.slope[:, None])
        added: str = graph.op("Add", product, self.offset)
        return added


class Lda(SplitLearner):
    """Split by linear discriminant analysis.

    Parameters
    ----------
    ridge : float
        Share of the mean variance that is added to the covariance.
    """

    contract: ClassVar[int] = 1
    description: ClassVar[str] = "linear discriminant analysis"
    rule: ClassVar[type[SplitRule]] = LdaRule
    exports_onnx: ClassVar[bool] = True

    def __init__(self, ridge: float = 0.01) -> None:
        self.ridge = positive("ridge", ridge, of=self)

    def fit(
        self, X: FloatArray, label: Array, weight: Array, *, rng: np.random.Generator
    ) -> LdaRule | None:
        """Estimate two means and one covariance."""
        centre = X.mean(axis=0)
        scale = X.std(axis=0)
        scale = np.where(scale <= 1e-14 * np.abs(centre), 1.0, scale)
        Z = (X - centre) / scale
        shares = [weight[label == side].sum() / weight.sum() for side in (1.0, -1.0)]
        means = [
            np.average(Z[label == side], axis=0, weights=weight[label == side])
            for side in (1.0, -1.0)
        ]
        off = Z - np.where(label[:, None] > 0, means[0], means[1])
        spread = (off.T * weight) @ off / weight.sum()
        floor = self.ridge * np.trace(spread) / len(spread) + 1e-9
        slope = np.linalg.solve(spread + floor * np.eye(len(spread)), means[0] - means[1])
        if not np.abs(slope).max() > 1e-12:
            return None
        middle = float((means[0] + means[1]) @ slope) / 2.0
        offset = float(np.log(shares[0] / shares[1])) - middle
        return LdaRule(centre, slope / scale, offset)
