"""Functions of R in formulas: the expected numbers quote the R command they came from."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crank
from crank.design.factors import NaturalSpline
from crank.design.spec import DesignSpec
from crank.errors import DataError, FormulaError
from crank.formula import learn_design, learn_response, parse_formula
from crank.frames.table import Table
from crank.serve import Scorer
from tests.narrowing import of

X = [1.0, 2, 4, 7, 8, 12, 15, 20]
DATA = {"y": np.arange(8.0), "x": X}


def learned(formula: str, data: dict[str, Any] = DATA, *, native: bool = False) -> DesignSpec:
    table = Table.read(data)
    return learn_design(parse_formula(formula, table.names), table, native=native)


def test_natural_splines_are_rs() -> None:
    """R: library(splines); x <- c(1,2,4,7,8,12,15,20); predict(ns(x, df=3), c(-1, 3, 9.5, 25))."""
    spec = learned("y ~ ns(x, df=3)")
    assert spec.names == ("ns(x, df=3)[1]", "ns(x, df=3)[2]", "ns(x, df=3)[3]")
    expected = [
        [0.130779676664016, -0.340961299874042, 0.210181623210026],
        [-0.113186015857113, 0.323482053138492, -0.199406745085372],
        [0.338480618751370, 0.483288117187169, -0.253860120586772],
        [-0.807323666748587, 0.497665274023101, 1.309658392725485],
    ]
    np.testing.assert_allclose(spec.matrix({"x": [-1, 3, 9.5, 25]}), expected, atol=1e-13)
    # ns(x, df=3)[c(1, 5, 8), ]
    at_knots = [
        [0.0, 0.0, 0.0],
        [0.1614010800144382, 0.555351591818723, -0.3292860336352318],
        [-0.1548291963627427, 0.403661833374293, 0.7511673629884492],
    ]
    np.testing.assert_allclose(spec.matrix(DATA)[[0, 4, 7]], at_knots, atol=1e-13)


def test_natural_splines_take_rs_options() -> None:
    """R: predict(ns(x, knots=c(5,10), Boundary.knots=c(0,16), intercept=TRUE), c(-1,3,9.5,25))."""
    term = "ns(x, knots=c(5, 10), Boundary.knots=c(0, 16), intercept=TRUE)"
    expected = [
        [-0.511403939971406, -0.2654172706051513, 0.752015600047929, -0.486598329442777],
        [0.389042153230996, -0.0893291512853426, 0.348724261975138, -0.225645110689795],
        [0.247355548436041, 0.5662475646358193, 0.217168358531845, -0.043060809531301],
        [0, -1.8430493273542599, 0.721973094170403, 2.121076233183857],
    ]
    spec = learned(f"y ~ {term}")
    np.testing.assert_allclose(spec.matrix({"x": [-1, 3, 9.5, 25]}), expected, atol=1e-13)
    # ns(x)
    line = [0, 0.0421991434598565, 0.1265974303795695, 0.2531948607591389]
    np.testing.assert_allclose(learned("y ~ ns(x)").matrix(DATA)[:4, 0], line, atol=1e-14)


@pytest.mark.parametrize("unit", [1e60, 1e110, 1e300, 1e-60, 1e-110, 1e-300])
def test_splines_whose_cubes_lose_all_digits_are_refused(unit: float) -> None:
    data = {"y": DATA["y"], "x": np.array(X) * unit}
    with pytest.raises(DataError, match=r"'ns\(x, df=3\)' spreads over .*Allowed: 1e-50 to 1e\+50"):
        learned("y ~ ns(x, df=3)", data)
    with pytest.raises(DataError, match=r"'s\(x\)' spreads over .*Rescale the column"):
        crank.linear(data, "y ~ s(x)")
    with pytest.raises(DataError, match="cannot be computed in floating point"):
        learned("y ~ poly(x, 3)", data)


@pytest.mark.parametrize("unit", [1e48, 1e-48])
def test_splines_of_wide_and_narrow_columns_are_those_of_others(unit: float) -> None:
    data = {"y": DATA["y"], "x": np.array(X) * unit}
    found = learned("y ~ ns(x, df=3)", data).matrix(data)
    np.testing.assert_allclose(found, learned("y ~ ns(x, df=3)").matrix(DATA), atol=1e-12)


def test_a_natural_spline_is_smooth_and_straight_outside() -> None:
    spec = learned("y ~ ns(x, df=4)")
    (factor,) = spec.factors
    for knot in of(NaturalSpline, factor).knots:
        below, at = spec.matrix({"x": [np.nextafter(knot, -np.inf), knot]})
        np.testing.assert_allclose(below, at, atol=1e-12)
    for x in ([21, 25, 29], [0, -4, -8]):
        first, second, third = spec.matrix({"x": x})
        np.testing.assert_allclose(first + third, 2 * second, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "levels", "codes"),
    [
        ("c(1, 2.5, 10)", ["(1,2.5]", "(2.5,10]"], [None, None, 0, 1, 1, None]),
        ("c(10, 1, 2.5), right=FALSE", ["[1,2.5)", "[2.5,10)"], [None, 0, 0, 1, None, None]),
        ("c(1, 2.5, 10), include.lowest=TRUE", ["[1,2.5]", "(2.5,10]"], [None, 0, 0, 1, 1, None]),
        (
            "[1, 2.5, 10], include_lowest=True, right=False",
            ["[1,2.5)", "[2.5,10]"],
            [None, 0, 0, 1, 1, None],
        ),
        ("3", ["(0.488,4.33]", "(4.33,8.17]", "(8.17,12]"], [0, 0, 0, 1, 2, 2]),
        (
            "4, dig.lab=5",
            ["(0.4885,3.375]", "(3.375,6.25]", "(6.25,9.125]", "(9.125,12.011]"],
            [0, 0, 0, 2, 3, 3],
        ),
        (
            "c(-Inf, 1000, 1234.5678, 1234.57, Inf)",
            ["(-Inf,1000]", "(1000,1234.568]", "(1234.568,1234.57]", "(1234.57, Inf]"],
            [0] * 6,
        ),
        ("seq(0, 12, 4), labels=c('lo', 'mid', 'hi')", ["lo", "mid", "hi"], [0, 0, 0, 1, 2, 2]),
    ],
)
def test_cut_has_rs_intervals_and_labels(options: str, levels: list[str], codes: list[Any]) -> None:
    """R: x <- c(0.5, 1, 2.25, 7, 10, 12); levels(cut(x, …)); as.integer(cut(x, …)) - 1."""
    data = {"y": np.arange(6.0), "x": [0.5, 1, 2.25, 7, 10, 12]}
    spec = learned(f"y ~ cut(x, {options})", data, native=True)
    assert spec.levels == (tuple(levels),)
    expected = [np.nan if code is None else code for code in codes]
    np.testing.assert_array_equal(spec.matrix(data)[:, 0], expected)
    again = DesignSpec.from_dict(json.loads(json.dumps(spec.to_dict(), allow_nan=False)))
    np.testing.assert_array_equal(again.matrix(data), spec.matrix(data))


def test_cut_makes_dummies_and_ordered_factors() -> None:
    assert learned("y ~ cut(x, c(0, 5, 10, 20))").names == (
        "cut(x, [0, 5, 10, 20])[T.(5,10]]",
        "cut(x, [0, 5, 10, 20])[T.(10,20]]",
    )
    spec = learned("y ~ cut(x, c(0, 5, 10, 20), ordered_result=TRUE)", native=True)
    assert spec.levels == (None,)
    assert spec.level_names == (("(0,5]", "(5,10]", "(10,20]"),)


def test_logarithms_take_a_base_as_in_r() -> None:
    """R: log(c(3, 8, 1000), 3); log(8, base=2) == 3; log(1000, 10) == 3."""
    spec = learned("y ~ log(x, 3) + log(x, base=2) + log(x, 10)")
    matrix = spec.matrix({"x": [3, 8, 1000]})
    np.testing.assert_allclose(matrix[:, 0], [1, 1.89278926071437, 6.28770982286815], rtol=1e-14)
    assert matrix[1, 1] == 3
    assert matrix[2, 2] == 3


def test_ifelse_chooses_row_by_row() -> None:
    """R: x <- c(1,2,4); ifelse(x > 1 & x < 3, x, -1)."""
    spec = learned("y ~ ifelse(x > 1 & x < 3, x, -1) + pmin(x, 2) + pmax(x, pi) + ceiling(x / 3)")
    matrix = spec.matrix({"x": [1, 2, 4]})
    np.testing.assert_array_equal(matrix[:, 0], [-1, 2, -1])
    np.testing.assert_array_equal(matrix[:, 1:], [[1, np.pi, 1], [2, np.pi, 1], [2, 4, 2]])


@pytest.mark.parametrize(
    ("term", "message"),
    [
        ("ns(x, df=0)", "df of the term .* must be a whole number from 1 to 100, got 0"),
        ("ns(x, df=3, knots=[2])", "knots .* left out where df is given"),
        ("ns(x, knots=[99])", "knots .* a list of numbers from 1.0 to 20.0"),
        ("ns(x, Boundary.knots=3)", "Boundary.knots .* a list of two numbers, got 3"),
        ("cut(x)", "breaks .* must be a number, or a list of distinct numbers, got None"),
        ("cut(x, 1)", "breaks .* from 2 up, or a list, got 1"),
        ("cut(x, c(1, 1))", "distinct numbers"),
        ("cut(x, c(1, 5, 9), labels=c('a'))", "labels .* a list of 2 distinct texts"),
        ("cut(x, 3, dig.lab='a')", "dig.lab .* whole number from 1 to 17"),
        ("log(x, 2, 3)", "too many arguments"),
        (
            "as.Date('tomorrow')",
            r"as.Date takes a column, or a date as text such as as.Date\('2020-12-31'\)",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(term: str, message: str) -> None:
    with pytest.raises(FormulaError, match=message):
        learned(f"y ~ x + {term}")


def test_knots_that_coincide_are_refused() -> None:
    with pytest.raises(DataError, match=r"knots that coincide, at 0.0, 0.0.*Lower df"):
        learned("y ~ ns(x, df=3)", {"y": np.arange(5.0), "x": [0, 0, 0, 0, 1]})


@pytest.mark.parametrize("name", ["rank", "cumsum", "lag", "mean", "qcut"])
def test_functions_of_all_rows_are_refused_with_the_reason(name: str) -> None:
    with pytest.raises(FormulaError, match=r"depends on the other rows.*as a column") as caught:
        learned(f"y ~ {name}(x)")
    assert "Did you mean" not in str(caught.value)
    with pytest.raises(FormulaError, match=r"a ranking is the same for y and for its ranks"):
        learned(f"{name}(y) ~ x")


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ log(y) + x",
        "y ~ I(y) + x",
        "y ~ poly(y, 2)",
        "y ~ x:log(y)",
        "log(y) ~ y",
        "log(y) ~ x + scale(y)",
        "y ~ ifelse(y > 1, 1, 0)",
        "I(y / x) ~ x + y",
        "I(y / x) ~ I(x / y)",
    ],
)
def test_the_response_among_the_predictors_is_refused(formula: str) -> None:
    with pytest.raises(FormulaError, match=r"has its response .* on the right side as well, in '"):
        parse_formula(formula, ["y", "x"])


def test_a_part_of_the_response_may_be_a_predictor() -> None:
    assert parse_formula("I(y / x) ~ x + z", ["y", "x", "z"]).variables == ("x", "z")


FRAMES: dict[str, Callable[[list[int]], Any]] = {
    "numpy": lambda v: {"y": np.array(v, dtype=np.int64)},
    "unsigned": lambda v: {"y": np.array(v, dtype=np.uint64)},
    "objects": lambda v: {"y": np.array(v, dtype=object)},
    "pandas": lambda v: pd.DataFrame({"y": v}),
    "nullable": lambda v: pd.DataFrame({"y": pd.array([*v, None], dtype="Int64")}),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_whole_responses_beyond_floats_keep_their_order(kind: str) -> None:
    rng = np.random.default_rng(0)
    whole = [2**60 + int(k) for k in rng.permutation(500)] + [1, 2**53 + 1, 2**53]
    data = FRAMES[kind](whole)
    table = Table.read(data)
    values = learn_response(parse_formula("y ~ x", ["y", "x"]), table).values(table)
    assert np.isnan(values[len(whole) :]).all()
    np.testing.assert_array_equal(np.argsort(values[: len(whole)]), np.argsort(whole))
    np.testing.assert_allclose(values[: len(whole)], whole, rtol=1e-12)
    assert len(set(values[: len(whole)])) == len(whole)


def test_negative_whole_responses_keep_their_order_too() -> None:
    whole = np.array([-(2**60) - 3, -(2**60) - 2, -(2**60), 5, 2**60, 2**60 + 1])
    table = Table.read({"y": whole})
    values = learn_response(parse_formula("y ~ x", ["y", "x"]), table).values(table)
    assert (np.diff(values) > 0).all()


def test_rs_functions_are_the_same_in_onnx() -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(0.5, 20, 400)
    data = pd.DataFrame({"x": x, "y": np.sin(x / 3) + rng.normal(0, 0.2, 400)})
    new = pd.DataFrame({"x": [*rng.uniform(0.1, 30, 500), 0.5, 5, 10, np.nan]})
    for formula in (
        "y ~ ns(x, df=5)",
        "y ~ cut(x, c(0, 5, 10, 15, 20))",
        "y ~ cut(x, 6, ordered_result=TRUE)",
        "y ~ cut(x, c(0.5, 5, 10, 20), right=FALSE, include.lowest=TRUE) + log(x, 7)",
    ):
        model = crank.fit(data, formula, max_depth=4, prune=None)
        scorer = Scorer(model.to_onnx())
        np.testing.assert_array_equal(scorer(new), model.predict(new, unknown="missing"))
