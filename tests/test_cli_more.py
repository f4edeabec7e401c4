"""The command line: reports, pictures, comparisons, suggestions, completion, and wrong lines."""

import argparse
import json
import shutil
import subprocess
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pandas as pd
import pytest

import crank
from crank import cli
from crank.cli import main
from crank.formula.suggest import suggest_formula
from crank.testing import Finding, Report


@pytest.fixture
def folder(toy: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Data in every format, and three models of them."""
    monkeypatch.chdir(tmp_path)
    frame = toy.round(6).assign(w=1.0, who=[f"p{i % 40}" for i in range(len(toy))])
    frame.to_csv("data.csv", index=False)
    frame.to_feather("data.feather")
    crank.fit(frame, "y ~ x1 + x2 + g", max_depth=3, cv=3).to_json("tree.json")
    crank.linear(frame, "y ~ x1 + log(x2) + g", cv=None).to_json("linear.json")
    crank.boost(frame, "y ~ x1 + x2", rounds=5).to_json("boost.json")
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    assert main(list(command)) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_report_writes_a_page_of_one_model_or_several(folder: Path) -> None:
    assert main(["report", "tree.json", "--data", "data.csv", "-o", "r.html"]) == 0
    assert Path("r.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert main(["report", "tree.json", "linear.json", "--data", "data.csv", "-o", "2.html"]) == 0
    assert '"comparison"' in Path("2.html").read_text(encoding="utf-8")
    assert main(["report", "boost.json", "-o", "alone.html", "--title", "No data"]) == 0


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("tree", ""),
        ("pruning", ""),
        ("importance", ""),
        ("iroc", "--data data.csv"),
        ("profile", "--data data.feather --weights w"),
        ("leaves", "--data data.csv"),
        ("calibration", "--data data.csv"),
        ("score", "--data data.csv --feature x1"),
    ],
)
def test_plot_draws_every_kind(folder: Path, kind: str, more: str) -> None:
    for ending in ("svg", "png") if kind == "tree" else ("svg",):
        command = f"plot tree.json --kind {kind} {more} -o fig.{ending}"
        assert main(command.split()) == 0
        assert Path(f"fig.{ending}").stat().st_size > 2_000


def test_plot_draws_several_curves_and_pdf(folder: Path) -> None:
    command = "plot tree.json linear.json --kind iroc --data data.csv -o both.pdf"
    assert main(command.split()) == 0
    assert Path("both.pdf").read_bytes().startswith(b"%PDF")


def test_plot_writes_svg_to_standard_output_and_into_pipes(
    folder: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    for target in ("-", "/dev/stdout"):
        assert main(["plot", "tree.json", "--kind", "tree", "-o", target]) == 0
        assert b"<svg" in capfdbinary.readouterr().out


@pytest.mark.parametrize("command", ["drift", "diagnose"])
def test_a_picture_beside_a_table_needs_matplotlib(
    folder: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main([command, "tree.json", "data.csv", "--plot", "d.svg"]) == 1
    assert "pip install 'crank-rank[plot]'" in capsys.readouterr().err


def test_drift_reads_the_marks_of_missing_values_that_the_fit_read(folder: Path) -> None:
    text = Path("data.csv").read_text()
    unknown = ",".join("-" for _ in text.splitlines()[0].split(","))
    Path("marked.csv").write_text(f"{text}{unknown}\n")
    assert main(["drift", "tree.json", "marked.csv"]) == 1
    assert main(["drift", "tree.json", "marked.csv", "--na", "-", "--plot", "m.svg"]) in (0, 3)
    assert Path("m.svg").read_bytes().startswith(b"<?xml")


def test_compare_gives_what_the_library_gives(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["compare", "tree.json", "linear.json", "--data", "data.csv", "--groups", "who"]
    assert "Paired comparison" in said(capsys, *command)
    found = json.loads(said(capsys, *command, "--json"))
    frame = pd.read_csv("data.csv")
    models = {name: crank.load(f"{name}.json") for name in ("tree", "linear")}
    wanted = crank.compare(models, data=frame, groups="who")
    assert found["tests"][0]["pvalue"] == pytest.approx(wanted.tests["pvalue"][0], rel=1e-9)
    assert [row["model"] for row in found["estimates"]] == wanted.estimates["model"].tolist()


def test_diagnose_prints_draws_and_counts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, "diagnose", "tree.json", "data.csv", "--cv", "2", "--plot", "d.svg")
    assert "Does one order of y serve all thresholds?" in out
    assert Path("d.svg").exists()
    found = json.loads(said(capsys, "diagnose", "tree.json", "data.csv", "--cv", "2", "--json"))
    assert isinstance(found["one_order_serves"], bool)
    assert found["folds"] == 2


def test_every_table_comes_as_json(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sections = json.loads(said(capsys, "summary", "linear.json", "--json"))["sections"]
    assert {"Call", "Fit"} <= {section["title"] for section in sections}
    figures = json.loads(said(capsys, "evaluate", "tree.json", "data.csv", "--json"))
    assert figures[0]["metric"] == "kendall"
    assert "drifted" in json.loads(said(capsys, "drift", "tree.json", "data.csv", "--json"))
    known = json.loads(said(capsys, "learners", "--json"))
    assert "stump" in {row["name"] for row in known}
    assert json.loads(said(capsys, "verify", "tree.json", "data.csv", "--json"))["equal"]
    line = ("fit", "data.csv", "y ~ x1", "-o", "m.json", "--model", "linear", "--json")
    fitted = json.loads(said(capsys, *line))
    assert (fitted["model"], fitted["formula"]) == ("m.json", "y ~ x1")
    assert fitted["sections"] == json.loads(said(capsys, "summary", "m.json", "--json"))["sections"]
    suggested = json.loads(said(capsys, "fit", "data.csv", "--json"))
    assert suggested["formula"] == suggest_formula(pd.read_csv("data.csv")).formula
    assert main(["fit", "data.csv", "y ~ x1", "-o", "-", "--json"]) == 2
    assert "both write to standard output" in capsys.readouterr().err
    fault = Finding("honest", "It is not.", "Be so.")
    for failures in ((), (fault,)):
        outcome = Report("Stump", ("one",), (), failures)
        monkeypatch.setattr("crank.testing.check_learner", Mock(return_value=outcome))
        assert main(["learners", "check", "stump", "--json"]) == len(failures)
        checked = json.loads(capsys.readouterr().out)
        assert checked["passed"] == ["one"]
        assert [finding["check"] for finding in checked["failures"]] == ["honest"] * len(failures)


PRINT_TABLES = {"fit", "summary", "evaluate", "compare", "diagnose", "drift", "verify", "learners"}
PRINT_NONE = {"report", "plot", "score", "serve", "export", "demo", "completion"}
"""``score`` writes CSV; ``demo`` shows tables and leaves them as CSV files."""


def test_every_command_has_examples_and_json_if_it_prints_a_table() -> None:
    helps = dict(_helps(cli.parser(), ""))
    assert {name for name in helps if " " not in name} == PRINT_TABLES | PRINT_NONE
    assert {name for name, text in helps.items() if "--json" in text.split("examples:")[0]} == {
        *PRINT_TABLES,
        "learners check",
    }
    for name, text in helps.items():
        shown = text.partition("\nexamples:\n")[2]
        assert shown, name
        assert all(f"crank {name}" in line for line in shown.strip().splitlines() if line), name


def _helps(parser: argparse.ArgumentParser, above: str) -> Iterator[tuple[str, str]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield f"{above}{name}", command.format_help()
                yield from _helps(command, f"{above}{name} ")


@pytest.mark.parametrize("engine", ["pyarrow", "polars"])
def test_feather_goes_in_and_out(
    folder: Path, engine: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("crank.datafiles.ipc.engine", lambda what="": engine)
    frame, m = pd.read_csv("data.csv"), crank.load("tree.json")
    assert main(["score", "tree.json", "data.feather", "-o", "s.feather", "--keep", "x1"]) == 0
    scores = pd.read_feather("s.feather")
    assert scores["score"].tolist() == m.predict(frame).tolist()
    assert scores["x1"].tolist() == frame["x1"].tolist()
    assert main(["fit", "data.feather"]) == 0
    by_file = json.loads(
        said(capsys, "evaluate", "tree.json", "data.feather", "--json").splitlines()[-1]
    )
    assert by_file[0]["estimate"] == pytest.approx(m.evaluate(frame)["estimate"].iloc[0])
    assert "drifted" in said(capsys, "drift", "tree.json", "data.feather", "--json")


def test_arrow_streams_are_read_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.Table.from_pandas(pd.read_csv("data.csv"), preserve_index=False)
    with pa.OSFile("stream.arrow", "wb") as file, pa.ipc.new_stream(file, table.schema) as out:
        out.write_table(table, max_chunksize=50)
    assert main(["score", "tree.json", "stream.arrow", "-o", "a.csv"]) == 0
    assert main(["score", "tree.json", "data.csv", "-o", "b.csv"]) == 0
    assert Path("a.csv").read_text() == Path("b.csv").read_text()
    Path("broken.feather").write_bytes(b"nonsense")
    assert main(["score", "tree.json", "broken.feather", "-o", "c.csv"]) == 1
    assert "cannot be read as Feather or Arrow" in capsys.readouterr().err


def test_fit_without_a_formula_suggests_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = said(capsys, "fit", "data.csv")
    assert "Suggested: y ~ x1 + x2 + g + flag + who" in out
    assert "w is left out: it has one value" in out
    assert "crank fit data.csv 'y ~ x1" in out
    assert main(["fit", "data.csv", "-o", "auto.json", "--max-depth", "2", "--quiet"]) == 0
    assert "y is ranked, because it is called so" in capsys.readouterr().err
    assert crank.load("auto.json").formula == "y ~ x1 + x2 + g + flag + who"


def test_suggestions_leave_out_what_only_names_rows() -> None:
    frame: dict[str, Any] = {
        "row": list(range(1, 31)),
        "name": [f"n{i}" for i in range(30)],
        "zip": [f"z{i // 2 if i < 24 else i}" for i in range(30)],
        "empty": [None] * 30,
        "group of": ["a", "b", "c"] * 10,
        "size": [float(i * i % 41) for i in range(30)],
    }
    found = suggest_formula(frame)
    assert found.formula == "size ~ `group of`"
    assert [line.partition(":")[0] for line in found.assumed[1:]] == [
        f"{name} is left out" for name in ("row", "name", "zip", "empty")
    ]
    with pytest.raises(crank.CrankError, match="no column looks like a response"):
        suggest_formula({"a": ["x", "y"], "b": [1.0, 2.0]})
    with pytest.raises(crank.CrankError, match="no column beside"):
        suggest_formula({"y": [1.0, 2.0, 3.0], "one": [1.0, 1.0, 1.0]})


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, "completion", shell)
    assert all(name in out for name in cli.COMMANDS)
    if shell == "bash" and shutil.which("bash"):
        asked = f"{out}\nCOMP_WORDS=(crank ev); COMP_CWORD=1; _crank; echo ${{COMPREPLY[@]}}\n"
        asked += "COMP_WORDS=(crank plot --kind pr); COMP_CWORD=3; _crank; echo ${COMPREPLY[@]}\n"
        ran = subprocess.run(["bash"], input=asked, capture_output=True, text=True, check=True)
        assert ran.stdout.split() == ["evaluate", "pruning", "profile"]


def test_every_command_has_examples_that_begin_with_its_name() -> None:
    for name in cli.COMMANDS:
        lines = import_module(f"crank.cli.{name}").EXAMPLES.strip().splitlines()[1:]
        assert lines, name
        assert any(f"crank {name}" in line for line in lines), name


WRONG = [  # what is typed, the code, and what the message must say
    ("", 2, "COMMAND"),
    ("fir data.csv", 2, "invalid choice"),
    ("fit", 2, "DATA"),
    ("fit data.csv 'y ~ x1'", 2, "-o FILE"),
    ("fit data.csv 'y ~ x1' -o", 2, "expected one argument"),
    ("fit none.csv 'y ~ x1' -o m.json", 1, "none.csv"),
    ("fit data.xlsx 'y ~ x1' -o m.json", 2, "not known"),
    ("fit data.csv 'y ~ nothing' -o m.json", 1, "nothing"),
    ("fit data.csv 'y ~ (x1' -o m.json", 1, "cannot be read"),
    ("fit data.csv 'y' -o m.json", 1, "y"),
    ("fit data.csv 'y ~ x1' -o no/folder/m.json", 1, "No such folder"),
    ("fit data.csv 'y ~ x1' -o m.json --model rf", 2, "invalid choice"),
    ("fit data.csv 'y ~ x1' -o m.json --max-depth many", 2, "invalid int"),
    ("fit data.csv 'y ~ x1' -o m.json --max-depth 0", 2, "max_depth"),
    ("fit data.csv 'y ~ x1' -o m.json --criterion gini", 2, "invalid choice"),
    ("fit data.csv 'y ~ x1' -o m.json --learner svn", 2, "svm"),
    ("fit data.csv 'y ~ x1' -o m.json --penalty 1", 2, "--penalty belongs to"),
    ("fit data.csv 'y ~ x1' -o m.json --param C", 2, "NAME=VALUE"),
    ("fit data.csv 'y ~ x1' -o m.json --weights nobody", 2, "nobody"),
    ("fit data.csv 'y ~ x1' -o m.json --delimiter ;;", 2, "one character"),
    ("summary", 2, "MODEL"),
    ("summary none.json", 1, "none.json"),
    ("summary data.csv", 1, "JSON"),
    ("evaluate tree.json", 2, "DATA"),
    ("evaluate tree.json data.csv --weights nobody", 2, "nobody"),
    ("score tree.json data.csv --type rank", 2, "invalid choice"),
    ("score linear.json data.csv --type leaf", 2, "leaf"),
    ("score tree.json data.csv -o s.xlsx", 2, "not known"),
    ("export tree.json", 2, "--onnx"),
    ("export tree.json --sql - --unknown nan", 2, "--unknown belongs to --onnx"),
    ("report tree.json", 2, "-o"),
    ("report none.json -o r.html", 1, "none.json"),
    ("report tree.json tree.json -o r.html", 2, "given twice"),
    ("report tree.json --data none.csv -o r.html", 1, "none.csv"),
    ("plot tree.json -o t.svg", 2, "--kind"),
    ("plot tree.json --kind tree -o t.bmp", 2, "Allowed endings"),
    ("drift tree.json data.csv --plot d.bmp", 2, "--plot 'd.bmp' is not allowed"),
    ("drift tree.json data.csv --plot -", 2, "standard output"),
    ("diagnose tree.json data.csv --plot d", 2, "--plot 'd' is not allowed"),
    ("diagnose tree.json data.csv --plot -", 2, "standard output"),
    ("plot tree.json --kind iroc -o t.svg", 2, "--data"),
    ("plot tree.json --kind tree --data data.csv -o t.svg", 2, "Leave --data out"),
    ("plot tree.json --kind score --data data.csv -o t.svg", 2, "--feature"),
    ("plot tree.json --kind score --data data.csv --feature z -o t.svg", 2, "'z'"),
    ("plot linear.json --kind tree -o t.svg", 2, "not for a linear"),
    ("plot tree.json linear.json --kind pruning -o t.svg", 2, "draws one model"),
    ("compare tree.json --data data.csv", 2, "two model files"),
    ("compare tree.json linear.json", 2, "--data"),
    ("diagnose linear.json", 2, "DATA"),
    ("diagnose tree.json data.csv --cv 1", 2, "cv"),
    ("completion tcsh", 2, "invalid choice"),
    ("learners show nobody", 2, "nobody"),
]


@pytest.mark.parametrize(("command", "code", "says"), WRONG, ids=[line for line, _, _ in WRONG])
def test_a_wrong_line_gets_one_clear_message(
    folder: Path, command: str, code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    import shlex

    before = {path.name for path in folder.iterdir()}
    try:
        found = main(shlex.split(command))
    except SystemExit as stop:  # argparse prints how the command is used, then its message
        found = int(str(stop.code))
    out, err = capsys.readouterr()
    assert found == code, err
    assert out == ""
    assert says in err.splitlines()[-1]
    assert err.splitlines()[-1].startswith("crank")
    assert "Traceback" not in err
    assert {path.name for path in folder.iterdir()} == before
