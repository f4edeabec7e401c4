"""Every operation of formulas has an ONNX translation that computes what NumPy computes."""

import numpy as np
import pytest

from crank.design.factors import Number
from crank.design.operations import OPERATIONS
from crank.design.reader import Reader
from crank.export.onnx.expressions import finished
from crank.export.onnx.inputs import Inputs
from crank.formula import learn_design, parse_formula
from crank.frames.columns import MISSING_TEXT
from crank.frames.table import Table
from crank.graphs.functions import COMPOSED, DIRECT, apply
from crank.graphs.graph import Element, Graph
from crank.graphs.runtime import session
from tests.narrowing import of

rng = np.random.default_rng(3)
ANY = np.concatenate(
    [
        rng.normal(size=200) * 10.0 ** rng.integers(-8, 3, 200),
        [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 8.0, 1e-300, 100.0, -100.0],
    ]
)
POSITIVE = np.concatenate(
    [np.abs(ANY[:200]) + 1e-12, 10.0 ** np.arange(-8.0, 16.0), 2.0 ** np.arange(-30.0, 60.0, 7.0)]
)
UNIT = np.concatenate([rng.uniform(-1, 1, 300), [0.0, 1.0, -1.0, 1e-9, 1 - 1e-12, -1 + 1e-12]])
DOMAIN = {
    "sqrt": POSITIVE,
    "log": POSITIVE,
    "log2": POSITIVE,
    "log10": POSITIVE,
    "log1p": np.concatenate([POSITIVE, -np.abs(UNIT[UNIT > -1]) * 0.999]),
    "arcsin": UNIT,
    "arccos": UNIT,
    "reciprocal": POSITIVE,
    "tan": UNIT * 1.5,
    "sinh": np.clip(ANY, -300, 300),
    "cosh": np.clip(ANY, -300, 300),
    "arctan": np.concatenate([ANY, [1e200, -1e200]]),
}
EXACT = {
    *("abs", "negative", "sign", "square", "sqrt", "reciprocal", "floor", "ceil", "trunc", "rint"),
    *("add", "subtract", "multiply", "divide", "maximum", "minimum", "less", "less_equal"),
    *("greater", "greater_equal", "equal", "not_equal", "and", "or", "not", "where", "mod"),
}


def run(
    graph: Graph, result: str, feeds: dict[str, np.ndarray], element: Element = Element.DOUBLE
) -> np.ndarray:
    graph.op("Identity", result, out="result")
    graph.output("result", element)
    columns = {name: x[:, None] for name, x in feeds.items()}
    return np.asarray(session(graph.serialise({}, "")).run(None, columns)[0][:, 0])


def close(got: np.ndarray, wanted: np.ndarray, exact: bool) -> None:
    if exact:
        assert np.array_equal(got, wanted)
    else:
        np.testing.assert_allclose(got, wanted, rtol=4e-15, atol=4e-16)


def test_no_operation_is_forgotten() -> None:
    assert {*DIRECT, *COMPOSED} == set(OPERATIONS)


@pytest.mark.parametrize("op", [o for o, spec in OPERATIONS.items() if spec.arity == 1])
def test_functions_of_one_number(op: str) -> None:
    graph = Graph(reserved=["x", "result"])
    x = DOMAIN.get(op, ANY)
    if OPERATIONS[op].takes == "boolean":
        flags = x > 0
        got = run(
            graph, apply(graph, op, graph.input("x", Element.BOOL, 1)), {"x": flags}, Element.BOOL
        )
        assert np.array_equal(got, ~flags)
        return
    got = run(graph, apply(graph, op, graph.input("x", Element.DOUBLE, 1)), {"x": x})
    close(got, OPERATIONS[op].apply(x), op in EXACT)


