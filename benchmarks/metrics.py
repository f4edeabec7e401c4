"""Rank metrics against SciPy, interleaved in one process; writes a Markdown table.

Run ``python benchmarks/metrics.py``; ``--rows 10000 --repeat 1`` for a quick look.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import scipy
from scipy.stats import kendalltau, spearmanr

import crank.metrics as metrics

Task = Callable[[], object]


def timed(tasks: dict[str, Task], repeat: int) -> dict[str, tuple[float, float]]:
    """Best wall and CPU seconds of each task; the tasks take turns."""
    best = dict.fromkeys(tasks, (np.inf, np.inf))
    for _ in range(repeat):
        for name, task in tasks.items():
            wall, cpu = time.perf_counter(), time.process_time()
            task()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            best[name] = min(best[name][0], wall), min(best[name][1], cpu)
    return best


def both_of_scipy(y: np.ndarray, s: np.ndarray) -> object:
    return kendalltau(y, s), spearmanr(y, s)


def scalar_rows(n: int, repeat: int) -> Iterator[str]:
    rng = np.random.default_rng(0)
    signal = rng.normal(size=n)
    y = signal + rng.normal(size=n)
    for kind, s in (("distinct", signal), ("tied", signal.round(1))):
        tasks: dict[str, Task] = {
            "SciPy": partial(both_of_scipy, y, s),
            "kendall": partial(metrics.kendall, y, s),
            "iauc": partial(metrics.iauc, y, s),
            "auc_profile": partial(metrics.auc_profile, y, s),
            "concordance": partial(metrics.concordance, y, s),
        }
        best = timed(tasks, repeat)
        peer = best.pop("SciPy")
        for name, (wall, cpu) in best.items():
            yield (
                f"| {name} | {n:,} | {kind} | {wall:.3f} | {cpu:.3f} "
                f"| {wall / peer[0]:.2f} | {cpu / peer[1]:.2f} |"
            )


def orders(n: int) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
    """Make y, s and weights in orders kind and unkind to a sweep over thresholds."""
    rng = np.random.default_rng(1)
    s = rng.permutation(n).astype(float)
    noisy = s + n * rng.normal(size=n)
    swing_y, swing_weight, k = np.arange(n, dtype=float), np.ones(n), n // 4
    swing_y[:k], swing_y[-k:] = n + 2 * np.arange(k), n + 1 + 2 * np.arange(k)
    swing_weight[:k] = swing_weight[-k:] = n
    return {
        "noisy": (noisy, s, None),
        "tied scores": (noisy, (s / n * 50).round(), None),
        "case weights": (noisy, s, rng.random(n)),
        "reversed": (-s, s, None),
        "U-shaped": (-np.abs(s - n / 2), s, None),
        "swinging weights": (swing_y, np.arange(n), swing_weight),
    }


def curve_rows(n: int, grid: int, repeat: int) -> Iterator[str]:
    data = orders(n)
    metrics.iroc_curve(*data["noisy"][:2], grid=grid)  # compiles where the work is large
    tasks: dict[str, Task] = {
        name: partial(metrics.iroc_curve, y, s, grid=grid, weights=w)
        for name, (y, s, w) in data.items()
    }
    for name, (wall, cpu) in timed(tasks, repeat).items():
        yield f"| {name} | {n:,} | {grid} | {wall:.3f} | {cpu:.3f} |"


def report(rows: list[int], curve: int, grid: int, repeat: int) -> str:
    lines = [
        f"Best of {repeat}, tasks in turns. Python {platform.python_version()}, NumPy "
        f"{np.__version__}, SciPy {scipy.__version__}, {platform.machine()} "
        f"{platform.system()}. The ratio is the time over that of `kendalltau` + `spearmanr`.",
        "",
        "| metric | rows | scores | wall s | CPU s | wall ratio | CPU ratio |",
        "|---|---|---|---|---|---|---|",
        *(line for n in rows for line in scalar_rows(n, repeat)),
        "",
        "| `iroc_curve`, order | rows | grid | wall s | CPU s |",
        "|---|---|---|---|---|",
        *curve_rows(curve, grid, repeat),
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 100_000, 1_000_000])
    parser.add_argument("--curve-rows", type=int, default=100_000)
    parser.add_argument("--grid", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    print(report(given.rows, given.curve_rows, given.grid, given.repeat))


if __name__ == "__main__":
    main()
