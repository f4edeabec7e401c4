"""SQL gives Python's scores, in databases that run here."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crank
from crank.errors import DataError, OptionError
from crank.export.sql.dialects import DIALECTS
from crank.growing.rule import Split
from crank.plugins.base import NotExportableError
from crank.plugins.stump import StumpRule


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(6)
    n = 500
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            'odd "name`': rng.normal(size=n),
            "g": rng.choice(["a", "it's", 'say "b"', "c\\n", "é"], n),
            "k": rng.integers(0, 6, n),
            "flag": rng.random(n) < 0.5,
        }
    )
    frame["y"] = (
        frame["x"]
        + 0.5 * frame['odd "name`']
        + frame["g"].map({"a": 0.0, "it's": 2.0, 'say "b"': -2.0, "c\\n": 1.0, "é": -1.0})
        + 0.4 * frame["k"].map({0: 3, 1: 0, 2: 2, 3: 5, 4: 1, 5: 4})
        + frame["flag"]
        + 0.1 * rng.normal(size=n)
    )
    frame.loc[rng.random(n) < 0.08, "x"] = np.nan
    frame.loc[rng.random(n) < 0.08, "g"] = None
    return frame


@pytest.fixture(scope="module")
def model(frame: pd.DataFrame) -> crank.TreeModel:
    formula = "y ~ x + Q('odd \"name`') + g + C(k) + flag"
    return crank.fit(frame, formula, max_depth=7, criterion="kendall", prune=None)


def rows(model: crank.TreeModel, frame: pd.DataFrame) -> pd.DataFrame:
    """Training rows, unseen levels, and values on and beside each threshold."""
    new = frame.drop(columns="y").copy()
    new.loc[::31, "g"] = "unseen"
    new.loc[::37, "k"] = 77
    extra: list[Any] = []
    for _, node in model.tree.walk():
        rule = None if node.split is None else node.split.rule
        if isinstance(rule, StumpRule) and rule.threshold is not None:
            name = model.design.variables[rule.column].name
            if name in ("x", 'odd "name`'):
                for value in (-np.inf, np.inf, rule.threshold):
                    beside = np.nextafter(rule.threshold, value)
                    extra.append({**new.iloc[len(extra)].to_dict(), name: beside})
    assert len(extra) > 20
    return pd.concat([new, pd.DataFrame(extra)], ignore_index=True).astype({"flag": bool})


def in_duckdb(query: str, data: pd.DataFrame) -> dict[str, np.ndarray]:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with duckdb.connect() as connection:
        connection.register("source", data)
        connection.execute('CREATE TABLE "my table" AS SELECT * FROM source')
        return dict(connection.execute(query).fetchnumpy())


def in_sqlite(query: str, data: pd.DataFrame) -> dict[str, np.ndarray]:
    with closing(sqlite3.connect(":memory:")) as connection:
        data.to_sql("my table", connection, index=False)
        found = pd.read_sql(query, connection)
    return {name: found[name].to_numpy() for name in found.columns}


RUN: dict[str, Callable[[str, pd.DataFrame], dict[str, np.ndarray]]] = {
    "duckdb": in_duckdb,
    "sqlite": in_sqlite,
}


@pytest.mark.parametrize("dialect", RUN)
def test_the_database_gives_the_same_scores(
    model: crank.TreeModel, frame: pd.DataFrame, dialect: str
) -> None:
    data = rows(model, frame)
    got = RUN[dialect](model.to_sql(dialect, table="my table"), data)["score"]
    assert np.array_equal(np.asarray(got, dtype=float), model.predict(data, unknown="missing"))


@pytest.mark.parametrize("type", ["leaf", "quantile", "median", "lower", "upper"])
@pytest.mark.parametrize("dialect", RUN)
def test_other_predictions(
    model: crank.TreeModel, frame: pd.DataFrame, dialect: str, type: str
) -> None:
    data = rows(model, frame)
    query = model.to_sql(dialect, table="my table", type=type)
    got = RUN[dialect](query, data)[type]
    assert np.array_equal(got, model.predict(data, type, unknown="missing"))


def test_nan_is_missing_in_duckdb_whether_null_or_not(
    model: crank.TreeModel, frame: pd.DataFrame
) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    data = rows(model, frame)
    with duckdb.connect() as connection:
        connection.register("source", data)
        connection.execute(
            'CREATE TABLE "my table" AS SELECT * REPLACE '
            "(CASE WHEN x IS NULL THEN 'NaN'::DOUBLE ELSE x END AS x) FROM source"
        )
        (nans,) = connection.execute('SELECT count(*) FROM "my table" WHERE isnan(x)').fetchone()
        query = model.to_sql("duckdb", table="my table")
        got = connection.execute(query).fetchnumpy()["score"]
    assert nans > 10
    assert np.array_equal(got, model.predict(data, unknown="missing"))


@pytest.mark.parametrize("kind", ["FLOAT", "DECIMAL(9, 2)", "BIGINT", "INTEGER"])
def test_columns_of_other_types_in_duckdb(kind: str) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(size=300) * 3, 0 if "INT" in kind else 2)
    values = values.astype(np.float32) if kind == "FLOAT" else values
    frame = pd.DataFrame({"x": values, "y": np.abs(values) + rng.normal(size=300)})
    model = crank.fit(frame, "y ~ x", max_depth=5, prune=None)
    with duckdb.connect() as connection:
        connection.register("source", frame)
        connection.execute(f"CREATE TABLE t AS SELECT x::{kind} AS x FROM source")
        got = connection.execute(model.to_sql("duckdb", table="t")).fetchnumpy()["score"]
    assert np.array_equal(got, model.predict(frame))


def awkward_numbers() -> np.ndarray:
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 2**64, 3000, dtype=np.uint64).view(np.float64)
    usual = rng.normal(size=500) * 10.0 ** rng.integers(-9, 9, 500)
    special = [0.0, 0.1, 1 / 3, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 2.0**60]
    values = np.concatenate([bits[np.isfinite(bits)], usual, usual.round(3), special])
    return np.concatenate([values, -values])


@pytest.mark.parametrize("dialect", RUN)
def test_numbers_are_read_back_bit_for_bit(dialect: str) -> None:
    values = awkward_numbers()
    numbers = [DIALECTS[dialect].number(float(v)) for v in values]
    if dialect == "sqlite":
        with closing(sqlite3.connect(":memory:")) as connection:
            got = [connection.execute(f"SELECT {n}").fetchone()[0] for n in numbers]
    else:
        duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
        with duckdb.connect() as connection:
            listed = ", ".join(numbers)
            got = connection.execute(f"SELECT unnest([{listed}])").fetchnumpy()
        got = next(iter(got.values()))
    assert np.array_equal(np.array(got, dtype=float), values)


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("missing_left", [True, False])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    "test",
    [{"threshold": 0.5}, {"threshold": None}, {"levels": ((0,), (1,))}, {"levels": ((), (0,))}],
)
@pytest.mark.parametrize("dialect", RUN)
def test_every_kind_of_stump(
    dialect: str, test: dict[str, Any], sign: int, missing_left: bool, above: bool
) -> None:
    levels = "levels" in test
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0] * 20, "y": np.arange(60.0) + [0, 50, 100] * 20})
    frame["g"] = frame["x"].map({0.0: "a", 1.0: "b", 2.0: "c"})
    model = crank.fit(frame, "y ~ g" if levels else "y ~ x", max_depth=1, prune=None)
    rule = StumpRule(0, above=above, missing_left=missing_left, **test)
    root = model.tree.nodes[0]._replace(split=Split(rule, 0.0, sign))
    tree = replace(model.tree, nodes=(root, *model.tree.nodes[1:]))
    model = replace(model, ranker=replace(model.ranker, tree=tree))
    data = pd.DataFrame({"x": [0.0, 0.5, 1.0, None], "g": ["a", "b", "c", None]})
    got = RUN[dialect](model.to_sql(dialect, table="my table"), data)["score"]
    assert np.array_equal(np.asarray(got, dtype=float), model.predict(data))


def test_postgres_is_written_with_its_own_casts(model: crank.TreeModel) -> None:
    query = model.to_sql("postgres", table=("public", "my table"))
    assert 'FROM "public"."my table"' in query
    assert "'NaN'::float8" in query
    assert '"flag"::int::float8' in query
    assert "'it''s'" in query
    assert '"odd ""name`"' in query


def test_a_misspelt_column_is_an_error_in_sqlite_not_a_text(
    model: crank.TreeModel, frame: pd.DataFrame
) -> None:
    data = frame.drop(columns=["y", "x"])
    with pytest.raises(Exception, match="no such column"):
        in_sqlite(model.to_sql("sqlite", table="my table"), data)


def test_a_tree_of_one_leaf_is_a_number(model: crank.TreeModel) -> None:
    assert model.prune(n_leaves=1).to_sql("sqlite") == "128.0"


@pytest.mark.parametrize(
    ("formula", "learner", "message"),
    [
        ("y ~ x", "logistic", "made by learner 'logistic'"),
        ("y ~ log1p(k)", "stump", r"splits on 'log1p\(k\)', which is no single column"),
        ("y ~ g:flag2", "stump", "splits on 'g:flag2'"),
        ("y ~ x:k", "stump", "splits on 'x:k'"),
    ],
)
def test_what_sql_cannot_say_is_refused_with_the_node(
    frame: pd.DataFrame, formula: str, learner: str, message: str
) -> None:
    data = frame.assign(flag2=frame["flag"].astype(str))
    model = crank.fit(data, formula, learner=learner, max_depth=2, prune=None)
    with pytest.raises(NotExportableError, match=f"node 1 of the tree.*{message}"):
        model.to_sql()


def test_options_that_are_not_allowed(model: crank.TreeModel) -> None:
    for options in ({"dialect": "oracle"}, {"type": "mode"}, {"table": ""}, {"table": ()}):
        with pytest.raises(OptionError, match="llowed"):
            model.to_sql(**options)


def test_a_text_that_sql_cannot_hold(frame: pd.DataFrame) -> None:
    data = frame.assign(g=frame["g"].replace("a", "a\0b"))
    model = crank.fit(data, "y ~ g", max_depth=1, prune=None)
    with pytest.raises(DataError, match="NUL"):
        model.to_sql()
