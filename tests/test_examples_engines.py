"""The examples of scoring inside engines: DuckDB by a function, Spark by mapInPandas and by SQL."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crank
from crank.models.base import RankingModel

EXAMPLES = Path(__file__).parents[1] / "examples"


def example(folder: str) -> ModuleType:
    """Import the script of an example."""
    spec = importlib.util.spec_from_file_location(
        folder.replace("-", "_"), EXAMPLES / folder / "score.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    found = pd.DataFrame({"x": rng.normal(size=400), 'odd "name': rng.normal(size=400)})
    found["g"] = rng.choice(["a", "it's", "c\\d"], 400)
    found["k"] = rng.integers(0, 4, 400)
    found["y"] = found["x"] + (found["g"] == "a") + 0.3 * rng.normal(size=400)
    found.loc[::9, "x"] = np.nan
    found.loc[::11, "g"] = None
    return found


@pytest.fixture(scope="module")
def model(frame: pd.DataFrame) -> RankingModel:
    return crank.fit(frame, "y ~ x + Q('odd \"name') + g + C(k)", max_depth=5, prune=None)


def test_a_function_of_duckdb_gives_the_models_scores(
    model: RankingModel,
    frame: pd.DataFrame,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    duckdb = pytest.importorskip("duckdb")
    script = example("duckdb-scoring")
    path = str(tmp_path / "m.onnx")
    model.to_onnx(path)
    with duckdb.connect() as connection:
        call = script.register(connection, path)
        connection.register("source", frame.assign(row=range(len(frame))))
        connection.execute("CREATE TABLE t AS SELECT * FROM source")  # with NULL for NaN
        query = f"SELECT {call} AS score FROM t ORDER BY row"
        found = connection.execute(query).fetchnumpy()["score"]
        (empty,) = connection.execute(f"SELECT count({call}) FROM t WHERE x > 99").fetchone()
    np.testing.assert_array_equal(found, model.predict(frame))
    assert empty == 0
    frame[:5].to_csv(tmp_path / "rows.csv", index=False)
    script.main(path, str(tmp_path / "rows.csv"))
    assert "score" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore")  # of Spark's own code, about its use of other libraries
def test_spark_gives_the_models_scores(
    spark: Any, model: RankingModel, frame: pd.DataFrame
) -> None:
    script = example("spark-scoring")
    rows = frame.assign(row=range(len(frame))).astype(object).where(frame.notna(), None)
    schema = 'x double, `odd "name` double, g string, k long, y double, row long'
    given = spark.createDataFrame(rows.to_numpy().tolist(), schema)
    wanted = model.predict(frame)
    found = script.scored(given, model.to_onnx() or b"").toPandas().sort_values("row")
    np.testing.assert_array_equal(found["score"], wanted)
    given.createOrReplaceTempView("t")
    forest = crank.forest(frame, "y ~ x + g + C(k)", n_trees=4, max_depth=3)
    for kind in (model, forest, crank.boost(frame, "y ~ x + g + C(k)", rounds=5)):
        found = spark.sql(kind.to_sql("spark", table="t")).toPandas().sort_values("row")
        np.testing.assert_array_equal(found["score"], kind.predict(frame))
