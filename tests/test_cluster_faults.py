"""Faults of a real cluster: dying workers, a lost scheduler, files that cannot be read."""

from __future__ import annotations

import json
import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crank
from crank.cluster.engine import Cluster, cluster_failure
from crank.errors import ClusterError, DataError

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


pytestmark = pytest.mark.filterwarnings("ignore")  # dask's own, in the midst of dying workers


def test_the_death_of_workers_does_not_change_the_tree(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"max_depth": DEPTH, "cv": 2, "client": client}
    with dask.config.set(scheduler="sync"):
        expected = crank.fit(frame(), FORMULA, **(options | {"client": None}))
    (tmp_path / "die-2").touch()  # while a worker reads the partition for the first time
    passes: list[int] = []
    run = Cluster._run

    def killing(self: Cluster, tasks: list[Any]) -> tuple[Any, ...]:
        passes.append(len(tasks))
        if len(passes) == 12:  # bins are in the workers' memory: half of them are lost
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        return run(self, tasks)

    monkeypatch.setattr(Cluster, "_run", killing)
    model = crank.fit(frame(str(tmp_path)), FORMULA, **options)
    assert len(passes) > 12
    assert not (tmp_path / "die-2").exists()
    assert ranker(model) == ranker(expected)


def test_a_corrupt_file_is_named(client: Any, tmp_path: Path) -> None:
    for k in range(3):
        part(k).to_parquet(tmp_path / f"{k}.parquet")
    rows = dd.read_parquet(str(tmp_path / "*.parquet"))
    (tmp_path / "1.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(DataError, match=r"partition 1 of 3 .* cannot be read"):
        crank.fit(rows, FORMULA, client=client)


def test_an_interrupt_cancels_the_tasks(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run, passes = Cluster._run, []

    def interrupted(self: Cluster, tasks: list[Any]) -> tuple[Any, ...]:
        passes.append(len(tasks))
        if len(passes) == 8:
            raise KeyboardInterrupt
        return run(self, tasks)

    monkeypatch.setattr(Cluster, "_run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        crank.fit(frame(), FORMULA, client=client, max_depth=2, cv=2)
    assert not any(client.has_what().values())  # nothing is kept on the workers


def test_a_lost_scheduler_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    run, passes = Cluster._run, []
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):

        def losing(self: Cluster, tasks: list[Any]) -> tuple[Any, ...]:
            passes.append(len(tasks))
            if len(passes) == 4:
                cluster.sync(cluster.scheduler.close)
            return run(self, tasks)

        monkeypatch.setattr(Cluster, "_run", losing)
        with pytest.raises(ClusterError, match="connection to the cluster was lost"):
            crank.fit(frame(), FORMULA, client=client, max_depth=2, prune=None)


def test_workers_that_die_again_and_again_are_said_to_lack_memory() -> None:
    class KilledWorker(Exception):
        pass

    found = cluster_failure(KilledWorker("task-1"))
    assert isinstance(found, ClusterError)
    assert "lack memory" in str(found)
    assert cluster_failure(ValueError("no")) is None
