"""A formula, read and compiled, before it has seen any data."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from crank.design.expressions import Function
from crank.errors import FormulaError, listed
from crank.formula.compile import RawFactor, column_factor, compile_factor
from crank.formula.grammar import FormulaReader
from crank.formula.terms import Source
from crank.formula.tokens import shortened
from crank.texts import HALF, broken, is_broken


class RawTerm(NamedTuple):
    """A product of factors and a number, before anything is learned from data."""

    factors: tuple[RawFactor, ...]
    scale: float

    @property
    def name(self) -> str:
        """Name the term."""
        number = () if self.scale == 1 else (f"{self.scale:g}",)
        return ":".join([*number, *(factor.name for factor in self.factors)])


@dataclass(frozen=True)
class ParsedFormula:
    """The response and the terms of a formula.

    Examples
    --------
    >>> parsed = parse_formula("y ~ log(x) * g", ["y", "x", "g"])
    >>> [term.name for term in parsed.terms]
    ['log(x)', 'g', 'log(x):g']
    """

    text: str
    response: RawFactor
    terms: tuple[RawTerm, ...]
    intercept: bool

    @property
    def factors(self) -> tuple[RawFactor, ...]:
        """List the distinct factors of the right side."""
        found = {f.name: f for term in self.terms for f in term.factors}
        return tuple(found.values())

    @property
    def variables(self) -> tuple[str, ...]:
        """List the raw columns that the right side reads."""
        return tuple(dict.fromkeys(v for f in self.factors for v in f.variables))

    @property
    def response_variables(self) -> tuple[str, ...]:
        """List the raw columns that the left side reads."""
        return self.response.variables

    @property
    def dates(self) -> tuple[str, ...]:
        """List the raw columns of both sides that ``as.Date`` reads."""
        return tuple(dict.fromkeys(v for f in (self.response, *self.factors) for v in f.dates))

    @property
    def functions(self) -> dict[str, Function]:
        """Collect the user's functions that the right side calls."""
        return {name: f for factor in self.factors for name, f in factor.functions.items()}


def parse_formula(
    formula: str,
    names: Sequence[str],
    *,
    context: Mapping[str, Any] | None = None,
    hidden: Collection[str] = (),
) -> ParsedFormula:
    """Read a formula against the names of the data's columns.

    Parameters
    ----------
    formula : str
        Such as ``"price ~ log(carat) + C(cut) * depth"``; ``.`` is every column that the left
        side does not read.
    names : sequence of str
        The columns of the data.
    context : mapping of str to function, optional
        Functions that the formula may call besides its own; a number is taken as a constant.
    hidden : collection of str
        Columns that ``.`` leaves out, such as that of the weights.

    Examples
    --------
    >>> parsed = parse_formula("log(y) ~ . - z", ["y", "x", "z", "g"])
    >>> parsed.variables, parsed.response_variables
    (('x', 'g'), ('y',))
    """
    if not isinstance(formula, str):
        raise FormulaError(
            f"a formula must be text such as 'y ~ x1 + x2', got {type(formula).__name__}."
        )
    if is_broken(formula):
        raise FormulaError(f"the formula {formula!a} holds {HALF}.")
    columns, known = dict.fromkeys(names), context or {}  # a set that keeps the order

    def compiled(source: Source) -> RawFactor:
        if source.tree is None:
            return column_factor(source.name, columns)
        try:
            return compile_factor(source.name, source.tree, columns, known)
        except RecursionError:
            raise FormulaError(
                f"the term {shortened(source.name)} is nested too deeply. Compute it as a column."
            ) from None

    reader = FormulaReader(formula)
    left = compiled(reader.response())
    if left.form != "expression":
        raise FormulaError(
            f"the response {left.name!r} makes several columns. A response is one column of "
            f"numbers, such as y or log(y)."
        )
    others = (name for name in names if name not in left.variables and name not in hidden)
    right = reader.right_side(others)
    terms = tuple(RawTerm(tuple(map(compiled, t.factors)), t.scale) for t in right.terms)
    parsed = ParsedFormula(formula, left, terms, right.intercept)
    if (name := broken(parsed.variables)) is not None:
        raise FormulaError(f"the name of column {name!a} holds {HALF}. Rename the column.")
    _refuse_response(parsed)
    return parsed


def _refuse_response(parsed: ParsedFormula) -> None:
    """Refuse predictors from which the response can be computed."""
    needed = parsed.response_variables
    if not set(needed) <= set(parsed.variables):
        return
    where = [f.name for f in parsed.factors if not set(needed).isdisjoint(f.variables)]
    raise FormulaError(
        f"the formula {shortened(parsed.text)} has its response {parsed.response.name!r} on the "
        f"right side as well, in {listed(map(repr, where))}: the response could be computed from "
        f"its predictors. Leave {listed(map(repr, needed))} out there."
    )
