"""A formula as an additive model reads it: numbers are smooth, categories have all their levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from crank.design.operations import Floats
from crank.design.reader import Reader
from crank.design.spec import DesignSpec
from crank.formula.compile import RawFactor, column_factor
from crank.formula.learn import learn_design
from crank.formula.parse import ParsedFormula, RawTerm
from crank.formula.scaling import learn_steps
from crank.frames.table import Table

PAIR_COLUMNS = 4
"""Columns of either factor of a pair of smooth terms."""


def additive_terms(parsed: ParsedFormula, table: Table) -> ParsedFormula:
    """Make terms of numbers smooth, and give categories a column for each level.

    A number with two distinct values stays a line. Products of two numbers become surfaces, of
    few columns each. What says how it shall enter (``s``, ``ns``, ``poly``, …) stays as it is.

    Examples
    --------
    >>> from crank.formula import parse_formula
    >>> table = Table.read({"y": [1, 2, 3], "x": [1.0, 2.0, 4.0], "b": [0, 1, 0]})
    >>> parsed = additive_terms(parse_formula("y ~ .", table.names), table)
    >>> [term.name for term in parsed.terms]
    ['s(x)', 'b']
    """
    terms = tuple(_additive(term, table) for term in parsed.terms)
    return replace(parsed, terms=terms)


def with_pairs(parsed: ParsedFormula, pairs: Sequence[tuple[str, str]]) -> ParsedFormula:
    """Add surfaces over pairs of smooth terms, which are named."""
    smooth = {term.name: term.factors[0] for term in parsed.terms if _is_smooth(term)}
    added = tuple(
        RawTerm((_reduced(smooth[a], PAIR_COLUMNS), _reduced(smooth[b], PAIR_COLUMNS)), 1.0)
        for a, b in pairs
    )
    return replace(parsed, terms=(*parsed.terms, *added))


def smooth_names(parsed: ParsedFormula) -> list[str]:
    """Name the terms that are one curve."""
    return [term.name for term in parsed.terms if _is_smooth(term)]


def _is_smooth(term: RawTerm) -> bool:
    return (
        len(term.factors) == 1
        and term.factors[0].form == "s"
        and term.factors[0].options["by"] is None
    )


def _additive(term: RawTerm, table: Table) -> RawTerm:
    if len(term.factors) == 1 and term.scale == 1.0:
        return term._replace(factors=(_curve(term.factors[0], table),))
    curves = [_curve(factor, table) for factor in term.factors]
    if len(curves) == 2 and term.scale == 1.0 and all(c.form == "s" for c in curves):
        return term._replace(factors=tuple(_reduced(c, PAIR_COLUMNS) for c in curves))
    return term


def _curve(factor: RawFactor, table: Table) -> RawFactor:
    """Make a number smooth, unless it has too few values to bend."""
    (first, *others) = factor.steps
    bare = first.op == "column" and not others
    if factor.form == "expression" and bare and table.kind(first.given[0]) == "category":
        options = {"contrasts": None, "levels": None, "spans_intercept": False}
        return replace(factor, form="C", options=options)
    if factor.form == "C" and factor.options["contrasts"] is None:
        return replace(factor, options={**factor.options, "spans_intercept": False})
    if factor.form != "expression" or _distinct(factor, table) < 3:
        return factor
    return replace(factor, name=f"s({factor.name})", form="s", options={"df": None, "by": None})


def _distinct(factor: RawFactor, table: Table) -> int:
    reader = Reader(table, factor.functions)
    values = reader.finished(learn_steps(factor, reader), factor.name)
    return len(np.unique(values[~np.isnan(values)]))


def _reduced(factor: RawFactor, columns: int) -> RawFactor:
    """Give a smooth factor fewer columns, under a name that says so."""
    df = factor.options["df"]
    if df is not None:
        columns = min(df, columns)
    inner = factor.name.removeprefix("s(").removesuffix(")").partition(", df=")[0]
    options = {**factor.options, "df": columns}
    return replace(factor, name=f"s({inner}, df={columns})", options=options)


def additive_design(table: Table, weights: Floats | None = None) -> DesignSpec:
    """Learn an additive design of all columns of a table, without a formula.

    Examples
    --------
    >>> additive_design(Table.read({"x": [1.0, 2.0, 4.0], "b": [0, 1, 0]})).terms
    ('s(x)', 's(x)', 'b')
    """
    terms = tuple(RawTerm((column_factor(name, table.names),), 1.0) for name in table.names)
    parsed = ParsedFormula("", terms[0].factors[0], terms, intercept=True)
    return learn_design(
        additive_terms(parsed, table), table, native=False, smooth=True, weights=weights
    )
