"""Expressions over columns, stored as data: a fixed set of operations in postfix order.

An expression is a tuple of steps for a stack machine: ``log(x) + 1`` is ``column x, log,
constant 1, add``. A flat list needs no recursion to check, to store or to run, so a hostile file
cannot nest it, and a second interpreter is one loop over the same table of operations.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crank.design.operations import OPERATIONS
from crank.errors import DataError, FormulaError, listed
from crank.frames.columns import Kind

_LARGEST = sys.float_info.max
Mask: TypeAlias = NDArray[np.bool_]
Function: TypeAlias = Callable[..., Any]


class Step(NamedTuple):
    """One operation; what it needs besides the stack is in ``given``.

    ``column`` (name), ``days`` (name of a column of dates: days since 1970-01-01), ``constant``
    (number or boolean), ``among`` (name, texts: true where the category is one of them), ``cut``
    (breaks, whether intervals are closed on the right, whether the outermost value belongs to
    them: the number of the value's interval), ``call`` (function's name, number of arguments),
    or a name of `OPERATIONS`, which needs nothing.
    """

    op: str
    given: tuple[Any, ...] = ()


Steps: TypeAlias = tuple[Step, ...]
_READING = ("column", "days", "among", "dated")


class Value(NamedTuple):
    """Numbers or booleans for every row (or one for all), and where a raw value was missing."""

    values: NDArray[Any]
    missing: Mask | None = None


class Source(Protocol):
    """Where an expression finds its raw columns and the user's functions."""

    def number(self, name: str) -> Value:
        """Read a column of numbers."""

    def days(self, name: str) -> Value:
        """Read a column of dates as days since 1970-01-01."""

    def among(self, name: str, texts: Sequence[str]) -> Value:
        """Say for each row whether a category is one of these."""

    def function(self, name: str) -> Function:
        """Find a function that the user gave."""


def evaluate(steps: Steps, source: Source, *, decided: bool = False) -> Value:
    """Run the steps on a source's rows.

    Missing raw values pass through every operation, comparisons included. With ``decided`` they do
    not where the other operand decides, as in R: ``TRUE | NA`` is true, ``FALSE & NA`` false.

    Examples
    --------
    >>> from crank.design.reader import Reader
    >>> from crank.frames.table import Table
    >>> source = Reader(Table.read({"x": [1.0, 4.0]}))
    >>> evaluate((Step("column", ("x",)), Step("sqrt")), source).values
    array([1., 2.])
    """
    stack: list[Value] = []
    with np.errstate(all="ignore"):
        for step in steps:
            match step.op:
                case "column":
                    stack.append(source.number(*step.given))
                case "days":
                    stack.append(source.days(*step.given))
                case "cut":
                    stack.append(_cut(stack.pop(), *step.given))
                case "constant":
                    stack.append(Value(np.asarray(step.given[0])))
                case "among":
                    stack.append(source.among(*step.given))
                case "call":
                    name, arity = step.given
                    arguments = _pop(stack, arity)
                    stack.append(_call(name, source.function(name), arguments))
                case _:
                    operation = OPERATIONS[step.op]
                    arguments = _pop(stack, operation.arity)
                    if decided and step.op in ("and", "or"):
                        stack.append(_decided(step.op == "or", *arguments))
                        continue
                    values = [a.values for a in arguments]
                    if operation.takes == "number":
                        values = [v.astype(np.float64, copy=False) for v in values]
                    stack.append(Value(operation.apply(*values), _either(arguments)))
    (result,) = stack
    return result


def _pop(stack: list[Value], count: int) -> list[Value]:
    arguments = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    return arguments


def _either(values: Sequence[Value]) -> Mask | None:
    masks = [v.missing for v in values if v.missing is not None]
    if len(masks) < 2:
        return masks[0] if masks else None
    return np.asarray(np.logical_or.reduce(masks))


def _decided(by: bool, one: Value, two: Value) -> Value:
    """Join conditions of which one alone decides: a true one in "or", a false one in "and"."""
    settled = _settles(by, one) | _settles(by, two)
    values, missing = settled == by, _either((one, two))
    return Value(values, None if missing is None else missing & ~settled)


def _settles(by: bool, value: Value) -> Mask:
    settles = np.asarray(value.values.astype(np.bool_) == by)
    return settles if value.missing is None else settles & ~value.missing


def _cut(value: Value, breaks: Sequence[float], right: bool, outermost: bool) -> Value:
    """Find the number of each value's interval; outside of all intervals it is missing."""
    x = value.values.astype(np.float64, copy=False)
    number = np.searchsorted(breaks, x, side="left" if right else "right") - 1
    last = len(breaks) - 2
    if outermost:
        end, interval = (breaks[0], 0) if right else (breaks[-1], last)
        number = np.where(x == end, interval, number)
    missing = (number < 0) | (number > last) | np.isnan(x)
    if value.missing is not None:
        missing |= value.missing
    return Value(number.astype(np.float64), missing if missing.any() else None)


def _call(name: str, function: Function, arguments: Sequence[Value]) -> Value:
    given = [a.values for a in arguments]
    rows = np.broadcast_shapes(*(g.shape for g in given))
    try:
        result = np.asarray(function(*given), dtype=np.float64)
    except Exception as error:
        raise DataError(
            f"the function {name!r} given by context= failed: {type(error).__name__}: {error}. "
            f"It gets float arrays, one value for each row, and must return such an array."
        ) from error
    if result.shape != rows:
        raise DataError(
            f"the function {name!r} given by context= returned shape {result.shape} for rows of "
            f"shape {rows}. It must return one number for each row."
        )
    return Value(result, _either(arguments))


