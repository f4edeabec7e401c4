"""How the time of one tree grows with rows and with columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import crank
from benchmarks import samples
from benchmarks.timing import Bar, race, readable


def grow_with(sizes: list[tuple[int, int]], rounds: int) -> tuple[list[str], float]:
    """Time all sizes in turns; tell by which factor each exceeds the one before, wall at last."""

    def task(n: int, d: int) -> Callable[[], object]:
        X, y = samples.plain(n, d)
        return lambda: crank.RankingTree(max_depth=6, min_samples_leaf=20, n_jobs=-1).fit(X, y)

    times = race({f"{n:,} × {d}": task(n, d) for n, d in sizes}, rounds)
    lines = [
        "| rows × columns | values | wall | CPU | values ÷ line above | wall ÷ | CPU ÷ |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    before, last = None, float("nan")
    for (n, d), (name, t) in zip(sizes, times.items(), strict=True):
        ratios = "| | | |"
        if before is not None:
            wall, cpu = t.over(before[1])
            last = wall
            ratios = f"| {n * d / before[0]:.1f} | {wall:.2f} | {cpu:.2f} |"
        wall, cpu = float(np.median(t.wall)), float(np.median(t.cpu))
        lines.append(f"| {name} | {n * d:,} | {readable(wall)} | {readable(cpu)} {ratios}")
        before = n * d, t
    return lines, last


def report(small: bool) -> tuple[list[str], list[Bar]]:
    if small:
        rows, columns, rounds = [(200, 4), (400, 4)], [(200, 4), (200, 8)], 1
    else:
        rows = [(n, 20) for n in (10_000, 100_000, 1_000_000, 4_000_000)]
        columns = [(100_000, d) for d in (10, 20, 50, 100, 200)]
        rounds = 9
    by_rows, last = grow_with(rows, rounds)
    text = [
        "## Growth",
        "",
        "Depth 6. From 1,000,000 values on the compiled kernel takes over.",
        "",
        *by_rows,
        "",
        *grow_with(columns, rounds)[0],
    ]
    return text, [] if small else [Bar("from 1,000,000 to 4,000,000 rows, times", last, most=4.5)]
