"""Trees on a Dask cluster of two workers: time by rows and layers, memory, bytes, and peers.

Run with ``python -m benchmarks.dask [rows ...]``; peers that are not installed are left out. Every
fit is given the same partitions, which workers make when they are asked for. Fits take turns,
``ROUNDS`` times; the peers only up to ``PEERS`` rows. ``CV=1`` adds cross-validated fits,
``WORKER_MEMORY`` is 1GB unless set.
"""

from __future__ import annotations

import logging
import os
import pickle
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

import numpy as np
import pandas as pd

COLUMNS, PART_ROWS, DEPTH = 20, 250_000, 6
NAMES = [f"x{j}" for j in range(COLUMNS)]
FORMULA = "y ~ " + " + ".join(NAMES)
LAYER = "count and sum"


def make_part(seed: int, rows: int) -> pd.DataFrame:
    """Make one partition."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, COLUMNS), dtype=np.float32)
    y = X[:, 0] + 1.5 * np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + 0.5 * np.abs(X[:, 4])
    frame = pd.DataFrame(X, columns=NAMES)
    return frame.assign(y=y + rng.standard_normal(rows, dtype=np.float32))


def reset_peak() -> None:
    """Let the kernel count this process's peak memory anew (Linux)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak() -> float:
    """Peak memory of this process since `reset_peak`, in MB; NaN where there is no such count."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return float(line.split()[1]) / 1024
    return float("nan")


@dataclass(frozen=True)
class Cost:
    """What a fit took: seconds, CPU seconds of workers and client, peak memory in MB."""

    wall: float
    workers: float
    client: float
    client_peak: float
    worker_peak: float

    @property
    def cpu(self) -> float:
        """CPU seconds of all processes."""
        return self.workers + self.client

    def __str__(self) -> str:
        return (
            f"{self.wall:6.2f} s, {self.cpu:6.2f} CPU-s (workers {self.workers:.1f}), "
            f"peak client {self.client_peak:.0f} MB, worker {self.worker_peak:.0f} MB"
        )


def cost(client: Any, fit: Callable[[], object]) -> Cost:
    """Measure a fit."""
    client.run(reset_peak)
    reset_peak()
    workers, own = sum(client.run(time.process_time).values()), time.process_time()
    start = time.perf_counter()
    fit()
    wall, own = time.perf_counter() - start, time.process_time() - own
    workers = sum(client.run(time.process_time).values()) - workers
    return Cost(wall, workers, own, peak(), max(client.run(peak).values()))


def written(*values: object) -> int:
    """Bytes of values as they travel."""
    return sum(len(pickle.dumps(value, protocol=5)) for value in values)


class Watched:
    """Note time and bytes of every pass of a fit, from its beginning until its sums are there."""

    def __init__(self) -> None:
        from crank.cluster.engine import Cluster

        self.passes: list[tuple[str, float, int]] = []
        self.shared: Any = None
        self.cluster = Cluster
        self.own = {name: getattr(Cluster, name) for name in ("sum_later", "sum_twice", "share")}

    def __enter__(self) -> Watched:
        def sum_later(cluster: Any, work: Any, *arguments: Any, **named: Any) -> Any:
            begun = time.perf_counter()
            wait = self.own["sum_later"](cluster, work, *arguments, **named)

            def waited() -> Any:
                found = wait()
                self.note(work.__name__, begun, written(found, arguments))
                return found

            return waited

        def sum_twice(
            cluster: Any,
            first: Any,
            argument: Any,
            between: Any,
            shared: Any,
            second: Any,
            *others: Any,
        ) -> Any:
            begun = time.perf_counter()
            wait = self.own["sum_twice"](cluster, first, argument, between, shared, second, *others)

            def waited() -> Any:
                found = wait()
                scores = between(found[0], argument, self.shared)
                self.note(LAYER, begun, written(*found, argument, scores, others))
                return found

            return waited

        def share(cluster: Any, value: Any) -> Any:
            self.shared = value
            return self.own["share"](cluster, value)

        for stand_in in (sum_later, sum_twice, share):
            setattr(self.cluster, stand_in.__name__, stand_in)
        return self

    def note(self, name: str, begun: float, sent: int) -> None:
        """Note a pass that has just ended."""
        self.passes.append((name, time.perf_counter() - begun, sent))

    def __exit__(self, *_: object) -> None:
        for name, method in self.own.items():
            setattr(self.cluster, name, method)


def crank_tree(client: Any, frame: Any, prune: Literal["cv"] | None = None) -> None:
    """Fit one tree."""
    import crank

    crank.fit(frame, FORMULA, client=client, prune=prune, max_depth=DEPTH, cv=5)


def lightgbm_tree(client: Any, frame: Any) -> None:
    """Fit one tree of as many leaves with LightGBM."""
    from lightgbm.dask import DaskLGBMRegressor

    model = DaskLGBMRegressor(
        client=client, n_estimators=1, num_leaves=2**DEPTH, n_jobs=1, verbose=-1
    )
    model.fit(frame[NAMES], frame["y"])


def xgboost_tree(client: Any, frame: Any) -> None:
    """Fit one tree of as many leaves with XGBoost."""
    from xgboost.dask import DaskXGBRegressor

    model = DaskXGBRegressor(n_estimators=1, max_depth=DEPTH, tree_method="hist", n_jobs=1)
    model.client = client
    model.fit(frame[NAMES], frame["y"])


FITS: dict[str, Callable[[Any, Any], None]] = {
    "crank": crank_tree,
    "lightgbm": lightgbm_tree,
    "xgboost": xgboost_tree,
}


def race(client: Any, frame: Any, rounds: int, names: Sequence[str]) -> None:
    """Fit in turn, and print medians; and of crank's share of each peer's cost in the same round.

    Other work on the machine slows down neighbouring fits alike, so shares vary less than times.
    """
    found: dict[str, list[Cost]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            try:
                found[name].append(cost(client, lambda name=name: FITS[name](client, frame)))  # type: ignore[misc]
                print(f"  {name:9s} {found[name][-1]}", flush=True)
            except Exception as error:
                print(f"  {name}: not measured ({type(error).__name__}: {str(error)[:100]})")
    for name, costs in found.items():
        if not costs:
            continue
        wall, cpu = median(c.wall for c in costs), median(c.cpu for c in costs)
        print(f"  median of {len(costs)}: {name:9s} {wall:.2f} s, {cpu:.2f} CPU-s", end="")
        if name != "crank" and len(costs) == len(found["crank"]):
            pairs = list(zip(found["crank"], costs, strict=True))
            walls = sorted(own.wall / peer.wall for own, peer in pairs)
            cpus = median(own.cpu / peer.cpu for own, peer in pairs)
            print(
                f"; crank takes {median(walls):.2f} of its time ({walls[0]:.2f} to "
                f"{walls[-1]:.2f}), {cpus:.2f} of its CPU",
                end="",
            )
        print(flush=True)


def layers(client: Any, frame: Any) -> None:
    """Print what each pass of one fit took and moved.

    The roots' counts wait for the bins; their sums, a pass for each layer below, and the counts of
    the leaves are the layers.
    """
    with Watched() as watched:
        crank_tree(client, frame)
    for name, seconds, sent in watched.passes:
        print(f"    {name:13s} {seconds:6.2f} s  {sent / 2**20:7.2f} MB a partition")
    first = [name for name, _, _ in watched.passes].index("count_levels") + 1
    took = [0.0 if name == "extremes" else seconds for name, seconds, _ in watched.passes]
    inside, before = sum(took[first:]), sum(took[:first])  # extremes are found beside the counts
    print(f"    layers: {inside:.2f} s, passes before: {before:.2f} s", flush=True)


def main(sizes: list[int]) -> None:
    """Measure."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    memory = os.environ.get("WORKER_MEMORY", "1GB")
    rounds, most = int(os.environ.get("ROUNDS", "3")), float(os.environ.get("PEERS", "1e6"))
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=memory
        ) as cluster,
        Client(cluster) as client,
    ):
        small = dd.from_map(make_part, [0, 1], rows=1000, meta=make_part(0, 2))
        race(client, small, 1, list(FITS) if most else ["crank"])  # loads and compiles
        for n in sizes:
            parts = max(2, n // PART_ROWS)
            frame = dd.from_map(
                make_part, list(range(parts)), rows=n // parts, meta=make_part(0, 2)
            )
            print(f"{n:,} rows x {COLUMNS} columns in {parts} partitions", flush=True)
            race(client, frame, rounds, list(FITS) if n <= most else ["crank"])
            layers(client, frame)
            if os.environ.get("CV", "0") == "1":
                print(f"  5 folds   {cost(client, lambda f=frame: crank_tree(client, f, 'cv'))}")  # type: ignore[misc]
            if n <= 1_000_000:
                local(parts, n // parts)


def local(parts: int, rows: int) -> None:
    """Fit the same rows in one process."""
    import crank

    whole = pd.concat([make_part(k, rows) for k in range(parts)], ignore_index=True)
    start, cpu = time.perf_counter(), time.process_time()
    crank.fit(whole, FORMULA, prune=None, max_depth=DEPTH, n_jobs=2)
    took, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(f"  local crank.fit, two threads: {took:.1f} s, {cpu:.1f} CPU-s")


if __name__ == "__main__":
    main([int(float(size)) for size in sys.argv[1:]] or [1_000_000, 5_000_000])
