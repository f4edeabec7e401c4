"""Formulas: the compiled design is formulaic's own matrix, and mistakes are named."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import formulaic
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crank.design.response import ResponseSpec
from crank.design.spec import DesignSpec
from crank.errors import DataError, FormulaError
from crank.formula import learn_design, learn_response, parse_formula, response
from crank.frames.table import Table

FORMULAS = [
    "y ~ x",
    "y ~ x + z",
    "y ~ x + z - 1",
    "y ~ 0 + x",
    "y ~ b",
    "y ~ g",
    "y ~ g - 1",
    "y ~ q",
    "y ~ q - 1",
    "y ~ C(g)",
    "y ~ C(k)",
    "y ~ C(k) - 1",
    "y ~ C(b)",
    "y ~ x + g + h",
    "y ~ g + h - 1",
    "y ~ x:z",
    "y ~ x*z",
    "y ~ x*g",
    "y ~ x:g",
    "y ~ g:x - 1",
    "y ~ g:h",
    "y ~ g*h",
    "y ~ g:h - 1",
    "y ~ g + g:h",
    "y ~ h + g:h",
    "y ~ h:g + x",
    "y ~ (x + z + w)**2",
    "y ~ (g + h + x)**2",
    "y ~ (g + h + q)**3",
    "y ~ g*h*x",
    "y ~ g*h*x - 1",
    "y ~ x:g:h",
    "y ~ g/h",
    "y ~ g/x",
    "y ~ log(x) + log10(x) + log2(x) + exp(z)",
    "y ~ np.log1p(x) + np.sqrt(x) + np.abs(z) + exp2(z)",
    "y ~ np.sin(x) + np.cos(x) + np.tanh(z) + np.floor(x) + np.ceil(x) + np.sign(z)",
    "y ~ I(x**2) + I(x / w) + I(x * z - 1) + I(-x)",
    "y ~ {x + z} + {x // 2} + {x % 3}",
    "y ~ I(x > 5) + I((x > 2) & (z < 0)) + I((x > 2) | ~(z < 0))",
    "y ~ I(k == 2) + I(k != 3) + {k >= 2}",
    "y ~ np.where(x > 5, x, 0) + np.clip(x, 2, 8) + np.maximum(x, z) + np.minimum(x, 3)",
    "y ~ I(x**0.5) + I(2**z) + I(x**-1) + np.power(x, 3) + np.square(x)",
    "y ~ center(x)",
    "y ~ scale(x) + standardize(z)",
    "y ~ scale(x, center=False) + scale(z, scale=False) + scale(w, ddof=0)",
    "y ~ scale(x, center=2.0, scale=3.0)",
    "y ~ scale(log(x)) + center(I(x * z)) + I(scale(x) * center(z)) + log(1 + center(x)**2)",
    "y ~ poly(x)",
    "y ~ poly(x, degree=3)",
    "y ~ poly(x, 2, raw=True)",
    "y ~ poly(log(x), 2) + poly(scale(z), 2)",
    "y ~ poly(x, 2):g",
    "y ~ poly(x, 2) * z",
    "y ~ bs(x, df=5)",
    "y ~ bs(x, df=6, degree=2)",
    "y ~ bs(x, knots=[2, 4, 6])",
    "y ~ bs(x, df=5, include_intercept=True)",
    "y ~ bs(x, df=5, include_intercept=True) - 1",
    "y ~ bs(x, df=4, lower_bound=0, upper_bound=10)",
    "y ~ bs(x, df=5, extrapolation='extend')",
    "y ~ bs(x, df=5, extrapolation='clip', lower_bound=2, upper_bound=6)",
    "y ~ bs(x, df=5, extrapolation='zero', lower_bound=2, upper_bound=6)",
    "y ~ bs(log(x), df=4) * g",
    "y ~ bs(x, degree=1, knots=[5]) + bs(z, degree=0, knots=[0.5], extrapolation='extend')",
    "y ~ C(g, contr.treatment)",
    "y ~ C(g, contr.treatment('green'))",
    "y ~ C(g, contr.treatment(base='green')) * x",
    "y ~ C(g, Treatment(reference='red'))",
    "y ~ C(g, contr.sum)",
    "y ~ C(g, contr.sum) - 1",
    "y ~ C(q, contr.sum) * h",
    "y ~ C(g, contr.helmert) + C(q, contr.helmert(reverse=False)) + C(h, Helmert(scale=True))",
    "y ~ C(q, contr.helmert(reverse=False, scale=True))",
    "y ~ C(g, contr.diff) + C(q, contr.diff(backward=False))",
    "y ~ C(q, contr.poly) + C(g, contr.poly(scores=[1, 2, 4]))",
    "y ~ C(g, contr.SAS) + C(q, contr.SAS(base='mid'))",
    "y ~ C(g, contr.custom([[1, 0], [0, 1], [-1, -1]]))",
    "y ~ C(g, [[1, 0], [0, 1], [-1, -1]])",
    "y ~ C(g, {'a': [1, 0, 0], 'b': [0, 0.5, 0.5]})",
    "y ~ C(g, {'a': [1, 0, 0], 'b': [0, 0.5, 0.5]}) - 1",
    "y ~ C(g, levels=['red', 'green', 'blue'])",
    "y ~ C(k, levels=[4, 3, 2, 1], contrasts=contr.sum)",
    "y ~ C(g, spans_intercept=False) + x",
    "y ~ C(x > 5) + C(h)",
    "y ~ .",
    "y ~ . - x",
    "y ~ . - x - 1",
    "log(x) ~ . + log(w)",
    "I(y / x) ~ .",
    "y ~ `my x` + log(`my x`) + `1st`",
    "y ~ `my x`:g + I(`my x` * `1st`)",
    "y ~ 2:x + 0.5:z",
    "y ~ x + b + c + b:c + b:x + b:g",
    "y ~ x + x + z",
    "y ~ f32 + k + k:x",
    "y ~ Q('my x') + x",
    "y ~ x %in% g",
    "y ~ (x + g)^2",
    "y ~ x*z - x:z",
]


def sample(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sizes = ["lo", "mid", "hi", "top"]
    return pd.DataFrame(
        {
            "y": rng.normal(size=n),
            "x": np.append(rng.uniform(1, 9, n - 2), [1, 9]),
            "z": np.append(rng.uniform(-2, 2, n - 2), [-2, 2]),
            "w": np.append(rng.uniform(1, 2, n - 2), [1, 2]),
            "k": rng.integers(1, 5, n),
            "b": rng.random(n) < 0.5,
            "c": rng.random(n) < 0.3,
            "g": rng.choice(["red", "green", "blue"], n),
            "h": rng.choice(["u", "v"], n),
            "q": pd.Categorical(rng.choice(sizes, n), categories=[*sizes, "absent"]),
            "my x": rng.uniform(1, 3, n),
            "1st": rng.normal(size=n),
            "f32": rng.uniform(1, 2, n).astype("float32"),
        }
    )


def polars(frame: pd.DataFrame) -> pl.DataFrame:
    columns = {name: pl.Series(frame[name].tolist()) for name in frame}
    columns["q"] = columns["q"].cast(pl.Enum(frame["q"].cat.categories.tolist()))
    columns["f32"] = pl.Series(frame["f32"].to_numpy())
    return pl.DataFrame(columns)


TRAIN, NEW = sample(150, seed=1), sample(40, seed=2)


def learned(
    formula: str, data: Any = TRAIN, *, native: bool = False, context: dict[str, Any] | None = None
) -> DesignSpec:
    table = Table.read(data)
    return learn_design(parse_formula(formula, table.names, context=context), table, native=native)


def oracle(
    formula: str, context: dict[str, Callable[..., Any] | Callable[..., Any]] | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Formulaic's matrices of the training rows and of new rows, without the intercept."""
    train = formulaic.model_matrix(formula, TRAIN, context=context or {}).rhs
    new = train.model_spec.get_model_matrix(NEW, context=context or {})
    kept = [name for name in train.columns if name != "Intercept"]
    return train[kept], new[kept]


