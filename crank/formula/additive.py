"""A formula as an additive model reads it: numbers are smooth, categories have all their levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from crank.design.expressions import columns_of
from crank.design.reader import Reader
from crank.errors import OptionError, did_you_mean, listed
from crank.formula.compile import RawFactor, column_factor
from crank.formula.parse import ParsedFormula, RawTerm
from crank.formula.scaling import learn_steps
from crank.frames.table import Table

PAIR_COLUMNS = 3
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


def pair_sides(parsed: ParsedFormula) -> dict[str, RawTerm]:
    """Find the terms that may be sides of pairs, by name, with the few columns they have there.

    Curves, categories and bare numbers are; products, curves by level and polynomials are not.

    Examples
    --------
    >>> from crank.formula import parse_formula
    >>> parsed = parse_formula("y ~ s(x) + s(z, df=2) + b + x:b", ["y", "x", "z", "b"])
    >>> {name: term.name for name, term in pair_sides(parsed).items()}
    {'s(x)': 's(x, df=3)', 's(z, df=2)': 's(z, df=2)', 'b': 'b'}
    """
    found = {}
    for term in parsed.terms:
        if len(term.factors) == 1 and term.scale == 1.0:
            factor = term.factors[0]
            if factor.form == "s" and factor.options["by"] is None:
                factor = _reduced(factor, PAIR_COLUMNS)
            if factor.form in ("s", "C", "expression") and factor.options.get("by") is None:
                found[term.name] = RawTerm((factor,), 1.0)
    return found


def with_pairs(parsed: ParsedFormula, pairs: Sequence[tuple[str, str]]) -> ParsedFormula:
    """Add the products of pairs of terms, which are named as terms or by their raw columns.

    Examples
    --------
    >>> from crank.formula import parse_formula
    >>> parsed = parse_formula("y ~ s(x) + s(z) + b", ["y", "x", "z", "b"])
    >>> [term.name for term in with_pairs(parsed, [("x", "s(z)"), ("x", "b")]).terms[3:]]
    ['s(x, df=3):s(z, df=3)', 's(x, df=3):b']
    """
    sides = pair_sides(parsed)
    columns = {columns_of(term.factors[0].steps): name for name, term in sides.items()}
    added = []
    for pair in pairs:
        chosen = []
        for name in pair:
            known = name if name in sides else columns.get((name,))
            if known is None:
                raise OptionError(
                    f"pairs names {name!r}, which is no curve, category or number of the formula. "
                    f"Allowed: {listed(list(sides))}.{did_you_mean(name, list(sides))}"
                )
            chosen.append(sides[known].factors[0])
        if chosen[0] == chosen[1]:
            raise OptionError(f"pairs has {pair!r}, a term with itself. Name two different terms.")
        added.append(RawTerm(tuple(chosen), 1.0))
    return replace(parsed, terms=(*parsed.terms, *added))


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


def every_column(table: Table) -> ParsedFormula:
    """Write the additive formula of all columns of a table, which has no response.

    Examples
    --------
    >>> parsed = every_column(Table.read({"x": [1.0, 2.0, 4.0], "b": [0, 1, 0]}))
    >>> [term.name for term in parsed.terms]
    ['s(x)', 'b']
    """
    terms = tuple(RawTerm((column_factor(name, table.names),), 1.0) for name in table.names)
    parsed = ParsedFormula("", terms[0].factors[0], terms, intercept=True)
    return additive_terms(parsed, table)