@pytest.mark.parametrize("op", [o for o, spec in OPERATIONS.items() if spec.arity > 1])
def test_functions_of_several_numbers(op: str) -> None:
    operation = OPERATIONS[op]
    graph = Graph(reserved=["x", "y", "z", "result"])
    columns = {"x": ANY, "y": np.roll(ANY, 3), "z": np.roll(ANY, 5)}
    if op in ("divide", "mod", "floor_divide"):
        columns["y"] = np.where(np.abs(columns["y"]) < 1e-3, -2.5, columns["y"])
    if op == "power":
        columns = {"x": np.abs(ANY) + 0.1, "y": np.clip(np.roll(ANY, 3), -5, 5)}
    columns = dict(list(columns.items())[: operation.arity])
    element = Element.DOUBLE
    if operation.takes == "boolean":
        columns = {name: x > 0 for name, x in columns.items()}
        element = Element.BOOL
    inputs = [graph.input(name, element, 1) for name in columns]
    gives = Element.BOOL if operation.gives == "boolean" else Element.DOUBLE
    got = run(graph, apply(graph, op, *inputs), columns, gives)
    close(got, operation.apply(*columns.values()), op in EXACT)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0, 3.0, -1.0, -2.0, 1.7])
def test_powers_with_a_fixed_exponent(exponent: float) -> None:
    graph = Graph(reserved=["x", "result"])
    x = np.abs(ANY) + 0.1
    got = run(graph, apply(graph, "power", graph.input("x", Element.DOUBLE, 1), exponent), {"x": x})
    close(got, x**exponent, exponent in (0.0, 0.5, 1.0, 2.0, -1.0))


EXPRESSIONS = [
    "log(x) + 1",
    "x > 0.5",
    "(x > 0.5) & (z < 1) | ~(x < z)",
    "where(x > z, x, -z)",
    "maximum(x, 0.7)",
    "2 ** 3 + x",
    "x ** 0",
    "sign(x - z) * 3",
    "(t == 'a') + 0.0",
    "t != 'a'",
    "where(isin(t, ['a', 'b']), x, z)",
    "flag",
    "flag & (x > 0)",
    "where(flag, x, z)",
    "clip(x, 0.2, 0.9)",
    "(x > 0) == flag",
    "(1 < 2) + x",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_missing_values_pass_through_expressions_as_in_python(expression: str) -> None:
    rng = np.random.default_rng(4)
    columns = {
        "x": np.where(np.arange(60) % 7 == 0, np.nan, rng.uniform(0.1, 1.5, 60)),
        "z": np.where(np.arange(60) % 11 == 0, np.nan, rng.uniform(0.1, 1.5, 60)),
        "t": np.array(["a", "b", "c", None] * 15, dtype=object),
        "flag": np.array([1.0, 0.0, np.nan] * 20),
        "y": np.arange(60.0),
    }
    kinds = {**columns, "flag": np.array([True, False, None] * 20, dtype=object)}
    table = Table.read(kinds)
    spec = learn_design(parse_formula(f"y ~ {{{expression}}}", table.names), table, native=True)
    (factor,) = spec.factors
    steps = of(Number, factor).steps
    wanted = Reader(table).finished(steps, "term")
    graph = Graph(reserved=[*columns, "result"])
    value = finished(graph, steps, Inputs(graph, spec, {}), "term")
    texts = np.array([t or MISSING_TEXT for t in columns["t"]], dtype=object)
    feeds = {**columns, "t": texts}
    got = run(graph, value, {name: feeds[name] for name in graph.inputs})
    assert np.array_equal(np.isnan(got), np.isnan(wanted))
    np.testing.assert_allclose(got, wanted, rtol=1e-14)


def test_what_python_refuses_is_missing() -> None:
    table = Table.read({"x": [1.0, 2.0], "y": [1.0, 2.0]})
    spec = learn_design(parse_formula("y ~ log(x)", table.names), table, native=True)
    graph = Graph(reserved=["x", "result"])
    value = finished(graph, of(Number, spec.factors[0]).steps, Inputs(graph, spec, {}), "log(x)")
    got = run(graph, value, {"x": np.array([1.0, 0.0, -1.0])})
    assert got[0] == 0.0
    assert np.isnan(got[1:]).all()