def assert_equals_formulaic(
    formula: str, context: dict[str, Callable[..., Any] | Callable[..., Any]] | None = None
) -> None:
    spec = learned(formula)
    train, new = oracle(formula, context)
    assert spec.names == tuple(train.columns)
    for data, expected in ((TRAIN, train), (NEW, new)):
        numbers = expected.to_numpy(np.float64)
        np.testing.assert_allclose(spec.matrix(data), numbers, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_design_is_formulaics_matrix(formula: str) -> None:
    assert_equals_formulaic(formula)


def test_functions_without_a_prefix_are_numpys() -> None:
    names = ["sqrt", "abs", "log1p", "floor", "sin", "maximum", "where", "clip"]
    formula = (
        "y ~ sqrt(x) + abs(z) + log1p(x) + floor(x) + sin(z) + maximum(x, w) "
        "+ where(x > 5, x, w) + clip(x, 2, 8)"
    )
    assert_equals_formulaic(formula, {name: getattr(np, name) for name in names})


@pytest.mark.parametrize("formula", FORMULAS)
def test_polars_gives_pandas_matrix_bit_for_bit(formula: str) -> None:
    spec = learned(formula)
    other = learned(formula, polars(TRAIN))
    assert other.names == spec.names
    np.testing.assert_array_equal(other.matrix(polars(NEW)), spec.matrix(NEW))


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("formula", FORMULAS)
def test_a_design_survives_json_bit_for_bit(formula: str, native: bool) -> None:
    spec = learned(formula, native=native)
    text = json.dumps(spec.to_dict(), allow_nan=False)
    again = DesignSpec.from_dict(json.loads(text))
    assert again == spec
    assert json.dumps(again.to_dict()) == text
    np.testing.assert_array_equal(again.matrix(NEW), spec.matrix(NEW))


@pytest.mark.parametrize("formula", FORMULAS)
def test_one_row_has_the_values_it_has_among_many(formula: str) -> None:
    for native in (False, True):
        spec = learned(formula, native=native)
        whole = spec.matrix(NEW)
        np.testing.assert_allclose(spec.matrix(NEW.iloc[[7]]), whole[[7]], rtol=1e-13)
        assert spec.matrix(NEW.iloc[:0]).shape == (0, len(spec.names))


factors = st.sampled_from(["g", "h", "q", "x", "poly(z, 2)", "C(k, contr.sum)", "b"])
terms = st.lists(factors, min_size=1, max_size=3, unique=True).map(":".join)


@settings(max_examples=60)
@given(st.lists(terms, min_size=1, max_size=5, unique=True), st.booleans())
def test_any_set_of_terms_is_reduced_in_rank_as_formulaic_does(
    chosen: list[str], intercept: bool
) -> None:
    assert_equals_formulaic(f"y ~ {' + '.join(chosen)}" + ("" if intercept else " - 1"))


def test_each_column_knows_its_term() -> None:
    spec = learned("y ~ log(x) + g*poly(z, 2)")
    assert dict(zip(spec.names, spec.terms, strict=True)) == {
        "log(x)": "log(x)",
        "g[T.green]": "g",
        "g[T.red]": "g",
        "poly(z, 2)[1]": "poly(z, 2)",
        "poly(z, 2)[2]": "poly(z, 2)",
        "g[T.green]:poly(z, 2)[1]": "g:poly(z, 2)",
        "g[T.red]:poly(z, 2)[1]": "g:poly(z, 2)",
        "g[T.green]:poly(z, 2)[2]": "g:poly(z, 2)",
        "g[T.red]:poly(z, 2)[2]": "g:poly(z, 2)",
    }


def test_names_that_formulaic_mistakes_are_read() -> None:
    """formulaic 1.2.2 reads exp(`x`) as e`x`p(`x`) and cannot take `class` or Sepal.Length."""
    data = pd.DataFrame(
        {"y": [1.0, 2], "x": [1.0, 2], "class": [2.0, 3], "Sepal.Length": [4.0, 5], "x.1": [6, 7]}
    )
    spec = learned("y ~ exp(`x`) + log(`class`) + sqrt(Sepal.Length) + x.1 + `class`", data)
    named = ("exp(x)", "log(class)", "sqrt(Sepal.Length)", "x.1", "class")
    assert spec.names == named
    expected = [np.exp(data.x), np.log(data["class"]), np.sqrt(data["Sepal.Length"])]
    np.testing.assert_array_equal(spec.matrix(data)[:, :3], np.column_stack(expected))
    assert learned("log(Sepal.Length) ~ .", data).names == ("y", "x", "class", "x.1")
    assert learned("Q('Sepal.Length') ~ .", data).names == ("y", "x", "class", "x.1")


def test_letters_that_python_would_replace_keep_their_column() -> None:
    data = {"y": [1.0, 2], "x1": [1.0, 2], "x₁": [3.0, 4], "µ": [5.0, 6]}
    spec = learned("y ~ sqrt(x₁) + x₁ + I(µ + 1) + µ", data)
    assert spec.names == ("sqrt(x₁)", "x₁", "I(µ + 1)", "µ")
    np.testing.assert_array_equal(spec.matrix(data)[0], [np.sqrt(3), 3, 6, 5])


def test_a_column_named_like_a_term_is_not_mixed_up_with_it() -> None:
    data = {"y": [1.0, 2], "x": [1.0, 2], "log(x)": [7.0, 8]}
    np.testing.assert_array_equal(learned("y ~ `log(x)`", data).matrix(data), [[7], [8]])
    with pytest.raises(FormulaError, match="both a column and an expression; rename"):
        learned("y ~ `log(x)` + log(x)", data)


def test_text_in_a_formula_may_hold_any_character() -> None:
    data = {"y": [1, 2, 3], "g": ["a)", "b`", "c+"]}
    spec = learned("y ~ C(g, levels=['c+', 'b`', 'a)'])", data)
    assert spec.names[0] == "C(g, levels=['c+', 'b`', 'a)'])[T.b`]"
    assert learned("y ~ I(g == 'a)')", data).matrix(data).tolist() == [[1], [0], [0]]


def test_text_columns_are_compared_with_text() -> None:
    data = {"y": [1, 2, 3, 4], "g": ["a", "b", "c", None]}
    spec = learned("y ~ I(g == 'a') + I('b' != g) + np.isin(g, ['a', 'c'])", data)
    expected = [[1, 1, 1], [0, 0, 0], [0, 1, 1], [np.nan] * 3]
    np.testing.assert_array_equal(spec.matrix(data), expected)
    np.testing.assert_array_equal(spec.matrix({"g": ["new"]}), [[0, 1, 0]])


def test_chained_and_spelled_out_comparisons_work_row_by_row() -> None:
    data = {"y": [1, 2, 3], "x": [0.0, 1.0, 2.0]}
    spec = learned("y ~ I(0 < x < 2) + I(not x > 1) + I(x < 1 or x > 1) + np.isin(x, [0, 2])", data)
    np.testing.assert_array_equal(spec.matrix(data), [[0, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]])


def test_truth_values_add_up_as_numbers() -> None:
    """pandas' True + True is True; R's and ours is 2."""
    data = {"y": [1, 2], "b": [True, True], "c": [True, False]}
    spec = learned("y ~ I(b + c) + I(b & c) + I(b - c) + I(-c)", data)
    np.testing.assert_array_equal(spec.matrix(data), [[2, 1, 0, -1], [1, 0, 1, 0]])


def test_whole_numbers_do_not_overflow() -> None:
    data = {"y": [1, 2], "k": np.array([2_000_000_000, 1], dtype=np.int32)}
    spec = learned("y ~ I(k * k) + I(k ** -1)", data)
    np.testing.assert_allclose(spec.matrix(data), [[4e18, 5e-10], [1.0, 1.0]])


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("y ~ g", ["g"]),
        ("y ~ C(g, contr.sum) - 1", ["C(g, contr.sum)"]),
        ("y ~ x + g:h", ["x", "g:h"]),
        ("y ~ g:x", ["g[blue]:x", "g[green]:x", "g[red]:x"]),
        ("y ~ h:g:x", [f"h[{h}]:g[{g}]:x" for g in ("blue", "green", "red") for h in "uv"]),
        ("y ~ b + C(b) + k + C(k)", ["b", "C(b)", "k", "C(k)"]),
        ("y ~ bs(x, df=4, include_intercept=True)", [None] * 4),
    ],
)
def test_native_designs_keep_categories_in_one_column(formula: str, names: list[Any]) -> None:
    spec = learned(formula, native=True)
    assert len(spec.names) == len(names)
    assert all(n is None or n == s for n, s in zip(names, spec.names, strict=True))


