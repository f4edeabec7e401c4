"""From a design to a graph: the columns that rules ask for, and no others.

NumPy's interpreter is `DesignSpec.matrix`; this one computes the same products of the same
factors, column by column, in the same order.
"""

from __future__ import annotations

from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from crank.design.factors import (
    Codes,
    Contrast,
    Cross,
    Dummies,
    Factor,
    NaturalSpline,
    Number,
    Poly,
    Powers,
)
from crank.design.spec import Block, DesignSpec
from crank.export.onnx import expressions as onnx_expressions
from crank.export.onnx.bases import natural_columns, poly_columns, power_columns, spline_columns
from crank.export.onnx.inputs import Inputs
from crank.graphs.graph import ML, Element, Graph


class DesignColumns:
    """Compute columns of a design from raw columns.

    Parameters
    ----------
    graph : Graph
    spec : DesignSpec
    inputs : Inputs
    strict : bool
        Whether a category's unknown value makes the runtime fail; if not, it is missing.

    Examples
    --------
    >>> from crank.formula import learn_design, parse_formula
    >>> from crank.frames.table import Table
    >>> table = Table.read({"y": [1, 2], "x": [0.5, 1.0], "g": ["a", "b"]})
    >>> spec = learn_design(parse_formula("y ~ x + x:g", table.names), table, native=True)
    >>> graph = Graph()
    >>> design = DesignColumns(graph, spec, Inputs(graph, spec, {}), strict=False)
    >>> design.columns((0,)), list(graph.inputs)
    ('x', ['x'])
    >>> _ = design.columns((1, 2))
    >>> list(graph.inputs)
    ['x', 'g']
    """

    def __init__(self, graph: Graph, spec: DesignSpec, inputs: Inputs, *, strict: bool) -> None:
        self.graph, self.spec, self.inputs, self.strict = graph, spec, inputs, strict
        self._home = [(b, k) for b in spec.blocks for k in range(spec.width(b))]

    def columns(self, indices: tuple[int, ...]) -> str:
        """Compute some columns, shape [N, len(indices)]."""
        runs = groupby((self._home[j] for j in indices), key=lambda home: home[0])
        parts = [self._block(block, tuple(k for _, k in run)) for block, run in runs]
        return parts[0] if len(parts) == 1 else self.graph.op("Concat", *parts, axis=1)

    def codes(self, column: int) -> tuple[str, int]:
        """Compute a category's codes as int64; their number is what stands for missing."""
        factor = self.spec.factors[self._home[column][0].factors[0]]
        assert isinstance(factor, Codes | Cross)
        return self._codes(factor), len(factor.level_names)

    def _block(self, block: Block, wanted: tuple[int, ...]) -> str:
        key = ("block", block, wanted)
        return self.graph.once(key, lambda: self._product(block, wanted))

    def _product(self, block: Block, wanted: tuple[int, ...]) -> str:
        factors = [self.spec.factors[i] for i in block.factors]
        if len(factors) == 1 and block.scale == 1.0:
            return self._factor(factors[0], wanted)
        # the first factor's columns vary fastest
        shape = [len(factor.labels) for factor in factors]
        chosen = np.unravel_index(np.array(wanted), shape, order="F")
        value = self._factor(factors[0], tuple(chosen[0].tolist()))
        for factor, columns in zip(factors[1:], chosen[1:], strict=True):
            value = self.graph.op("Mul", value, self._factor(factor, tuple(columns.tolist())))
        if block.scale != 1.0:
            value = self.graph.op("Mul", value, block.scale)
        return _finite(self.graph, value)

    def _factor(self, factor: Factor, wanted: tuple[int, ...]) -> str:
        graph = self.graph
        if isinstance(factor, Codes | Cross):
            numbers = np.append(np.arange(len(factor.level_names), dtype=np.float64), np.nan)
            return self._rows(numbers[:, None], self._codes(factor))
        if isinstance(factor, Dummies | Contrast):
            coding = _coding(factor)[:, list(wanted)]
            missing = np.full((1, len(wanted)), np.nan)
            return self._rows(np.vstack([coding, missing]), self._codes(factor))
        x = onnx_expressions.finished(graph, factor.steps, self.inputs, factor.name)
        if isinstance(factor, Number):
            return x  # its one column; in a product it stands beside any number of others
        if isinstance(factor, Powers):
            return _finite(graph, power_columns(graph, x, wanted))
        if isinstance(factor, Poly):
            return _finite(graph, poly_columns(graph, x, factor, wanted))
        if isinstance(factor, NaturalSpline):
            return _finite(graph, natural_columns(graph, x, factor, wanted))
        return spline_columns(graph, x, factor, wanted)

    def _rows(self, table: NDArray[np.float64], codes: str) -> str:
        """Look up a row of a table for each code."""
        return self.graph.op(
            "Squeeze", self.graph.op("Gather", table, codes, axis=0), np.array([1])
        )

    def _codes(self, factor: Codes | Cross | Dummies | Contrast) -> str:
        if isinstance(factor, Cross):
            return self.graph.once(("cross", factor), lambda: self._cross(factor))
        return onnx_expressions.codes(
            self.graph, factor.steps, factor.levels, self.inputs, factor.name, strict=self.strict
        )

    def _cross(self, factor: Cross) -> str:
        """Give the combinations that were seen their codes, as `Cross.fill` does."""
        graph, number = self.graph, ""
        absent, unknown = -1, -2
        marks: dict[int, list[str]] = {absent: [], unknown: []}
        for part in factor.parts:
            codes, n = self._codes(part), len(part.levels)
            grown = graph.op("Mul", number, n) if number else ""
            number = graph.op("Add", grown, codes) if number else codes
            marks[absent].append(graph.op("Equal", codes, n))
            if self.strict:
                marks[unknown].append(graph.op("Greater", codes, n))
        for mark, places in marks.items():
            for place in places:
                number = graph.op("Where", place, mark, number)
        none = len(factor.seen)
        return graph.op(
            "LabelEncoder",
            number,
            domain=ML,
            keys_int64s=[absent, *factor.seen],
            values_int64s=[none, *range(none)],
            default_int64=none + 1 if self.strict else none,
        )


class MatrixColumns:
    """Take columns of a design from one input that holds the whole matrix."""

    def __init__(self, graph: Graph, spec: DesignSpec, name: str) -> None:
        self.graph, self.spec, self.name = graph, spec, name
        graph.input(name, Element.DOUBLE, len(spec.names))

    def columns(self, indices: tuple[int, ...]) -> str:
        """Pick some columns."""
        if indices == tuple(range(len(self.spec.names))):
            return self.name
        return self.graph.op("Gather", self.name, np.array(indices), axis=1)

    def codes(self, column: int) -> tuple[str, int]:
        """Convert a column of codes to int64; whatever is not a code is missing."""
        n = len(self.spec.levels[column] or ())
        x = self.graph.columns([column])
        return onnx_expressions.whole_codes(self.graph, x, [float(k) for k in range(n)], n), n


def _coding(factor: Dummies | Contrast) -> NDArray[np.float64]:
    """Return the columns of a category's levels, one row a level."""
    if isinstance(factor, Contrast):
        return np.reshape(factor.matrix, (len(factor.levels), len(factor.fields)))
    shown = [k for k in range(len(factor.levels)) if k != factor.base]
    return np.eye(len(factor.levels))[:, shown]


def _finite(graph: Graph, value: str) -> str:
    """Replace infinite values, which Python refuses, by missing ones."""
    return graph.op("Where", graph.op("IsInf", value), np.nan, value)
