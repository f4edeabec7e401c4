"""The operations of expressions as ONNX nodes in double.

ONNX Runtime has no double kernel for most of trigonometry and none at all for ``log1p`` and its
kind, so these are composed here to within a few units in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crank.graphs.graph import Graph

Translation: TypeAlias = Callable[..., str]

DIRECT: Mapping[str, str] = {
    "abs": "Abs",
    "negative": "Neg",
    "sign": "Sign",
    "sqrt": "Sqrt",
    "reciprocal": "Reciprocal",
    "floor": "Floor",
    "ceil": "Ceil",
    "rint": "Round",
    "log": "Log",
    "exp": "Exp",
    "sin": "Sin",
    "tanh": "Tanh",
    "add": "Add",
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "maximum": "Max",
    "minimum": "Min",
    "less": "Less",
    "less_equal": "LessOrEqual",
    "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
    "equal": "Equal",
    "and": "And",
    "or": "Or",
    "not": "Not",
}
KEEPS_NAN = frozenset(
    {
        *("abs", "negative", "sqrt", "reciprocal", "floor", "ceil", "rint", "rounded", "square"),
        *("log", "log1p", "log2", "log10", "exp", "expm1", "sin", "cos", "tanh"),
        *("add", "subtract", "multiply", "divide"),
    }
)
"""Operations whose result is NaN wherever an operand is; the others need the mask."""


def _square(g: Graph, x: str) -> str:
    return g.op("Mul", x, x)


def _trunc(g: Graph, x: str) -> str:
    return g.op("Where", g.op("Less", x, 0.0), g.op("Ceil", x), g.op("Floor", x))


def _rounded(g: Graph, x: str, bits: str) -> str:
    factor = g.op("Add", g.op("Pow", 2.0, g.op("Sub", 53.0, bits)), 1.0)
    spread = g.op("Mul", x, factor)
    rounded = g.op("Sub", spread, g.op("Sub", spread, x))
    return g.op("Where", g.op("Less", g.op("Abs", x), 2.0**1000), rounded, x)


def _cbrt(g: Graph, x: str) -> str:
    size = g.op("Abs", x)
    root = g.op("Pow", size, 1.0 / 3.0)
    # one step of Newton's method repairs the rounding of 1/3; the cube itself might overflow
    excess = g.op("Sub", root, g.op("Div", size, g.op("Mul", root, root)))
    better = g.op("Sub", root, g.op("Div", excess, 3.0))
    kept = g.op("Where", g.op("Greater", root, 0.0), better, root)
    return g.op("Mul", g.op("Sign", x), kept)


def _log_to(base: float) -> Translation:
    def log(g: Graph, x: str) -> str:
        near = g.op("Div", g.op("Log", x), math.log(base))
        # exact where NumPy is exact, so that floor(log10(1000)) is 3
        whole = g.op("Round", near)
        exact = g.op("Equal", g.op("Pow", base, whole), x)
        return g.op("Where", exact, whole, near)

    return log


def _log1p(g: Graph, x: str) -> str:
    # Kahan: log(1 + x) · x / ((1 + x) − 1) loses no digits of a small x
    u = g.op("Add", x, 1.0)
    d = g.op("Sub", u, 1.0)
    corrected = g.op("Mul", g.op("Log", u), g.op("Div", x, d))
    return g.op("Where", g.op("Equal", d, 0.0), x, corrected)


def _expm1(g: Graph, x: str) -> str:
    # Kahan again: (e^x − 1) · x / log(e^x), for |x| small enough that digits would be lost
    u = g.op("Exp", x)
    d = g.op("Sub", u, 1.0)
    corrected = g.op("Mul", d, g.op("Div", x, g.op("Log", u)))
    inner = g.op("Where", g.op("Equal", d, 0.0), x, corrected)
    return g.op("Where", g.op("Less", g.op("Abs", x), 1.0), inner, d)


def _cos(g: Graph, x: str) -> str:
    half = g.op("Sin", g.op("Mul", x, 0.5))
    return g.op("Sub", 1.0, g.op("Mul", g.op("Mul", half, half), 2.0))


def _tan(g: Graph, x: str) -> str:
    return g.op("Div", g.op("Sin", x), _cos(g, x))


def _sinh(g: Graph, x: str) -> str:
    e = _expm1(g, g.op("Abs", x))
    # e and e/(e + 1) in place of e^x and e^-x: no digits are lost near 0
    sum_ = g.op("Add", e, g.op("Div", e, g.op("Add", e, 1.0)))
    size = _unless_large(g, x, g.op("Mul", sum_, 0.5))
    return g.op("Mul", g.op("Sign", x), size)


def _cosh(g: Graph, x: str) -> str:
    e = g.op("Exp", g.op("Abs", x))
    return _unless_large(g, x, g.op("Mul", g.op("Add", e, g.op("Reciprocal", e)), 0.5))


def _unless_large(g: Graph, x: str, value: str) -> str:
    """Take half of e^|x|, in two halves of the exponent, where e^|x| itself would overflow."""
    root = g.op("Exp", g.op("Mul", g.op("Abs", x), 0.5))
    half = g.op("Mul", g.op("Mul", root, 0.5), root)
    return g.op("Where", g.op("Greater", g.op("Abs", x), 700.0), half, value)


def _arctan(g: Graph, x: str) -> str:
    steep = g.op("Greater", g.op("Abs", x), 1.0)
    z = g.op("Where", steep, g.op("Reciprocal", x), x)
    for _ in range(3):  # atan(z) = 2 atan(z / (1 + √(1 + z²))); three halvings give |z| < 0.1
        root = g.op("Sqrt", g.op("Add", g.op("Mul", z, z), 1.0))
        z = g.op("Div", z, g.op("Add", root, 1.0))
    square = g.op("Mul", z, z)
    series = g.constant(1.0 / 17.0)
    for k in range(15, 0, -2):
        series = g.op("Sub", 1.0 / k, g.op("Mul", square, series))
    angle = g.op("Mul", g.op("Mul", z, series), 8.0)
    other = g.op("Sub", g.op("Mul", g.op("Sign", x), math.pi / 2.0), angle)
    return g.op("Where", steep, other, angle)


def _arcsin(g: Graph, x: str) -> str:
    cosine = g.op("Sqrt", g.op("Mul", g.op("Sub", 1.0, x), g.op("Add", 1.0, x)))
    return g.op("Mul", _arctan(g, g.op("Div", x, g.op("Add", cosine, 1.0))), 2.0)


def _arccos(g: Graph, x: str) -> str:
    ratio = g.op("Div", g.op("Sub", 1.0, x), g.op("Add", 1.0, x))
    angle = g.op("Mul", _arctan(g, g.op("Sqrt", ratio)), 2.0)
    return g.op("Where", g.op("Equal", x, -1.0), math.pi, angle)


def _mod(g: Graph, x: str, y: str) -> str:
    rest = g.op("Mod", x, y, fmod=1)
    # NumPy's remainder has the sign of the divisor
    differ = g.op("Less", g.op("Mul", g.op("Sign", rest), g.op("Sign", y)), 0.0)
    return g.op("Where", differ, g.op("Add", rest, y), rest)


def _floor_divide(g: Graph, x: str, y: str) -> str:
    quotient = g.op("Div", g.op("Sub", x, _mod(g, x, y)), y)
    return g.op("Round", quotient)


def _power(g: Graph, x: str, y: str | float) -> str:
    match y:  # the operator's own shortcuts, which round as NumPy's do
        case 0.5:
            return g.op("Sqrt", x)
        case 1.0:
            return x
        case 2.0:
            return g.op("Mul", x, x)
        case -1.0:
            return g.op("Reciprocal", x)
    return g.op("Pow", x, y)


def _where(g: Graph, condition: str, yes: str, no: str) -> str:
    return g.op("Where", g.op("Not", g.op("Equal", condition, 0.0)), yes, no)


def _not_equal(g: Graph, x: str, y: str) -> str:
    return g.op("Not", g.op("Equal", x, y))


COMPOSED: Mapping[str, Translation] = {
    "square": _square,
    "trunc": _trunc,
    "rounded": _rounded,
    "cbrt": _cbrt,
    "log2": _log_to(2.0),
    "log10": _log_to(10.0),
    "log1p": _log1p,
    "exp2": lambda g, x: g.op("Pow", 2.0, x),
    "expm1": _expm1,
    "cos": _cos,
    "tan": _tan,
    "sinh": _sinh,
    "cosh": _cosh,
    "arctan": _arctan,
    "arcsin": _arcsin,
    "arccos": _arccos,
    "mod": _mod,
    "floor_divide": _floor_divide,
    "power": _power,
    "where": _where,
    "not_equal": _not_equal,
}


def apply(graph: Graph, op: str, *operands: str | float | bool) -> str:
    """Add the nodes of one operation.

    Examples
    --------
    >>> from crank.graphs.graph import Element
    >>> graph = Graph()
    >>> _ = apply(graph, "log1p", graph.input("x", Element.DOUBLE, 1))
    >>> len(graph.calls)
    7
    """
    if op in DIRECT:
        return graph.op(DIRECT[op], *operands)
    ready = operands if op == "power" else [graph.constant(_array(o)) for o in operands]
    return COMPOSED[op](graph, *ready)


def _array(operand: str | float | bool) -> str | NDArray[Any]:
    return operand if isinstance(operand, str) else np.asarray(operand)
