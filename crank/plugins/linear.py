"""The linear rule: a weighted sum of standardised columns, compared with a threshold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from crank.growing.conditions import Comparison, Sum
from crank.growing.rule import INTERCEPT
from crank.growing.wording import WORDS, condition_text, named_columns
from crank.kernels.rows import take_rows
from crank.plugins import fields
from crank.plugins.base import Coefficient, FloatArray, Levels
from crank.plugins.newton import LossName, fit_linear, robust_errors
from crank.plugins.standardise import (
    REFERENCE_WEIGHT,
    StandardisedRule,
    Standardiser,
    finite,
    row_blocks,
)

if TYPE_CHECKING:
    from crank.graphs.graph import Graph

FEW_COLUMNS = 100
"""Up to here one row is summed faster in Python itself."""


@dataclass(frozen=True, eq=False)
class LinearRule(StandardisedRule):
    """Σ coefficient · (x − centre) / scale + bias; a missing value contributes nothing.

    Attributes
    ----------
    columns : ndarray of int
        The columns with a coefficient other than 0.
    coef, centre, scale : ndarray of float64
        For those columns; the coefficients are standardised ones.
    bias : float
    errors : ndarray of float64, optional
        Standard errors of the coefficients, where the learner estimates them.

    Examples
    --------
    >>> one, ten = np.array([1.0]), np.array([10.0])
    >>> rule = LinearRule(np.array([0]), coef=one, centre=ten, scale=one, bias=0.5)
    >>> rule.decision(np.array([[12.0], [np.nan]])).tolist()
    [2.5, 0.5]
    """

    columns: NDArray[np.intp]
    coef: NDArray[np.float64]
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    bias: float
    errors: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, standardiser: Standardiser, coef: NDArray[np.float64], bias: float) -> Self | None:
        """Keep the columns that matter; None if none does."""
        columns = np.flatnonzero(coef)
        if not len(columns) or not np.isfinite(coef).all():
            return None
        kept = standardiser.pick(columns)
        return cls(columns, coef[columns], kept.centre, kept.scale, float(bias))

    def decision(self, X: FloatArray) -> NDArray[np.float64]:
        """Evaluate the sum, a block of rows at a time."""
        if len(X) == 1 and len(self.columns) <= FEW_COLUMNS:
            return np.array([self._one(X[0].tolist())])
        return self._evaluate(X, None)

    @cached_property
    def _terms(self) -> list[tuple[int, float, float, float]]:
        terms = (self.columns, self.centre, self.scale, self.coef)
        return list(zip(*(part.tolist() for part in terms), strict=True))

    def _one(self, row: list[float]) -> float:
        """Evaluate the sum for one row; its few columns are not worth a call of NumPy."""
        total = 0.0
        for column, centre, scale, coef in self._terms:
            total += (row[column] - centre) / scale * coef
        if math.isfinite(total):
            return total + self.bias
        Z = [(row[column] - centre) / scale for column, centre, scale, _ in self._terms]
        return float(finite(np.array(Z)) @ self.coef) + self.bias

    def decision_at(self, X: FloatArray, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Evaluate the sum for some rows, which are never copied all at once."""
        return self._evaluate(X, rows)

    def _evaluate(self, X: FloatArray, rows: NDArray[np.intp] | None) -> NDArray[np.float64]:
        value = np.empty(len(X) if rows is None else len(rows))
        every = len(self.columns) == X.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            for block in row_blocks(len(value)):
                part = X[block] if rows is None else take_rows(X, rows[block])
                value[block] = self._sum(part if every else part[:, self.columns])
        value += self.bias
        return value

    def _sum(self, part: FloatArray) -> NDArray[np.float64]:
        Z = part - self.centre
        Z /= self.scale
        value: NDArray[np.float64] = Z @ self.coef
        # looking for missing values in the sums is p times cheaper than in the columns
        odd = ~np.isfinite(value)
        if odd.any():
            value[odd] = finite(Z[odd]) @ self.coef
        return value

    def decision_standardised(self, Z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Evaluate the sum for standardised rows."""
        every = len(self.columns) == Z.shape[1]
        value: NDArray[np.float64] = (Z if every else Z[:, self.columns]) @ self.coef
        return value + self.bias

    def to_dict(self) -> dict[str, Any]:
        """Return the coefficients as JSON types."""
        return {
            "kind": "linear",
            "columns": self.columns.tolist(),
            "coef": self.coef.tolist(),
            "centre": self.centre.tolist(),
            "scale": self.scale.tolist(),
            "bias": self.bias,
            "errors": None if self.errors is None else self.errors.tolist(),
        }

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> Self:
        """Rebuild a rule."""
        columns = fields.indices(d, "columns")
        coef, centre, scale = (
            fields.numbers(d, name, len(columns)) for name in ("coef", "centre", "scale")
        )
        scale = fields.above_zero("scale", scale)
        errors = d.get("errors")
        if errors is not None:
            errors = fields.numbers(d, "errors", len(columns))
        return cls(columns, coef, centre, scale, fields.number(d, "bias"), errors)

    def describe(self, names: Sequence[str], *, levels: Levels | None = None) -> str:
        """Write the sum in the units of its columns, so that it can be worked out by hand.

        Examples
        --------
        >>> import numpy as np
        >>> std = Standardiser(np.array([10.0, 0.0]), np.array([4.0, 1.0]))
        >>> LinearRule.of(std, np.array([-2.0, 1.0]), -0.25).describe(["a", "b"])
        '-0.5 a + 1 b > -4.75 [missing: a as 10, b as 0]'
        """
        return condition_text(self.condition(">"), named_columns(names), WORDS)

    def describe_right(self, names: Sequence[str], *, levels: Levels | None = None) -> str:
        """Write the same sum, not above the bound."""
        return condition_text(self.condition("<="), named_columns(names), WORDS)

    def condition(self, comparison: Comparison, cut: float = 0.0) -> Sum:
        """Return the sum in the units of its columns, the most weighty first."""
        order = self._by_size
        return Sum(
            tuple(self.columns[order].tolist()),
            tuple((self.coef / self.scale)[order].tolist()),
            comparison,
            cut - self._original_bias,
            tuple(self.centre[order].tolist()),
        )

    @property
    def _by_size(self) -> NDArray[np.intp]:
        return np.argsort(-np.abs(self.coef), kind="stable")

    @property
    def _original_bias(self) -> float:
        """The bias of columns that are not standardised."""
        return self.bias - float((self.coef / self.scale) @ self.centre)

    def coefficients(self, names: Sequence[str]) -> list[Coefficient]:
        """List the bias and the coefficients, the largest first.

        The bias lies midway between two rows and has no error.
        """
        errors = np.full(len(self.coef), np.nan) if self.errors is None else self.errors
        lines = [Coefficient(INTERCEPT, self.bias, float("nan"), self._original_bias)]
        for j in self._by_size.tolist():
            coef, original = float(self.coef[j]), float(self.coef[j] / self.scale[j])
            lines.append(Coefficient(names[self.columns[j]], coef, float(errors[j]), original))
        return lines

    def credit(self) -> dict[int, float]:
        """Share the gain in proportion to the absolute standardised coefficients."""
        size = np.abs(self.coef) / np.abs(self.coef).max()
        share = size / size.sum()
        return {int(j): float(s) for j, s in zip(self.columns, share, strict=True)}

    def to_onnx(self, graph: Graph, x: str) -> str:
        """Add the rule to an ONNX graph."""
        from crank.plugins.onnx_rules import linear

        return linear(graph, self)


def place_bias(value: NDArray[np.float64], bias: float) -> float:
    """Move a bias midway between the training values on either side of it.

    Parameters
    ----------
    value : ndarray of shape (m,)
        Decision values of the training rows without the bias.
    bias : float

    Returns
    -------
    float
        The new bias. No training row changes sides: where rounding would move one, or all lie
        on one side, the old bias stays.

    Examples
    --------
    >>> import numpy as np
    >>> place_bias(np.array([1.0, 2.0, 4.0, 5.0]), -3.9)
    -3.0
    """
    left = value + bias > 0.0
    if left.all() or not left.any():
        return bias
    middle = float(value.compress(~left).max()) / 2.0 + float(value.compress(left).min()) / 2.0
    return -middle if np.array_equal(value - middle > 0.0, left) else bias


def fit_linear_rule(
    standardiser: Standardiser,
    Z: NDArray[np.float64],
    label: NDArray[np.float64],
    weight: NDArray[np.float64],
    *,
    penalty: float,
    loss: LossName,
    monotone: Sequence[int] = (),
) -> LinearRule | None:
    """Fit a penalised linear classifier on standardised rows and make a rule of it.

    The penalty is the one for a total weight of `REFERENCE_WEIGHT`. A coefficient has the sign that
    ``monotone`` says, or is 0; the standard errors take the coefficients that are not 0 as if they
    had been free.
    """
    penalty *= float(weight.sum()) / REFERENCE_WEIGHT
    # dummies of levels that the node lacks are common: dropped, they cost nothing
    active = np.ptp(Z, axis=0) > 1e-10
    coef = np.zeros(Z.shape[1])
    some = Z if active.all() else Z[:, active]
    sign = np.asarray(monotone, dtype=np.float64)[active] if any(monotone) else None
    coef[active], bias = fit_linear(some, label, weight, penalty=penalty, loss=loss, sign=sign)
    rule = LinearRule.of(standardiser, coef, bias)
    if rule is None:
        return None
    kept = Z[:, rule.columns]
    errors = None
    if loss == "logistic":
        found = robust_errors(kept, label, weight, rule.coef, bias, penalty=penalty, loss=loss)
        errors = found if np.isfinite(found).all() else None
    return replace(rule, bias=place_bias(kept @ rule.coef, rule.bias), errors=errors)
