"""SQL of linear models gives Python's scores to rounding, NULL where a value is missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import crank
from crank.errors import NotExportableError, OptionError
from crank.rankers.linear import linear_score
from tests.test_export_sql import RUN

FORMULA = (
    "y ~ log(a) + sqrt(a) + I(b ** 3) + log10(a) + log2(a) + log1p(a) + exp(-b / 2) + abs(b) + "
    "a:b + a:g + C(k, contr.sum) + flag + I(1 / a) + poly(b, 2, raw=True) + same + floor(b) + "
    "ceil(b) + I(b ** 2 - 0.1 * b + -1) + Q('odd \"name`') + scale(big)"
)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    n = 250
    return pd.DataFrame(
        {
            "a": rng.uniform(0.2, 5.0, n),
            "b": rng.normal(size=n),
            "g": rng.choice(["u", "it's", "é"], n),
            "k": rng.integers(0, 4, n),
            "flag": rng.random(n) < 0.5,
            "same": 2.0,
            'odd "name`': rng.normal(size=n),
            "big": 1e6 + rng.normal(size=n),
            "y": rng.normal(size=n),
        }
    )


@pytest.fixture(scope="module")
def model(frame: pd.DataFrame) -> crank.LinearModel:
    return crank.linear(frame, FORMULA, cv=None)


@pytest.mark.parametrize("dialect", RUN)
def test_the_database_gives_the_same_scores(
    model: crank.LinearModel, frame: pd.DataFrame, dialect: str
) -> None:
    data = frame.drop(columns="y")
    data.loc[::23, "a"] = np.nan
    data.loc[::29, "g"] = None
    data.loc[::31, "g"] = "unseen"
    data.loc[::37, "k"] = 77
    got = RUN[dialect](model.to_sql(dialect, table="my table"), data)["score"]
    found: np.ndarray = np.ma.filled(np.ma.asarray(got, dtype=float), np.nan)
    X = model.design.matrix(data, unknown="missing")
    expected = linear_score(X, model.ranker.coef, model.ranker.centre)
    assert 20 < np.isnan(expected).sum() < 60
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(model.predict(data[known]), expected[known])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_nan_is_missing_in_duckdb_whether_null_or_not(
    model: crank.LinearModel, frame: pd.DataFrame
) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with duckdb.connect() as connection:
        connection.register("source", frame)
        connection.execute("CREATE TABLE t AS SELECT * REPLACE ('NaN'::DOUBLE AS a) FROM source")
        query = f"SELECT count({model.to_sql()}) FROM t"
        assert connection.execute(query).fetchone() == (0,)


def test_every_dialect_writes_its_own_casts(model: crank.LinearModel) -> None:
    query = model.to_sql("postgres", table=("public", "t"))
    assert query.endswith('AS "score"\nFROM "public"."t"')
    assert "NULLIF(\"a\"::float8, 'NaN'::float8)" in query
    assert "--" not in query  # a comment
    assert "same" not in query  # it has no coefficient


def test_a_model_without_coefficients_is_a_number(frame: pd.DataFrame) -> None:
    assert crank.linear(frame, "y ~ same").to_sql("sqlite") == "0.0"


@pytest.mark.parametrize(
    ("term", "says"),
    [
        ("sin(b)", "'sin' is not among the functions"),
        ("I(a ** 0.5)", "'power' is not among"),
        ("I(a ** 9)", "'power' is not among"),
        ("I(b > 0)", "'greater' is not among"),
        ("bs(b, df=4)", "neither a number nor a category"),
        ("C(I(k + 1))", "levels are those of an expression"),
    ],
)
def test_what_sql_cannot_say_is_refused_with_the_term(
    frame: pd.DataFrame, term: str, says: str
) -> None:
    m = crank.linear(frame, f"y ~ {term}", cv=None)
    with pytest.raises(NotExportableError, match=f"cannot be written as SQL.*{says}"):
        m.to_sql()


def test_large_levels_are_refused(frame: pd.DataFrame) -> None:
    m = crank.linear(frame.assign(k=frame["k"] + 2**60), "y ~ C(k)", cv=None)
    with pytest.raises(NotExportableError, match="from 2"):
        m.to_sql()


def test_options_that_are_not_allowed(model: crank.LinearModel) -> None:
    for options in ({"dialect": "oracle"}, {"type": "probability"}, {"table": ()}):
        with pytest.raises(OptionError, match="llowed"):
            model.to_sql(**options)