def columns_of(steps: Steps) -> tuple[str, ...]:
    """List the raw columns that the steps read, in order of first use."""
    return tuple(dict.fromkeys(s.given[0] for s in steps if s.op in _READING))


def functions_of(steps: Steps) -> tuple[str, ...]:
    """List the user's functions that the steps call."""
    return tuple(dict.fromkeys(s.given[0] for s in steps if s.op == "call"))


def check(steps: Steps, kinds: Mapping[str, Kind], term: str) -> Kind:
    """Prove that the steps can run on columns of these kinds, and say what they give.

    Examples
    --------
    >>> check((Step("column", ("x",)), Step("constant", (3,)), Step("less")), {"x": "number"}, "t")
    'boolean'
    """
    stack: list[Kind] = []
    for op, given in steps:
        if op == "column":
            kind = kinds[given[0]]
            if kind in ("category", "date"):
                holds = "categories" if kind == "category" else "dates"
                raise _needs(term, f"column {given[0]!r} holds {holds}", "numbers")
            stack.append(kind)
            continue
        if op == "days":
            if kinds[given[0]] != "date":
                raise _needs(term, f"column {given[0]!r} holds none", "dates")
            stack.append("number")
            continue
        if op == "constant":
            stack.append("boolean" if isinstance(given[0], bool) else "number")
            continue
        if op == "among":
            if kinds[given[0]] != "category":
                raise _needs(term, f"column {given[0]!r} holds numbers", "text to compare")
            stack.append("boolean")
            continue
        arity, takes, gives = _signature(op, given)
        if len(stack) < arity:
            raise FormulaError(f"the stored expression of {term!r} is not valid: {op} lacks values")
        taken, stack = stack[len(stack) - arity :], stack[: len(stack) - arity]
        if takes == "boolean" and "number" in taken:
            raise _needs(term, f"'{op}' got numbers", "true or false on both sides, such as x > 0")
        stack.append(gives)
    if len(stack) != 1:
        raise FormulaError(f"the stored expression of {term!r} is not valid: {len(stack)} results")
    return stack[0]


def operand_start(steps: Sequence[Step]) -> int:
    """Find the position where the operand on top of the stack begins.

    Examples
    --------
    >>> x = Step("column", ("x",))
    >>> operand_start((x, x, Step("log")))
    1
    """
    needed, at = 1, len(steps)
    while needed:
        at -= 1
        needed += arity(steps[at]) - 1
    return at


def arity(step: Step) -> int:
    """Count the operands that a step takes from the stack."""
    leaf = step.op == "constant" or step.op in _READING
    return 0 if leaf else _signature(step.op, step.given)[0]


def _signature(op: str, given: tuple[Any, ...]) -> tuple[int, Kind, Kind]:
    if op == "call":
        return given[1], "number", "number"
    if op == "cut":
        return 1, "number", "number"
    operation = OPERATIONS[op]
    return operation.arity, operation.takes, operation.gives


def _needs(term: str, got: str, needed: str) -> DataError:
    return DataError(
        f"the term {term!r} needs {needed}, but {got}. Convert the column, or change the term."
    )


def from_list(data: Any, columns: Collection[str], term: str) -> Steps:
    """Read steps from JSON, refusing anything that is not one of the known operations.

    Examples
    --------
    >>> from_list([["column", "x"], ["log"]], ["x"], "log(x)")
    (Step(op='column', given=('x',)), Step(op='log', given=()))
    """
    if not isinstance(data, list) or not data:
        raise _broken(term, data)
    return tuple(_step(entry, columns, term) for entry in data)


def _step(entry: Any, columns: Collection[str], term: str) -> Step:
    match entry:
        case ["column", str(name)] if name in columns:
            return Step("column", (name,))
        case ["days", str(name)] if name in columns:
            return Step("days", (name,))
        case ["cut", [_, _, *_] as breaks, bool(right), bool(outermost)]:
            numbers = [b for b in breaks if type(b) in (int, float) and abs(b) <= _LARGEST]
            if len(numbers) == len(breaks) and all(a < b for a, b in pairwise(numbers)):
                return Step("cut", (tuple(map(float, numbers)), right, outermost))
        case ["constant", bool(value)]:
            return Step("constant", (value,))
        case ["constant", int(value) | float(value)] if abs(value) <= _LARGEST:
            return Step("constant", (float(value),))
        case ["among", str(name), [*texts]] if name in columns and texts:
            if all(isinstance(text, str) for text in texts):
                return Step("among", (name, tuple(texts)))
        case [str(op)] if op in OPERATIONS:
            return Step(op)
    raise _broken(term, entry)


def to_list(steps: Steps, term: str) -> list[list[Any]]:
    """Write steps as JSON types."""
    local = functions_of(steps)
    if local:
        raise FormulaError(
            f"the term {term!r} uses {listed(map(repr, local))}, given by context=, so the model "
            f"lives in this session only and cannot be saved. Compute the term as a column "
            f"before fitting, or use the formula's own functions."
        )
    return [
        [step.op, *(list(g) if isinstance(g, tuple) else g for g in step.given)] for step in steps
    ]


def _broken(term: str, entry: Any) -> FormulaError:
    return FormulaError(
        f"the stored expression of {term!r} is not valid: {str(entry)[:60]!r} is no known step. "
        f"The file is damaged or from a newer version of crank."
    )
