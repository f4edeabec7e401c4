"""Designs on new data: missing values, unknown levels, other types, damaged files."""

import copy
import itertools
import json
import math
import operator
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crank.design.spec import DesignSpec
from crank.errors import CrankError, DataError, FormulaError, OptionError
from crank.formula import learn_design, parse_formula
from crank.frames.table import Table

DATA = pd.DataFrame(
    {
        "y": [1.0, 2, 3, 4, 5, 6],
        "x": [1.0, 2, 3, 4, 5, 6],
        "z": [0.5, -1, 2, 0, 1, 3],
        "k": [1, 2, 3, 1, 2, 3],
        "b": [True, False, True, False, True, False],
        "g": list("abcabc"),
        "h": list("uuvvuv"),
    }
)
NAN = np.nan


def learned(
    formula: str,
    data: Any = DATA,
    *,
    native: bool = False,
) -> DesignSpec:
    table = Table.read(data)
    return learn_design(parse_formula(formula, table.names), table, native=native)


def test_matrices_are_float64_in_fortran_order() -> None:
    for native in (False, True):
        matrix = learned("y ~ x + g + k*z", native=native).matrix(DATA)
        assert matrix.dtype == np.float64
        assert matrix.flags.f_contiguous


def test_the_design_keeps_no_data() -> None:
    small = learned("y ~ x + scale(z) + g")
    large = learned("y ~ x + scale(z) + g", pd.concat([DATA] * 50))
    assert abs(len(pickle.dumps(small)) - len(pickle.dumps(large))) < 100


def test_variables_are_listed_with_their_kinds() -> None:
    spec = learned("y ~ log(x):g + b + C(k) + I(h == 'u')")
    kinds = {"x": "number", "g": "category", "b": "boolean", "k": "number", "h": "category"}
    assert {v.name: v.kind for v in spec.variables} == kinds


@pytest.mark.parametrize(
    "term",
    [
        *("x", "log(x)", "I(x > 3)", "I(~(x > 3))", "np.where(x > 3, 1, 0)", "np.maximum(x, 2)"),
        *("I(x + z)", "I(z + x > 3)", "scale(x)", "poly(x, 2)", "poly(x, 2, raw=True)", "C(x > 3)"),
        *("bs(x, df=4)", "bs(x, df=4, extrapolation='zero')", "x:g", "g:x", "x:z", "C(x)"),
    ],
)
@pytest.mark.parametrize("native", [False, True])
def test_a_missing_number_is_missing_in_every_column_built_from_it(term: str, native: bool) -> None:
    spec = learned(f"y ~ {term}", native=native)
    for gap in (NAN, None):
        new = pd.DataFrame({"x": [2.0, gap, 5.0], "z": [1.0, 1, 2], "g": ["a", "b", "c"]})
        matrix = spec.matrix(new)
        assert np.isnan(matrix[1]).all()
        assert not np.isnan(matrix[[0, 2]]).any()


@pytest.mark.parametrize("term", ["g", "g:x", "g:h", "C(g, contr.sum)", "I(g == 'a')", "g*h"])
@pytest.mark.parametrize("native", [False, True])
def test_a_missing_category_is_missing_in_every_column_built_from_it(
    term: str, native: bool
) -> None:
    spec = learned(f"y ~ {term}", native=native)
    built = ["g" in name for name in spec.names]
    for frame in (pd.DataFrame, pl.DataFrame):
        new = frame({"g": ["a", None], "h": ["u", "u"], "x": [1.0, 2.0]})
        matrix = spec.matrix(new)
        assert np.isnan(matrix[1, built]).all()
        assert not np.isnan(matrix[0]).any()


