"""What a model expects of each raw column, so that a file is read the same way in every piece."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from crank.design.expressions import Steps
from crank.design.factors import Codes, Contrast, Cross, Dummies, Factor
from crank.design.spec import DesignSpec, Variable
from crank.frames.columns import LARGEST_WHOLE, LevelValue

FieldType: TypeAlias = Literal["number", "whole", "boolean", "date", "text"]


@dataclass(frozen=True)
class Expected:
    """How the text of a column's fields is to be understood.

    Attributes
    ----------
    type : {"number", "whole", "boolean", "date", "text"}
        Whole numbers are read digit by digit: as floats, some would be the same.
    texts : frozenset of str
        Values that the model knows: even if one is "NA", it does not mark a missing value.
    """

    type: FieldType
    texts: frozenset[str] = frozenset()


def expected_columns(*designs: DesignSpec, others: Iterable[Variable] = ()) -> dict[str, Expected]:
    """Say what the columns of one or more designs, and some others, must hold.

    A category of text stays text, so that "01" is not the number 1; a category of numbers is
    read as numbers.

    Examples
    --------
    >>> from crank.formula import learn_design, parse_formula
    >>> from crank.frames.table import Table
    >>> table = Table.read({"y": [1, 2], "zip": ["01", "02"], "n": [3, 4]})
    >>> design = learn_design(parse_formula("y ~ zip + C(n)", table.names), table, native=True)
    >>> {name: column.type for name, column in expected_columns(design).items()}
    {'zip': 'text', 'n': 'number'}
    """
    levels: dict[str, set[LevelValue]] = {}
    for factor in (factor for design in designs for factor in design.factors):
        for steps, known in _categories(factor):
            if len(steps) == 1 and steps[0].op == "column":
                levels.setdefault(steps[0].given[0], set()).update(known)
        for step in () if isinstance(factor, Cross) else factor.steps:
            if step.op == "among":
                levels.setdefault(step.given[0], set()).update(step.given[1])
    needed = (variable for design in designs for variable in design.variables)
    variables = {v.name: v for v in (*needed, *others)}
    return {name: _expected(v, levels.get(name, set())) for name, v in variables.items()}


def _categories(factor: Factor) -> list[tuple[Steps, tuple[LevelValue, ...]]]:
    if isinstance(factor, Cross):
        return [(part.steps, part.levels) for part in factor.parts]
    if isinstance(factor, Codes | Contrast | Dummies):
        return [(factor.steps, factor.levels)]
    return []


def _expected(variable: Variable, levels: set[LevelValue]) -> Expected:
    if any(type(level) is int and abs(level) >= LARGEST_WHOLE for level in levels):
        return Expected("whole")
    if variable.kind != "category":
        return Expected(variable.kind)
    texts = frozenset(level for level in levels if isinstance(level, str))
    if texts or not levels:
        return Expected("text", texts)
    return Expected("boolean" if all(isinstance(v, bool) for v in levels) else "number")