def test_native_codes_are_the_levels_numbers() -> None:
    spec = learned("y ~ x + q + C(k) + h:g", native=True)
    assert spec.levels[:3] == (None, ("lo", "mid", "hi", "top", "absent"), ("1", "2", "3", "4"))
    pairs = sorted({f"{h}:{g}" for h, g in zip(TRAIN.h, TRAIN.g, strict=True)})
    assert spec.levels[3] == tuple(pairs)
    matrix = spec.matrix(NEW)
    np.testing.assert_array_equal(matrix[:, 1], NEW["q"].cat.codes)
    np.testing.assert_array_equal(matrix[:, 2], NEW["k"] - 1)
    found = [spec.levels[3][int(code)] for code in matrix[:, 3]]
    assert found == [f"{h}:{g}" for h, g in zip(NEW.h, NEW.g, strict=True)]


def test_native_numbers_are_formulaics() -> None:
    formula = "y ~ log(x)*z + poly(w, 2) + bs(x, df=4) + scale(z) + I(k > 2)"
    train, new = oracle(formula)
    spec = learned(formula, native=True)
    assert spec.names == tuple(train.columns)
    np.testing.assert_allclose(spec.matrix(NEW), new.to_numpy(float), rtol=1e-12, atol=1e-13)


def test_only_combinations_that_occurred_are_levels() -> None:
    data = {"y": [1, 2, 3], "g": ["a", "a", "b"], "h": ["u", "v", "v"]}
    spec = learned("y ~ g:h", data, native=True)
    assert spec.levels == (("a:u", "a:v", "b:v"),)
    new = {"g": ["b", "a", None], "h": ["u", "v", "u"]}
    with pytest.raises(DataError, match=r"term 'g:h'.*'b:u'.*Known levels: 'a:u', 'a:v', 'b:v'"):
        spec.matrix(new)
    np.testing.assert_array_equal(spec.matrix(new, unknown="missing"), [[np.nan], [1], [np.nan]])


