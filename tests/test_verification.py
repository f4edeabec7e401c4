"""``crank verify``: every route gives the same scores, or it says where not."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import crank
from crank.cli import main


@pytest.fixture
def folder(toy: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    toy = toy.round(6)
    toy.loc[::7, "g"] = None
    toy.to_csv("data.csv", index=False)
    crank.fit(toy, "y ~ x1 + g + flag", max_depth=4, prune=None).to_json("m.json")
    crank.fit(toy, "y ~ x1 + g + flag", max_depth=2, prune=None).to_json("other.json")
    for name in ("m", "other"):
        assert main(["export", f"{name}.json", "--onnx", f"{name}.onnx"]) == 0
    return tmp_path


def test_files_of_one_model_are_equal_by_every_route(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "m.json", "m.onnx", "data.csv"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "m.json: 240 rows",
        "m.json as SQL in SQLite: 240 rows, equal",
        "m.onnx: 240 rows, equal",
        "m.onnx, row by row: 200 rows, equal",
        "All equal.",
    ]


def test_files_of_different_models_are_told_apart(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "m.json", "other.onnx", "data.csv"]) == 3
    out = capsys.readouterr().out
    assert "rows differ, the first in line " in out
    assert "come from different models" in out
    assert out.endswith("NOT equal.\n")
    assert main(["verify", "m.onnx", "data.csv"]) == 2
    assert "Give the JSON model" in capsys.readouterr().err


def test_a_report_counts_what_is_not_as_in_training(folder: Path) -> None:
    Path("new.csv").write_text("x1,g,flag\n0.1,zz,True\n99,a,False\n,,True\n")
    for model in ("m.json", "m.onnx"):
        unknown = ["--unknown", "missing"] if model == "m.json" else []
        command = ["score", model, "new.csv", "-o", "s.csv", "--report", "r.json", *unknown]
        assert main(command) == 0
        report = json.loads(Path("r.json").read_text())
        assert report["n"] == 3
        assert report["columns"]["x1"] == {"missing": 1, "unknown": 0, "below": 0, "above": 1}
        assert report["columns"]["g"]["unknown"] == 1
