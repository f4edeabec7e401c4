"""Factors of several columns of numbers as ONNX nodes: powers, polynomials, splines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crank.design.factors import NaturalSpline, Poly, Spline
from crank.graphs.functions import apply
from crank.graphs.graph import Element, Graph


def power_columns(graph: Graph, x: str, wanted: Sequence[int]) -> str:
    """Compute some powers of x, from the first on."""
    return _beside(graph, [apply(graph, "power", x, float(k + 1)) for k in wanted])


def poly_columns(graph: Graph, x: str, factor: Poly, wanted: Sequence[int]) -> str:
    """Compute some orthonormal polynomials by the recurrence of `Poly.fill`."""
    columns: list[str] = []
    before, last = "", ""
    for k, alpha in enumerate(factor.alpha[: max(wanted) + 1]):
        shifted = graph.op("Sub", x, alpha)
        if k == 0:
            before, last = last, shifted
        else:
            beta = factor.norms[k] / factor.norms[k - 1]
            less = graph.op("Mul", before, beta) if before else beta
            before, last = last, graph.op("Sub", graph.op("Mul", shifted, last), less)
        norm = float(np.sqrt(factor.norms[k + 1]))
        columns.append(graph.op("Div", last, norm) if k in wanted else "")
    return _beside(graph, [columns[k] for k in wanted])


def spline_columns(graph: Graph, x: str, factor: Spline, wanted: Sequence[int]) -> str:
    """Compute some B-splines by the Cox–de Boor recurrence, all intervals side by side.

    Where Python refuses a value out of range, it is missing.
    """
    x = _bounded(graph, x, factor)
    basis = _intervals(graph, x, factor)
    t = np.array(factor.knots)
    for d in range(1, factor.degree + 1):
        width, n = t[d:] - t[:-d], len(t) - d
        # no rise over an empty interval
        rise = graph.op("Div", graph.op("Sub", x, t[None, :n]), np.where(width > 0, width, np.inf))
        fall = graph.op("Sub", 1.0, _part(graph, rise, 1, n))
        basis = graph.op(
            "Add",
            graph.op("Mul", _part(graph, rise, 0, n - 1), _part(graph, basis, 0, n - 1)),
            graph.op("Mul", fall, _part(graph, basis, 1, n)),
        )
    chosen = graph.op("Gather", basis, np.array(wanted) + factor.first, axis=1)
    return graph.op("Where", graph.op("IsNaN", x), np.nan, chosen)


def natural_columns(graph: Graph, x: str, factor: NaturalSpline, wanted: Sequence[int]) -> str:
    """Compute some natural cubic splines: find the interval, then its polynomials."""
    beyond = graph.op("GreaterOrEqual", x, np.array([factor.knots]))
    count = graph.op("ReduceSum", graph.cast(beyond, Element.INT64), np.array([1]), keepdims=1)
    distance = graph.op("Sub", x, graph.op("Gather", factor.origins, count, axis=0))
    value = ""
    for power in (3, 2, 1, 0):
        table = factor.coefficients[:, list(wanted), power]
        rows = graph.op("Squeeze", graph.op("Gather", table, count, axis=0), np.array([1]))
        value = graph.op("Add", graph.op("Mul", value, distance), rows) if value else rows
    return value


def _bounded(graph: Graph, x: str, factor: Spline) -> str:
    if factor.extrapolation in ("extend", "zero"):
        return x
    below = graph.op("Less", x, factor.lower)
    above = graph.op("Greater", x, factor.upper)
    if factor.extrapolation == "clip":
        # Min and Max drop NaN in some versions of ONNX Runtime
        x = graph.op("Where", below, factor.lower, x)
        return graph.op("Where", above, factor.upper, x)
    return graph.op("Where", graph.op("Or", below, above), np.nan, x)


def _intervals(graph: Graph, x: str, factor: Spline) -> str:
    """Say which interval between knots x is in, as 0 and 1 in double."""
    t, last = factor.knots, len(factor.knots) - factor.degree - 2
    left, right = np.array(t[:-1]), np.array(t[1:])
    if factor.extrapolation == "extend":
        left[factor.degree], right[last] = -np.inf, np.inf
    else:
        # the last interval is closed: x ≤ t is x < the next double
        right[last] = np.nextafter(right[last], np.inf)
    inside = graph.op(
        "And", graph.op("GreaterOrEqual", x, left[None]), graph.op("Less", x, right[None])
    )
    return graph.cast(inside, Element.DOUBLE)


def _part(graph: Graph, x: str, start: int, stop: int) -> str:
    return graph.op("Slice", x, np.array([start]), np.array([stop]), np.array([1]))


def _beside(graph: Graph, columns: Sequence[str]) -> str:
    return columns[0] if len(columns) == 1 else graph.op("Concat", *columns, axis=1)
