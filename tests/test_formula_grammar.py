"""The grammar of formulas: formulaic and R are the oracles of terms and operators."""

import ast
import contextlib

import formulaic
import numpy as np
import pandas as pd
import pytest
from formulaic.errors import FormulaicError
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from crank.errors import CrankError, FormulaError
from crank.formula import learn_design, parse_formula
from crank.formula.syntax import read_expression
from crank.formula.tokens import tokenize
from crank.frames.table import Table

NAMES = ["y", "a", "b", "c", "d"]


def terms(formula: str, names: list[str] = NAMES) -> tuple[list[str], bool]:
    parsed = parse_formula(formula, names)
    return [term.name for term in parsed.terms], parsed.intercept


def combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.builds(
        "{} {} {}".format, inner, st.sampled_from(["+", "+", "-", "*", ":", "/", "%in%"]), inner
    )
    powers = st.builds("({})^{}".format, inner, st.integers(1, 3))
    return several | several.map("({})".format) | powers


FORMULAS = st.recursive(st.sampled_from([*"abcd", "."]), combined, max_leaves=6)


@settings(max_examples=150)
@given(
    st.builds(
        "{}{}".format, FORMULAS, st.sampled_from(["", " - 1", " + 0", " + 1", " - b", " - a:b"])
    )
    | FORMULAS.map("0.5:({})".format)
)
def test_terms_and_their_order_are_formulaics(right: str) -> None:
    formula = f"y ~ {right}"
    try:
        oracle = formulaic.Formula(
            formula, _context={"__formulaic_variables_available__": NAMES}
        ).rhs
    except (FormulaicError, TypeError):  # TypeError: nothing within nothing
        assume(False)
    expected = []
    for term in oracle:
        numbers = [float(f.expr) for f in term.factors if f.eval_method.value == "literal"]
        scale = float(np.prod(numbers)) if numbers else 1.0
        named = [f.expr for f in term.factors if f.eval_method.value != "literal"]
        expected.append(":".join([*([] if scale == 1 else [f"{scale:g}"]), *named]))
    intercept = "" in expected
    expected = [name for name in expected if name]
    if not expected:
        with pytest.raises(FormulaError, match="empty right side"):
            terms(formula)
    else:
        assert terms(formula) == (expected, intercept)


@pytest.mark.parametrize(
    ("right", "labels", "intercept"),
    [
        ("a + b:c + a:b", ["a", "b:c", "a:b"], True),
        ("a*b*c - a:b:c", ["a", "b", "c", "a:b", "a:c", "b:c"], True),
        ("(a + b)/c", ["a", "b", "a:b:c"], True),
        ("a/b/c", ["a", "a:b", "a:b:c"], True),
        ("(a + b + c)^2", ["a", "b", "c", "a:b", "a:c", "b:c"], True),
        ("(a + b):(c + d)", ["a:c", "a:d", "b:c", "b:d"], True),
        ("(a + 0) * b", ["a", "b", "a:b"], False),
        ("a - 1 + 1", ["a"], True),
        ("0 + a + 1", ["a"], True),
        ("1 + a - 0", ["a"], True),
        ("a + (b - 1)", ["a", "b"], False),
        ("(1 + a) * b", ["a", "b", "a:b"], True),
        ("a - (b + 1)", ["a"], False),
        ("a + b %in% a", ["a", "a:b"], True),
        (". - a", ["b", "c", "d"], True),
        ("a:b + b:a", ["a:b"], True),
        ("-1 + a", ["a"], False),
    ],
)
def test_terms_are_rs(right: str, labels: list[str], intercept: bool) -> None:
    """R 4.2: t <- terms(y ~ …, data=…); attr(t, "term.labels"), attr(t, "intercept").

    Where R writes b %in% a, the label here is a:b.
    """
    assert terms(f"y ~ {right}") == (labels, intercept)


def test_thousands_of_terms_are_read() -> None:
    names = ["y", *(f"x{i}" for i in range(3000))]
    assert terms(f"y ~ {' + '.join(names[1:])}", names)[0] == names[1:]
    assert len(terms("y ~ .^2", names[:61])[0]) == 60 + 60 * 59 // 2
    with pytest.raises(FormulaError, match="more than 100000 terms"):
        terms("y ~ .^2", names)


def test_names_are_rs() -> None:
    names = ["y", "Sepal.Length", ".hidden", "x.", "a..b", "x_1", "µ", "x₁", "class"]
    formula = "y ~ " + " + ".join(names[1:])
    assert terms(formula, names)[0] == names[1:]
    calls = [f"log({name})" for name in names[1:]]
    assert terms("y ~ " + " + ".join(calls), names)[0] == calls


DATA = pd.DataFrame(
    {
        "y": np.arange(60.0),
        "k": np.arange(60) % 7 + 1,
        "x": np.linspace(0.5, 9.0, 60),
        "z": np.linspace(-2, 2, 60)[::-1],
    }
)


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    arithmetic = st.builds(
        "({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner
    )
    compared = st.builds(
        "({} {} {})".format, inner, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), inner
    )
    truth = st.builds("({} {} {})".format, compared, st.sampled_from("&|"), compared)
    chosen = st.builds("np.where({}, {}, {})".format, compared | truth, inner, inner)
    powers = st.builds("({} ** {})".format, inner, st.integers(1, 3))
    return arithmetic | powers | chosen | inner.map("(-{})".format) | inner.map("np.abs({})".format)