@pytest.mark.parametrize("nothing", [None, NAN])
def test_a_row_with_only_missing_values_is_read_whatever_its_dtype(nothing: Any) -> None:
    spec = learned("y ~ x + g + C(k) + b", native=True)
    for frame in (pd.DataFrame, pl.DataFrame, dict):
        new = frame({name: [nothing] for name in ("x", "g", "k", "b")})
        assert np.isnan(spec.matrix(new)).all()


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("term", ["g", "C(g)", "g:x", "g:h", "C(g, contr.helmert)"])
def test_an_unseen_level_is_an_error_or_missing(term: str, native: bool) -> None:
    spec = learned(f"y ~ {term}", native=native)
    new = pd.DataFrame({"g": ["a", "new", "odd"], "h": ["u", "u", "v"], "x": [1.0, 2, 3]})
    with pytest.raises(
        DataError,
        match=r"'g' has values that the model does not know: 'new', 'odd'. "
        r"Known levels: 'a', 'b', 'c'.*unknown='missing'",
    ):
        spec.matrix(new)
    matrix = spec.matrix(new, unknown="missing")
    built = ["g" in name for name in spec.names]
    assert np.isnan(matrix[1:, built]).all()
    assert not np.isnan(matrix[0]).any()


def test_unknown_is_an_option_with_two_values() -> None:
    with pytest.raises(OptionError, match=r"unknown='zero' .* Allowed: 'error', 'missing'"):
        learned("y ~ x").matrix(DATA, unknown="zero")


def test_numeric_levels_are_matched_by_value() -> None:
    spec = learned("y ~ C(k)", native=True)
    assert spec.levels == (("1", "2", "3"),)
    for dtype in ("int64", "float64", "float32", "Int64", object):
        new = pd.DataFrame({"k": pd.Series([3, 1], dtype=dtype)})
        np.testing.assert_array_equal(spec.matrix(new), [[2], [0]])
    with pytest.raises(
        DataError, match=r"'k' has values that the model does not know: 1.5.*1, 2, 3"
    ):
        spec.matrix({"k": [1.5]})


def test_new_data_may_hold_numbers_of_another_type() -> None:
    spec = learned("y ~ x + b")
    for new in (
        pd.DataFrame({"x": [1, 2], "b": [1, 0]}),
        pd.DataFrame({"x": pd.array([1, 2], dtype="Int8"), "b": pd.array([True, False])}),
        pl.DataFrame({"x": pl.Series([1, 2], dtype=pl.UInt8), "b": [True, False]}),
        {"x": np.array([1, 2], dtype=np.float32), "b": [1.0, 0.0]},
    ):
        np.testing.assert_array_equal(spec.matrix(new), [[1, 1], [2, 0]])


