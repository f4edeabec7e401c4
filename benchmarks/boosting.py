"""The loss of all pairs against LightGBM's own squared error: the same trees, the same rounds."""

from __future__ import annotations

from collections.abc import Callable

import lightgbm

from benchmarks import samples
from benchmarks.timing import Bar, race, readable
from crank.fitting.lightgbm_engine import Engine
from crank.fitting.lightgbm_settings import PRESETS
from crank.rankers.booster import BoosterOptions
from crank.ranks import rank


def tasks(n: int, d: int, rounds: int) -> dict[str, Callable[[], object]]:
    """Boost from arrays in bins: LightGBM on y, and crank on all pairs, each in one thread."""
    X, y = samples.plain(n, d)
    ranks = rank(y)
    own = {**PRESETS["large"], "objective": "regression", "verbosity": -1, "num_threads": 1}
    data = lightgbm.Dataset(X, y, params=own, free_raw_data=False).construct()
    engine = Engine(X, (0,) * d, BoosterOptions(trees="large"))
    return {
        "LightGBM, squared error": lambda: lightgbm.train(own, data, rounds),
        "crank, all pairs": lambda: engine.training(ranks).grow(rounds),
    }


def report(small: bool) -> tuple[list[str], list[Bar]]:
    sizes = [(500, 4, 5)] if small else [(100_000, 20, 200), (1_000_000, 20, 40)]
    lines = [
        "## Boosting",
        "",
        "Trees of 31 leaves, one thread, data in bins beforehand. LightGBM descends on squared "
        "error, crank on the logistic loss of all pairs.",
        "",
        "| rows × columns, rounds | LightGBM | crank | wall ÷ | CPU ÷ |",
        "|---|---:|---:|---:|---:|",
    ]
    bars = []
    for (n, d, rounds), most in zip(sizes, (1.5, 2.0), strict=False):
        times = race(tasks(n, d, rounds), 1 if small else 5)
        theirs, ours = times["LightGBM, squared error"], times["crank, all pairs"]
        wall, cpu = ours.over(theirs)
        shown = f"{readable(float(theirs.wall.mean()))} | {readable(float(ours.wall.mean()))}"
        lines.append(f"| {n:,} × {d}, {rounds} | {shown} | {wall:.2f} | {cpu:.2f} |")
        what = f"{n:,} × {d}: boosting all pairs, times LightGBM's squared error"
        bars.append(Bar(what, wall, most=most))
    return lines, [] if small else bars
