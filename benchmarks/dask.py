"""Trees on a Dask cluster of two workers: time by rows and layers, memory, bytes, and peers.

Run with ``python -m benchmarks.dask [rows ...]``; peers that are not installed are left out. Every
fit is given the same partitions, which workers make when they are asked for. ``CV=1`` adds
cross-validated fits, ``PEERS=0`` leaves peers out, ``WORKER_MEMORY`` is 1GB unless set.
"""

from __future__ import annotations

import logging
import os
import pickle
import sys
import time
from typing import Any, Literal

import numpy as np
import pandas as pd

COLUMNS, PART_ROWS, DEPTH = 20, 250_000, 6
NAMES = [f"x{j}" for j in range(COLUMNS)]


def make_part(seed: int, rows: int) -> pd.DataFrame:
    """Make one partition."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, COLUMNS), dtype=np.float32)
    y = X[:, 0] + 1.5 * np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + 0.5 * np.abs(X[:, 4])
    frame = pd.DataFrame(X, columns=NAMES)
    return frame.assign(y=y + rng.standard_normal(rows, dtype=np.float32))


def used(client: Any) -> float:
    """CPU seconds of all workers so far."""
    return float(sum(client.run(time.process_time).values()))


class Watched:
    """Note time and bytes of every pass of a fit."""

    def __init__(self) -> None:
        from crank.cluster.engine import Cluster

        self.passes: list[tuple[str, float, int]] = []
        self.cluster, self.total = Cluster, Cluster.sum

    def __enter__(self) -> Watched:
        watched = self

        def summed(cluster: Any, work: Any, *arguments: Any) -> Any:
            start = time.perf_counter()
            found = watched.total(cluster, work, *arguments)
            took = time.perf_counter() - start
            sent = len(pickle.dumps(found, protocol=5)) + len(pickle.dumps(arguments, protocol=5))
            watched.passes.append((work.__name__, took, sent))
            return found

        setattr(self.cluster, "sum", summed)  # noqa: B010  # it stands in for a method
        return self

    def __exit__(self, *_: object) -> None:
        setattr(self.cluster, "sum", self.total)  # noqa: B010


def crank_tree(client: Any, frame: Any, prune: Literal["cv"] | None) -> None:
    """Fit, and print what it took."""
    import crank

    with Watched() as watched:
        start, cpu = time.perf_counter(), used(client)
        model = crank.fit(
            frame, "y ~ " + " + ".join(NAMES), client=client, prune=prune, max_depth=DEPTH, cv=5
        )
        took, cpu = time.perf_counter() - start, used(client) - cpu
    import psutil  # type: ignore[import-untyped]  # it comes with distributed

    peak = psutil.Process().memory_info().rss / 2**20
    print(
        f"  crank.fit, prune={prune}: {took:.1f} s, workers {cpu:.1f} CPU-s, "
        f"{len(watched.passes)} sums, client {peak:.0f} MB, {model.tree.n_leaves} leaves"
    )
    layers = [p for p in watched.passes if p[0] in ("count_levels", "sum_scores")]
    for name, seconds, sent in layers:
        print(f"    {name:13s} {seconds:6.2f} s  {sent / 2**20:7.2f} MB a partition")
    before = sum(p[1] for p in watched.passes if p not in layers)
    print(f"    passes before: {before:.1f} s")


def peers(client: Any, frame: Any) -> None:
    """Fit one tree of as many leaves with LightGBM and XGBoost on the same cluster."""
    X, y = frame[NAMES].to_dask_array(lengths=True), frame["y"].to_dask_array(lengths=True)
    leaves = 2**DEPTH
    for name in ("lightgbm", "xgboost"):
        try:
            if name == "lightgbm":
                from lightgbm.dask import DaskLGBMRegressor

                model: Any = DaskLGBMRegressor(
                    client=client, n_estimators=1, num_leaves=leaves, n_jobs=1, verbose=-1
                )
            else:
                from xgboost.dask import DaskXGBRegressor

                model = DaskXGBRegressor(
                    n_estimators=1, max_depth=DEPTH, tree_method="hist", n_jobs=1
                )
                model.client = client
            start, cpu = time.perf_counter(), used(client)
            model.fit(X, y)
            took, cpu = time.perf_counter() - start, used(client) - cpu
            print(f"  {name}, one tree of {leaves} leaves: {took:.1f} s, workers {cpu:.1f} CPU-s")
        except Exception as error:
            print(f"  {name}: not measured ({type(error).__name__}: {str(error)[:100]})")


def main(sizes: list[int]) -> None:
    """Measure."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    memory = os.environ.get("WORKER_MEMORY", "1GB")
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=memory
        ) as cluster,
        Client(cluster) as client,
    ):
        small = dd.from_map(make_part, [0, 1], rows=1000, meta=make_part(0, 2))
        crank_tree(client, small, None)  # loads and compiles
        for n in sizes:
            parts = max(2, n // PART_ROWS)
            frame = dd.from_map(
                make_part, list(range(parts)), rows=n // parts, meta=make_part(0, 2)
            )
            print(f"{n:,} rows x {COLUMNS} columns in {parts} partitions")
            crank_tree(client, frame, None)
            if n <= 1_000_000:
                local(parts, n // parts)
            if os.environ.get("CV", "0") == "1":
                crank_tree(client, frame, "cv")
            if os.environ.get("PEERS", "1") == "1":
                peers(client, frame)


def local(parts: int, rows: int) -> None:
    """Fit the same rows in one process."""
    import crank

    whole = pd.concat([make_part(k, rows) for k in range(parts)], ignore_index=True)
    start, cpu = time.perf_counter(), time.process_time()
    crank.fit(whole, "y ~ " + " + ".join(NAMES), prune=None, max_depth=DEPTH, n_jobs=2)
    took, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(f"  local crank.fit, prune=None, two threads: {took:.1f} s, {cpu:.1f} CPU-s")


if __name__ == "__main__":
    main([int(float(size)) for size in sys.argv[1:]] or [1_000_000, 5_000_000])
