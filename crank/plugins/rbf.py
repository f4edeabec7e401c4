"""The kernel rule: Gaussian bumps on support vectors, evaluated with NumPy alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crank.plugins import fields
from crank.plugins.base import FloatArray, Levels, SplitRule
from crank.plugins.linear import LinearRule
from crank.plugins.standardise import StandardisedRule, Standardiser, row_blocks

if TYPE_CHECKING:
    from crank.graphs.graph import Graph

BLOCK_VALUES = 2**19
"""Kernel values held at a time: 4 MB."""


@dataclass(frozen=True, eq=False)
class RbfRule(StandardisedRule):
    """Σ dual · exp(−gamma · |z − vector|²) + bias, z the standardised row less ``shift``.

    Attributes
    ----------
    columns : ndarray of int, shape (p,)
        The columns that varied in the node; the others have no say.
    centre, scale : ndarray of shape (p,)
        Of those columns; a missing value counts as the centre.
    shift : ndarray of shape (p,)
        Mean of the support vectors on the standardised scale. It is subtracted from rows and
        vectors alike, so that squared distances lose no digits.
    vectors : ndarray of shape (s, p)
    dual : ndarray of shape (s,)
    gamma, bias : float
    share : ndarray of shape (p,)
        Credit of each column.
    """

    columns: NDArray[np.intp]
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    shift: NDArray[np.float64]
    vectors: NDArray[np.float64]
    dual: NDArray[np.float64]
    gamma: float
    bias: float
    share: NDArray[np.float64]

    def decision(self, X: FloatArray) -> NDArray[np.float64]:
        """Sum the kernel, a block of rows at a time."""
        return self._evaluate(X, None)

    def decision_at(self, X: FloatArray, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Sum the kernel for some rows, which are never copied all at once."""
        return self._evaluate(X, rows)

    def decision_standardised(self, Z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum the kernel for standardised rows."""
        value = np.empty(len(Z))
        every = len(self.columns) == Z.shape[1]
        for block in self._blocks(len(Z)):
            value[block] = self._sum(Z[block] if every else Z[block][:, self.columns])
        return value + self.bias

    def _evaluate(self, X: FloatArray, rows: NDArray[np.intp] | None) -> NDArray[np.float64]:
        standardiser = Standardiser(self.centre, self.scale)
        value = np.empty(len(X) if rows is None else len(rows))
        every = len(self.columns) == X.shape[1]
        for block in self._blocks(len(value)):
            part = X[block] if rows is None else X[rows[block]]
            value[block] = self._sum(standardiser.apply(part if every else part[:, self.columns]))
        return value + self.bias

    def _blocks(self, n: int) -> Iterator[slice]:
        return row_blocks(n, max(16, BLOCK_VALUES // max(1, len(self.vectors))))

    def _sum(self, Z: NDArray[np.float64]) -> NDArray[np.float64]:
        return kernel(Z - self.shift, self.vectors, self.gamma) @ self.dual

    def to_dict(self) -> dict[str, Any]:
        """Return the support vectors as JSON types."""
        return {
            "kind": "rbf",
            "columns": self.columns.tolist(),
            "centre": self.centre.tolist(),
            "scale": self.scale.tolist(),
            "shift": self.shift.tolist(),
            "vectors": self.vectors.tolist(),
            "dual": self.dual.tolist(),
            "gamma": self.gamma,
            "bias": self.bias,
            "share": self.share.tolist(),
        }

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> SplitRule:
        """Rebuild a rule; the linear rules of the same learner as well."""
        if fields.field(d, "kind") == "linear":
            return LinearRule.from_dict(d)
        columns = fields.indices(d, "columns")
        centre, scale, shift, share = (
            fields.numbers(d, name, len(columns)) for name in ("centre", "scale", "shift", "share")
        )
        dual = fields.numbers(d, "dual")
        vectors = fields.table(d, "vectors", len(columns))
        gamma, bias = fields.number(d, "gamma"), fields.number(d, "bias")
        fields.above_zero("gamma", np.array([gamma]))
        if len(vectors) != len(dual):
            raise fields.wrong_length("vectors", len(vectors), len(dual))
        scale = fields.above_zero("scale", scale)
        return cls(columns, centre, scale, shift, vectors, dual, gamma, bias, share)

    def describe(self, names: Sequence[str], *, levels: Levels | None = None) -> str:
        """Name the columns that matter most and the number of support vectors.

        Examples
        --------
        >>> import numpy as np
        >>> columns, zero, one = np.arange(2), np.zeros(2), np.ones(2)
        >>> dual, share = np.array([1.0, -1.0]), np.array([0.25, 0.75])
        >>> rule = RbfRule(columns, zero, one, zero, np.eye(2), dual, 0.5, 0.0, share)
        >>> rule.describe(["a", "b"])
        'rbf(b 75%, a 25%; 2 support vectors) > 0'
        """
        return f"{self._name(names)} > 0"

    def describe_right(self, names: Sequence[str], *, levels: Levels | None = None) -> str:
        """Describe the other side."""
        return f"{self._name(names)} <= 0"

    def _name(self, names: Sequence[str]) -> str:
        return f"rbf({largest_shares(self.credit(), names)}; {len(self.dual)} support vectors)"

    def credit(self) -> dict[int, float]:
        """Share the gain in proportion to the mean absolute slope at the support vectors."""
        pairs = zip(self.columns, self.share, strict=True)
        return {int(j): float(share) for j, share in pairs if share > 0.0}

    def to_onnx(self, graph: Graph, x: str) -> str:
        """Add the rule to an ONNX graph."""
        from crank.plugins.onnx_rules import rbf

        return rbf(graph, self)


def largest_shares(credit: Mapping[int, float], names: Sequence[str], most: int = 3) -> str:
    """List the columns with the most credit, for rules that have no short formula."""
    order = sorted(credit, key=lambda j: (-credit[j], j))
    shown = [f"{names[j]} {credit[j]:.0%}" for j in order[:most]]
    if len(order) > most:
        shown.append(f"{len(order) - most} more")
    return ", ".join(shown)


def kernel(
    Z: NDArray[np.float64], vectors: NDArray[np.float64], gamma: float
) -> NDArray[np.float64]:
    """Return exp(−gamma · |z − v|²) for every row and vector."""
    distance = Z @ (-2.0 * vectors.T)
    distance += np.einsum("ij,ij->i", Z, Z)[:, None]
    distance += np.einsum("ij,ij->i", vectors, vectors)
    np.maximum(distance, 0.0, out=distance)
    distance *= -gamma
    values: NDArray[np.float64] = np.exp(distance, out=distance)
    return values


def slope_share(
    vectors: NDArray[np.float64], dual: NDArray[np.float64], gamma: float
) -> NDArray[np.float64]:
    """Return each column's share of the mean absolute slope at the support vectors."""
    p = vectors.shape[1]
    slope = np.zeros(p)
    for rows in row_blocks(len(vectors), max(16, BLOCK_VALUES // len(vectors))):
        here = vectors[rows]
        bumps = kernel(here, vectors, gamma) * dual
        slope += np.abs(bumps @ vectors - here * bumps.sum(axis=1)[:, None]).sum(axis=0)
    total = slope.sum()
    return slope / total if total > 0.0 else np.full(p, 1.0 / p)
