"""The command line: what users type, what they get, and what is left when it fails."""

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import crank
from crank import cli, scoring
from crank.cli import export, main, score
from crank.export.sql.dialects import DIALECTS
from crank.rankers.linear import LinearRanker
from crank.rankers.tree import TreeRanker
from tests.narrowing import of, present

FORMULA = "y ~ x1 + log(x2) + g + flag"
CRANK = [sys.executable, "-m", "crank.cli"]
# as small as the system has them: by default a pipe holds sixteen pages, however large those are
PIPES: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "pipesize": 4096}
SIGNALS = pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no signals")


@pytest.fixture
def folder(toy: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a data file whose ids look like numbers, and a model fitted to it."""
    monkeypatch.chdir(tmp_path)
    frame = toy.round(6).assign(  # few digits: every reader of CSV gets them right
        id=[f"{i:04d}" for i in range(len(toy))], g=toy["g"].map({"a": "01", "b": "1", "c": "NA?"})
    )
    frame.to_csv("data.csv", index=False)
    crank.fit(frame, FORMULA, max_depth=3, prune=None).to_json("m.json")
    return tmp_path


@pytest.fixture
def frame(folder: Path) -> pd.DataFrame:
    return pd.read_csv("data.csv", dtype={"id": str, "g": str})


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_fit_writes_the_model_that_python_fits(
    folder: Path, frame: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--criterion", "kendall", "--max-depth", "4", "--min-samples-leaf", "7"]
    options += ["--prune", "1se", "--cv", "5", "--weights", "x2", "--random-state", "3"]
    options += ["--n-jobs", "2", "--text", "g", "--leaf-order", "oriented"]
    assert main(["fit", "data.csv", "y ~ x1 + g + flag", "-o", "new.json", *options]) == 0
    m = crank.fit(
        frame,
        "y ~ x1 + g + flag",
        criterion="kendall",
        max_depth=4,
        min_samples_leaf=7,
        prune="1se",
        cv=5,
        weights="x2",
        random_state=3,
        n_jobs=2,
        leaf_order="oriented",
    )
    assert (folder / "new.json").read_text() == m.to_json()
    out = capsys.readouterr().out
    assert str(m.summary()) in out
    assert "Written to new.json" in out


def test_fit_takes_learners_with_their_parameters(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["fit", "data.csv", "y ~ x1 + x2", "-o", "l.json", "--learner", "svm", "--quiet"]
    command += ["--param", "kernel=linear", "--param", "C=0.5", "--prune", "none"]
    assert main([*command, "--max-depth", "2"]) == 0
    m = crank.load("l.json")
    learner = of(crank.TreeModel, m).learner
    assert (learner.name, learner.params) == ("svm", {"kernel": "linear", "C": 0.5})
    assert capsys.readouterr().out == ""


def test_summary_prints_the_summary(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", "m.json"]) == 0
    assert capsys.readouterr().out == f"{crank.load('m.json').summary()}\n"


def test_evaluate_prints_the_figures(
    folder: Path, frame: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = crank.load("m.json").evaluate(frame, weights="x2")
    assert main(["evaluate", "m.json", "data.csv", "--weights", "x2", "--format", "csv"]) == 0
    pd.testing.assert_frame_equal(
        pd.read_csv(io.StringIO(capsys.readouterr().out), index_col=0), expected
    )
    assert main(["evaluate", "m.json", "data.csv", "--weights", "x2", "--format", "json"]) == 0
    rows = {row["metric"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["iauc"]["estimate"] == pytest.approx(expected.loc["iauc", "estimate"], abs=1e-14)
    assert main(["evaluate", "m.json", "data.csv"]) == 0
    assert "iauc_uniform" in capsys.readouterr().out


@pytest.mark.parametrize("type_", TreeRanker.predictions)
def test_score_gives_what_predict_gives(folder: Path, frame: pd.DataFrame, type_: str) -> None:
    assert main(["score", "m.json", "data.csv", "-o", "s.csv", "--type", type_]) == 0
    scores = pd.read_csv("s.csv", dtype=str).astype(float)
    np.testing.assert_array_equal(scores[type_], crank.load("m.json").predict(frame, type_))
    assert list(scores) == [type_]


def test_score_keeps_columns_as_they_stand(folder: Path, frame: pd.DataFrame) -> None:
    command = ["score", "m.json", "data.csv", "-o", "s.csv", "--name", "rank"]
    assert main([*command, "--keep", "id", "--keep", "g"]) == 0
    scores = pd.read_csv("s.csv", dtype={"id": str, "g": str})
    assert list(scores) == ["id", "g", "rank"]
    assert scores["id"].tolist() == frame["id"].tolist()
    assert scores["g"].tolist() == frame["g"].tolist()
    np.testing.assert_array_equal(scores["rank"], crank.load("m.json").predict(frame))


@pytest.mark.parametrize("rows", [1, 7, 240, 1000])
def test_the_size_of_pieces_changes_nothing(folder: Path, frame: pd.DataFrame, rows: int) -> None:
    """In small pieces g holds only "01", which is not the number 1."""
    scorer = scoring.file_scorer("m.json")
    assert scoring.score_file(scorer, "data.csv", "s.csv", rows=rows) == len(frame)
    expected = crank.load("m.json").predict(frame)
    scores = pd.read_csv("s.csv", dtype=str).astype(float)["score"]
    np.testing.assert_array_equal(scores, expected)


def test_parquet_goes_in_and_out(folder: Path, frame: pd.DataFrame) -> None:
    pl.DataFrame(frame.to_dict(orient="list")).write_parquet("data.parquet")
    assert main(["score", "m.json", "data.parquet", "-o", "s.parquet", "--keep", "id"]) == 0
    scores = pl.read_parquet("s.parquet")
    assert scores["id"].to_list() == frame["id"].tolist()
    np.testing.assert_array_equal(scores["score"], crank.load("m.json").predict(frame))
    assert main(["fit", "data.parquet", FORMULA, "-o", "p.json", "--quiet", "--prune", "none"]) == 0
    assert main(["evaluate", "p.json", "data.parquet"]) == 0


def test_onnx_scores_as_json_does(folder: Path) -> None:
    pytest.importorskip("onnxruntime")
    assert main(["export", "m.json", "--onnx", "m.onnx"]) == 0
    assert main(["score", "m.onnx", "data.csv", "-o", "a.csv", "--type", "leaf"]) == 0
    assert main(["score", "m.json", "data.csv", "-o", "b.csv", "--type", "leaf"]) == 0
    assert (folder / "a.csv").read_text() == (folder / "b.csv").read_text()


def test_fitted_and_loaded_models_export_alike(folder: Path, frame: pd.DataFrame) -> None:
    pytest.importorskip("onnx")
    for prune in ("cv", None):
        m = crank.fit(frame, FORMULA, prune=prune, learner="stump")
        back = crank.from_json(m.to_json())
        assert back.to_onnx() == m.to_onnx()
        plain = crank.fit(frame, "y ~ x1 + g", prune=prune)
        assert crank.from_json(plain.to_json()).to_sql() == plain.to_sql()


def test_sql_goes_to_a_file_or_to_stdout(
    folder: Path, frame: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    m = crank.fit(frame, "y ~ x1 + g", max_depth=2, prune=None)
    m.to_json("p.json")
    assert main(["export", "p.json", "--sql", "-", "--dialect", "sqlite"]) == 0
    assert capsys.readouterr().out == m.to_sql("sqlite", lineage=True) + "\n"
    assert main(["export", "p.json", "--sql", "q.sql", "--table", "t"]) == 0
    assert (folder / "q.sql").read_text() == m.to_sql("duckdb", table="t", lineage=True) + "\n"


def test_learners_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learners"]) == 0
    assert "logistic" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("fit data.csv y~nothing -o n.json", "column 'nothing' of the formula is not in the data"),
        ("fit data.csv y~x1 -o none/n.json", "No such folder: 'none'"),
        ("fit data.csv y~x1 -o .", "Is a folder"),
        ("fit none.csv y~x1 -o n.json", "No such file or directory: 'none.csv'"),
        ("fit data.csv y~x1 -o n.json --learner svn", "Did you mean 'svm'?"),
        ("fit data.csv y~x1 -o n.json --max-depth 0", "max_depth=0 is not allowed"),
        ("fit data.csv y~x1 -o n.json --param C", "--param 'C' is not allowed"),
        ("fit data.csv y~x1 -o n.json --param C=1", "no parameter 'C'"),
        ("fit data.csv y~x1 -o n.json --weights w", "--weights 'w' is no column of the data"),
        ("fit data.xlsx y~x1 -o n.json", "the data format of 'data.xlsx' is not known"),
        ("fit y~x1 data.csv -o n.json", "then the formula: crank fit data.csv 'y~x1'."),
        ("summary none.json", "No such file or directory: 'none.json'"),
        ("summary data.csv", "'data.csv' is not a usable model file: it is not JSON"),
        ("summary .", "is not a usable model file: it is a folder"),
        ("score m.json none.csv -o s.csv", "No such file or directory: 'none.csv'"),
        ("score m.json short.csv -o s.csv", "column 'x2' of the formula is not in the data"),
        ("score m.json words.csv -o s.csv", "column 'x1' holds 'one' in line 3"),
        ("score m.json new.csv -o s.csv", "line 3 of 'new.csv': column 'g'"),
        ("score m.json data.csv -o s.xlsx", "the data format of 's.xlsx' is not known"),
        ("score m.json data.csv -o s.csv --keep nothing", "--keep 'nothing' is no column"),
        ("score m.json data.csv -o s.csv --keep y --name y", "Choose another --name"),
        ("score m.json data.csv -o s.csv --delimiter ab", "one character"),
        ("evaluate m.json data.csv --weights nothing", "--weights 'nothing' is no column"),
        ("export m.json --sql -", "cannot be written as SQL"),
        ("export m.json --onnx m.onnx --dialect sqlite", "--dialect belongs to --sql"),
    ],
)
def test_errors_are_one_clear_message(
    folder: Path, frame: pd.DataFrame, command: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "short.csv").write_text("x1\n1\n")
    (folder / "words.csv").write_text("x1,x2,g,flag\n1,1,01,True\none,1,01,True\n")
    (folder / "new.csv").write_text("x1,x2,g,flag\n1,1,01,True\n1,1,new,True\n")
    before = files(folder)
    wrong_options = ["not allowed", "not known", "no parameter", "Did you mean", "Choose another"]
    wrong_options += ["one character", "belongs to", "then the formula", "is no column"]
    assert main(command.split()) == (2 if any(part in says for part in wrong_options) else 1)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("crank: ")
    assert err.count("\n") == 1
    assert says in err
    assert files(folder) == before


def test_debug_shows_the_traceback_before_or_after_the_command(folder: Path) -> None:
    for command in (["--debug", "summary", "none.json"], ["summary", "none.json", "--debug"]):
        with pytest.raises(FileNotFoundError):
            main(command)


def test_an_unexpected_error_asks_for_debug(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: Namespace) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("crank.cli.summary.run", broken)
    assert main(["summary", "m.json"]) == 1
    assert "unexpected ZeroDivisionError: oops" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        "",
        "fit",
        "unknown",
        "score m.json",
        "score m.json d.csv --type rank",
        "export m",
    ],
)
def test_a_wrong_command_line_exits_with_2(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(command.split())
    assert caught.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_the_words_of_the_command_line_are_those_of_the_library() -> None:
    offered = dict.fromkeys((*TreeRanker.predictions, *LinearRanker.predictions))
    assert tuple(offered) == score.TYPES
    assert set(export.DIALECTS) == set(DIALECTS)


@pytest.mark.parametrize("output", ["s.csv", "s.parquet"])
def test_an_interrupt_leaves_the_old_file_and_nothing_else(
    folder: Path, output: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / output).write_text("old")
    before = files(folder)
    monkeypatch.setattr(scoring, "MOST_ROWS", 100)
    count = iter(range(10))

    def stops(*_: object) -> None:
        if next(count) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(scoring.RowCount, "update", stops)
    assert main(["score", "m.json", "data.csv", "-o", output]) == 130
    assert capsys.readouterr().err == "crank: interrupted\n"
    assert files(folder) == before
    assert (folder / output).read_text() == "old"


@SIGNALS
def test_a_polite_kill_leaves_nothing_either(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, handler = files(folder), signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(scoring.RowCount, "update", lambda *_: signal.raise_signal(signal.SIGTERM))
    assert main(["score", "m.json", "data.csv", "-o", "s.csv"]) == 143
    assert files(folder) == before
    assert signal.getsignal(signal.SIGTERM) is handler


def test_a_full_disk_leaves_the_old_files(folder: Path, frame: pd.DataFrame) -> None:
    """A limit on the size of files stands for a full disk; the system itself refuses."""
    pytest.importorskip("resource", reason="Windows has no such limit")
    (folder / "s.csv").write_text("old")
    (folder / "new.json").write_text("old")
    before = files(folder)

    limited = "import resource, sys; from crank.cli import main; "
    limited += "resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)); sys.exit(main())"
    for command in (
        ["score", "m.json", "data.csv", "-o", "s.csv"],
        ["fit", "data.csv", "y ~ x1 + x2", "-o", "new.json", "--quiet", "--prune", "none"],
    ):
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": str(folder)}
        command = [sys.executable, "-c", limited, *command]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 1
        assert done.stderr == "crank: File too large\n"
    assert files(folder) == before
    assert (folder / "s.csv").read_text() == (folder / "new.json").read_text() == "old"


def test_pipes_in_and_out(folder: Path, frame: pd.DataFrame) -> None:
    with open("data.csv", "rb") as data:
        done = subprocess.run([*CRANK, "score", "m.json", "-"], stdin=data, capture_output=True)
    assert done.returncode == 0
    assert done.stderr == b""  # no progress, no warnings
    header, *scores = done.stdout.decode().splitlines()
    assert header == "score"
    np.testing.assert_array_equal(
        np.array(scores, dtype=float), crank.load("m.json").predict(frame)
    )


@SIGNALS
def test_a_reader_that_leaves_early_is_no_error_of_ours(folder: Path, frame: pd.DataFrame) -> None:
    pd.concat([frame] * 100).to_csv("long.csv", index=False)
    command = [*CRANK, "score", "m.json", "long.csv", "--keep", "id"]
    with subprocess.Popen(command, **PIPES) as process:
        assert present(process.stdout).readline() == b"id,score\n"
        present(process.stdout).close()
        assert present(process.stderr).read() == b""
    assert process.returncode == 128 + signal.SIGPIPE


@SIGNALS
def test_a_real_interrupt_ends_cleanly(folder: Path) -> None:
    """The command waits for more rows on its standard input when the signal comes."""
    command = [*CRANK, "score", "m.json", "-", "-o", "s.csv"]
    before = files(folder)
    with subprocess.Popen(command, stdin=subprocess.PIPE, **PIPES) as process:
        # more than the pipe holds: once these are written, the command has begun to read
        present(process.stdin).write(b"x1,x2,g,flag\n" + b"1,1,01,True\n" * 20_000)
        present(process.stdin).flush()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 130
    assert err == b"crank: interrupted\n"
    assert files(folder) == before


def test_help_is_quick_to_load() -> None:
    code = "import sys; from crank.cli import parser; parser(); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"numpy", "pandas", "formulaic", "sklearn", "numba"} & set(loaded)
    code = "import sys; from crank.cli import parser; parser(['plot']); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert {m for m in loaded if m.startswith("crank.cli.")} == {
        "crank.cli.plot",
        "crank.cli.shared",
        "crank.cli.stopping",
    }


def test_progress_is_for_terminals(
    folder: Path, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "PATIENCE", 0.0)
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main(["score", "m.json", "data.csv", "-o", "s.csv"]) == 0
    assert "\r240 rows scored" in terminal.getvalue()
    assert terminal.getvalue().endswith(" \r")
    monkeypatch.setattr(terminal, "isatty", lambda: False)
    terminal.truncate(0)
    assert main(["score", "m.json", "data.csv", "-o", "s.csv"]) == 0
    assert terminal.getvalue() == ""


def test_the_commands_of_the_manual_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime")
    from crank.demo import diabetes

    monkeypatch.chdir(tmp_path)
    for frame, name in zip(diabetes(), ("train.csv", "new.csv"), strict=True):
        frame.to_csv(name, index=False)
    page = Path(cli.__file__).parents[2] / "docs" / "cli.md"
    blocks = re.findall(
        r"^```sh\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    commands = [shlex.split(line) for block in blocks for line in block.splitlines()]
    assert len(commands) >= 10
    for program, *arguments in commands:
        assert program == "crank"
        assert main(arguments) == 0, capsys.readouterr().err
    assert "SELECT" in Path("score.sql").read_text()


def test_the_manual_names_every_option_of_a_fit() -> None:
    page = (Path(cli.__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    commands = of(dict, present(cli.parser()._subparsers)._group_actions[0].choices)
    fit = commands["fit"]
    hidden = {"--help", "--debug", "--delimiter", "--output", "--quiet"}
    for action in fit._actions:
        for option in action.option_strings:
            assert option in page or option in hidden or len(option) == 2
