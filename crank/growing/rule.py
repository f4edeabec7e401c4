"""Rules: what a learner leaves at a node, and how the grower orients and cuts it."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crank.blame import blamed, broken, is_foreign, read_only
from crank.errors import NotExportableError
from crank.growing.conditions import Comparison, Condition
from crank.growing.matrix import FloatArray
from crank.kernels.column_tests import ColumnTest

Levels: TypeAlias = Sequence[Sequence[str] | None]

INTERCEPT = "(Intercept)"
"""Term of the constant in a coefficient table, as in R."""


class Coefficient(NamedTuple):
    """One line of a rule's coefficient table; NaN where a number is not known.

    Attributes
    ----------
    term : str
        A column's name, or `INTERCEPT`.
    estimate, std_error : float
        For columns of mean 0 and standard deviation 1.
    original : float
        The estimate in the units of the column.

    Examples
    --------
    >>> Coefficient("age", estimate=-0.4, std_error=0.1, original=-0.03).term
    'age'
    """

    term: str
    estimate: float
    std_error: float
    original: float = float("nan")


class SplitRule(ABC):
    """What a learner returns for one node: a decision value for any row.

    Examples
    --------
    >>> class Taller(SplitRule):
    ...     def __init__(self, than):
    ...         self.than = than
    ...     def decision(self, X):
    ...         return X[:, 0] - self.than
    ...     def to_dict(self):
    ...         return {"kind": "taller", "than": self.than}
    ...     @classmethod
    ...     def from_dict(cls, stored):
    ...         return cls(stored["than"])
    ...     def describe(self, names):
    ...         return f"{names[0]} > {self.than}"
    >>> Taller(170.0).decision(np.array([[180.0], [165.0]])).tolist()
    [10.0, -5.0]
    """

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

    def describe(self, names: Sequence[str], *, levels: Levels | None = None) -> str:
        """Say in one line which rows go left, e.g. ``log(carat) > 0.31``.

        Rules of a learner that takes categories get ``levels`` as well, unless they leave it out
        of their signature: for each column its level names, or None.
        """
        used = ", ".join(names[j] for j in sorted(self.credit())) or "all columns"
        return f"{type(self).__name__}({used}) > 0"

    def describe_right(self, names: Sequence[str], *, levels: Levels | None = None) -> str:
        """Say in one line which rows go right; by default those that do not go left."""
        return f"not ({described(self, names, levels)})"

    def condition(self, comparison: Comparison, cut: float = 0.0) -> Condition | None:
        """Return as data what a row must be like for its decision value to compare so with a cut.

        Conditions are put in words, and those on one path are simplified, by the reports. None, the
        default, leaves the words to `describe` and `describe_right`.
        """
        return None

    def coefficients(self, names: Sequence[str]) -> list[Coefficient]:
        """Return the rule's coefficient table, if it has one, the constant first."""
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
        graph : crank.graphs.graph.Graph
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


def described(
    rule: SplitRule, names: Sequence[str], levels: Levels | None = None, *, left: bool = True
) -> str:
    """Let a rule say in one line which rows take a side; level names go to those that ask.

    Parameters
    ----------
    rule : SplitRule
    names : sequence of str
    levels : sequence, optional
        For each column its level names, or None; only for learners that take categories.
    left : bool
        Which side, by the rule's own sign.
    """
    name = "describe" if left else "describe_right"
    method: Any = getattr(rule, name)
    more = {} if levels is None or not _takes_levels(type(rule), left) else {"levels": levels}
    with blamed(type(rule), name):
        text = method(names, **more)
    if not isinstance(text, str):
        raise broken(type(rule), f"gave {text!r} from {name}. Allowed: text.")
    return text


@cache
def _takes_levels(kind: type[SplitRule], left: bool) -> bool:
    parameters = inspect.signature(kind.describe if left else kind.describe_right).parameters
    return "levels" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def foreign_decision(
    rule: SplitRule, X: FloatArray, rows: NDArray[np.intp] | None = None, where: str = ""
) -> NDArray[np.float64]:
    """Ask a plugin's rule on rows that it cannot change, and hold it to one number a row."""
    X, n = read_only(X), len(X) if rows is None else len(rows)
    doing = "decision" if rows is None else "decision_at"
    with blamed(type(rule), doing, where):
        given = rule.decision(X) if rows is None else rule.decision_at(X, read_only(rows))
        value = np.asarray(given, dtype=np.float64)
    missing = int(np.isnan(value).sum())
    if value.shape != (n,) or missing:
        at = f" at {where}" if where else ""
        raise broken(
            type(rule),
            f"gave {missing} NaN in {doing}{at}, shape {value.shape} for {n} rows. Allowed: one "
            "finite value a row.",
        )
    return value


@dataclass(frozen=True)
class Split:
    """A learner's rule, oriented and cut by the grower.

    Rows with ``sign * decision > sign * cut`` go left, the high side.

    Examples
    --------
    >>> from crank.plugins.stump import StumpRule
    >>> split = Split(StumpRule(0, threshold=2.5))
    >>> split.goes_left(np.array([[1.0], [3.0], [np.nan]])).tolist()
    [False, True, False]
    """

    rule: SplitRule
    cut: float = 0.0
    sign: int = 1

    def goes_left(
        self, X: FloatArray, rows: NDArray[np.intp] | None = None, where: str = ""
    ) -> NDArray[np.bool_]:
        """Tell which rows take the high side; ``where`` names the node in messages."""
        if is_foreign(type(self.rule)):
            value = foreign_decision(self.rule, X, rows, where)
        else:
            value = self.rule.decision(X) if rows is None else self.rule.decision_at(X, rows)
        return value > self.cut if self.sign > 0 else value < self.cut

    def condition(self, *, left: bool) -> Condition | None:
        """Return what a row must be like to take one side, if the rule can say so."""
        comparison: Comparison = (
            (">" if left else "<=") if self.sign > 0 else ("<" if left else ">=")
        )
        if self.sign < 0 and self.cut == np.nextafter(0.0, 1.0):  # see `nodewise.orient`
            return self.rule.condition("<=" if left else ">", 0.0)
        return self.rule.condition(comparison, self.cut)

    def column_test(self) -> ColumnTest | None:
        """Return the split as a test on one column, if that is what it is."""
        return self.rule.column_test() if self.cut == 0.0 and self.sign == 1 else None