def test_dot_is_every_column_that_the_response_does_not_read() -> None:
    names = ["y", "x", "my z", "g"]
    for formula, expected in [
        ("y ~ .", ("x", "my z", "g")),
        ("log(y) ~ . - x", ("my z", "g")),
        ("I(y / `my z`) ~ .", ("x", "g")),
        ("`my z` ~ . - y + log(x)", ("x", "g")),
        ("y ~ (x + .)**2", ("x", "my z", "g")),
    ]:
        assert parse_formula(formula, names).variables == expected


def test_parsed_formula_lists_what_it_reads() -> None:
    parsed = parse_formula("I(y / w) ~ log(x):g + x", ["y", "w", "x", "g", "other"])
    assert parsed.text == "I(y / w) ~ log(x):g + x"
    assert parsed.variables == ("x", "g")
    assert parsed.response_variables == ("y", "w")


@pytest.mark.parametrize("left", ["log(y)", "I(y / w)", "sqrt(y)", "{y + 1}", "y", "b", "I(y > 2)"])
def test_responses_are_computed(left: str) -> None:
    data = pd.DataFrame(
        {"y": [1.0, 4, np.nan], "w": [1, 2, 3], "b": [True, False, True], "x": [1, 2, 3]}
    )
    expected = {
        "log(y)": np.log(data.y),
        "I(y / w)": data.y / data.w,
        "sqrt(y)": np.sqrt(data.y),
        "{y + 1}": data.y + 1,
        "y": data.y,
        "b": [1, 0, 1],
        "I(y > 2)": [0, 1, np.nan],
    }[left]
    table = Table.read(data)
    values = response(parse_formula(f"{left} ~ x", table.names), table)
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, expected)


