"""The tutorial: its commands run in an empty folder, and print what the page shows."""

import re
import shlex
from pathlib import Path

import pytest

from crank.cli import main
from tests.test_docs_pages import extension

pytestmark = pytest.mark.no_cover

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"
transcript = extension("transcript")
STEPS = transcript.steps(PAGE.read_text(encoding="utf-8"))


def test_the_tutorial_runs_from_demo_to_scores_and_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    for step in STEPS:
        capsys.readouterr()
        for command in step.commands:
            assert main(shlex.split(command)[1:]) == 0, (command, capsys.readouterr().err)
        said = transcript.tidy(capsys.readouterr().out)
        assert step.shown is None or said == step.shown
    made = {path.name for path in tmp_path.iterdir()}
    assert {"tree.svg", "iroc.png", "report.html", "tree.onnx", "scores.csv"} <= made
    assert (tmp_path / "demo" / "diabetes-report.html").exists()


def test_the_tutorial_uses_what_help_tells(capsys: pytest.CaptureFixture[str]) -> None:
    used: set[str] = set()
    for command in (command for step in STEPS for command in step.commands):
        _, name, *rest = shlex.split(command)
        used.add(name)
        with pytest.raises(SystemExit):
            main([name, "--help"])
        told = capsys.readouterr().out
        for option in (word for word in rest if re.fullmatch(r"--?[a-z][a-z-]*", word)):
            assert option in told, command
    wanted = {"demo", "fit", "summary", "evaluate", "compare", "plot", "report", "export", "score"}
    assert wanted <= used
    with pytest.raises(SystemExit):
        main(["--help"])
    told = capsys.readouterr().out
    assert all(re.search(rf"^    {name}\b", told, re.MULTILINE) for name in used)


def test_pages_that_speak_of_plots_show_them() -> None:
    docs = PAGE.parent
    pages = ("index", "plots", "report", "diagnose", "additive", "linear", "tutorial")
    for page in (*pages, "cases/concrete", "cases/visits", "cases/smoking", "how-to/prune"):
        text = (docs / f"{page}.md").read_text("utf-8")
        found = re.findall(r"!\[[^]]+\]\((?:\.\./)?(img/[^)]+)\)", text)
        assert found, page
        assert all((docs / name).stat().st_size > 5_000 for name in found), page
    assert "](docs/img/" in (docs.parent / "README.md").read_text("utf-8")[:3_000]
