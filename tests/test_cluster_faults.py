"""Faults of a real cluster: dying workers, a lost scheduler, files that cannot be read."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crank
from crank.cli import main
from crank.cluster.engine import Cluster, cluster_failure
from crank.errors import ClusterError, DataError
from crank.progress import track

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

PARTS, DEPTH = 4, 3
FORMULA = "y ~ a + b + g"


def part(k: int, folder: str = "") -> pd.DataFrame:
    """Make rows; the first worker that makes those of a marked partition dies over them."""
    mark = Path(folder) / f"die-{k}"
    if folder and mark.exists():
        mark.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    rng = np.random.default_rng(k)
    rows = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300).round(1)})
    rows["g"] = rng.choice(["u", "v"], 300)
    rows["y"] = rows.a + rows.b**2 + rng.normal(size=300)
    return rows


def frame(folder: str = "") -> Any:
    return dd.from_map(part, list(range(PARTS)), folder=folder, meta=part(0).iloc[:0])


def ranker(model: Any) -> Any:
    return json.loads(model.to_json())["ranker"]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # dask's own, in the midst of dying workers
    pytest.mark.xdist_group("cluster"),
]


def wait_for_workers(client: Any) -> None:
    """Wait until workers have reported to Dask's nannies: killed before, one is not replaced."""
    for _ in range(3000):
        processes = [nanny.process for nanny in client.cluster.workers.values()]
        if all(process is not None and process.status.name == "running" for process in processes):
            return
        Event().wait(0.1)
    pytest.fail(f"workers are {processes}")


def kill_a_worker(client: Any) -> None:
    wait_for_workers(client)
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


def test_the_death_of_workers_does_not_change_the_tree(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"max_depth": DEPTH, "cv": 2, "client": client}
    with dask.config.set(scheduler="sync"):
        expected = crank.fit(frame(), FORMULA, **(options | {"client": None}))
    (tmp_path / "die-2").touch()  # while a worker reads the partition for the first time
    begin, layers = Cluster.sum_twice, []

    def killing(self: Cluster, *given: Any) -> Any:
        layers.append(begin(self, *given))
        if len(layers) == 1:  # bins are in the workers' memory: half of them are lost
            kill_a_worker(client)
        return layers[-1]

    monkeypatch.setattr(Cluster, "sum_twice", killing)
    wait_for_workers(client)
    model = crank.fit(frame(str(tmp_path)), FORMULA, **options)
    assert len(layers) == DEPTH - 1  # the root's layer takes no such pass
    assert not (tmp_path / "die-2").exists()
    assert ranker(model) == ranker(expected)


