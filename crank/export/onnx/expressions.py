"""Run the steps of an expression on a graph: the second interpreter of the formula's operations.

NumPy's is `crank.design.expressions.evaluate`; both walk the same steps in the same order.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np

from crank.design.expressions import Steps, columns_of
from crank.design.operations import OPERATIONS
from crank.design.rounding import is_exact, with_rounding
from crank.export.onnx.inputs import Inputs, single_column
from crank.frames.columns import LARGEST_WHOLE, MISSING_TEXT, LevelValue
from crank.graphs.functions import KEEPS_NAN, apply
from crank.graphs.graph import ML, Element, Graph
from crank.plugins.base import NotExportableError


class Term(NamedTuple):
    """What lies on the stack: a tensor's name, or a number that is the same for all rows."""

    value: str | float | bool
    boolean: bool

    @property
    def fixed(self) -> bool:
        """Whether it is a number."""
        return not isinstance(self.value, str)


def finished(graph: Graph, steps: Steps, inputs: Inputs, term: str) -> str:
    """Compute an expression in double, shape [N, 1]; NaN where a value is missing.

    Where Python would refuse a result that is not finite, it is NaN as well.

    Examples
    --------
    >>> from crank.formula import learn_design, parse_formula
    >>> from crank.frames.table import Table
    >>> table = Table.read({"y": [1, 2], "x": [0.5, 1.0]})
    >>> spec = learn_design(parse_formula("y ~ log(x)", table.names), table, native=True)
    >>> graph = Graph()
    >>> _ = finished(graph, spec.factors[0].steps, Inputs(graph, spec, {}), "log(x)")
    >>> [call.kind for call in graph.calls]
    ['Log', 'IsInf', 'Where']
    """
    if len(steps) == 1 and steps[0].op in ("column", "days"):
        return inputs.number(steps[0].given[0])
    if with_rounding(steps) != steps:
        raise NotExportableError(
            f"the term {term!r} takes a step where the last digit of a function decides, which is "
            "not the same in every runtime: an earlier version of crank fitted it without "
            "rounding first. Fit the model again."
        )
    return graph.once(("finished", steps), lambda: _finished(graph, steps, inputs, term))


def _finished(graph: Graph, steps: Steps, inputs: Inputs, term: str) -> str:
    result = evaluate(graph, steps, inputs, term)
    value = _number(graph, result)
    if isinstance(value, float):
        raise NotExportableError(
            f"the term {term!r} is the same for all rows and has no ONNX translation. "
            "Leave it out of the formula."
        )
    odd = [] if result.boolean else [graph.op("IsInf", value)]
    operations = {step.op for step in steps} - {"column", "days", "constant"}
    if not operations <= KEEPS_NAN:
        absent = (inputs.missing(name) for name in columns_of(steps))
        odd += [mask for mask in absent if mask is not None]
    if not odd:
        return value
    return graph.op("Where", reduce(lambda a, b: graph.op("Or", a, b), odd), np.nan, value)


def evaluate(graph: Graph, steps: Steps, inputs: Inputs, term: str) -> Term:
    """Run the steps; what depends on no column is computed now."""
    stack: list[Term] = []
    for step in steps:
        match step.op:
            case "column" | "days":  # dates come in as days
                stack.append(Term(inputs.number(*step.given), False))
            case "cut":
                stack.append(Term(_cut(graph, _number(graph, stack.pop()), *step.given), False))
            case "constant":
                stack.append(Term(step.given[0], isinstance(step.given[0], bool)))
            case "among":
                stack.append(Term(inputs.among(*step.given), True))
            case "call":
                raise NotExportableError(
                    f"the term {term!r} calls {step.given[0]!r}, a function of your own given by "
                    "context=, which has no ONNX translation. Compute the term as a column before "
                    "fitting, or use the formula's own functions."
                )
            case op:
                start = len(stack) - OPERATIONS[op].arity
                stack[start:] = [_operate(graph, op, stack[start:])]
    (result,) = stack
    return result


def _operate(graph: Graph, op: str, terms: list[Term]) -> Term:
    operation = OPERATIONS[op]
    gives_boolean = operation.gives == "boolean"
    if all(t.fixed for t in terms):
        numbers = [np.asarray(t.value) for t in terms]
        if operation.takes == "number":
            numbers = [n.astype(np.float64) for n in numbers]
        with np.errstate(all="ignore"):
            return Term(operation.apply(*numbers).item(), gives_boolean)
    convert = _number if operation.takes == "number" else _truth
    return Term(apply(graph, op, *(convert(graph, t) for t in terms)), gives_boolean)