def test_a_learned_response_survives_json() -> None:
    table = Table.read({"y": [1.0, 2.0, 6.0], "x": [1, 2, 3]})
    spec = learn_response(parse_formula("scale(y) ~ x", table.names), table)
    again = ResponseSpec.from_dict(json.loads(json.dumps(spec.to_dict())))
    assert again == spec
    new = {"y": [3.0]}
    np.testing.assert_array_equal(again.values(new), spec.values(new))
    np.testing.assert_allclose(spec.values(new), [0.0], atol=1e-15)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("x + z", "'x \\+ z' cannot be read: it has no '~' with the response on its left.*Write"),
        ("~ x", "has no '~' with the response on its left"),
        ("", "has no '~'"),
        ("y ~", "'y ~' has an empty right side. Name at least one column"),
        ("y ~ 1", "empty right side"),
        ("y ~ 0", "empty right side"),
        ("y ~ x - x", "empty right side"),
        ("y + z ~ x", r"one response; wrap arithmetic in I\(...\)"),
        ("y:z ~ x", "one response"),
        ("1 ~ x", "one response"),
        ("poly(y, 2) ~ x", r"response 'poly\(y, 2\)' makes several columns"),
        ("y ~ y + x", "has its response 'y' on the right side as well"),
        ("y ~ x | z", "'\\|' is not supported"),
        ("y ~ x ~ z", "it has '~' twice"),
        ("y ~ x +", "it ends after '\\+'"),
        ("y ~ x z", "an operator is missing between 'x' and 'z'"),
        ("y ~ 1st", "missing between '1' and 'st' .columns with other names are quoted: `my"),
        ("y ~ x + * z", "'\\*' cannot stand after '\\+'"),
        ("y ~ x == z", "'==' cannot stand after 'x'"),
        ("y ~ 2", "the number 2 is not a term; 2:x scales a term"),
        ("y ~ 2*x", "a number stands beside '\\*'; 2:x scales a term"),
        ("y ~ 2:x + x", "the term 'x' stands there twice, times different numbers"),
        ("y ~ x:0", "0 cannot scale a term"),
        ("y ~ x^z", r"'\^' takes terms and a whole number; I\(x\^2\) computes"),
        ("y ~ (x + z)^1.5", "the power 1.5 is not a whole number"),
        (f"y ~ {'(' * 300}x{')' * 300}", "nested too deeply"),
        (f"y ~ x{'^1' * 3000}", "nested too deeply"),
        ("y ~ C(levels=['a'], g)", r"in C\(...\) an argument without a name stands behind"),
        ("y ~ log(x", r"'\(' is not closed"),
        ("y ~ (x + z", r"'\(' is not closed"),
        ("y ~ I(x +)", r"'\)' cannot stand after '\+'"),
        ("y ~ (x + z]", r"'\]' cannot stand after 'z', where '\)' is expected"),
        ("y ~ 'abc'", "the text 'abc' is not a term"),
        ("y ~ x[0]", r"x\[...\] is not supported"),
        ("y ~ foo(x)", r"holds 'foo\(x\)', which is not supported.*context="),
        ("y ~ sqrtt(x)", r"Did you mean 'sqrt'\?"),
        ("y ~ lag(x)", r"'lag\(x\)', which is not supported"),
        ("y ~ log(x) + I(x.fillna(0))", r"'I\(x.fillna\(0\)\)' holds 'x.fillna\(0\)'"),
        ("y ~ I([x for x in z])", "an operator is missing between 'x' and 'for'"),
        ("y ~ I(lambda: x)", "':' cannot stand after 'lambda'"),
        ("y ~ I(x if z else 1)", "an operator is missing between 'x' and 'if'"),
        ("y ~ I([x, z])", r"holds '\[x, z\]', which is not supported"),
        ("y ~ exp10(x)", r"formulaic computes x\*\*10 by it; write I\(10\*\*x\)"),
        ("y ~ log2(x, 2)", "it takes 1 argument without names"),
        ("y ~ log(poly(x, 2))", r"poly\(...\) makes columns of its own and stands alone"),
        ("y ~ I(1)", r"'I\(1\)' uses no column of the data"),
        ("y ~ I(x * 1e999)", "not supported"),
        ("y ~ bs(x, foo=1)", "cannot take 'foo'. It takes x, df, knots"),
        ("y ~ bs()", "lacks its column"),
        ("y ~ poly(x, 2, False, 3)", "too many arguments. It takes x, degree, raw"),
        (
            "y ~ C(g, contr.foo)",
            "'contr.foo' of the term .* are not known. Allowed are contr.treat",
        ),
        ("y ~ C(g, levels=x)", "option 'x' .* must be written out"),
        ("y ~ scale(x, ddof='a')", "options are True, False or a number"),
        (f"y ~ I({'-' * 5000}x)", "nested too deeply"),
        (f"y ~ I({'x +' * 5000} x)", "nested too deeply"),
        (3, "a formula must be text such as 'y ~ x1 \\+ x2', got int"),
    ],
)
def test_formulas_that_cannot_be_read_are_refused(formula: Any, message: str) -> None:
    with pytest.raises(FormulaError, match=message):
        parse_formula(formula, ["y", "x", "z", "g"])


