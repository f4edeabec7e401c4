"""Where commands write, how they are stopped, and what they say about places in files."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import crank
from crank import cli, files, scoring
from crank.cli import main, parser
from crank.cli.stopping import Stop, Stopped, stopped_by_signals
from crank.judging.evaluate import evaluate_pieces

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other pipes and modes")
CRANK = [sys.executable, "-m", "crank.cli"]


@pytest.fixture
def folder(toy: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    toy.round(6).to_csv("data.csv", index=False)
    crank.fit(toy.round(6), "y ~ x1 + g", max_depth=3, prune=None).to_json("m.json")
    return tmp_path


@pytest.fixture
def scores(folder: Path) -> str:
    main(["score", "m.json", "data.csv", "-o", "s.csv"])
    text = (folder / "s.csv").read_text()
    (folder / "s.csv").unlink()
    return text


@POSIX
@pytest.mark.parametrize("name", ["pipe", "pipe.parquet"])
def test_a_named_pipe_is_written_through(folder: Path, scores: str, name: str) -> None:
    os.mkfifo(name)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(Path(name).read_bytes()))
    reader.start()
    assert main(["score", "m.json", "data.csv", "-o", name]) == 0
    reader.join()
    assert stat.S_ISFIFO(os.stat(name).st_mode)
    if name == "pipe":
        assert found[0].decode() == scores
    else:
        Path("back.parquet").write_bytes(found[0])
        assert len(pd.read_parquet("back.parquet")) == 240


@POSIX
def test_a_device_stays_a_device(folder: Path) -> None:
    os.symlink("/dev/null", "null")
    for target in ("/dev/null", "null"):
        assert main(["score", "m.json", "data.csv", "-o", target]) == 0
        assert main(["fit", "data.csv", "y ~ x1", "-o", target, "--prune", "none", "--quiet"]) == 0
        assert stat.S_ISCHR(os.stat(target).st_mode)
    assert Path("null").is_symlink()


@POSIX
def test_links_and_permissions_are_kept(folder: Path, scores: str) -> None:
    (folder / "real").mkdir()
    secret = folder / "real" / "s.csv"
    secret.write_text("old")
    secret.chmod(0o600)
    os.symlink("real/s.csv", "link.csv")
    assert main(["score", "m.json", "data.csv", "-o", "link.csv"]) == 0
    assert Path("link.csv").is_symlink()
    assert secret.read_text() == scores
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    os.symlink("real/new.json", "dangling")
    crank.load("m.json").to_json("dangling")
    assert Path("dangling").is_symlink()
    assert crank.load("real/new.json").formula == "y ~ x1 + g"
    assert sorted(p.name for p in (folder / "real").iterdir()) == ["new.json", "s.csv"]


@POSIX
def test_an_open_descriptor_is_appended_to(folder: Path, scores: str) -> None:
    with open("all.txt", "wb") as out:
        out.write(b"before\n")
        out.flush()
        command = [*CRANK, "score", "m.json", "data.csv", "-o", "/dev/stdout"]
        subprocess.run(command, stdout=out, check=True)
    assert Path("all.txt").read_text() == "before\n" + scores


def test_a_dash_is_standard_output_everywhere(
    folder: Path, scores: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["score", "m.json", "data.csv", "-o", "-"]) == 0
    assert capfdbinary.readouterr().out.decode() == scores
    assert main(["fit", "data.csv", "y ~ x1", "-o", "-", "--prune", "none"]) == 0
    out, err = capfdbinary.readouterr()
    assert crank.from_json(out).formula == "y ~ x1"
    assert b"Written to -" in err
    assert main(["export", "m.json", "--onnx", "-"]) == 0
    assert capfdbinary.readouterr().out == crank.load("m.json").to_onnx()
    assert main(["export", "m.json", "--sql", "-"]) == 0
    assert capfdbinary.readouterr().out.startswith(b"/* crank: ")
    assert not Path("-").exists()


def test_model_files_are_known_by_their_content(
    folder: Path, scores: str, capsys: pytest.CaptureFixture[str]
) -> None:
    crank.load("m.json").to_onnx("graph.json")
    Path("m.json").rename("model.onnx")
    for model in ("graph.json", "model.onnx"):
        assert main(["score", model, "data.csv"]) == 0
        assert capsys.readouterr().out == scores
    assert main(["summary", "graph.json"]) == 1
    assert "An ONNX graph is for crank.serve.Scorer" in capsys.readouterr().err


def test_an_early_interrupt_exits_as_documented(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(words: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "parser", interrupted)
    assert main(["learners"]) == 130
    assert capsys.readouterr().err == "crank: interrupted\n"


@POSIX
def test_a_hangup_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, handler = set(folder.iterdir()), signal.default_int_handler
    outer = signal.signal(signal.SIGHUP, handler)  # the tests themselves may run under nohup
    monkeypatch.setattr(scoring.RowCount, "update", lambda *_: signal.raise_signal(signal.SIGHUP))
    assert main(["score", "m.json", "data.csv", "-o", "s.csv"]) == 129
    assert set(folder.iterdir()) == before
    assert signal.getsignal(signal.SIGHUP) is handler
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        assert main(["score", "m.json", "data.csv", "-o", "s.csv"]) == 0
    finally:
        signal.signal(signal.SIGHUP, outer)


NUMBERS = [(name, getattr(signal, name, 0)) for name in ("SIGINT", "SIGTERM", "SIGHUP")]


@POSIX
@pytest.mark.parametrize(("name", "number"), NUMBERS)
@pytest.mark.parametrize("way", ["swallowed", "another error", "once more"])
def test_a_signal_that_an_import_swallows_stops_the_command_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    number: int,
    way: str,
) -> None:
    outer = signal.signal(number, signal.default_int_handler)

    def swallows(words: object) -> argparse.ArgumentParser:
        with contextlib.suppress(BaseException):
            signal.raise_signal(number)
        if way == "another error":
            raise ImportError("no datetime")
        while way == "once more":
            signal.pause()
        return parser(words)  # type: ignore[arg-type]  # any collection of words

    monkeypatch.setattr(cli, "parser", swallows)
    try:
        assert main(["learners"]) == 128 + number
    finally:
        assert signal.getsignal(number) is signal.default_int_handler
        signal.signal(number, outer)
    assert capsys.readouterr().err == ("crank: interrupted\n" if name == "SIGINT" else "")


@POSIX
def test_cleaning_up_after_a_signal_is_not_cut_short() -> None:
    cleaned = []

    def ends_slowly() -> None:
        with stopped_by_signals(Stop()):
            try:
                signal.raise_signal(signal.SIGTERM)
            finally:
                for _ in range(3):
                    signal.raise_signal(signal.SIGALRM)
                cleaned.append(True)

    with pytest.raises(Stopped):
        ends_slowly()
    assert cleaned


def test_an_interrupt_while_the_file_is_made_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The moment after the file came to be, before anyone knows its name."""
    before, create = set(folder.iterdir()), os.open

    def interrupted(path: str, flags: int, mode: int = 0o777) -> int:
        os.close(create(path, flags, mode))
        raise KeyboardInterrupt

    monkeypatch.setattr("crank.files.os.open", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write_text("new.txt", "text")
    monkeypatch.undo()
    assert set(folder.iterdir()) == before


@pytest.mark.parametrize("by", ["pyarrow", "pandas", "Python"])
def test_errors_name_the_line_of_the_file(
    folder: Path, capsys: pytest.CaptureFixture[str], by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by != "pyarrow":
        monkeypatch.setattr("crank.datafiles.arrow.available", lambda: False)
    if by == "Python":
        monkeypatch.setattr("crank.datafiles.pandas.available", lambda: False)
    rows = ['1,"a\n"' if k == 3 else "1,a" for k in range(50)]
    for bad, says in (("inf,a", "infinite values in this row"), ("1,zz", "does not know: 'zz'")):
        lines = [*rows[:40], bad, *rows[41:]]
        Path("bad.csv").write_text("x1,g\n" + "\n".join(lines) + "\n")
        command = ["score", "m.json", "bad.csv", "-o", "s.csv", "--unknown", "error"]
        Path("bad.csv").write_text(Path("bad.csv").read_text().replace('"a\n"', '"b"'))
        assert main(command) == 1
        message = capsys.readouterr().err
        assert "line 42 of 'bad.csv': column" in message
        assert says in message
    fit = ["fit", "log.csv", "y ~ log(x)", "-o", "n.json"]
    Path("log.csv").write_text('x,y,t\n1,1,"a\nb"\n2,,\n\n3,2,c\n-1,3,d\n')
    assert main(fit) == 1
    assert "It is line 7 of 'log.csv'." in capsys.readouterr().err
    assert main([*fit, "--na-action", "raise"]) == 1
    assert "It is line 4 of 'log.csv'." in capsys.readouterr().err


def test_a_literal_na_can_be_a_level(folder: Path) -> None:
    rows = [f"{k},{('NA', 'b', '')[k % 3]},{k % 3 + 0.01 * k}" for k in range(60)]
    Path("na.csv").write_text("x,g,y\n" + "\n".join(rows) + "\n")
    command = ["fit", "na.csv", "y ~ g", "-o", "na.json", "--quiet", "--prune", "none"]
    assert main([*command, "--text", "g", "--na", ""]) == 0
    stored = json.loads(Path("na.json").read_text())
    assert stored["design"]["factors"][0]["levels"] == ["NA", "b"]
    assert stored["training"]["missing"] == {"g": 20}
    assert main(["score", "na.json", "na.csv", "-o", "s.csv"]) == 0
    found = pd.read_csv("s.csv")["score"][:3].tolist()
    assert found == crank.load("na.json").predict({"g": ["NA", "b", None]}).tolist()
    assert len(set(found)) > 1
    assert main(["score", "na.json", "na.csv", "-o", "s.csv", "--na", "NA"]) == 0
    found = pd.read_csv("s.csv")["score"][:3].tolist()
    assert found == crank.load("na.json").predict({"g": [None, "b", None]}).tolist()


@pytest.mark.parametrize("weights", [None, "x2"])
def test_evaluation_in_pieces_is_that_of_the_whole(
    folder: Path, toy: pd.DataFrame, weights: str | None
) -> None:
    from crank.frames.table import Table

    model = crank.load("m.json")
    toy.loc[:40, "y"] = np.nan  # a piece may have no response at all
    for data in (toy, toy.assign(y=(2**60 + 1000 * toy["y"].rank()).astype("Int64"))):
        tables = [Table.read(data.iloc[k : k + 30]) for k in range(0, len(data), 30)]
        pieces = ((table, model.values(table)) for table in tables)
        found = evaluate_pieces(model, pieces, weights=weights)
        pd.testing.assert_frame_equal(found, model.evaluate(data, weights=weights))


@pytest.fixture
def pipes(folder: Path) -> Iterator[Callable[[str], str]]:
    """From a file's name to a pipe that gives its content once."""
    writers: list[subprocess.Popen[bytes]] = []

    def pipe(name: str) -> str:
        target = f"pipe{len(writers)}"
        os.mkfifo(target)
        command = "import sys; open(sys.argv[2], 'wb').write(open(sys.argv[1], 'rb').read())"
        writers.append(subprocess.Popen([sys.executable, "-c", command, name, target]))
        return target

    yield pipe
    for writer in writers:
        writer.kill()
        writer.wait()


@POSIX
@pytest.mark.parametrize(
    "command",
    [
        "score M data.csv",
        "score G data.csv",
        "score M D",
        "evaluate M D",
        "drift M D",
        "verify M G D",
        "compare M m2.json --data D --json",
        "diagnose M D --cv 2 --json",
        "summary M",
        "export M --sql -",
    ],
)
def test_models_and_data_come_through_pipes(
    folder: Path,
    pipes: Callable[[str], str],
    capsys: pytest.CaptureFixture[str],
    command: str,
) -> None:
    files = {"M": "m.json", "G": "m.onnx", "D": "data.csv"}
    crank.load("m.json").to_onnx("m.onnx")
    crank.load("m.json").to_json("m2.json")
    words = command.split()
    code = main([files.get(word, word) for word in words])
    wanted = capsys.readouterr().out
    given = [pipes(files[word]) if word in files else word for word in words]
    assert main(given) == code
    found = capsys.readouterr()
    names = [(a, files[b]) for a, b in zip(given, words, strict=True) if b in files]
    out = found.out
    for pipe, name in names:
        out = out.replace(pipe, name.removesuffix(".json") if "compare" in words else name)
    assert out == wanted, found.err


@POSIX
def test_an_error_in_rows_from_a_pipe_does_not_read_it_again(
    folder: Path, pipes: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("odd.csv").write_text("y,x\n1,inf\n2,3\n")
    assert main(["fit", pipes("odd.csv"), "y ~ x", "-o", "odd.json"]) == 1
    assert "infinite" in capsys.readouterr().err


@POSIX
def test_a_folder_is_not_scored_by_a_model_from_a_pipe(
    folder: Path, pipes: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("parts").mkdir()
    pd.read_csv("data.csv").to_parquet("parts/a.parquet")
    command = ["score", pipes("m.json"), "parts", "-o", "out", "--engine", "dask"]
    assert main(command) == 2
    assert "can be read only once" in capsys.readouterr().err
    assert not Path("out").exists()


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
def test_drift_reads_responses_where_the_file_has_them(
    folder: Path, capsys: pytest.CaptureFixture[str], ending: str
) -> None:
    frame = pd.read_csv("data.csv")
    for name, part in (("with", frame), ("without", frame.drop(columns="y"))):
        getattr(part, f"to_{ending}")(f"{name}.{ending}")
        main(["drift", "m.json", f"{name}.{ending}", "--json"])
        found = json.loads(capsys.readouterr().out)
        assert (found["d_tau"] is None) == (name == "without")
