"""A linear model as one SQL expression: the same scores, NULL where a value is missing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Literal

import numpy as np

from crank.checks import one_of
from crank.design.expressions import Steps
from crank.design.factors import Contrast, Dummies, Factor, Number, Powers
from crank.design.spec import DesignSpec
from crank.errors import NotExportableError
from crank.export.onnx.inputs import single_column
from crank.export.sql.dialects import DIALECTS, Dialect, is_large, selected
from crank.frames.columns import Kind, LevelValue

if TYPE_CHECKING:
    from crank.records.linear import LinearRecord

PREFIX = {
    "abs": "abs({})",
    "negative": "(- {})",
    "square": "({0} * {0})",
    "reciprocal": "({one} / {})",
    "floor": "floor({})",
    "ceil": "ceil({})",
    "sqrt": "sqrt({})",
    "log": "ln({})",
    "log10": "(ln({}) / ln({ten}))",
    "log2": "(ln({}) / ln({two}))",
    "log1p": "ln({one} + {})",
    "exp": "exp({})",
}
"""Functions of one number that the databases have, NumPy's names first."""
NUMBERS = {"one": 1.0, "two": 2.0, "ten": 10.0}
INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
MOST_POWER = 8
"""Whole powers up to this are written as products."""


def to_sql(
    model: LinearRecord,
    dialect: str = "duckdb",
    *,
    table: str | Sequence[str] | None = None,
    type: Literal["score"] = "score",
) -> str:
    """Write the score of a linear model as a sum.

    The score is NULL where a value that it needs is NULL or NaN, or a category's value was not
    there in training: rows that ``predict`` refuses. Functions of numbers are the database's own,
    so scores agree to rounding (1e-12), not to the last bit.

    Parameters
    ----------
    model : LinearModel
    dialect : {"duckdb", "postgres", "sqlite", "bigquery", "snowflake", "spark"}
        SQLite needs its mathematical functions (in builds since 3.35) for logarithms and roots.
    table : str or sequence of str, optional
        Gives a whole query, ``SELECT *, … FROM table``; several parts are a qualified name.
    type : {"score"}

    Returns
    -------
    str

    Raises
    ------
    NotExportableError
        A term has no form in SQL: splines, orthogonal polynomials, dates, functions of your own,
        trigonometric functions, comparisons.

    Examples
    --------
    >>> import crank
    >>> data = {"x": [1.0, 2.0, 3.0, 4.0], "y": [1.0, 3.0, 2.0, 4.0]}
    >>> print(crank.linear(data, "y ~ x", penalty=0.5, cv=None).to_sql())  # doctest: +ELLIPSIS
    0.41538146...e0 * (NULLIF("x"::DOUBLE, 'NaN'::DOUBLE) - 2.5e0)
    """
    one_of("dialect", dialect, DIALECTS)
    one_of("type", type, ("score",))
    chosen = DIALECTS[dialect]
    writer = _Writer(model.design, chosen)
    columns, ranker = writer.columns(), model.ranker
    parts = [
        f"{chosen.number(float(ranker.coef[k]))} * ({columns[k]} - "
        f"{chosen.number(float(ranker.centre[k]))})"
        for k in np.flatnonzero(ranker.estimated).tolist()
    ]
    expression = "\n  + ".join(parts) if parts else chosen.number(0.0)
    return selected(expression, chosen, table, type)