def test_an_unknown_column_is_named_with_the_nearest() -> None:
    for formula in ("y ~ incme", "y ~ log(incme)", "incme ~ x", "y ~ x:incme"):
        with pytest.raises(
            DataError,
            match=r"'incme' of the formula is not in the data. Columns: y, x, income. "
            r"Did you mean 'income'\?",
        ):
            parse_formula(formula, ["y", "x", "income"])


@pytest.mark.parametrize(
    "formula",
    ["__import__('sys').exit()(y) ~ x", "y ~ __import__('sys').exit()", "I(exit()) ~ x"],
)
def test_reading_a_formula_runs_nothing_of_it(formula: str) -> None:
    with pytest.raises((FormulaError, DataError)):
        parse_formula(formula, ["y", "x"])


@pytest.mark.parametrize(
    ("formula", "error", "message"),
    [
        ("y ~ log(g)", DataError, r"'log\(g\)' needs numbers, but column 'g' holds categories"),
        ("y ~ poly(g, 2)", DataError, "needs numbers"),
        ("y ~ I(x & z)", DataError, "needs true or false on both sides"),
        ("y ~ I(x == 'a')", DataError, "needs text to compare, but column 'x' holds numbers"),
        ("y ~ scale(I(x * 0))", DataError, "cannot be scaled: its values do not vary"),
        ("y ~ center(empty)", DataError, "has no value in these rows to learn from"),
        ("y ~ C(empty)", DataError, "has no value in these rows, so no level can be learned"),
        ("y ~ poly(k, 4)", DataError, "needs more than 4 distinct values, got 4"),
        ("y ~ poly(x, 0)", FormulaError, "degree of the term .* must be a whole number from 1"),
        ("y ~ bs(x, df=2)", FormulaError, "df of the term .* at least 3, got 2"),
        ("y ~ bs(x, df=5, knots=[3])", FormulaError, "knots .* must be left out where df"),
        ("y ~ bs(x, knots=[99])", FormulaError, "knots .* a list of numbers from"),
        ("y ~ bs(x, extrapolation='foo')", FormulaError, "'raise', 'clip', 'na', 'zero', 'extend'"),
        ("y ~ bs(x, degree=-1)", FormulaError, "degree .* must be a whole number from 0"),
        ("y ~ bs(x, lower_bound='a')", FormulaError, "lower_bound .* must be a number, got 'a'"),
        ("y ~ bs(I(x * 0))", DataError, "needs a range"),
        ("y ~ C(g, contr.treatment('zz'))", FormulaError, "base level 'zz' .*Levels: 'blue', "),
        ("y ~ C(g, [[1], [2]])", FormulaError, r"one row for each of its 3 levels.*shape \(2, 1\)"),
        ("y ~ C(g, contr.poly(scores=[1, 2]))", FormulaError, "2 scores for 3 levels"),
        ("y ~ C(g, levels=['red', 'pink'])", DataError, "does not know: 'blue', 'green'"),
        ("y ~ C(g, levels='abc')", FormulaError, "levels .* distinct texts or numbers, got 'abc'"),
        ("y ~ C(g, levels=['red', 'red'])", FormulaError, "distinct texts"),
        ("y ~ C(g, levels=['red', 1])", FormulaError, "distinct texts"),
        ("y ~ odd", DataError, "all texts or all finite numbers, got 1, 'a'"),
        ("y ~ C(endless)", DataError, "all texts or all finite numbers, got 1.0, inf"),
        ("y ~ one", DataError, "makes no column: its categories have one level"),
    ],
)
def test_data_that_a_formula_cannot_use_are_refused(
    formula: str, error: type[DataError], message: str
) -> None:
    data = TRAIN.assign(empty=np.nan, one="same", odd=pd.Categorical([1, "a"] * 75))
    data["endless"] = [1, np.inf] * 75
    with pytest.raises(error, match=message):
        learned(formula, data).matrix(data)


