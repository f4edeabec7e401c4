"""From the Python expression of a factor to steps of the fixed set of operations."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crank.design.expressions import Function, Step, Steps, columns_of, functions_of
from crank.design.operations import OPERATIONS
from crank.errors import FormulaError, did_you_mean, listed
from crank.formula.options import bound, column, contrasts, literal
from crank.formula.syntax import name_of
from crank.formula.tokens import shortened
from crank.formula.vocabulary import (
    BINARY,
    CALLED_HERE,
    COMMON,
    COMPARE,
    CONSTANTS,
    FUNCTIONS,
    OF_ALL_ROWS,
    SAME,
    SCALINGS,
    SEVERAL,
    TURNED,
)
from crank.frames.columns import LARGEST_WHOLE
from crank.frames.dates import days_of_text
from crank.frames.table import unknown_column


@dataclass(frozen=True)
class RawFactor:
    """A factor as the formula writes it, before anything is learned from data.

    ``form`` is ``"expression"``, or the function that makes a factor of its own: poly, bs, ns,
    s, cut, C. The steps may hold ``standardize`` (centre, scale, ddof), for which learning writes
    arithmetic, and ``dated`` (column, comparison, text), see `crank.formula.dated`.
    """

    name: str
    form: str
    steps: Steps
    options: Mapping[str, Any] = field(default_factory=dict)
    functions: Mapping[str, Function] = field(default_factory=dict)

    @property
    def variables(self) -> tuple[str, ...]:
        """List the raw columns that the factor reads."""
        by = self.options.get("by")
        return columns_of(self.steps) if by is None else (*columns_of(self.steps), by)

    @property
    def dates(self) -> tuple[str, ...]:
        """List the columns that ``as.Date`` reads, as dates even if they hold text."""
        return tuple(str(step.given[0]) for step in self.steps if step.op == "days")


def column_factor(name: str, names: Collection[str]) -> RawFactor:
    """Make the factor of a bare column."""
    if name not in names:
        raise unknown_column(name, names)
    return RawFactor(name, "expression", (Step("column", (name,)),))


def compile_factor(
    name: str,
    tree: ast.expr,
    names: Collection[str],
    context: Mapping[str, Any],
) -> RawFactor:
    """Compile the expression of a factor, or say which part of it is not supported.

    Examples
    --------
    >>> from crank.formula.syntax import read_expression
    >>> tree = read_expression("log(x)")
    >>> [step.op for step in compile_factor("log(x)", tree, ["x"], {}).steps]
    ['column', 'log']
    """
    compiler = _Compiler(name, names, context)
    form, options = "expression", {}
    called = compiler.called(tree) if isinstance(tree, ast.Call) else ""
    if called in SEVERAL and called not in context:
        assert isinstance(tree, ast.Call)
        form, options = called, bound(tree, SEVERAL[called], name)
        tree = options.pop(next(iter(SEVERAL[form])))
        for key, value in options.items():
            if isinstance(value, ast.expr):
                options[key] = _READERS.get(key, literal)(value, name)
    compiler.visit(tree)
    steps = tuple(compiler.steps)
    if options.get("by") is not None:
        column_factor(options["by"], names)
    if not columns_of(steps):
        raise FormulaError(
            f"the term {name!r} uses no column of the data. Columns: {listed(names)}."
        )
    functions = {f: context[f] for f in functions_of(steps)}
    return RawFactor(name, form, steps, options, functions)


_READERS: Mapping[str, Callable[[ast.expr, str], Any]] = {"contrasts": contrasts, "by": column}


class _Compiler:
    """Walk an expression and append the steps that compute it."""

    def __init__(self, term: str, names: Collection[str], context: Mapping[str, Any]) -> None:
        self.term, self.names, self.context = term, names, context
        self.steps: list[Step] = []

    def visit(self, node: ast.expr) -> None:
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                self.constant(value, node)
            case ast.Name():
                self.name(str(name_of(node)), node)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                self.constant(-value, node)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                self.visit(operand)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                self.apply("negative", operand)
            case ast.UnaryOp(op=ast.Invert() | ast.Not(), operand=operand):
                self.apply("not", operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
                self.apply(BINARY[type(op)], left, right)
            case ast.BoolOp(op=op, values=[first, *others]):
                self.visit(first)
                for other in others:
                    self.visit(other)
                    self.steps.append(Step("and" if isinstance(op, ast.And) else "or"))
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                self.compare(node, [left, *comparators], ops)
            case ast.Call():
                self.call(node)
            case _:
                raise self.unsupported(node)

    def apply(self, op: str, *arguments: ast.expr) -> None:
        for argument in arguments:
            self.visit(argument)
        self.steps.append(Step(op))

    def constant(self, value: float, node: ast.expr) -> None:
        try:
            number = value if isinstance(value, bool) else float(value)
        except OverflowError:
            raise self.unsupported(node) from None
        if not math.isfinite(number):
            raise self.unsupported(node)
        self.steps.append(Step("constant", (number,)))

    def name(self, name: str, node: ast.expr) -> None:
        if name in self.names:
            self.steps.append(Step("column", (name,)))
        elif name in CONSTANTS:
            self.constant(CONSTANTS[name], node)
        elif isinstance(self.context.get(name), int | float):
            self.constant(self.context[name], node)
        else:
            raise unknown_column(name, self.names)

    def compare(self, node: ast.Compare, sides: list[ast.expr], ops: list[ast.cmpop]) -> None:
        for i, op in enumerate(ops):
            left, right = sides[i], sides[i + 1]
            if isinstance(op, ast.In | ast.NotIn):
                self.member(node, left, right)
                if isinstance(op, ast.NotIn):
                    self.steps.append(Step("not"))
                if i:
                    self.steps.append(Step("and"))
                continue
            kind = type(op)
            if _is_text(left):
                left, right, kind = right, left, TURNED.get(kind, kind)
            if isinstance(left, ast.Call) and self.called(left) == "as.Date" and _is_text(right):
                right = ast.Call(left.func, [right], [])
            if isinstance(right, ast.Constant) and isinstance(right.value, str):
                if kind not in COMPARE:
                    raise self.unsupported(node)
                if kind in (ast.Eq, ast.NotEq):
                    self.among(left, [right.value])
                    if kind is ast.NotEq:
                        self.steps.append(Step("not"))
                else:
                    name = self.bare(left)
                    self.steps.append(Step("dated", (name, COMPARE[kind], right.value)))
            elif kind in COMPARE:
                if kind in (ast.Eq, ast.NotEq):
                    self.refuse_large(left, right)
                self.apply(COMPARE[kind], left, right)
            else:
                raise self.unsupported(node)
            if i:
                self.steps.append(Step("and"))

    def among(self, node: ast.expr, texts: Sequence[str]) -> None:
        self.steps.append(Step("among", (self.bare(node), tuple(texts))))

    def bare(self, node: ast.expr) -> str:
        """Name the column that stands alone beside a text, or in ``as.Date``."""
        before = len(self.steps)
        self.visit(node)
        if len(self.steps) != before + 1 or self.steps[-1].op != "column":
            raise self.unsupported(
                node, "only a column can be compared with a text, or read by as.Date"
            )
        return str(self.steps.pop().given[0])

    def called(self, node: ast.Call) -> str:
        """Name the function that is called, without NumPy's prefix."""
        name = ast.unparse(node.func)
        return name if name in self.context else name.removeprefix("np.")

    def call(self, node: ast.Call) -> None:
        name = self.called(node)
        if callable(self.context.get(name)):
            if node.keywords or not node.args:
                raise self.unsupported(node, "a function given by context= takes columns only")
            for argument in node.args:
                self.visit(argument)
            self.steps.append(Step("call", (name, len(node.args))))
            return
        op = SAME.get(name, name)
        if name == "log" and (len(node.args) > 1 or node.keywords):
            self.log(node)
        elif op in OPERATIONS:
            self.operation(op, node)
        elif name == "I":
            (argument,) = self.positional(node, 1)
            self.visit(argument)
        elif name == "Q":
            (argument,) = self.positional(node, 1)
            self.name(str(literal(argument, self.term)), argument)
        elif name in SCALINGS:
            self.standardize(name, node)
        elif name == "as.Date":
            self.date(node)
        elif name == "clip":
            self.clip(node)
        elif name == "isin":
            self.member(node, *self.positional(node, 2))
        elif name in SEVERAL:
            raise self.unsupported(node, f"{name}(...) makes columns of its own and stands alone")
        elif name == "exp10":
            raise self.unsupported(node, "formulaic computes x**10 by it; write I(10**x)")
        elif name in OF_ALL_ROWS:
            raise self.unsupported(
                node,
                f"{name}(...) depends on the other rows, so that a new row could not be scored. "
                f"Compute it as a column before fitting; a response needs none of it: a ranking "
                f"is the same for y and for its ranks",
            )
        else:
            raise self.unsupported(node)

    def log(self, node: ast.Call) -> None:
        """Compile the logarithm to a base, which is exact for 2 and 10 as in R."""
        options = bound(node, {"x": None, "base": None}, self.term)
        match options["base"]:
            case ast.Constant(value=2):
                self.apply("log2", options["x"])
            case ast.Constant(value=10):
                self.apply("log10", options["x"])
            case base:
                self.apply("log", options["x"])
                self.apply("log", base)
                self.steps.append(Step("divide"))

    def date(self, node: ast.Call) -> None:
        """Compile a column of dates or of texts that are dates, or a date that is written out."""
        (argument,) = self.positional(node, 1)
        if not isinstance(argument, ast.Constant):
            self.steps.append(Step("days", (self.bare(argument),)))
            return
        text = literal(argument, self.term)
        try:
            self.constant(days_of_text(text), argument)
        except (TypeError, ValueError):
            raise self.unsupported(
                node, "as.Date takes a column, or a date as text such as as.Date('2020-12-31')"
            ) from None

    def operation(self, op: str, node: ast.Call) -> None:
        self.apply(op, *self.positional(node, OPERATIONS[op].arity))

    def positional(self, node: ast.Call, count: int) -> list[ast.expr]:
        if node.keywords or len(node.args) != count:
            plural = "argument" if count == 1 else "arguments"
            raise self.unsupported(node, f"it takes {count} {plural} without names")
        return node.args

    def standardize(self, name: str, node: ast.Call) -> None:
        options = bound(node, SCALINGS[name], self.term)
        data, *given = (options[key] for key in SCALINGS[name])
        center, scale, ddof = [
            literal(g, self.term) if isinstance(g, ast.expr) else g for g in given
        ] or (True, False, 1)
        if not all(isinstance(value, bool | int | float) for value in (center, scale, ddof)):
            raise self.unsupported(node, "its options are True, False or a number")
        self.visit(data)
        self.steps.append(Step("standardize", (center, scale, ddof)))

    def clip(self, node: ast.Call) -> None:
        options = bound(node, {"a": None, "a_min": None, "a_max": None}, self.term)
        self.visit(options["a"])
        for key, op in (("a_min", "maximum"), ("a_max", "minimum")):
            limit = options[key]
            unlimited = limit is None or (isinstance(limit, ast.Constant) and limit.value is None)
            if not unlimited:
                self.apply(op, limit)

    def member(self, node: ast.expr, column: ast.expr, given: ast.expr) -> None:
        """Say for each row whether a value is one of a list."""
        values = literal(given, self.term)
        if not isinstance(values, list | tuple) or not values:
            raise self.unsupported(node, "the values must be a list")
        if all(isinstance(value, str) for value in values):
            self.among(column, values)
            return
        for i, value in enumerate(values):
            self.refuse_large(ast.Constant(value))
            self.apply("equal", column, ast.Constant(value))
            if i:
                self.steps.append(Step("or"))

    def refuse_large(self, *sides: ast.expr) -> None:
        """Raise if equality is asked of a whole number whose float is also that of others."""
        for side in sides:
            match side:
                case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=ast.Constant(value=value)):
                    pass
                case ast.Constant(value=value):
                    pass
                case ast.Name(id=name):
                    value = None if name in self.names else self.context.get(name)
                case _:
                    continue
            if type(value) is int and abs(value) >= LARGEST_WHOLE:
                raise FormulaError(
                    f"the term {shortened(self.term)} compares with {value}, but doubles cannot "
                    f"tell whole numbers from 2^53 on apart. Make the column a category, C(...), "
                    f"or read it as text."
                )

    def unsupported(self, node: ast.AST, why: str = "") -> FormulaError:
        text = ast.unparse(node)
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        what = f"the term {shortened(self.term)} holds {shortened(text)}, which is not supported"
        if why:
            return FormulaError(f"{what}: {why}.")
        near = did_you_mean(called.removeprefix("np."), FUNCTIONS)
        if called in CALLED_HERE:
            near = f" Write {CALLED_HERE[called]}(...) for {called}(...)."
        return FormulaError(
            f"{what}. Allowed are arithmetic, comparisons, &, |, ~ and functions such as "
            f"{listed(COMMON, 30)}. Pass your own function as context={{'name': function}}, or "
            f"compute the column before fitting.{near}"
        )


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