@pytest.mark.parametrize(
    ("formula", "new", "message"),
    [
        ("y ~ x + z", {"x": [1.0]}, "'z' of the formula is not in the data. Columns: x."),
        ("y ~ x", {"x": ["a"]}, r"'x' holds categories \(dtype .*\) where numbers are needed"),
        ("y ~ log(x)", {"x": ["a"]}, "where numbers are needed"),
        ("y ~ g", {"g": [1]}, r"'g' holds numbers \(dtype int64\) where text.*'a', 'b', 'c'"),
        ("y ~ I(g == 'a')", {"g": [1]}, "'g' holds numbers"),
        ("y ~ C(k)", {"k": ["1"]}, r"'k' holds text \(dtype .*\) where numbers.*1, 2, 3"),
        ("y ~ x", {"x": [1.0, np.inf]}, r"'x' holds infinite values in 1 row \(first: row 1"),
        ("y ~ C(x)", {"x": [-np.inf]}, "does not know: -inf"),
        ("y ~ log(x)", {"x": [1, 0, -1]}, r"'log\(x\)' is not a finite .* 2 rows .*1.*x = 0.0"),
        (
            "y ~ I(z / x)",
            {"x": [0], "z": [1]},
            r"'I\(z / x\)' .*this row, .*z = 1.0, x = 0.0.*",
        ),
        ("y ~ exp(x)", {"x": [1e3]}, r"'exp\(x\)' is not a finite number"),
        ("y ~ x:z", {"x": [1e200], "z": [1e200]}, "'x:z' is too large.*Divide"),
        ("y ~ poly(x, 3, raw=True)", {"x": [1e200]}, "too large"),
        (
            "y ~ bs(x)",
            {"x": [7, 0]},
            r"'bs\(x\)' is defined from 1.0 to 6.0, but 2 rows are outside",
        ),
        (
            "y ~ x",
            pd.DataFrame({"x": pd.to_datetime(["2020"])}),
            "holds dates .dtype datetime64.* numbers",
        ),
    ],
)
def test_new_data_that_do_not_fit_are_refused(
    formula: str, new: dict[str, list[float]] | pd.DataFrame, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        learned(formula).matrix(new)


def test_an_intermediate_infinity_is_no_error() -> None:
    spec = learned("y ~ I(1 / exp(x)) + np.where(z > 0, np.log(z), 0)")
    np.testing.assert_array_equal(spec.matrix({"x": [1e3], "z": [-1.0]}), [[0, 0]])


def test_splines_follow_their_extrapolation_outside_the_bounds() -> None:
    new = {"x": [0.0, 7.0]}
    inside = {"x": [1.0, 6.0]}
    for way, expected in [
        ("clip", learned("y ~ bs(x, df=4)").matrix(inside)),
        ("zero", np.zeros((2, 4))),
        ("na", np.full((2, 4), NAN)),
    ]:
        spec = learned(f"y ~ bs(x, df=4, extrapolation='{way}')")
        np.testing.assert_array_equal(spec.matrix(new), expected)
    extended = learned("y ~ bs(x, df=4, extrapolation='extend', include_intercept=True) - 1")
    np.testing.assert_allclose(extended.matrix(new).sum(axis=1), 1)


@pytest.mark.parametrize("native", [False, True])
def test_columns_that_the_formula_does_not_name_are_not_looked_at(native: bool) -> None:
    spec = learned("y ~ x + g", native=native)
    new = pd.DataFrame({"g": ["b"], "x": [2], "day": pd.to_datetime(["2020"])})
    np.testing.assert_array_equal(spec.matrix(new), spec.matrix({"x": [2], "g": ["b"]}))


def test_a_column_of_identifiers_is_refused_as_dummies() -> None:
    data = {"y": np.arange(100_002.0), "name": [f"n{i}" for i in range(100_002)]}
    with pytest.raises(DataError, match="100001 columns, 100001 of them for the term 'name'"):
        learned("y ~ name", data)
    with pytest.raises(FormulaError, match="at most 2000 levels are possible"):
        learned("y ~ C(name, contr.sum)", data)
    assert learned("y ~ name", data, native=True).names == ("name",)


FORMULA = (
    "y ~ x + log(x + 1):g + poly(z, 2) + poly(x, 2, raw=True) + bs(x, df=4) + C(g, contr.sum) "
    "+ C(k) + I(h == 'u') + g:h + scale(z)"
)
STORED = [learned(FORMULA, native=native).to_dict() for native in (False, True)]
MORE = DATA.assign(
    day=pd.to_datetime("2020-01-01") + pd.to_timedelta(DATA["k"], unit="D"),
    size=pd.Categorical(DATA["h"], ["v", "u"], ordered=True),
)
NEWER = learned("y ~ ns(x, df=3) + cut(x, 3) + size + I(day + 1)", MORE, native=True).to_dict()


def test_designs_of_equal_formulas_are_equal() -> None:
    assert learned(FORMULA) == learned(FORMULA)
    assert hash(learned(FORMULA)) == hash(learned(FORMULA))
    assert learned(FORMULA) != learned(FORMULA, native=True)
    assert pickle.loads(pickle.dumps(learned(FORMULA))) == learned(FORMULA)


def run_steps(steps: list[Any], row: Any) -> Any:
    """One row through postfix steps: the stored expression alone says what to compute."""
    stack = []
    for op, *operands in steps:
        if op == "column":
            stack.append(row[operands[0]])
        elif op == "constant":
            stack.append(operands[0])
        elif op == "among":
            stack.append(row[operands[0]] in operands[1])
        else:
            binary = op in ("add", "subtract", "multiply", "divide", "greater")
            right = stack.pop()
            arguments = [stack.pop(), right] if binary else [right]
            stack.append(
                {
                    "add": operator.add,
                    "subtract": operator.sub,
                    "multiply": operator.mul,
                    "divide": operator.truediv,
                    "greater": operator.gt,
                    "log": math.log,
                }[op](*arguments)
            )
    return stack.pop()


def run_factor(factor: dict[str, Any], row: Any) -> list[Any]:
    kind = factor["type"]
    if kind == "cross":
        number = 0
        for part in factor["parts"]:
            (code,) = run_factor(part, row)
            number = number * len(part["levels"]) + code
        return [factor["seen"].index(number)]
    value = run_steps(factor["steps"], row)
    if kind == "number":
        return [value]
    if kind == "powers":
        return [value ** (k + 1) for k in range(factor["degree"])]
    if kind == "poly":
        monic, norms = [0.0, 1.0], factor["norms"]
        for k, alpha in enumerate(factor["alpha"]):
            beta = norms[k] / norms[k - 1] if k else 0
            monic.append((value - alpha) * monic[-1] - beta * monic[-2])
        return [m / math.sqrt(n) for m, n in zip(monic[2:], norms[1:], strict=True)]
    if kind == "spline":
        return spline(factor, float(value))
    code = factor["levels"].index(value)
    if kind == "codes":
        return [code]
    if kind == "contrast":
        return list(factor["matrix"][code])
    return [float(k == code) for k in range(len(factor["levels"])) if k != factor["base"]]


def spline(factor: dict[str, Any], x: float) -> list[float]:
    knots, degree = factor["knots"], factor["degree"]
    x = min(x, math.nextafter(factor["upper"], -math.inf))

    def basis(i: int, d: int) -> float:
        if d == 0:
            return float(knots[i] <= x < knots[i + 1])
        total = 0.0
        if knots[i + d] > knots[i]:
            total += (x - knots[i]) / (knots[i + d] - knots[i]) * basis(i, d - 1)
        if knots[i + d + 1] > knots[i + 1]:
            rest = (knots[i + d + 1] - x) / (knots[i + d + 1] - knots[i + 1])
            total += rest * basis(i + 1, d - 1)
        return total

    return [basis(i, degree) for i in range(factor["first"], len(knots) - degree - 1)]


@pytest.mark.parametrize("native", [False, True])
def test_the_stored_design_is_enough_for_a_second_interpreter(native: bool) -> None:
    """What an exporter needs is in the file: a naive reading of it gives the same matrix."""
    spec = learned(FORMULA, native=native)
    stored = json.loads(json.dumps(spec.to_dict()))
    rows = []
    for row in DATA.to_dict("records"):
        values = [run_factor(factor, row) for factor in stored["factors"]]
        columns = []
        for _, chosen, scale in stored["blocks"]:
            for product in itertools.product(*(values[i] for i in reversed(chosen))):
                columns.append(scale * math.prod(product))
        rows.append(columns)
    np.testing.assert_allclose(spec.matrix(DATA), rows, rtol=1e-12, atol=1e-12)


def paths(node: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    if isinstance(node, dict | list):
        for key in node if isinstance(node, dict) else range(len(node)):
            yield from paths(node[key], (*at, key))


def changed(data: Any, at: tuple[Any, ...], value: Any) -> Any:
    data = copy.deepcopy(data)
    if not at:
        return value
    inner = data
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = value
    return data


PATHS = [(which, at) for which, data in enumerate([*STORED, NEWER]) for at in paths(data)]
JUNK: Any = st.sampled_from(
    [
        *(
            None,
            True,
            -1,
            0,
            1,
            10**30,
            10**400,
            1.5,
            NAN,
            np.inf,
            -np.inf,
            1e308,
            "",
            "x",
            "column",
        ),
        *([], {}, [[]], ["column", "x"], [["exec", "1"]], ["call", "f", 1], ["log"], "__import__"),
    ]
)


@settings(max_examples=400)
@given(st.sampled_from(PATHS), JUNK)
def test_a_damaged_design_is_refused_or_still_computes(where: Any, junk: Any) -> None:
    which, at = where
    damaged = changed([*STORED, NEWER][which], at, junk)
    try:
        spec = DesignSpec.from_dict(damaged)
        spec.matrix(MORE, unknown="missing")
    except CrankError:
        return
    again = DesignSpec.from_dict(json.loads(json.dumps(spec.to_dict(), allow_nan=False)))
    np.testing.assert_array_equal(
        again.matrix(MORE, unknown="missing"), spec.matrix(MORE, unknown="missing")
    )


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (("blocks", 0, 1), [0, 0]),
        (("blocks", 0, 1), [99]),
        (("blocks",), []),
        (("variables", 0), ["x", "day"]),
        (("variables", 1), ["x", "number"]),
        (("factors", 0, "steps"), [["standardize", True, True, 1]]),
        (("factors", 0, "steps"), [["call", "eval", 1]]),
        (("factors", 0, "steps"), [["column", "elsewhere"]]),
        (("factors", 0, "steps"), [["column", "x"], ["add"]]),
        (("factors", 0, "steps"), [["column", "x"], ["column", "x"]]),
        (("factors", 0, "type"), "eval"),
        (("factors", 0, "more"), 1),
    ],
)
def test_stored_designs_are_checked_field_by_field(at: tuple[Any, ...], value: Any) -> None:
    with pytest.raises(FormulaError, match=r"stored .* is not valid"):
        DesignSpec.from_dict(changed(STORED[0], at, value))


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (("variables", 2), ["size", "date"]),
        (("factors", 0, "knots"), [1.0]),
        (("factors", 0, "knots"), [2.0, 1.0, 3.0, 4.0]),
        (("factors", 0, "pieces"), []),
        (("factors", 0, "pieces", 1), [[1.0, 0.0, 0.0, 0.0]]),
        (("factors", 0, "pieces", 0, 0), [1.0, 0.0, 0.0]),
        (("factors", 1, "levels"), ["a", "b"]),
        (("factors", 1, "steps", 1), ["cut", [1.0], True, False]),
        (("factors", 1, "steps", 1), ["cut", [2.0, 1.0], True, False]),
        (("factors", 1, "steps", 1), ["cut", [1.0, NAN], True, False]),
        (("factors", 3, "steps", 0), ["days", "x"]),
        (("factors", 3, "steps", 0), ["column", "day"]),
    ],
)
def test_the_newer_factors_are_checked_field_by_field(
    at: tuple[Any, ...], value: list[Any]
) -> None:
    with pytest.raises((FormulaError, DataError)):
        DesignSpec.from_dict(changed(NEWER, at, value))


def test_a_small_file_cannot_claim_many_columns() -> None:
    wide = {"type": "powers", "name": "p", "steps": [["column", "x"]], "degree": 10**9}
    data = {"variables": [["x", "number"]], "factors": [wide], "blocks": [["p", [0], 1.0]]}
    with pytest.raises(FormulaError, match="degree"):
        DesignSpec.from_dict(data)
    factors = [{**wide, "degree": 100, "name": str(i)} for i in range(20)]
    product = {**data, "factors": factors, "blocks": [["p", list(range(20)), 1.0]]}
    with pytest.raises(FormulaError, match="columns"):
        DesignSpec.from_dict(product)
