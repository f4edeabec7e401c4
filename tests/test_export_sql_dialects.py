"""SQL for databases that do not run here: parsed by sqlglot, and run after its translation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crank
from crank.cli import export
from crank.errors import NotExportableError, OptionError
from crank.export.sql import sums
from crank.export.sql.dialects import DIALECTS
from crank.models.base import RankingModel

sqlglot = pytest.importorskip("sqlglot")
duckdb = pytest.importorskip("duckdb")
SPARKS_OWN = pytest.mark.filterwarnings("ignore")  # of its code, about sockets
ABSENT = ("bigquery", "snowflake", "spark")
ODD = "it's", "back\\slash", 'say "b"', "tick`", "é"


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(6)
    found = pd.DataFrame({"x": rng.normal(size=300), "odd `name": rng.normal(size=300)})
    found["g"] = rng.choice(ODD, 300)
    found["k"] = rng.integers(0, 6, 300)
    found["flag"] = rng.random(300) < 0.5
    found["y"] = found["x"] + found["odd `name"] + found["k"] % 3 + rng.normal(size=300)
    found["y"] += found["flag"] + found["g"].map(
        dict(zip(ODD, (0.0, 2.0, -2.0, 1.0, -1.0), strict=True))
    )
    found.loc[rng.random(300) < 0.1, "x"] = np.nan
    found.loc[rng.random(300) < 0.1, "g"] = None
    return found


FORMULA = "y ~ x + Q('odd `name') + g + C(k) + flag"


@pytest.fixture(scope="module")
def models(frame: pd.DataFrame) -> dict[str, RankingModel]:
    whole = frame.dropna()
    return {
        "tree": crank.fit(frame, FORMULA, max_depth=5, criterion="kendall", prune=None),
        "linear": crank.linear(whole, f"{FORMULA} + log(abs(x) + 1) + floor(3 * x)"),
        "forest": crank.forest(frame, FORMULA, n_trees=7, max_depth=4),
        "booster": crank.boost(frame, FORMULA, rounds=12),
    }


def scores(query: str, data: pd.DataFrame) -> Any:
    with duckdb.connect() as connection:
        connection.register("source", data)
        # NaN here and there, NULL elsewhere: both are missing
        connection.execute(
            "CREATE TABLE t AS SELECT * REPLACE (CASE WHEN x IS NULL AND k < 3 THEN 'NaN'::DOUBLE "
            "ELSE x END AS x) FROM source"
        )
        found = connection.execute(query).fetchnumpy()["score"]
    return np.ma.filled(np.ma.asarray(found, dtype=float), np.nan)


@pytest.mark.parametrize("kind", ["tree", "linear", "forest", "booster"])
@pytest.mark.parametrize("dialect", ABSENT)
def test_a_translation_into_a_database_that_runs_gives_the_same_scores(
    dialect: str, kind: str, models: dict[str, RankingModel], frame: pd.DataFrame
) -> None:
    query = models[kind].to_sql(dialect, table="t")
    (translated,) = sqlglot.transpile(query, read=dialect, write="duckdb")
    data = frame.drop(columns="y").assign(k=frame["k"].where(frame.index % 31 > 0, 77))
    if kind == "linear":
        data = data[frame.notna().all(axis=1) & (data["k"] != 77)]
        np.testing.assert_allclose(
            scores(translated, data), models[kind].predict(data), rtol=1e-12, atol=1e-12
        )
    else:
        wanted = models[kind].predict(data, unknown="missing")
        np.testing.assert_array_equal(scores(translated, data), wanted)


@pytest.mark.parametrize("dialect", ABSENT)
def test_names_texts_and_numbers_are_read_as_they_were_meant(dialect: str) -> None:
    writes = DIALECTS[dialect]
    for text in (*ODD, "", "new\nline", "\\'"):
        assert sqlglot.parse_one(writes.text(text), read=dialect).this == text
    for name in ("x", "odd `name", 'a "b"', "é"):
        column = sqlglot.parse_one(f"SELECT {writes.name(name)}", read=dialect).expressions[0]
        assert column.name == name
    rng = np.random.default_rng(7)
    values = rng.integers(0, 2**64, 300, dtype=np.uint64).view(np.float64)
    for value in [*values[np.isfinite(values)].tolist(), 0.1, 1e22, 5e-324, 2.0]:
        literal = sqlglot.parse_one(writes.number(abs(value)), read=dialect).find(
            sqlglot.exp.Literal
        )
        assert float(literal.this) == abs(value)


def in_spark(spark: Any, query: str, data: pd.DataFrame, folder: Path) -> Any:
    data.to_parquet(folder / "t.parquet")
    spark.read.parquet(str(folder / "t.parquet")).createOrReplaceTempView("t")
    found = [row[-1] for row in spark.sql(query).collect()]
    return np.array([np.nan if value is None else value for value in found])


@SPARKS_OWN
@pytest.mark.parametrize("ansi", ["false", "true"])
@pytest.mark.parametrize("kind", ["tree", "linear", "forest", "booster"])
def test_spark_gives_the_same_scores(
    models: dict[str, RankingModel],
    frame: pd.DataFrame,
    spark: Any,
    tmp_path: Path,
    kind: str,
    ansi: str,
) -> None:
    m = models[kind]
    data = frame.dropna() if kind == "linear" else frame
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    found = in_spark(spark, m.to_sql("spark", table="t"), data, tmp_path)
    if kind == "linear":
        np.testing.assert_allclose(found, m.predict(data), rtol=1e-12, atol=1e-12)
    else:
        np.testing.assert_array_equal(found, m.predict(data, unknown="missing"))


STEPS = ["I(floor(x) * floor(x))", "floor(1e7 * x)", "I(ceil(x) / 7)", "I(x / 3)", "I(0.1 * x)"]


@SPARKS_OWN
@pytest.mark.parametrize("term", STEPS)
def test_doubles_stay_doubles_in_spark(spark: Any, tmp_path: Path, term: str) -> None:
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"x": 1e12 * rng.normal(size=80), "z": rng.normal(size=80)})
    data["y"] = data["z"] + rng.normal(size=80)
    m = crank.linear(data, f"y ~ z + {term}", penalty=0.01)
    found = in_spark(spark, m.to_sql("spark", table="t"), data, tmp_path)
    np.testing.assert_allclose(found, m.predict(data), rtol=1e-12, atol=1e-12)


def test_spark_makes_doubles_of_what_floor_and_ceil_give(frame: pd.DataFrame) -> None:
    m = crank.linear(frame.dropna(), "y ~ floor(x) + ceil(x / 3)")
    text = m.to_sql("spark")
    for name in ("floor", "ceil"):  # whole numbers of 64 bits, whose products wrap
        assert f"< 9007199254740992.0D, CAST({name}(" in text


@pytest.mark.parametrize("kind", ["forest", "booster"])
def test_sums_of_trees_are_exact_in_duckdb(
    kind: str, models: dict[str, RankingModel], frame: pd.DataFrame
) -> None:
    data = frame.drop(columns="y").assign(g=frame["g"].where(frame.index % 31 > 0, "unseen"))
    found = scores(models[kind].to_sql(table="t"), data)
    np.testing.assert_array_equal(found, models[kind].predict(data, unknown="missing"))


def test_what_is_too_large_or_no_test_of_a_column_is_refused(
    models: dict[str, RankingModel], frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    forest = models["forest"]
    with pytest.raises(OptionError, match="type='median'"):
        forest.to_sql(type="median")
    quantile = scores(
        forest.to_sql(table="t", type="quantile").replace('"quantile"', "score"), frame
    )
    np.testing.assert_array_equal(quantile, forest.predict(frame, "quantile"))
    monkeypatch.setattr(sums, "MOST_NODES", 10)
    with pytest.raises(NotExportableError, match=r"have \d+ splits, and 10 is the most"):
        forest.to_sql()
    monkeypatch.undo()
    logs = crank.boost(frame, "y ~ exp(x)", rounds=2)
    with pytest.raises(NotExportableError, match=r"splits on 'exp\(x\)', which is no single"):
        logs.to_sql()
    slanted = crank.forest(frame[["x", "y"]].dropna(), "y ~ x", learner="logistic", n_trees=2)
    with pytest.raises(NotExportableError, match="trees of learner 'logistic'"):
        slanted.to_sql()


def test_the_command_line_knows_all_dialects() -> None:
    assert tuple(export.DIALECTS) == tuple(DIALECTS)
