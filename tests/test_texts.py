"""Half of a character, which no file can hold, is refused by name wherever it comes from."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import crank
from crank.cli import main
from crank.errors import CrankError, DataError, FormulaError, ModelFileError, OptionError
from crank.serve import Scorer

HALF = "\ud800"
SAYS = "half of a character"
GOOD = {"x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "g": [*"abacbc"], "y": [1.0, 3.0, 2.0, 5.0, 4.0, 6.0]}
BAD = {**GOOD, "g": ["a", "b", HALF, "b", "a", HALF]}
ROWS = {"x": [1.0, 2.0], "g": [HALF, "a"]}
TABLE = "x,g,y\n1,a,2\n2,b,1\n3,a,5\n4,c,4\n"


@pytest.fixture(scope="module")
def model() -> crank.TreeModel:
    return crank.fit(GOOD, "y ~ x + g", max_depth=2, min_samples_leaf=1, prune=None)


@pytest.fixture(scope="module")
def graph(model: crank.TreeModel) -> bytes:
    return model.to_onnx() or b""


@pytest.mark.parametrize(
    "fit", [crank.fit, crank.linear, crank.additive, crank.forest, crank.boost]
)
def test_no_level_holds_half_of_a_character(fit: Callable[..., Any]) -> None:
    with pytest.raises(DataError, match=rf"column 'g' holds the text '\\ud800': {SAYS}"):
        fit(BAD, "y ~ x + g")


@pytest.mark.parametrize(
    "formula", [f"y ~ I(g == '{HALF}')", f"y ~ {HALF}", f"y ~ C(g, levels=['a', '{HALF}'])"]
)
def test_no_formula_does(formula: str) -> None:
    with pytest.raises(FormulaError, match=f"the formula .*{SAYS}"):
        crank.fit(GOOD, formula)


def test_no_name_of_a_column_does() -> None:
    with pytest.raises(FormulaError, match=rf"name of column 'x\\ud800' holds {SAYS}"):
        crank.fit({"x" + HALF: GOOD["x"], "y": GOOD["y"]}, "y ~ .")


def test_python_and_the_graph_refuse_the_same_rows(model: crank.TreeModel, graph: bytes) -> None:
    scorer = Scorer(graph)
    one = {"x": 1.0, "g": HALF}
    calls: list[Callable[[], Any]] = [
        lambda: model.predict(ROWS),
        lambda: model.predict(ROWS, unknown="missing"),
        lambda: scorer(ROWS),
        lambda: scorer(one),
        lambda: scorer([one]),
        lambda: scorer.feeds(ROWS),
    ]
    for call in calls:
        with pytest.raises(DataError, match=rf"column 'g' holds the text '\\ud800': {SAYS}"):
            call()
    assert list(Scorer(graph, on_error="row").rows(ROWS).errors) == [0]


@pytest.mark.parametrize("metadata", [{"a": HALF}, {HALF: "a"}, {"a": [{"b": HALF}]}])
def test_no_metadata_do(model: crank.TreeModel, metadata: dict[str, Any]) -> None:
    writers: list[Callable[[], Any]] = [
        lambda: model.to_json(metadata=metadata),
        lambda: model.to_onnx(metadata=metadata),
        lambda: model.to_sql(metadata=metadata),
    ]
    for write in writers:
        with pytest.raises(OptionError, match=f"metadata cannot be stored: they hold {SAYS}"):
            write()


def test_whole_characters_beyond_two_bytes_are_kept(model: crank.TreeModel) -> None:
    owner = {"owner": "𝄞 \\ud800"}  # a character, and the letters of an escape
    assert crank.from_json(model.to_json(metadata=owner)).metadata == owner
    assert Scorer(model.to_onnx(metadata=owner) or b"").metadata["owner"] == owner["owner"]


def test_no_output_table_or_title_does(model: crank.TreeModel, tmp_path: Path) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: model.to_onnx(outputs={"score": HALF}),
        lambda: model.to_sql(table=HALF),
        lambda: model.report(tmp_path / "r.html", title=HALF),
    ]
    for call in calls:
        with pytest.raises(CrankError, match=SAYS):
            call()
    assert not any(tmp_path.iterdir())


def test_a_model_with_an_option_that_does_is_not_written(tmp_path: Path) -> None:
    data = {**GOOD, HALF: [1.0] * 6}
    m = crank.fit(data, "y ~ x", weights=HALF, max_depth=1, prune=None)
    with pytest.raises(OptionError, match=f"cannot be stored.*{SAYS}"):
        m.to_json(tmp_path / "m.json")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("half", [HALF, "\\ud800", "\\uDFFF"])
def test_a_model_file_that_does_is_refused(model: crank.TreeModel, half: str) -> None:
    text = model.to_json(metadata={"owner": "me"})
    assert '"me"' in text
    with pytest.raises(ModelFileError, match=SAYS):
        crank.from_json(text.replace('"me"', f'"{half}"'))


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are text")


@LINUX
def test_files_are_named_as_their_users_like(model: crank.TreeModel, tmp_path: Path) -> None:
    odd = os.fsdecode(b"m\xff.json")
    model.to_json(tmp_path / odd)
    model.to_json(tmp_path / "n.json")
    (tmp_path / "d.csv").write_text(TABLE)
    commands = [
        ["compare", odd, "n.json", "--data", "d.csv"],
        ["plot", odd, "n.json", "--kind", "iroc", "--data", "d.csv", "-o", "p.svg"],
        ["verify", odd, "n.json", "d.csv"],
        ["fit", "d.csv", "y ~ x", "--prune", "none", "-o", odd],
    ]
    for command in commands:
        line = [sys.executable, "-m", "crank.cli", *command]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr


@LINUX
@pytest.mark.parametrize(
    "option", ["--name", "--keep", "--na", "--delimiter"], ids=lambda option: option[2:]
)
def test_options_are_text(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "m.json", "d.csv", option, os.fsdecode(b"\xff")]) == 2
    assert capsys.readouterr().err == f"crank: {option} '\\udcff' is no text in UTF-8.\n"


def test_terminals_of_few_characters_show_escapes(model: crank.TreeModel, tmp_path: Path) -> None:
    model.to_json(tmp_path / "m.json")
    (tmp_path / "d.csv").write_text(TABLE)
    done = subprocess.run(
        [sys.executable, "-m", "crank.cli", "drift", "m.json", "d.csv"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 3), done.stderr
    assert "d_\\u03c4" in done.stdout


def test_a_service_says_so(graph: bytes, tmp_path: Path) -> None:
    testing = pytest.importorskip("fastapi.testclient")
    from crank.service import create_app

    (tmp_path / "m.onnx").write_bytes(graph)
    with testing.TestClient(create_app(tmp_path / "m.onnx")) as client:
        answer = client.post("/score", content=json.dumps({"x": 1.0, "g": HALF}))
        assert answer.status_code == 422
        assert SAYS in answer.json()["error"]