def _number(graph: Graph, term: Term) -> str | float:
    if not isinstance(term.value, str):
        return float(term.value)
    if not term.boolean:
        return term.value
    return graph.cast(term.value, Element.DOUBLE)


def _truth(graph: Graph, term: Term) -> str | bool:
    if not isinstance(term.value, str):
        return bool(term.value)
    return term.value if term.boolean else graph.cast(term.value, Element.BOOL)


def _cut(
    graph: Graph, x: str | float, breaks: tuple[float, ...], right: bool, outermost: bool
) -> str:
    """Find the number of the interval that x is in, NaN outside of all."""
    beyond = graph.op("Greater" if right else "GreaterOrEqual", x, np.array([breaks]))
    count = graph.op("ReduceSum", graph.cast(beyond, Element.DOUBLE), np.array([1]), keepdims=1)
    number = graph.op("Sub", count, 1.0)
    last = len(breaks) - 2.0
    if outermost:
        end, interval = (breaks[0], 0.0) if right else (breaks[-1], last)
        number = graph.op("Where", graph.op("Equal", x, end), interval, number)
    outside = graph.op("Or", graph.op("Less", number, 0.0), graph.op("Greater", number, last))
    return graph.op("Where", outside, np.nan, number)


def codes(
    graph: Graph,
    steps: Steps,
    levels: tuple[LevelValue, ...],
    inputs: Inputs,
    term: str,
    *,
    strict: bool,
) -> str:
    """Give a category's values their codes as int64, shape [N, 1]; one past the last is missing.

    A value that is no level is missing too, or two past the last if ``strict``: a number that is
    in no table, so that the runtime refuses the row.
    """
    key = "codes", steps, levels
    return graph.once(key, lambda: _codes(graph, steps, levels, inputs, term, strict))


def _codes(
    graph: Graph,
    steps: Steps,
    levels: tuple[LevelValue, ...],
    inputs: Inputs,
    term: str,
    strict: bool,
) -> str:
    none = len(levels)
    other = none + 1 if strict else none
    column = single_column(steps)
    if column is not None and inputs.is_text(column):
        table = {str(level): i for i, level in enumerate(levels)}
        return inputs.looked_up(column, {**table, MISSING_TEXT: none}, other)
    if steps[-1].op != "cut" and not is_exact(steps):
        raise NotExportableError(
            f"the category {term!r} compares numbers whose last digit is not the same in every "
            "runtime. Round them in the formula: C(round(100 * log(x))), say."
        )
    x = finished(graph, steps, inputs, term)
    if steps[-1].op == "cut":  # the number of the interval is the code
        absent = graph.op("IsNaN", x)
        number = graph.op("Where", absent, float(none), x)
        return graph.cast(number, Element.INT64)
    values = [float(level) for level in levels]
    if any(abs(v) >= LARGEST_WHOLE for v in values):
        raise NotExportableError(
            f"the category {term!r} has levels from 2^53 on, which doubles cannot tell apart. "
            "Convert the column to text before fitting."
        )
    found = (whole_codes if all(v.is_integer() for v in values) else _number_codes)(
        graph, x, values, other
    )
    return graph.op("Where", graph.op("IsNaN", x), none, found) if strict else found


def whole_codes(graph: Graph, x: str, values: list[float], other: int) -> str:
    """Find whole numbers in a list of them; ``other`` stands for all that are not in it."""
    whole = graph.cast(x, Element.INT64)
    found = graph.op(
        "LabelEncoder",
        whole,
        domain=ML,
        keys_int64s=[int(v) for v in values],
        values_int64s=list(range(len(values))),
        default_int64=other,
    )
    exact = graph.op("Equal", graph.cast(whole, Element.DOUBLE), x)
    return graph.op("Where", exact, found, other)


def _number_codes(graph: Graph, x: str, values: list[float], other: int) -> str:
    equal = graph.cast(graph.op("Equal", x, np.array([values])), Element.FLOAT)
    first = graph.op("ArgMax", equal, axis=1, keepdims=1)
    known = graph.op("ReduceMax", equal, np.array([1]), keepdims=1)
    return graph.op("Where", graph.cast(known, Element.BOOL), first, other)
