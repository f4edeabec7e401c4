"""The service: its answers are the model's, limits hold, and a reload leaves it with a model."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

import crank
from crank.cli import main
from crank.errors import ModelFileError, OptionError
from crank.service import create_app
from crank.service.app import _hangups
from crank.service.bodies import ARROW
from crank.service.listening import bound


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(8)
    made = pd.DataFrame({"x": rng.normal(size=300), "g": rng.choice(["a", "b", "c"], 300)})
    made["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, 300), unit="D")
    made["y"] = made["x"] + 2.0 * (made["g"] == "b") + rng.normal(size=300)
    return made.assign(x=made["x"].mask(rng.random(300) < 0.1))


@pytest.fixture(scope="module")
def models(frame: pd.DataFrame) -> tuple[crank.TreeModel, crank.TreeModel]:
    return (
        crank.fit(frame, "y ~ x + g", max_depth=3, prune=None),
        crank.fit(frame, "y ~ x + g", max_depth=1, prune=None),
    )


@pytest.fixture(params=["m.json", "m.onnx"])
def path(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    models: tuple[crank.TreeModel, crank.TreeModel],
) -> Path:
    target = tmp_path / str(request.param)
    (models[0].to_json if target.suffix == ".json" else models[0].to_onnx)(target)
    return target


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(frame[["x", "g"]].to_json(orient="records"))
    return rows


def test_rows_batches_and_arrow_score_as_the_model(
    path: Path, frame: pd.DataFrame, models: tuple[crank.TreeModel, crank.TreeModel]
) -> None:
    wanted = models[0].predict(frame).tolist()
    with TestClient(create_app(path)) as client:
        one = client.post("/score", json=records(frame)[5])
        assert one.json()["score"] == wanted[5]
        assert client.post("/batch", json={"rows": records(frame)}).json()["score"] == wanted
        columns = {name: [row[name] for row in records(frame)] for name in ("x", "g")}
        assert client.post("/batch", json={"columns": columns}).json()["score"] == wanted
        leaf = client.post("/batch?type=leaf", json={"rows": records(frame)}).json()["leaf"]
        assert leaf == models[0].predict(frame, "leaf").tolist()
        sink = pa.BufferOutputStream()
        table = pa.Table.from_pandas(frame[["x", "g"]])
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        answer = client.post(
            "/batch", content=sink.getvalue().to_pybytes(), headers={"content-type": ARROW}
        )
        assert pa.ipc.open_stream(answer.content).read_all()["score"].to_pylist() == wanted
        assert client.post("/batch", json={"rows": []}).json()["score"] == []


def test_what_is_wrong_with_a_request_is_said_in_one_message(path: Path) -> None:
    with TestClient(create_app(path, max_rows=3, max_bytes=500)) as client:

        def told(where: str, content: Any, status: int, **more: Any) -> str:
            body = content if isinstance(content, bytes) else json.dumps(content).encode()
            answer = client.post(where, content=body, **more)
            assert answer.status_code == status, answer.text
            return str(answer.json()["error"])

        good = {"x": 1.0, "g": "a"}
        assert "row 0 lacks 'g'" in told("/score", {"x": 1.0}, 422)
        assert "holds 'a' in row 0" in told("/score", {**good, "x": "a"}, 422)
        assert "list or object" in told("/score", {**good, "g": ["a"]}, 422)
        assert "beyond 1.8e308" in told("/score", b'{"g": "a", "x": 1' + b"0" * 400 + b"}", 422)
        assert "no row" in told("/score", [1, 2], 422)
        assert "no JSON" in told("/score", b"{", 422)
        assert "type='rank'" in told("/score?type=rank", good, 422)
        assert "neither rows nor columns" in told("/batch", good, 422)
        assert "row 1 is no object" in told("/batch", {"rows": [good, 5]}, 422)
        assert "different lengths" in told("/batch", {"columns": {"x": [1], "g": []}}, 422)
        assert "lacks a list of values for 'g'" in told("/batch", {"columns": {"x": [1]}}, 422)
        assert "at most 3" in told("/batch", {"rows": [good] * 4}, 413)
        assert "at most 500" in told("/batch", {"rows": [{**good, "more": "z" * 600}]}, 413)
        assert "no Arrow" in told("/batch", b"zzz", 422, headers={"content-type": ARROW})
        pieces = (b"x" * 300 for _ in range(3))  # of no declared length
        assert client.post("/batch", content=pieces).status_code == 413
        assert client.get("/nothing").status_code == 404
        shown = client.get("/metrics").text
        assert 'crank_requests_total{path="/batch",status="413"} 3.0' in shown
        assert 'path="other",status="404"' in shown


def test_the_service_describes_itself_and_its_model(path: Path) -> None:
    with TestClient(create_app(path)) as client:
        assert client.get("/health").json()["status"] == "ok"
        card = client.get("/model").json()
        assert card["formula"] == "y ~ x + g"
        assert card["outputs"][0] == "score"
        schema = client.get("/schema").json()
        assert schema["required"] == ["x", "g"]
        assert schema["properties"]["x"]["type"] == ["number", "null"]
        described = client.get("/openapi.json").json()
        assert described["components"]["schemas"]["Row"] == schema
        body = described["paths"]["/batch"]["post"]["requestBody"]["content"]
        assert set(body) == {"application/json", ARROW}
        client.post("/score", json={"x": 1.0, "g": "a"})
        assert "crank_rows_total 1.0" in client.get("/metrics").text


def test_dates_come_as_text(frame: pd.DataFrame, tmp_path: Path) -> None:
    model = crank.fit(frame, "y ~ day + x", max_depth=3, prune=None)
    wanted = model.predict(frame).tolist()
    rows = json.loads(
        frame[["x", "day"]]
        .assign(day=frame["day"].dt.strftime("%Y-%m-%d"))
        .to_json(orient="records")
    )
    for name in ("m.json", "m.onnx"):
        (model.to_json if name == "m.json" else model.to_onnx)(tmp_path / name)
        with TestClient(create_app(tmp_path / name)) as client:
            assert client.post("/batch", json={"rows": rows}).json()["score"] == wanted


def test_a_reload_takes_the_new_model_or_keeps_the_old_one(
    tmp_path: Path, models: tuple[crank.TreeModel, crank.TreeModel]
) -> None:
    path = tmp_path / "m.json"
    models[0].to_json(path)
    app = create_app(path)
    row = {"x": 1.0, "g": "a"}
    with TestClient(app) as client:
        before = client.post("/score", json=row).json()
        path.write_text("{ half a file")
        assert not app.state.holder.reload()
        assert client.post("/score", json=row).json() == before
        models[1].to_json(path)
        assert app.state.holder.reload()
        after = client.post("/score", json=row).json()
        assert after["model"] != before["model"]
        assert after["score"] == models[1].predict({"x": [1.0], "g": ["a"]})[0]
        shown = client.get("/metrics").text
        assert 'crank_reloads_total{outcome="refused"} 1.0' in shown
        assert f'digest="{after["model"]}"' in shown
        assert before["model"] not in shown


@pytest.mark.skipif(os.name == "nt", reason="Windows has other pipes")
@pytest.mark.parametrize("name", ["m.json", "m.onnx"])
def test_a_model_from_a_pipe_is_served_and_never_asked_for_again(
    tmp_path: Path, models: tuple[crank.TreeModel, crank.TreeModel], name: str
) -> None:
    (models[0].to_json if name == "m.json" else models[0].to_onnx)(tmp_path / name)
    out, into = os.pipe()
    os.write(into, (tmp_path / name).read_bytes())
    os.close(into)
    app = create_app(f"/dev/fd/{out}")
    os.close(out)
    with TestClient(app) as client:
        assert not app.state.holder.reload()
        score = client.post("/score", json={"x": 1.0, "g": "a"}).json()["score"]
        assert score == models[0].predict({"x": [1.0], "g": ["a"]})[0]


def test_a_file_that_is_no_model_is_refused_at_the_start(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    models: tuple[crank.TreeModel, crank.TreeModel],
) -> None:
    with pytest.raises(ModelFileError, match="cannot be read"):
        create_app(tmp_path / "absent.onnx")
    (tmp_path / "m.onnx").write_bytes(b"nothing")
    assert main(["serve", str(tmp_path / "m.onnx")]) == 1
    models[0].to_onnx(tmp_path / "matrix.onnx", form="matrix")
    assert main(["serve", str(tmp_path / "matrix.onnx")]) == 1
    assert "form='columns'" in capsys.readouterr().err
    models[0].to_json(tmp_path / "m.json")
    assert main(["serve", str(tmp_path / "m.json"), "--port", "70000"]) == 2
    with pytest.raises(OptionError, match="max_rows"):
        create_app(tmp_path / "m.json", max_rows=0)


@pytest.fixture
def running(
    tmp_path: Path, models: tuple[crank.TreeModel, crank.TreeModel]
) -> Iterator[tuple[subprocess.Popen[bytes], str, Path]]:
    """Start ``crank serve`` on a free port of this machine; wait until it answers."""
    path = tmp_path / "m.json"
    models[0].to_json(path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "crank.cli", "serve", str(path), "--port", str(port)],
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    with httpx.Client(transport=httpx.HTTPTransport(retries=8)) as client:
        for _ in range(100):  # each try waits longer than the one before
            try:
                client.get(f"{url}/health")
                break
            except httpx.ConnectError:
                assert process.poll() is None
    yield process, url, path
    process.kill()
    process.wait()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGHUP")
def test_signals_reload_and_stop_the_running_service(
    running: tuple[subprocess.Popen[bytes], str, Path],
    models: tuple[crank.TreeModel, crank.TreeModel],
) -> None:
    process, url, path = running
    before = httpx.get(f"{url}/health").json()["model"]
    models[1].to_json(path)
    process.send_signal(signal.SIGHUP)
    while httpx.get(f"{url}/health").json()["model"] == before:
        assert process.poll() is None
    score = httpx.post(f"{url}/score", json={"x": 1.0, "g": "a"}).json()["score"]
    assert score == models[1].predict({"x": [1.0], "g": ["a"]})[0]
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) in (0, -signal.SIGTERM, 128 + signal.SIGTERM)


def test_answers_are_sent_without_delay() -> None:
    # asyncio sets TCP_NODELAY on connections of such sockets only: else each answer waits 40 ms
    with bound("127.0.0.1", 0) as taken:
        assert [one.proto for one in taken] == [socket.IPPROTO_TCP]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0"])
def test_a_port_that_is_taken_is_an_error_and_no_drift(
    path: Path, host: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("crank.service.app.create_app", lambda *_, **__: pytest.fail("it is read"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["serve", str(path), "--host", host, "--port", str(port)]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"crank: port {port} of {host!r} cannot be used: ")
    assert "Choose another --port" in err


def test_a_host_that_is_not_this_machine_is_an_error(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", str(path), "--host", "203.0.113.5", "--port", "0"]) == 1
    assert "port 0 of '203.0.113.5' cannot be used" in capsys.readouterr().err


def test_a_hangup_before_the_service_listens_is_not_lost(
    path: Path, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[Any] = []
    with monkeypatch.context() as patched:
        patched.setattr(signal, "signal", lambda number, handler: held.append(handler))
        early = _hangups()
    done = 'crank_reloads_total{outcome="done"} 1.0'
    with TestClient(create_app(path, early=early)) as client:
        assert done not in client.get("/metrics").text
    held[0](1, None)
    app = create_app(path, early=early)
    before = app.state.holder.served.digest
    crank.fit(frame, "y ~ x", max_depth=1, prune=None).to_onnx(path)
    with TestClient(app) as client:
        assert client.get("/health").json()["model"] != before
        assert done in client.get("/metrics").text
