"""ONNX Runtime opens graphs, and sends nothing to anybody."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import crank
from crank.graphs.runtime import session

VARIABLE = "ORT_DISABLE_TELEMETRY"


@pytest.fixture(scope="module")
def graph() -> bytes:
    data = {"x": [1.0, 2.0, 3.0, 4.0], "y": [1.0, 2.0, 3.0, 4.0]}
    content = crank.fit(data, "y ~ x", max_depth=1, min_samples_leaf=1, prune=None).to_onnx()
    assert content is not None
    return content


def test_no_reports_of_use_are_prepared(graph: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(graph)
    names = {"HOME", "USERPROFILE", "LOCALAPPDATA", "XDG_CACHE_HOME"}
    home = dict.fromkeys(names, str(tmp_path))
    there = {key: value for key, value in os.environ.items() if key != VARIABLE}
    command = "from crank.serve import Scorer; print(Scorer('m.onnx')({'x': [1.0]}))"
    done = subprocess.run(
        [sys.executable, "-c", command],
        cwd=tmp_path,
        env={**there, **home},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[1.]\n"
    left = [path.name for path in tmp_path.rglob("*") if "onnxruntime" in str(path).lower()]
    assert left == []  # a device's identifier and a queue of events


def test_the_runtime_is_told_before_and_after_its_import(
    graph: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnxruntime

    told: list[str | None] = []
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(
        onnxruntime,
        "disable_telemetry_events",
        lambda: told.append(os.environ.get(VARIABLE)),
        raising=False,
    )
    session(graph)
    assert told == ["1"]


def test_a_runtime_without_reports_opens_graphs(
    graph: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnxruntime

    monkeypatch.delattr(onnxruntime, "disable_telemetry_events", raising=False)
    assert [i.name for i in session(graph).get_inputs()] == ["x"]
