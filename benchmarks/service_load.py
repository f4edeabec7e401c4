"""``crank serve`` under load on loopback: reloads and kills while clients ask.

``python -m benchmarks.service_load --requests 100000``. Two models take turns in the file; the
service is told to reload (SIGHUP), asked to stop (SIGTERM) and killed (SIGKILL), and a supervisor
starts it again, as an orchestrator would. Every answer names the model that gave it and is compared
with that model's scores in Python: nothing may be wrong. A request that met a dead service is sent
again, as scoring changes nothing: nothing may be lost.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import crank

ROWS = 500
BATCH = 100
SHARE_OF_BATCHES = 0.1
PATIENCE = 60.0
"""Seconds for which a client tries one request."""


@dataclass
class Tally:
    """What clients met."""

    asked: int = 0
    rows: int = 0
    wrong: int = 0
    lost: int = 0
    again: int = 0
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"score": [], "batch": []})

    def add(self, other: Tally) -> None:
        """Add what another client met."""
        for name in ("asked", "rows", "wrong", "lost", "again"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for path, times in other.seconds.items():
            self.seconds[path] += times


def sample() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{j}": rng.normal(size=ROWS) for j in range(6)})
    frame["g"] = rng.choice(list("abcd"), ROWS)
    frame["y"] = frame["x0"] + frame["x1"] * frame["x2"] + (frame["g"] == "b")
    frame["y"] += 0.3 * rng.normal(size=ROWS)
    frame.loc[rng.random(ROWS) < 0.1, "x0"] = np.nan
    return frame


def two_models() -> tuple[list[bytes], list[dict[str, Any]], dict[str, list[float]]]:
    """Return two files, rows to ask about, and the scores of each by the digest of its file."""
    frame = sample()
    made = [
        crank.fit(frame, "y ~ .", max_depth=6, criterion="kendall", prune=None),
        crank.boost(frame, "y ~ .", rounds=50),
    ]
    files = [model.to_onnx() or b"" for model in made]
    rows = json.loads(frame.drop(columns="y").to_json(orient="records", double_precision=15))
    read = pd.DataFrame(rows)  # the numbers that clients send
    wanted = {
        hashlib.sha256(content).hexdigest(): model.predict(read).tolist()
        for content, model in zip(files, made, strict=True)
    }
    return files, rows, wanted


def client(
    port: int, requests: int, seed: int, rows: list[dict[str, Any]], wanted: Any, out: Any
) -> None:
    """Ask one request after another on a connection that is kept, and check every answer."""
    draw, tally = random.Random(seed), Tally()
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    for _ in range(requests):
        many = draw.random() < SHARE_OF_BATCHES
        at = [draw.randrange(ROWS) for _ in range(BATCH if many else 1)]
        body = json.dumps({"rows": [rows[k] for k in at]} if many else rows[at[0]])
        path = "batch" if many else "score"
        tally.asked += 1
        begun = time.perf_counter()
        tries, answer = 0, None
        while answer is None and time.perf_counter() - begun < PATIENCE:
            tries += 1
            start = time.perf_counter()
            try:
                link.request("POST", f"/{path}", body, {"content-type": "application/json"})
                reply = link.getresponse()
                text = reply.read()
                answer = json.loads(text) if reply.status == 200 else None
            except (OSError, http.client.HTTPException, ValueError):
                link.close()
                time.sleep(0.02)
        tally.again += tries - 1
        if answer is None:
            tally.lost += 1
            continue
        if tries == 1:
            tally.seconds[path].append(time.perf_counter() - start)
        scores = answer["score"] if many else [answer["score"]]
        known = wanted.get(answer["model"])
        tally.rows += len(at)
        tally.wrong += known is None or scores != [known[k] for k in at]
    link.close()
    out.put(tally)


class Supervisor:
    """Keep a service running, exchange its model, reload, stop and kill it."""

    def __init__(self, port: int, path: Path, files: list[bytes]) -> None:
        self.port, self.path, self.files, self.turn = port, path, files, 0
        self.counts = {"reloads": 0, "stops": 0, "kills": 0, "starts": 0}
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        """Start the service."""
        self.counts["starts"] += 1
        options = ["--port", str(self.port), "--log-level", "error"]
        return subprocess.Popen(
            [sys.executable, "-m", "crank.cli", "serve", str(self.path), *options],
            stderr=subprocess.DEVNULL,
        )

    def exchange(self) -> None:
        """Put the other model in the place of this one, in one step."""
        self.turn = 1 - self.turn
        fresh = self.path.with_suffix(".new")
        fresh.write_bytes(self.files[self.turn])
        os.replace(fresh, self.path)

    def is_up(self) -> bool:
        """Tell whether it answers."""
        try:
            link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            link.request("GET", "/health")
            return link.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False

    def trouble(self, finished: threading.Event, every: float) -> None:
        """Reload most of the time; now and then stop or kill, and start again."""
        for step in range(10**6):
            if finished.wait(every):
                return
            self.exchange()
            if step % 8 in (3, 7) and self.is_up():
                name, how = (("stops", signal.SIGTERM), ("kills", signal.SIGKILL))[step % 8 == 7]
                self.process.send_signal(how)
                self.process.wait()
                self.counts[name] += 1
                self.process = self.start()
            elif self.is_up():  # before it listens, a hangup would end it
                self.process.send_signal(signal.SIGHUP)
                self.counts["reloads"] += 1


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run(requests: int, clients: int, every: float) -> tuple[Tally, dict[str, int], float]:
    files, rows, wanted = two_models()
    context = get_context("spawn")
    out: Any = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.onnx"
        path.write_bytes(files[0])
        port = free_port()
        supervisor = Supervisor(port, path, files)
        while not supervisor.is_up():
            time.sleep(0.1)
        finished = threading.Event()
        trouble = threading.Thread(target=supervisor.trouble, args=(finished, every))
        share = requests // clients
        asking = [
            context.Process(target=client, args=(port, share, seed, rows, wanted, out))
            for seed in range(clients)
        ]
        start = time.perf_counter()
        for one in asking:
            one.start()
        trouble.start()
        tally = Tally()
        for _ in asking:
            tally.add(out.get())
        took = time.perf_counter() - start
        finished.set()
        trouble.join()
        supervisor.process.terminate()
        supervisor.process.wait()
    return tally, supervisor.counts, took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--every", type=float, default=3.0, help="seconds between troubles")
    options = parser.parse_args()
    tally, counts, took = run(options.requests, options.clients, options.every)
    print(f"{tally.asked} requests, {tally.rows} rows in {took:.0f} s: ", end="")
    print(f"{tally.asked / took:.0f} requests/s, {tally.rows / took:.0f} rows/s")
    print(f"wrong {tally.wrong}, lost {tally.lost}, sent again {tally.again}; {counts}")
    for path, times in tally.seconds.items():
        if times:
            middle, high, most = 1e3 * np.quantile(times, [0.5, 0.99, 1.0])
            print(f"/{path}: median {middle:.1f} ms, p99 {high:.1f} ms, longest {most:.0f} ms")


if __name__ == "__main__":
    main()