VALUES = st.sampled_from(["k", "x", "z", "2", "3", "0.5", "(k % 3)", "(x - 1)"])
EXPRESSIONS = st.recursive(VALUES, grown, max_leaves=5)
CALLS = st.lists(
    st.one_of(
        EXPRESSIONS.map("I({})".format),
        EXPRESSIONS.map("{{{}}}".format),
        EXPRESSIONS.map("np.abs({})".format),
        st.sampled_from(["I(k % 3)", "I(k % 2)", "x", "I(k%2%3)", "k:x"]),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=80)
@given(CALLS)
def test_every_operator_inside_calls_is_read_as_formulaic_does(calls: list[str]) -> None:
    calls = [call if set(call) & set("kxz") else f"I(x + {call})" for call in calls]
    formula = "y ~ " + " + ".join(calls)
    with np.errstate(all="ignore"):
        try:
            expected = formulaic.model_matrix(formula, DATA, na_action="ignore").rhs
        except Exception:  # formulaic evaluates Python, which fails in its own ways
            assume(False)
    expected = expected.drop(columns="Intercept", errors="ignore")
    numbers = expected.to_numpy(np.float64)
    assume(expected.shape[1] > 0 and np.isfinite(numbers).all())
    assume(np.abs(numbers).max() < 2**50)  # whole numbers overflow in NumPy
    table = Table.read(DATA)
    spec = learn_design(parse_formula(formula, table.names), table, native=False)
    assert spec.names == tuple(expected.columns)
    np.testing.assert_allclose(spec.matrix(DATA), numbers, rtol=1e-9, atol=1e-9)


def test_two_remainders_are_two_terms() -> None:
    assert terms("y ~ I(a % 3) + b + I(a % 2)")[0] == ["I(a % 3)", "b", "I(a % 2)"]
    assert terms("y ~ {a % 3} + b + {a % 2}")[0] == ["a % 3", "b", "a % 2"]


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("x^2", "x ** 2"),
        ("-x^2", "-x ** 2"),
        ("2^-1", "2 ** (-1)"),
        ("x^2^k", "x ** 2 ** k"),
        ("x %% 3 * 2", "x % 3 * 2"),
        ("2 * x %% 3", "2 * (x % 3)"),
        ("2 * x % 3", "2 * x % 3"),
        ("x %/% 2", "x // 2"),
        ("x > 1 & z < 2", "(x > 1) & (z < 2)"),
        ("x > 1 && z < 2 || k == 3", "(x > 1) & (z < 2) | (k == 3)"),
        ("!x > 1", "not x > 1"),
        ("!(x > 1) | z > 1", "(not x > 1) | (z > 1)"),
        ("x > 1 and not z > 1 or k == 2", "x > 1 and (not z > 1) or k == 2"),
        ("0 < x <= 2", "0 < x <= 2"),
        ('g %in% c("a", "b")', "g in ['a', 'b']"),
        ("k not in [1, 2]", "k not in [1, 2]"),
        ("-x * z - -k", "-x * z - -k"),
        ("f(x, base = 2L, flag=TRUE, none=NULL)", "f(x, base=2, flag=True, none=None)"),
        ("log(`my x`) + `class`", "log(`my x`) + class"),
        ("(1, 2, 'it\\'s')", '(1, 2, "it\'s")'),
        ("{'a': [1, 0], 'b': [0, .5e-1]}", "{'a': [1, 0], 'b': [0, 0.05]}"),
        ("1_000 + 1e3", "1000 + 1000.0"),
    ],
)
def test_operators_of_r_and_python_bind_as_in_r(text: str, python: str) -> None:
    assert ast.unparse(read_expression(text)) == python


def test_expressions_are_computed_as_in_r() -> None:
    """R: k <- 1:3; cbind(k^2, k %% 2, k %/% 2, k > 1 & k < 3, !(k > 1), k %in% c(1, 3))."""
    data = {"y": [1, 2, 3], "k": [1, 2, 3]}
    formula = (
        "y ~ I(k^2) + I(k %% 2) + I(k %/% 2) + I(k > 1 & k < 3) + I(!(k > 1)) + I(k %in% c(1, 3))"
    )
    table = Table.read(data)
    spec = learn_design(parse_formula(formula, table.names), table, native=False)
    expected = [[1, 1, 0, 0, 1, 1], [4, 0, 1, 1, 0, 0], [9, 1, 1, 0, 0, 1]]
    np.testing.assert_array_equal(spec.matrix(data), expected)


@settings(max_examples=200)
@given(st.text(alphabet="yx1.~+-*/:^%()[]{}`'\",=&|<>! \\in", max_size=25))
def test_any_text_is_read_or_refused(text: str) -> None:
    read = "".join(text[token.start : token.stop] for token in tokenize(text))
    if not set(text) & set("`'\""):  # what is quoted is read without its quotes
        assert read == text.replace(" ", "")
    with contextlib.suppress(CrankError):
        parse_formula(f"y ~ {text}", ["y", "x"])