def test_the_death_of_a_worker_does_not_change_the_forest(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dask.config.set(scheduler="sync"):
        expected = crank.forest(frame(), FORMULA, n_trees=3, max_depth=4)
    join, trees = Cluster.assemble, []

    def killing(self: Cluster, *given: Any) -> list[Any]:
        kill_a_worker(client)
        trees.extend(join(self, *given))
        return trees

    monkeypatch.setattr(Cluster, "assemble", killing)
    model = crank.forest(frame(), FORMULA, n_trees=3, max_depth=4, client=client)
    assert len(trees) == 3
    assert ranker(model) == ranker(expected)


def test_a_command_fits_on_a_scheduler_by_its_address(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for k in range(3):
        part(k).to_parquet(tmp_path / "data" / f"{k}.parquet")
    command = ["fit", "data", FORMULA, "--engine", "dask", "--prune", "none", "--quiet"]
    command += ["--max-depth", "2", "-o", "m.json"]
    with monkeypatch.context() as patch:  # as in a process where no other client is active
        patch.setattr("distributed.client._get_global_client", lambda: None)
        assert main([*command, "--scheduler", client.scheduler.address]) == 0
    whole = pd.concat([part(k) for k in range(3)])
    with dask.config.set(scheduler="sync"):
        local = crank.fit(dd.from_pandas(whole, npartitions=2), FORMULA, prune=None, max_depth=2)
    assert ranker(crank.load("m.json")) == ranker(local)


def test_a_sample_is_drawn_where_the_data_is(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gather, at = Cluster.gather, []

    def watched(self: Cluster, *given: Any, **named: Any) -> list[Any]:
        own = self._client()
        at.append(None if own is None else own.scheduler.address)
        return gather(self, *given, **named)

    monkeypatch.setattr(Cluster, "gather", watched)
    monkeypatch.setattr("distributed.client._get_global_client", lambda: None)
    monkeypatch.chdir(tmp_path)
    part(0).to_parquet("0.parquet")
    command = ["fit", "*.parquet", FORMULA, "--engine", "dask", "--sample", "100", "--quiet"]
    command += ["--model", "additive", "-o", "m.json", "--scheduler", client.scheduler.address]
    assert main(command) == 0
    crank.linear(frame(), FORMULA, sample=100, client=client)
    assert at == [client.scheduler.address] * 2


COMMAND = """
import sys
import crank.datafiles.parts
from crank.cli import main
from tests.test_cluster_faults import FORMULA, waiting

folder, address = sys.argv[1:]
crank.datafiles.parts.read_parts = lambda _: waiting(folder)
command = ["fit", "data", FORMULA, "--engine", "dask", "--scheduler", address]
sys.exit(main([*command, "-o", folder + "/m.json"]))
"""


def waiting_part(k: int, folder: str) -> pd.DataFrame:
    """Say that work on the first partition has begun, and go on when told to."""
    if k == 0:
        (Path(folder) / "begun").write_text("x")
        (Path(folder) / "go").read_text()
    return part(k)


def waiting(folder: str) -> Any:
    return dd.from_map(waiting_part, list(range(PARTS)), folder=folder, meta=part(0).iloc[:0])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_real_interrupt_ends_a_fit_on_a_cluster(client: Any, tmp_path: Path) -> None:
    for name in ("begun", "go"):
        os.mkfifo(tmp_path / name)
    begun = os.open(tmp_path / "begun", os.O_RDONLY | os.O_NONBLOCK)
    command = [sys.executable, "-c", COMMAND, str(tmp_path), client.scheduler.address]
    with subprocess.Popen(
        command, cwd=Path(__file__).parents[1], stderr=subprocess.PIPE, text=True
    ) as process:
        ready, _, _ = select.select([begun], [], [], 300.0)  # a worker is reading
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    os.close(begun)
    assert ready, err
    with open(tmp_path / "go", "w"):  # let the worker go on: a running task cannot be stopped
        pass
    assert process.returncode == 130, err
    assert "crank: interrupted, fitting stopped after 0 of" in err
    assert "Traceback" not in err
    assert not (tmp_path / "m.json").exists()
    model = crank.fit(frame(), FORMULA, client=client, prune=None, max_depth=1)
    assert model.tree.n_leaves == 2  # the cluster is fit for others


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_how_far_a_fit_is(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Terminal()
    monkeypatch.setattr("crank.api.cluster.track", partial(track, stream=out, patience=0.0))
    with dask.config.set(scheduler="sync"):
        crank.fit(frame(), FORMULA, max_depth=2, prune=None)
        shown = [int(k) for k in re.findall(r"fitting on the cluster .*? (\d+)/6", out.getvalue())]
        assert shown == list(range(1, len(shown) + 1))
        assert len(shown) >= 4
        assert out.getvalue().endswith("\r")  # cleared
        out.truncate(0)
        crank.forest(frame(), FORMULA, n_trees=3, max_depth=2)
    assert "5/7" in out.getvalue()


def test_a_corrupt_file_is_named(client: Any, tmp_path: Path) -> None:
    for k in range(3):
        part(k).to_parquet(tmp_path / f"{k}.parquet")
    rows = dd.read_parquet(str(tmp_path / "*.parquet"))
    (tmp_path / "1.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(DataError, match=r"partition 1 of 3 .* cannot be read"):
        crank.fit(rows, FORMULA, client=client)


@pytest.mark.parametrize("waited", [True, False])
def test_an_interrupt_ends_the_tasks(
    client: Any, waited: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = Cluster.sum_twice

    def stop(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    def interrupted(self: Cluster, *given: Any) -> Any:
        wait = begin(self, *given)
        if waited:
            monkeypatch.setattr(distributed, "as_completed", stop)
            wait()
        stop()

    monkeypatch.setattr(Cluster, "sum_twice", interrupted)
    with pytest.raises(KeyboardInterrupt):
        crank.fit(frame(), FORMULA, client=client, max_depth=2, cv=2)
    for _ in range(600):  # workers say when they have let go
        if not any(client.has_what().values()):
            return
        Event().wait(0.1)
    pytest.fail(f"workers keep {client.has_what()}")


def test_letting_go_leaves_alone_what_others_keep(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = client.submit(sum, [1, 2], pure=False)
    assert mine.result() == 3
    here = client.id

    def known(dask_scheduler: Any) -> tuple[bool, int]:
        return here in dask_scheduler.clients, dask_scheduler.clients[here].versions["n"]

    client.run_on_scheduler(
        lambda dask_scheduler: dask_scheduler.clients[here].versions.update(n=1)
    )
    begin = Cluster.sum_twice

    def interrupted(self: Cluster, *given: Any) -> Any:
        begin(self, *given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Cluster, "sum_twice", interrupted)
        with pytest.raises(KeyboardInterrupt):
            crank.fit(frame(), FORMULA, client=client, max_depth=2, cv=2)
    crank.forest(frame(), FORMULA, n_trees=3, max_depth=2, client=client)
    assert client.run_on_scheduler(known) == (True, 1)  # the same connection as before
    assert mine.status == "finished"


def test_a_lost_scheduler_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = Cluster.sum_twice
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):

        def losing(self: Cluster, *given: Any) -> Any:
            cluster.sync(cluster.scheduler.close)
            return begin(self, *given)

        monkeypatch.setattr(Cluster, "sum_twice", losing)
        with pytest.raises(ClusterError, match="connection to the cluster was lost"):
            crank.fit(frame(), FORMULA, client=client, max_depth=2, prune=None)


def test_workers_that_die_again_and_again_are_said_to_lack_memory() -> None:
    class KilledWorker(Exception):
        pass

    found = cluster_failure(KilledWorker("task-1"))
    assert isinstance(found, ClusterError)
    assert "lack memory" in str(found)
    assert cluster_failure(ValueError("no")) is None
