"""Whole numbers beyond 2⁵³ as categories: told apart, or refused, on every route."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crank
from crank.cli import main
from crank.datafiles.expected import Expected
from crank.datafiles.fields import as_column
from crank.errors import DataError, FormulaError, NotExportableError
from crank.models.base import RankingModel

FIRST = 2**53
IDS = [FIRST, FIRST + 1, FIRST + 2, 7]


@pytest.fixture(scope="module")
def columns() -> dict[str, list[int] | list[float]]:
    rng = np.random.default_rng(1)
    ids = [IDS[i] for i in rng.integers(0, 4, 200)]
    return {"id": ids, "y": [float(i % 3) + 0.01 * k for k, i in enumerate(ids)]}


@pytest.fixture(scope="module")
def model(columns: dict[str, list[int]]) -> RankingModel:
    return crank.fit(columns, "y ~ C(id)", max_depth=3, prune=None)


@pytest.fixture(scope="module")
def one_by_one(model: RankingModel) -> list[float]:
    scores = [model.predict({"id": [i]}).item() for i in IDS]
    assert len(set(scores)) == 4
    return scores


def test_one_missing_value_changes_no_other_row(
    model: RankingModel, one_by_one: list[float]
) -> None:
    rows = [*IDS, None]
    for data in (
        {"id": rows},
        pd.DataFrame({"id": pd.array(rows, dtype="Int64")}),
        pl.DataFrame({"id": rows}),
        pa.table({"id": rows}),
    ):
        assert model.predict(data)[:4].tolist() == one_by_one


def test_floats_that_may_have_lost_digits_are_refused(
    model: RankingModel, columns: dict[str, list[int]]
) -> None:
    floats = pd.DataFrame({"id": [*map(float, IDS), np.nan]})
    with pytest.raises(DataError, match=r"'id' holds floating-point numbers from 2\^53 on.*int64"):
        model.predict(floats)
    assert model.predict(floats.tail(2)).shape == (2,)  # small ones are what they are
    lost = pd.DataFrame(columns).astype({"id": float})
    for formula in ("y ~ C(id)", "y ~ C(I(id))"):
        with pytest.raises(DataError, match=r"2\^53"):
            crank.fit(lost, formula, prune=None)
    with pytest.raises(DataError, match=r"2\^53"):
        crank.fit(lost.assign(x=lost["y"]), "y ~ x", groups="id", prune=None)


def test_a_csv_file_is_read_digit_by_digit(
    model: RankingModel,
    one_by_one: list[float],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    model.to_json("m.json")
    Path("x.csv").write_text("".join(f"{row}\n" for row in ["id", *IDS, "", "7.0"]))
    assert main(["score", "m.json", "x.csv", "-o", "s.csv"]) == 0
    scores = pd.read_csv("s.csv")["score"].tolist()
    assert scores[:4] == one_by_one
    assert scores[5] == one_by_one[3]


def test_fields_of_ids() -> None:
    found = as_column([str(FIRST + 1), "NA", " 12.0", "1.5"], Expected("whole"), "id", range(4))
    assert found.tolist() == [FIRST + 1, None, 12, 1.5]
    for field in ("1e20", "1_000", "x", str(float(2**60))):
        with pytest.raises(DataError, match="a whole number, digit by digit"):
            as_column([field], Expected("whole"), "id", [1])


def test_sql_and_onnx_refuse_them(model: RankingModel) -> None:
    for dialect in ("duckdb", "postgres", "sqlite"):
        with pytest.raises(NotExportableError, match=r"from 2\^53 on"):
            model.to_sql(dialect)
    with pytest.raises(NotExportableError, match=r"from 2\^53 on"):
        model.to_onnx()


@pytest.mark.parametrize("last", [FIRST, -FIRST, FIRST + 1])
def test_a_level_of_exactly_two_to_the_53rd_is_not_its_neighbour(last: int, tmp_path: Path) -> None:
    ids = [5, 6, last] * 60
    m = crank.fit({"id": ids, "y": [float(i == last) for i in ids]}, "y ~ C(id)", prune=None)
    rows = [last, last + (1 if last > 0 else -1)]
    scores = m.predict({"id": rows}, unknown="missing").tolist()
    assert scores[0] > scores[1]
    with pytest.raises(DataError, match=r"2\^53"):
        m.predict({"id": [*map(float, rows)]}, unknown="missing")
    m.to_json(tmp_path / "m.json")
    (tmp_path / "x.csv").write_text("".join(f"{row}\n" for row in ["id", *rows]))
    files = [str(tmp_path / name) for name in ("m.json", "x.csv", "s.csv")]
    assert main(["score", *files[:2], "-o", files[2], "--unknown", "missing"]) == 0
    assert pd.read_csv(files[2])["score"].tolist() == scores
    with pytest.raises(NotExportableError, match=r"from 2\^53 on"):
        m.to_sql("sqlite")
    with pytest.raises(NotExportableError, match=r"from 2\^53 on"):
        m.to_onnx()


@pytest.mark.parametrize(
    "term",
    [
        f"I(id == {FIRST + 1})",
        f"I({FIRST} == id)",
        f"I(id != -{FIRST})",
        f"isin(id, [7, {FIRST}])",
        f"I(id in [7, -{FIRST}])",
        "I(id == K)",
    ],
)
def test_equality_with_a_number_that_floats_confuse_is_refused(
    columns: dict[str, list[int]], term: str
) -> None:
    with pytest.raises(FormulaError, match=r"from 2\^53 on apart. Make the column a category"):
        crank.fit(columns, f"y ~ {term}", prune=None, context={"K": FIRST + 2})  # type: ignore[dict-item]  # a number is a context too