def test_a_response_must_be_numeric() -> None:
    table = Table.read(TRAIN)
    with pytest.raises(
        DataError, match=r"response 'g' reads column 'g' of dtype (str|object), .*not"
    ):
        response(parse_formula("g ~ x", table.names), table)
    with pytest.raises(DataError, match=r"'log\(z\)' is not a finite number in \d+ rows"):
        response(parse_formula("log(z) ~ x", table.names), table)
    endless = Table.read({"y": [1.0, np.inf], "x": [1, 2]})
    with pytest.raises(DataError, match=r"'y' holds infinite values in 1 row \(first: row 1"):
        response(parse_formula("y ~ x", endless.names), endless)


def test_state_is_learned_from_the_values_that_are_there() -> None:
    gaps = TRAIN.copy()
    gaps.loc[[3, 8], "x"] = np.nan
    gaps.loc[[5], "g"] = None
    full = TRAIN.drop(index=[3, 8])
    formula = "y ~ center(x) + scale(log(x)) + poly(x, 2) + bs(x, df=5) + I(scale(x) * center(z))"
    with_gaps, without = learned(formula, gaps), learned(formula, full)
    np.testing.assert_allclose(
        with_gaps.matrix(NEW)[:, :-1], without.matrix(NEW)[:, :-1], rtol=1e-13
    )
    # z has no gaps: its centre is that of all rows, whatever x lacks
    z = TRAIN["z"].mean()
    x = (NEW["x"] - full["x"].mean()) / full["x"].std()
    np.testing.assert_allclose(with_gaps.matrix(NEW)[:, -1], x * (NEW["z"] - z), rtol=1e-12)
    assert learned("y ~ g", gaps).names == ("g[T.green]", "g[T.red]")


