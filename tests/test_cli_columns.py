"""Options that name columns which the data lack, and targets that cannot be written."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import crank
from crank import errors
from crank.cli import main


@pytest.fixture
def folder(toy: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    toy.to_csv("data.csv", index=False)
    toy.to_parquet("data.parquet")
    toy.to_feather("data.feather")
    Path("parts").mkdir()
    toy.to_parquet("parts/a.parquet")
    model = crank.fit(toy, "y ~ x1 + g", max_depth=2, prune=None)
    model.to_json("m.json")
    model.to_onnx("m.onnx")
    crank.fit(toy, "y ~ x1", max_depth=2, prune=None).to_json("n.json")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "score m.json data.csv --keep flug",
        "score m.onnx data.parquet --keep x1 --keep flug",
        "score m.json data.feather --keep flug",
        "score m.json parts -o out --keep flug --engine dask",
        "evaluate m.json data.csv --weights flug",
        "evaluate m.json data.parquet --weights flug",
        "drift m.json data.csv --weights flug",
        "diagnose m.json data.csv --weights flug",
        "compare m.json n.json --data data.csv --weights flug",
        "compare m.json n.json --data data.csv --groups flug",
        "report m.json --data data.csv --weights flug -o r.html",
        "plot m.json --kind iroc --data data.csv --weights flug -o p.svg",
        "fit data.csv y~x1 -o n.json --weights flug",
        "fit data.csv y~x1 -o n.json --groups flug --model linear",
        "fit data.csv y~x1 -o n.json --text flug",
        "fit data.parquet y~x1 -o n.json --text flug",
        "fit parts y~x1 -o n.json --weights flug --engine dask",
    ],
)
def test_an_option_that_names_no_column_is_a_wrong_command_line(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert main(command.split()) == 2
    found = capsys.readouterr()
    option = next(o for o in ("keep", "weights", "groups", "text") if f"--{o} flug" in command)
    assert f"crank: --{option} 'flug' is no column of the data. Columns: " in found.err
    assert "Did you mean 'flag'?" in found.err
    assert found.out == ""
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_a_column_of_the_formula_that_is_absent_is_an_error_of_the_data(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("short.csv").write_text("x1,w\n1,2\n")
    assert main(["score", "m.json", "short.csv", "--keep", "w"]) == 1
    assert "column 'g' of the formula is not in the data" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("score m.json data.csv -o s.csv --report no/r.json", 1, "No such folder: 'no'"),
        ("score m.json data.csv -o s.csv --report .", 1, "Is a folder, not a file: '.'"),
        ("score m.json data.csv -o s.csv --report ./s.csv", 2, "--report and --output are one"),
        ("score m.json data.csv --report -", 2, "--report and --output are one file"),
        ("drift m.json data.csv --plot no/d.svg", 1, "No such folder: 'no'"),
        ("diagnose m.json data.csv --plot no/d.svg", 1, "No such folder: 'no'"),
    ],
)
def test_what_cannot_be_written_is_said_before_any_work(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    code: int,
    message: str,
) -> None:
    def read(*_: object, **__: object) -> None:
        raise AssertionError("the model is read")

    monkeypatch.setattr("crank.models.loading.read_content", read)
    monkeypatch.setattr("crank.scoring.read_content", read)
    assert main(command.split()) == code
    found = capsys.readouterr()
    assert message in found.err
    assert found.out == ""
    assert not Path("s.csv").exists()


def test_an_empty_name_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "m.json", "data.csv", "-o", ""]) == 1
    assert capsys.readouterr().err == "crank: Is a folder, not a file: ''\n"


def test_the_error_knows_column_and_columns() -> None:
    with pytest.raises(errors.DataError) as caught:
        crank.fit({"x": [1.0, 2.0], "y": [1.0, 2.0]}, "y ~ z")
    assert caught.value.absent == "z"
    assert caught.value.columns == ("x", "y")
