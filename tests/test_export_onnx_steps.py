"""Steps over functions whose last digit differs between runtimes: rounded first, or refused."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import crank
from crank.design.expressions import Step
from crank.design.factors import Number
from crank.design.operations import OPERATIONS
from crank.design.rounding import INEXACT, JUMPS, with_rounding
from crank.errors import NotExportableError
from crank.export.json.text import fingerprint
from crank.formula import learn_design, parse_formula
from crank.frames.table import Table
from crank.graphs.functions import apply
from crank.graphs.graph import Element, Graph
from crank.graphs.runtime import session
from crank.serve import Scorer
from tests.narrowing import of

TENS = 10.0 ** np.arange(-12, 13)
CUBES = np.concatenate([np.arange(-60.0, 61.0) ** 3, np.arange(1.0, 40.0) ** 3 / 8.0])
TURNS = np.arange(-40, 41) * np.pi / 6.0
CASES = [
    ("C(floor(log(x)/log(10)))", TENS),
    ("floor(log(x)/log(10))", TENS),
    ("C(ceil(log(x, 5)))", 5.0 ** np.arange(-10, 11)),
    ("I(log(x) >= log(100))", TENS),
    ("I(log(x) == 3 * log(10))", TENS),
    ("I(log(x) // log(10))", TENS),
    ("trunc(10 * (log(x) % log(10)))", TENS),
    ("C(floor(cbrt(x)))", CUBES),
    ("sign(cbrt(x) - 3)", CUBES),
    ("C(round(2 * cos(x)))", TURNS),
    ("I(cos(x) > 0.5)", TURNS),
    ("C(floor(exp(x) - 0.5))", np.log(np.arange(1, 30) + 0.5)),
    ("cut(log10(x) * 3, c(-50, -30, -3, 0, 3, 9, 50))", TENS),
    ("where(tan(x) > 1, x, -x)", TURNS + np.pi / 4),
    ("floor(x ** 1.5)", np.arange(0.0, 400.0) ** 2),
    ("sign(cos(x))", TURNS),
    ("C(sign(sin(x)))", TURNS),
    ("floor(sin(x))", TURNS),
    ("I(sin(x) * cos(x) > 0)", TURNS),
    ("I(tan(x) > 0)", TURNS + np.pi / 24),
    ("floor(tan(x))", TURNS[::3] + np.pi / 4),
]


@pytest.mark.parametrize(("term", "x"), CASES)
def test_both_take_the_same_step_at_exact_points(term: str, x: np.ndarray) -> None:
    frame = pd.DataFrame({"x": np.concatenate([x, np.nextafter(x, 1e300), x * 1.01])})
    frame["y"] = np.sin(np.arange(len(frame)) * 1.3) + 9.0 * np.cos(frame["x"])
    frame["y"] += np.cbrt(frame["x"])
    m = crank.fit(frame, f"y ~ {term}", max_depth=6, min_samples_leaf=1, prune=None)
    scorer = Scorer(m.to_onnx())
    wanted = m.predict(frame)
    np.testing.assert_array_equal(scorer(frame), wanted)
    alone = [scorer({"x": value}).item() for value in frame["x"]]  # other batch, other kernels
    np.testing.assert_array_equal(alone, wanted)
    assert len(set(wanted)) > 1


@pytest.mark.parametrize("op", ["sinh", "cosh"])
def test_hyperbolic_functions_are_finite_as_far_as_numpys(op: str) -> None:
    x = np.array([-710.4, -709.79, 700.0, 709.78, 709.8, 710.47, 710.4758])
    graph = Graph(reserved=["x", "result"])
    graph.op("Identity", apply(graph, op, graph.input("x", Element.DOUBLE, 1)), out="result")
    graph.output("result", Element.DOUBLE)
    got = session(graph.serialise({}, "")).run(None, {"x": x[:, None]})[0][:, 0]
    np.testing.assert_allclose(got, OPERATIONS[op].apply(x), rtol=4e-13)


def test_cube_roots_of_cubes_are_exact_and_of_extremes_finite() -> None:
    x = np.concatenate([CUBES, np.arange(1.0, 5000.0) ** 3, [5e-324, 1.7976931348623157e308]])
    graph = Graph(reserved=["x", "result"])
    graph.op("Identity", apply(graph, "cbrt", graph.input("x", Element.DOUBLE, 1)), out="result")
    graph.output("result", Element.DOUBLE)
    got = session(graph.serialise({}, "")).run(None, {"x": x[:, None]})[0][:, 0]
    np.testing.assert_array_equal(got[:-2], np.round(2 * np.cbrt(x[:-2])) / 2)
    np.testing.assert_allclose(got[-2:], np.cbrt(x[-2:]), rtol=1e-15)


@pytest.mark.parametrize("bits", [45, 41])
def test_rounding_keeps_some_bits_and_is_the_same_in_both(bits: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000) * 10.0 ** rng.integers(-300, 300, 4000)
    x = np.concatenate([x, [0.0, -0.0, 1.5, 2.0**40 + 1, -(2.0**41), 1e308, -1e308, 5e-324]])
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = OPERATIONS["rounded"].apply(x, np.float64(bits))
    mantissa, exponent = np.frexp(x)
    naive = np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits)
    ordinary = (np.abs(x) > 1e-290) & (np.abs(x) < 1e300)
    np.testing.assert_array_equal(rounded[ordinary], naive[ordinary])
    np.testing.assert_array_equal(rounded[-3:-1], x[-3:-1])
    graph = Graph(reserved=["x", "result"])
    value = apply(graph, "rounded", graph.input("x", Element.DOUBLE, 1), float(bits))
    graph.op("Identity", value, out="result")
    graph.output("result", Element.DOUBLE)
    got = session(graph.serialise({}, "")).run(None, {"x": x[:, None]})[0][:, 0]
    np.testing.assert_array_equal(got, rounded)


def test_only_steps_over_inexact_values_are_rounded() -> None:
    x = Step("column", ("x",))
    for op in ("abs", "sqrt", "square"):
        assert with_rounding((x, Step(op), Step("floor"))) == (x, Step(op), Step("floor"))
    once, point = ["constant", "rounded"], ["constant", "add", "constant", "subtract"]
    turns = {op: [op, *point] for op in ("sin", "cos")}
    turns["tan"] = [*turns["sin"], "column", *turns["cos"], "divide"]
    for op in INEXACT - {"power"}:
        assert with_rounding((x, Step(op))) == (x, Step(op))
        done = with_rounding((x, Step(op), Step("floor")))
        assert [s.op for s in done] == ["column", *turns.get(op, [op, *once]), *once, "floor"]
        assert with_rounding(done) == done
    assert OPERATIONS.keys() > INEXACT | JUMPS


def test_a_category_without_a_step_is_refused_with_its_term() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 5.0] * 20, "y": np.arange(60.0)})
    m = crank.fit(frame, "y ~ C(log(x))", max_depth=2, prune=None)
    with pytest.raises(NotExportableError, match=r"'C\(log\(x\)\)'.*round"):
        m.to_onnx()


def test_a_model_of_an_earlier_version_is_refused_with_its_term() -> None:
    frame = pd.DataFrame({"x": TENS, "y": np.arange(25.0)})
    m = crank.fit(frame, "y ~ floor(log(x)/log(10))", min_samples_leaf=1, prune=None)
    stored = json.loads(m.to_json())
    (factor,) = stored["design"]["factors"]
    factor["steps"] = [["column", "x"], ["log"], ["constant", 10.0], ["log"], ["divide"], ["floor"]]
    stored["fingerprint"] = fingerprint(stored)
    old = crank.from_json(json.dumps(stored))
    assert old.predict(frame).shape == (25,)
    with pytest.raises(NotExportableError, match=r"'floor\(log\(x\) / log\(10\)\)'.*[Ff]it"):
        old.to_onnx()


def test_the_formula_knows_rounding_only_where_it_is_needed() -> None:
    table = Table.read({"y": [1.0, 2.0, 3.0], "x": [1.0, 10.0, 100.0]})
    for term, count in (("floor(x)", 0), ("log(x)", 0), ("floor(log(x))", 2), ("I(log(x) > 1)", 3)):
        spec = learn_design(parse_formula(f"y ~ {term}", table.names), table, native=True)
        assert [s.op for s in of(Number, spec.factors[0]).steps].count("rounded") == count
