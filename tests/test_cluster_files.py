"""Data in several files: fitted and scored with Dask from the command line."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import crank
from crank.cli import main
from crank.datafiles.parts import parts_of, read_parts
from crank.models.tree import TreeModel

pytest.importorskip("dask")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    rng = np.random.default_rng(0)
    for k in range(3):
        rows = pd.DataFrame({"id": np.arange(80) + 100 * k, "x": rng.normal(size=80).round(1)})
        rows["g"] = rng.choice(["a", "b"], 80)
        rows["y"] = (rows.x + (rows.g == "a") + rng.normal(size=80)).round(1)
        rows.to_parquet(tmp_path / "data" / f"{k}.parquet", row_group_size=30)
    return tmp_path


def whole(folder: Path) -> pd.DataFrame:
    files = sorted((folder / "data").glob("*.parquet"))
    return pd.concat([pd.read_parquet(path) for path in files], ignore_index=True)


def test_fit_reads_a_pattern_or_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["y ~ x + g", "--engine", "dask", "--prune", "none", "--max-depth", "3", "--quiet"]
    assert main(["fit", "data/*.parquet", *command, "-o", "m.json"]) == 0
    assert main(["fit", "data", *command, "-o", "n.json"]) == 0
    local = crank.fit(whole(folder), "y ~ x + g", prune=None, max_depth=3)
    for name in ("m.json", "n.json"):
        assert TreeModel.from_json(Path(name).read_text()).rules() == local.rules()
    assert main(["fit", "none/*.parquet", *command, "-o", "m.json"]) == 1
    assert "there is no Parquet file 'none/*.parquet'" in capsys.readouterr().err
    assert main(["fit", "data/0.parquet", "y ~ x", "-o", "l.json", "--scheduler", "x"]) == 2
    assert "--scheduler belongs to --engine dask" in capsys.readouterr().err
    with_dask = ["y ~ x", "--engine", "dask", "-o", "l.json", "--quiet", "--model"]
    assert main(["fit", "data", *with_dask, "additive"]) == 2
    assert "sample=100_000" in capsys.readouterr().err
    assert main(["fit", "data", *with_dask, "linear"]) == 0
    assert crank.load("l.json").training.n == 240
    sampled = ["--engine", "dask", "--model", "linear", "--sample", "100", "--quiet"]
    assert main(["fit", "data", "y ~ x", "-o", "l.json", *sampled]) == 0
    assert crank.load("l.json").training.n == 100


def test_columns_hold_what_they_hold_in_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    rng = np.random.default_rng(0)
    number, n = rng.integers(0, 90, 200), 200
    columns = {
        "y": number / 30 + rng.normal(size=n),
        "day": pa.array([date(2020, 1, 1) + timedelta(days=int(k)) for k in number]),
        "price": pa.array([Decimal(int(k)) / 4 for k in number], pa.decimal128(10, 2)),
        "ok": [None if k < 9 else bool(k > 50) for k in number],
        "count": [None if k < 9 else int(k) for k in number],
        "g": [None if k < 9 else "abc"[k % 3] for k in number],
        "d": pa.array(["abc"[k % 3] for k in number]).dictionary_encode(),
        "t": pa.array([datetime(2020, 1, 1, int(k) % 24) for k in number], pa.timestamp("us")),
    }
    table = pa.table(columns)
    pq.write_table(table, "whole.parquet")
    for k in range(2):
        pq.write_table(table.slice(100 * k, 100), f"data/{k}.parquet")
    formula = "y ~ " + " + ".join([*columns][1:])
    command = ["fit", "--prune", "none", "--max-depth", "4", "--quiet", "-o"]
    assert main([*command, "one.json", "whole.parquet", formula]) == 0
    assert main([*command, "parts.json", "data", formula, "--engine", "dask"]) == 0
    one, parts = crank.load("one.json"), crank.load("parts.json")
    assert parts.variables == one.variables
    assert isinstance(one, TreeModel)
    assert isinstance(parts, TreeModel)
    assert parts.rules() == one.rules()


def test_scores_of_a_folder_keep_files_and_order(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = crank.fit(whole(folder), "y ~ x + g", prune=None, max_depth=3)
    model.to_json("m.json")
    command = ["score", "m.json", "data", "-o", "out", "--engine", "dask", "--keep", "id"]
    assert main(command) == 0
    assert "3 files scored into out" in capsys.readouterr().err
    for k in range(3):
        rows = pd.read_parquet(folder / "data" / f"{k}.parquet")
        found = pd.read_parquet(folder / "out" / f"{k}.parquet")
        assert found.id.tolist() == rows.id.tolist()
        np.testing.assert_array_equal(found.score, model.predict(rows))
    kept = (folder / "out" / "0.parquet").stat().st_mtime_ns
    (folder / "out" / "1.parquet").unlink()
    assert main(command) == 0
    assert "1 files scored into out, 2 were there already" in capsys.readouterr().err
    assert (folder / "out" / "0.parquet").stat().st_mtime_ns == kept
    assert main([*command, "--type", "leaf"]) == 2
    assert "scores of another model, or with other options" in capsys.readouterr().err
    assert main([*command[:3], "--engine", "dask"]) == 2
    assert "give it as --output" in capsys.readouterr().err


def test_a_file_that_cannot_be_scored_is_named_and_nothing_half_is_left(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crank.fit(whole(folder), "y ~ x + g", prune=None, max_depth=2).to_json("m.json")
    rows = pd.read_parquet(folder / "data" / "1.parquet")
    rows.loc[7, "g"] = "new"
    rows.to_parquet(folder / "data" / "1.parquet")
    assert main(["score", "m.json", "data", "-o", "out", "--engine", "dask"]) == 1
    assert "row 8 of" in capsys.readouterr().err
    assert not (folder / "out" / "1.parquet").exists()
    for path in (folder / "out").glob("[0-9].parquet"):  # what is there is whole
        assert len(pd.read_parquet(path)) == 80
    (folder / "data" / "2.parquet").write_bytes(b"PAR1 and nothing else")
    assert main(["fit", "data", "y ~ x", "--engine", "dask", "-o", "n.json"]) == 1
    assert "2.parquet' cannot be read as Parquet" in capsys.readouterr().err
    assert not (folder / "n.json").exists()


def test_a_file_of_damaged_pages_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fit = ["fit", "data", "y ~ x", "--engine", "dask", "--quiet", "-o"]
    assert main([*fit, "m.json"]) == 0
    path = folder / "data" / "1.parquet"
    written = path.read_bytes()
    path.write_bytes(written[:30] + bytes(400) + written[430:])  # the footer is whole
    score = ["score", "m.json", "data", "--engine", "dask", "-o"]
    for command in ([*fit, "n.json"], [*score, "out"], ["score", "m.json", str(path)]):
        assert main(command) == 1
        error = capsys.readouterr().err
        assert "1.parquet' cannot be read as Parquet: " in error
    assert not (folder / "n.json").exists()


def test_files_are_parted_at_row_groups(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crank.datafiles.parts.PART_ROWS", 60)
    assert [part[1:] for part in parts_of("data/0.parquet")] == [(0, 2), (2, 3)]
    parts = read_parts("data")
    assert parts.npartitions == 6
    found = parts[["x"]].compute(scheduler="sync")
    np.testing.assert_array_equal(found.x, whole(folder).x)


def test_a_scheduler_that_is_not_there_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("distributed")
    command = ["fit", "data", "y ~ x", "--engine", "dask", "-o", "m.json", "--scheduler", "nowhere"]
    assert main(command) == 1
    assert "there is no Dask scheduler at 'nowhere'" in capsys.readouterr().err
