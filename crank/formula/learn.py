"""What a formula learns from data: levels, centres, knots; and the design that follows."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from crank.design.expressions import Steps, check
from crank.design.factors import Codes, Dummies, Factor, Number, Ordered, Smooth, Spline, crossed
from crank.design.operations import Floats
from crank.design.reader import Reader
from crank.design.response import ResponseSpec
from crank.design.rounding import safe_for_steps, with_rounding
from crank.design.spec import MOST_COLUMNS, Block, DesignSpec, Variable
from crank.errors import DataError, FormulaError, listed
from crank.formula.bases import learn_natural, learn_poly, learn_spline
from crank.formula.compile import RawFactor, column_factor
from crank.formula.contrasts import Coding, code
from crank.formula.intervals import learn_intervals
from crank.formula.parse import ParsedFormula, RawTerm
from crank.formula.scaling import kinds_of, learn_steps
from crank.formula.smooths import learn_smooth, refuse_smooths
from crank.formula.structure import scoped_terms
from crank.frames.columns import Kind, LevelValue
from crank.frames.table import Table


def learn_response(
    parsed: ParsedFormula, table: Table, reader: Reader | None = None
) -> ResponseSpec:
    """Compile the left side of a formula, learning a centre or scale if it has one.

    A ``reader`` may stand for more rows than the table has.

    Examples
    --------
    >>> from crank.formula import parse_formula
    >>> table = Table.read({"y": [1.0, 3.0], "x": [0, 1]})
    >>> learn_response(parse_formula("center(y) ~ x", table.names), table).values({"y": [2.5]})
    array([0.5])
    """
    factor = parsed.response
    for name in factor.variables:
        if table.kind(name) == "category":
            raise DataError(
                f"the response {factor.name!r} reads column {name!r} of dtype "
                f"{table.dtype(name)}, which is not numeric. Ranking needs values in an order, "
                f"numbers or dates: convert the column (ordered categories: to their codes)."
            )
    steps = learn_steps(factor, reader or Reader(table, factor.functions))
    variables = tuple(Variable(name, table.kind(name)) for name in factor.variables)
    return ResponseSpec(factor.name, variables, steps, factor.functions)


def response(parsed: ParsedFormula, table: Table) -> Floats:
    """Compute the left side of a formula for each row, NaN where it is missing.

    Examples
    --------
    >>> from crank.formula import parse_formula
    >>> table = Table.read({"y": [1.0, None], "x": [0, 1]})
    >>> response(parse_formula("sqrt(y) ~ x", table.names), table)
    array([ 1., nan])
    """
    return learn_response(parsed, table).values(table)


def learn_design(
    parsed: ParsedFormula,
    table: Table,
    *,
    native: bool,
    smooth: bool = False,
    weights: Floats | None = None,
    reader: Reader | None = None,
) -> DesignSpec:
    """Learn a formula's state from a table, ignoring missing values column by column.

    Parameters
    ----------
    native : bool
        True for learners that split categories themselves: a category is one column of codes.
        False for dummies, coded and reduced in rank as formulaic does.
    smooth : bool
        Whether there may be smooth terms, ``s(x)``: only a penalised fit can use them.
    weights : ndarray of shape (n,), optional
        Case weights; knots of smooth terms follow them.
    reader : Reader, optional
        Reads what is learned from, if that is more than the rows of the table.

    Examples
    --------
    >>> from crank.formula import parse_formula
    >>> table = Table.read({"y": [1, 2, 3], "g": ["a", "b", "c"]})
    >>> parsed = parse_formula("y ~ g", table.names)
    >>> learn_design(parsed, table, native=False).names
    ('g[T.b]', 'g[T.c]')
    >>> learn_design(parsed, table, native=True).levels
    (('a', 'b', 'c'),)
    """
    if not smooth:
        refuse_smooths(parsed)
    reader = reader or Reader(table, parsed.functions)
    variables = tuple(Variable(name, table.kind(name)) for name in parsed.variables)
    learned = {factor.name: _learn(factor, reader, weights) for factor in parsed.factors}
    build = _Builder(learned)
    if native:
        for term in parsed.terms:
            build.native(term, reader)
    else:
        spans = [[(f.name, _spans(learned[f.name])) for f in t.factors] for t in parsed.terms]
        scoped = scoped_terms(spans, intercept=parsed.intercept)
        for term, parts in zip(parsed.terms, scoped, strict=True):
            for part in parts:
                if part:  # the intercept is no column of a ranking design
                    build.block(
                        term, [f for s in part for f in build.coded(s.name, reduced=s.reduced)]
                    )
    spec = DesignSpec(variables, tuple(build.factors), tuple(build.blocks), parsed.functions)
    _check_width(spec)
    return spec


@dataclass(frozen=True)
class _Category:
    """A learned category that is not coded yet."""

    name: str
    steps: Steps
    levels: tuple[LevelValue, ...]
    coding: Coding = field(default_factory=Coding)
    spans: bool = True
    ordered: bool = False


@dataclass(frozen=True)
class _Varying:
    """A smooth term for each level of a category, or times a number: ``s(x, by=g)``."""

    smooth: Smooth
    by: Factor


class _Builder:
    """Collect factors and blocks; a factor that several terms use is kept once."""

    def __init__(self, learned: Mapping[str, Factor | _Category | _Varying]) -> None:
        self.learned = learned
        self.factors: dict[Factor, int] = {}  # with their positions
        self.blocks: list[Block] = []

    def coded(self, name: str, *, reduced: bool) -> list[Factor]:
        factor = self.learned[name]
        if isinstance(factor, _Varying):
            return [factor.smooth, factor.by]
        if isinstance(factor, _Category):
            return [code(factor.coding, name, factor.steps, factor.levels, reduced=reduced)]
        if isinstance(factor, Spline) and reduced:
            return [replace(factor, first=1)]
        return [factor]

    def block(self, term: RawTerm, factors: list[Factor], scale: float | None = None) -> None:
        chosen = tuple(self.factors.setdefault(f, len(self.factors)) for f in factors)
        self.blocks.append(Block(term.name, chosen, term.scale if scale is None else scale))

    def native(self, term: RawTerm, reader: Reader) -> None:
        """Add a term for a learner that splits categories: codes, or products with numbers."""
        found = (self.learned[factor.name] for factor in term.factors)
        parts = [part for part in found if not isinstance(part, _Varying)]
        categories = [part for part in parts if isinstance(part, _Category)]
        if len(parts) == 1 and categories and categories[0].ordered:
            only = categories[0]
            self.block(term, [Ordered(only.name, only.steps, only.levels)], 1.0)
        elif len(categories) == len(parts):
            codes = tuple(Codes(c.name, c.steps, c.levels) for c in categories)
            self.block(term, [codes[0] if len(codes) == 1 else crossed(codes, reader)], 1.0)
        else:
            self.block(
                term,
                [
                    Dummies(p.name, p.steps, p.levels) if isinstance(p, _Category) else p
                    for p in parts
                ],
            )


def _spans(factor: Factor | _Category | _Varying) -> bool:
    if isinstance(factor, _Category):
        return factor.spans
    return isinstance(factor, Spline) and factor.first == 0


def _learn(
    factor: RawFactor, reader: Reader, weights: Floats | None
) -> Factor | _Category | _Varying:
    (first, *others) = factor.steps
    column = first.given[0] if first.op == "column" and not others else None
    kind = reader.table.kind(column) if column is not None else None
    if factor.form == "C" or (kind == "category" and factor.form == "expression"):
        return _learn_category(factor, column if kind != "date" else None, reader)
    steps = with_rounding(learn_steps(factor, reader))
    if factor.form == "poly":
        return learn_poly(factor, steps, reader)
    if factor.form == "bs":
        return learn_spline(factor, steps, reader)
    if factor.form == "ns":
        return learn_natural(factor, steps, reader)
    if factor.form == "s":
        return _learn_smooth(factor, steps, reader, weights)
    if factor.form == "cut":
        steps, labels = learn_intervals(factor, safe_for_steps(steps), reader)
        return _Category(factor.name, steps, labels, ordered=bool(factor.options["ordered_result"]))
    return Number(factor.name, steps)


def _learn_smooth(
    factor: RawFactor, steps: Steps, reader: Reader, weights: Floats | None
) -> Smooth | _Varying:
    smooth, by = learn_smooth(factor, steps, reader, weights), factor.options["by"]
    if by is None:
        return smooth
    other = _learn(column_factor(by, reader.table.names), reader, weights)
    if isinstance(other, _Category):
        return _Varying(smooth, Dummies(other.name, other.steps, other.levels))
    assert isinstance(other, Number)
    return _Varying(smooth, other)


def _learn_category(factor: RawFactor, column: str | None, reader: Reader) -> _Category:
    options = factor.options
    if column is not None:
        steps, table, source = factor.steps, reader.table, column
    else:
        steps = with_rounding(learn_steps(factor, reader))
        table, source = Table.read({factor.name: reader.finished(steps, factor.name)}), factor.name
    levels = _given_levels(factor)
    if levels is None:
        table.require_digits(source)
        levels = table.codes(source)[1]
        if column is None:
            levels = _tidy(levels, check(steps, kinds_of(steps, reader), factor.name))
    if not levels:
        raise DataError(
            f"the category {factor.name!r} has no value in these rows, so no level can be learned. "
            f"Leave the term out."
        )
    if not _one_type(levels):
        raise DataError(
            f"the category {factor.name!r} must have levels that are all texts or all finite "
            f"numbers, got {listed(map(repr, levels))}. Convert the column."
        )
    coding = options.get("contrasts") or Coding()
    # C(g) asks for the levels without their order
    ordered = factor.form != "C" and column is not None and table.is_ordered(column)
    spans = bool(options.get("spans_intercept", True))
    return _Category(factor.name, steps, levels, coding, spans, ordered)


def _given_levels(factor: RawFactor) -> tuple[LevelValue, ...] | None:
    given = factor.options.get("levels")
    if given is None:
        return None
    if isinstance(given, list | tuple) and _one_type(given) and len(set(given)) == len(given) > 0:
        return tuple(given)
    raise FormulaError(
        f"levels of the term {factor.name!r} must be a list of distinct texts or numbers, "
        f"got {given!r}."
    )


def _one_type(levels: Sequence[object]) -> bool:
    """Say whether levels are all texts, or all finite numbers."""
    return all(isinstance(v, str) for v in levels) or all(
        isinstance(v, bool | int | float) and abs(v) <= sys.float_info.max for v in levels
    )


def _tidy(levels: tuple[LevelValue, ...], kind: Kind) -> tuple[LevelValue, ...]:
    """Write computed levels as what they are: truth values, or whole numbers where all are."""
    if kind == "boolean":
        return tuple(map(bool, levels))
    return tuple(map(int, levels)) if all(float(v).is_integer() for v in levels) else levels


def _check_width(spec: DesignSpec) -> None:
    width = sum(spec.width(block) for block in spec.blocks)
    if width == 0:
        raise DataError(
            "the formula makes no column: its categories have one level each in these rows. "
            "Add a column that varies."
        )
    if width > MOST_COLUMNS:
        block = max(spec.blocks, key=spec.width)
        raise DataError(
            f"the formula makes {width} columns, {spec.width(block)} of them for the term "
            f"{block.term!r}; at most {MOST_COLUMNS} are possible. Leave out columns that name "
            f"rows, or join rare levels."
        )