def test_users_functions_come_by_context_and_stay_local() -> None:
    def double(x: np.ndarray) -> np.ndarray:
        return 2 * x

    spec = learned("y ~ double(x) + I(double(z) + shift)", context={"double": double, "shift": 1})
    expected = np.column_stack([2 * NEW["x"], 2 * NEW["z"] + 1])
    np.testing.assert_array_equal(spec.matrix(NEW), expected)
    assert spec.local_names == ("double",)
    with pytest.raises(FormulaError, match=r"'double\(x\)' uses 'double'.*cannot be saved.*before"):
        spec.to_dict()
    assert learned("y ~ I(x > limit)", context={"limit": 5}).local_names == ()
    table = Table.read(TRAIN)
    left = parse_formula("double(y) ~ x", table.names, context={"double": double})
    np.testing.assert_array_equal(response(left, table), 2 * TRAIN["y"])


def test_a_users_function_replaces_one_of_the_same_name() -> None:
    spec = learned("y ~ log(x)", context={"log": lambda x: -x})
    np.testing.assert_array_equal(spec.matrix(NEW)[:, 0], -NEW["x"])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda x: x[:2],
            r"'f' given by context= returned shape \(2,\) for rows of shape \(150,\)",
        ),
        (lambda x: 1 / 0, "'f' given by context= failed: ZeroDivisionError"),
        (lambda x: x * np.nan, r"term 'f\(x\)' is not a finite number in 150 rows"),
    ],
)
def test_a_users_function_that_misbehaves_is_named(
    function: Callable[..., Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        learned("y ~ f(x)", context={"f": function}).matrix(TRAIN)
    with pytest.raises(FormulaError, match="takes columns only"):
        parse_formula("y ~ f(x, a=1)", ["y", "x"], context={"f": function})


def test_the_page_about_formulas_runs() -> None:
    page = Path(__file__).parents[1] / "docs" / "design" / "formula.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    exec(code, {})


def test_reading_and_computing_a_formula_load_numpy_alone() -> None:
    spec = learned("y ~ log(x) + g + poly(z, 2) + bs(w, df=4)")
    code = (
        "import json, sys\n"
        "from crank.design.spec import DesignSpec\n"
        "import crank.formula\n"
        f"spec = DesignSpec.from_dict(json.loads({json.dumps(spec.to_dict())!r}))\n"
        "names = ['y', 'x', 'g', 'z', 'w']\n"
        "crank.formula.parse_formula('y ~ (log(x) + g)^2 + poly(z, 2) + bs(w, df=4)', names)\n"
        "print(spec.matrix({'x': [2.0], 'g': ['red'], 'z': [0.5], 'w': [1.5]}).shape[1])\n"
        "print(*{'formulaic', 'pandas', 'narwhals', 'scipy'} & set(sys.modules))\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == [str(len(spec.names))]


def test_rs_name_of_a_factor_is_answered_with_ours() -> None:
    with pytest.raises(FormulaError, match=r"Write C\(\.\.\.\) for factor\(\.\.\.\)") as e:
        parse_formula("y ~ factor(g)", ["y", "g"])
    assert "acos" not in str(e.value)