class _Writer:
    """Write the columns of a design, each as an expression that is NULL where it is missing."""

    def __init__(self, design: DesignSpec, dialect: Dialect) -> None:
        self.design, self.dialect = design, dialect
        self.kinds = {variable.name: variable.kind for variable in design.variables}

    def columns(self) -> list[str]:
        """Write all columns, in the order of the design's names."""
        found: list[str] = []
        for block in self.design.blocks:
            parts = [self.factor(self.design.factors[at]) for at in block.factors]
            for chosen in product(*reversed(parts)):  # the first factor's columns vary fastest
                text = " * ".join(reversed(chosen))
                if block.scale != 1.0:
                    text = f"{text} * {self.dialect.number(block.scale)}"
                found.append(text if len(chosen) == 1 and block.scale == 1.0 else f"({text})")
        return found

    def factor(self, factor: Factor) -> list[str]:
        """Write the columns of one factor."""
        if isinstance(factor, Number):
            return [self.number(factor.steps, factor.name)]
        if isinstance(factor, Powers) and factor.degree <= MOST_POWER:
            x = self.number(factor.steps, factor.name)
            return [_power(x, k + 1) for k in range(factor.degree)]
        if isinstance(factor, Dummies | Contrast):
            return self.levels(factor)
        raise _refused(factor.name, "it is neither a number nor a category")

    def number(self, steps: Steps, term: str) -> str:
        """Write the steps of an expression, from the stack's top."""
        stack: list[str] = []
        written = {name: self.dialect.number(n) for name, n in NUMBERS.items()}
        for at, (op, given) in enumerate(steps):
            if op == "column":
                stack.append(self.read(given[0]))
            elif op == "constant" and not isinstance(given[0], bool):
                stack.append(self.dialect.number(float(given[0])))
            elif op in PREFIX:
                x = stack.pop()
                found = PREFIX[op].format(x, **written)
                stack.append(self.dialect.whole(x, found) if op in ("floor", "ceil") else found)
            elif op in INFIX:
                second, first = stack.pop(), stack.pop()
                stack.append(f"({first} {INFIX[op]} {second})")
            elif op == "power" and (whole := _whole(steps[at - 1])):
                stack.pop()
                stack.append(_power(stack.pop(), whole))
            else:
                raise _refused(term, f"{op!r} is not among the functions that are written")
        return stack[0]

    def read(self, name: str) -> str:
        """Read a column as a double, NaN as NULL."""
        kind: Kind = self.kinds[name]
        x = self.dialect.as_double(name, kind)
        return x if kind == "boolean" else self.dialect.nan_as_null(x)

    def levels(self, factor: Dummies | Contrast) -> list[str]:
        """Write the columns of a category, NULL for levels that training did not have."""
        name = single_column(factor.steps)
        if name is None:
            raise _refused(factor.name, "its levels are those of an expression")
        if any(is_large(level) for level in factor.levels):
            raise _refused(factor.name, "its levels are whole numbers from 2^53 on")
        if isinstance(factor, Contrast):
            matrix = np.reshape(factor.matrix, (len(factor.levels), -1))
        else:
            matrix = np.eye(len(factor.levels))
            if factor.base is not None:
                matrix = np.delete(matrix, factor.base, axis=1)
        return [self.coded(name, factor.levels, column) for column in matrix.T.tolist()]

    def coded(self, name: str, levels: Sequence[LevelValue], values: Sequence[float]) -> str:
        """Write the number that stands for each level; levels of one number share a line."""
        if isinstance(levels[0], str):
            x, shown = self.dialect.name(name), [self.dialect.text(str(v)) for v in levels]
        else:
            x = self.dialect.as_double(name, self.kinds[name])
            shown = [self.dialect.number(float(v)) for v in levels]
        among: dict[float, list[str]] = {}
        for level, value in zip(shown, values, strict=True):
            among.setdefault(value, []).append(level)
        lines = [
            f"WHEN {x} IN ({', '.join(held)}) THEN {self.dialect.number(value)}"
            for value, held in sorted(among.items(), reverse=True)
        ]
        return f"CASE {' '.join(lines)} END"


def _whole(step: tuple[str, tuple[object, ...]]) -> int:
    """Read a constant as a whole power that is written as a product, else 0."""
    op, given = step
    if op != "constant" or isinstance(given[0], bool) or not isinstance(given[0], int | float):
        return 0
    return int(given[0]) if given[0] in range(1, MOST_POWER + 1) else 0


def _power(x: str, times: int) -> str:
    return x if times == 1 else f"({' * '.join([x] * times)})"


def _refused(term: str, why: str) -> NotExportableError:
    return NotExportableError(
        f"the term {term!r} cannot be written as SQL: {why}. Allowed: numbers, categories, their "
        f"products, + - * /, whole powers and {', '.join(PREFIX)}. Compute the column in the "
        "database before fitting, or use to_onnx."
    )
