"""Quadratic discriminant splits: a normal distribution on each side of a node.

Friedman, J. H. (1989). Regularized discriminant analysis. *Journal of the American Statistical
Association* 84, 165–175.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from crank.errors import OptionError
from crank.graphs.graph import Graph
from crank.plugins.base import FloatArray, SplitLearner, SplitRule

Array = NDArray[np.float64]
FARTHEST = 1e60
"""Standardised values are cut off here, so that their products stay finite."""


@dataclass(frozen=True, eq=False)
class QdaRule(SplitRule):
    """zᵀ A z + bᵀ z + c, where z is the standardised row and a missing value lies at the centre.

    Attributes
    ----------
    centre, scale, slope, share : ndarray of shape (p,)
        ``slope`` is b, ``share`` the credit of each column.
    curve : ndarray of shape (p, p) or (p,)
        A, or its diagonal.
    offset : float
        c.
    """

    centre: Array
    scale: Array
    curve: Array
    slope: Array
    offset: float
    share: Array

    def decision(self, X: FloatArray) -> Array:
        """Evaluate the quadratic form: the log of how much likelier the high side is."""
        Z = standardised(X, self.centre, self.scale)
        value: Array = self.terms(Z).sum(axis=1) + self.offset
        return value

    def terms(self, Z: Array) -> Array:
        """Return what each column adds to each row's decision value."""
        bent = Z * self.curve if self.curve.ndim == 1 else Z @ self.curve
        return Z * (bent + self.slope)

    def to_dict(self) -> dict[str, Any]:
        """Return the arrays as lists."""
        return {
            "centre": self.centre.tolist(),
            "scale": self.scale.tolist(),
            "curve": self.curve.tolist(),
            "slope": self.slope.tolist(),
            "offset": self.offset,
            "share": self.share.tolist(),
        }

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> Self:
        """Rebuild a rule."""
        centre, scale, curve, slope, share = (
            np.asarray(d[name], dtype=np.float64)
            for name in ("centre", "scale", "curve", "slope", "share")
        )
        return cls(centre, scale, curve, slope, float(d["offset"]), share)

    def describe(self, names: Sequence[str]) -> str:
        """Name the three columns that matter most.

        Examples
        --------
        >>> zero, one = np.zeros(2), np.ones(2)
        >>> QdaRule(zero, one, one, one, 0.0, np.array([0.8, 0.2])).describe(["a", "b"])
        'qda(a 80%, b 20%) > 0'
        """
        order = np.argsort(-self.share, kind="stable")[:3]
        return f"qda({', '.join(f'{names[j]} {self.share[j]:.0%}' for j in order)}) > 0"

    def to_onnx(self, graph: Graph, x: str) -> str:
        """Add the quadratic form to a graph: the same steps, in the same order."""
        z = graph.op("Div", graph.op("Sub", x, self.centre), self.scale)
        z = graph.op("Where", graph.op("IsNaN", z), 0.0, z)
        z = graph.op("Clip", z, -FARTHEST, FARTHEST)
        diagonal = self.curve.ndim == 1
        bent = graph.op("Mul" if diagonal else "MatMul", z, self.curve)
        terms = graph.op("Mul", z, graph.op("Add", bent, self.slope))
        summed = graph.op("MatMul", terms, np.ones((len(self.slope), 1)))
        return graph.op("Add", summed, self.offset)

    def credit(self) -> dict[int, float]:
        """Share the gain by how much each column moves the decision value in the node."""
        return {int(j): float(self.share[j]) for j in np.flatnonzero(self.share)}


