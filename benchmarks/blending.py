"""What a blend costs at its defaults, and what many columns of noise do to it."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

import crank
from benchmarks import samples
from benchmarks.timing import Bar, cores, cpu_seconds
from crank.frames.table import Table


def frame(n: int, d: int, noise: int) -> pd.DataFrame:
    """Columns of which four matter, and some that are noise only."""
    X, y = samples.plain(n, d)
    rng = np.random.default_rng(1)
    X = np.column_stack((X, rng.normal(size=(n, noise))))
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(y=y)


def report(small: bool) -> tuple[list[str], list[Bar]]:
    cases = [(300, 4, 0)] if small else [(10_000, 20, 0), (2_000, 20, 200)]
    lines = [
        "## Blending",
        "",
        f"`crank.blend` at its defaults on {cores()} cores; d_τ of 4,000 other rows, beside "
        "that of the best single member.",
        "",
        "| rows × columns | wall s | CPU s | blend | best member | members |",
        "|---|---:|---:|---:|---:|---|",
    ]
    bars = []
    for n, d, noise in cases:
        data = frame(n + 4000, d, noise)
        train, test = data.iloc[:n], data.iloc[n:]
        wall, cpu = time.perf_counter(), cpu_seconds()
        members = ["rank", "linear"] if small else None
        model = crank.blend(train, "y ~ .", members=members, n_jobs=cores(), progress=False)
        wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
        y = test["y"].to_numpy()
        table = Table.read(test)
        alone = [crank.metrics.kendall(y, m.model.values(table)) for m in model.members]
        names = ", ".join(f"{m.name} {m.weight}" for m in model.members)
        figure = crank.metrics.kendall(y, model.predict(test))
        lines.append(
            f"| {n:,} × {d + noise} | {wall:.0f} | {cpu:.0f} | {figure:.4f} | {max(alone):.4f} | "
            f"{names} |"
        )
        if not noise and not small:
            bars.append(Bar(f"{n:,} × {d}: a blend at its defaults, seconds", wall, most=180.0))
    return lines, bars