class Qda(SplitLearner):
    """Split where one of two normal distributions becomes likelier than the other.

    Parameters
    ----------
    pool : float
        How far the covariances of the two sides are drawn to their mean, 0 to 1.
    shrink : float
        How far each covariance is drawn to a multiple of the identity, 0 to 1.
    covariance : {"auto", "full", "diagonal"}
        ``"auto"`` is full where each side has five rows a column.

    Examples
    --------
    The middle of a line, which no single threshold can cut out:

    >>> X = np.linspace(-1.0, 1.0, 41)[:, None]
    >>> label = np.where(np.abs(X[:, 0]) < 0.4, 1.0, -1.0)
    >>> rule = Qda(pool=0.1).fit(X, label, np.ones(41), rng=np.random.default_rng(0))
    >>> (rule.decision(np.array([[-0.9], [0.0], [0.9]])) > 0).tolist()
    [False, True, False]
    """

    description: ClassVar[str] = "quadratic discriminant: a curved cut between two normal clouds"
    contract: ClassVar[int] = 1
    rule: ClassVar[type[SplitRule]] = QdaRule
    takes_missing: ClassVar[bool] = True
    exports_onnx: ClassVar[bool] = True

    def __init__(self, pool: float = 0.5, shrink: float = 0.1, covariance: str = "auto") -> None:
        for name, value in (("pool", pool), ("shrink", shrink)):
            if not 0.0 <= value <= 1.0:
                raise OptionError(f"{name} of Qda is {value!r}. Allowed: 0 to 1.")
        if covariance not in ("auto", "full", "diagonal"):
            raise OptionError(
                f"covariance of Qda is {covariance!r}. Allowed: 'auto', 'full', 'diagonal'."
            )
        self.pool, self.shrink, self.covariance = pool, shrink, covariance

    def fit(
        self, X: FloatArray, label: Array, weight: Array, *, rng: np.random.Generator
    ) -> QdaRule | None:
        """Estimate the two distributions and return the difference of their log densities."""
        heard = weight > 0.0
        X, label, weight = X[heard], label[heard], weight[heard]
        sides = label > 0.0, label < 0.0
        if not all(side.any() for side in sides):
            return None
        centre, scale = centre_and_scale(X)
        Z = standardised(X, centre, scale)
        if not np.ptp(Z, axis=0).any():
            return None
        p = Z.shape[1]
        full = self.covariance == "full" or (
            self.covariance == "auto" and min(map(np.count_nonzero, sides)) >= 5 * p
        )
        means, spreads, masses = [], [], []
        for side in sides:
            mass, part = weight[side], Z[side]
            mean = mass @ part / mass.sum()
            off = part - mean
            moment = (off.T * mass) @ off if full else mass @ off**2
            means.append(mean)
            spreads.append(moment / mass.sum())
            masses.append(mass.sum())
        pooled = (masses[0] * spreads[0] + masses[1] * spreads[1]) / (masses[0] + masses[1])
        curve, slope, offset = np.zeros_like(pooled), np.zeros(p), 0.0
        for sign, mean, spread, mass in zip((1.0, -1.0), means, spreads, masses, strict=True):
            # a side with few rows borrows from both together
            pool = max(self.pool, (p + 1.0) / (p + 1.0 + mass))
            inverse, log_det = self._inverse((1.0 - pool) * spread + pool * pooled)
            direction = inverse @ mean if inverse.ndim == 2 else inverse * mean
            curve -= 0.5 * sign * inverse
            slope += sign * direction
            offset += sign * (np.log(mass) - 0.5 * log_det - 0.5 * float(mean @ direction))
        rule = QdaRule(centre, scale, curve, slope, float(offset), np.full(p, 1.0 / p))
        moved = np.abs(rule.terms(Z) - rule.terms(Z).mean(axis=0)).mean(axis=0)
        if not moved.sum() > 0.0:
            return None
        return QdaRule(centre, scale, curve, slope, float(offset), moved / moved.sum())

    def _inverse(self, spread: Array) -> tuple[Array, float]:
        """Return the inverse of a shrunken covariance and the log of its determinant."""
        eye = np.eye(len(spread)) if spread.ndim == 2 else np.ones(len(spread))
        level = float(np.trace(spread) if spread.ndim == 2 else spread.sum()) / len(spread)
        # the floor keeps perfectly separated nodes, whose spread is 0, finite
        spread = (1.0 - self.shrink) * spread + (self.shrink * level + 1e-6) * eye
        if spread.ndim == 2:
            inverse: Array = np.linalg.inv(spread).astype(np.float64)
            return inverse, float(np.linalg.slogdet(spread)[1])
        return 1.0 / spread, float(np.log(spread).sum())


def centre_and_scale(X: FloatArray) -> tuple[Array, Array]:
    """Return mean and standard deviation of each column; 0 and 1 where there is nothing.

    Examples
    --------
    >>> centre_and_scale(np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]]))
    (array([2., 5.]), array([1., 1.]))
    """
    present = ~np.isnan(X)
    count = np.maximum(present.sum(axis=0), 1)
    centre = np.where(present, X, 0.0).sum(axis=0) / count
    off = np.where(present, X - centre, 0.0)
    scale = np.sqrt((off**2).sum(axis=0) / count)
    # rounding alone must not pass for a spread
    flat = scale <= 1e-14 * np.abs(centre)
    return centre, np.where(flat | (scale == 0.0), 1.0, scale)


def standardised(X: FloatArray, centre: Array, scale: Array) -> Array:
    """Standardise rows; a missing value becomes 0."""
    with np.errstate(over="ignore"):
        Z = (np.asarray(X, dtype=np.float64) - centre) / scale
    return np.clip(np.nan_to_num(Z, nan=0.0), -FARTHEST, FARTHEST)
