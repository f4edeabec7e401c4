"""A data frame with a formula: what reading and checking it costs beside the fit."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

import crank
from benchmarks import samples
from benchmarks.growing import Clock, patched
from benchmarks.timing import Bar, readable
from crank.api import fit_tree as api

PARTS = ("fit_tree", "in_sample")


def shares(n: int, d: int, rounds: int) -> np.ndarray:
    """Time `crank.fit`: reading and checking the frame, the tree, its figures, scoring it."""
    X, y = samples.plain(n, d)
    names = [f"x{j}" for j in range(d)]
    frame = pd.DataFrame(X, columns=names).assign(y=y)
    formula = f"y ~ {' + '.join(names)}"
    found = []
    for _ in range(rounds + 1):
        clocks = [Clock() for _ in PARTS]
        start = time.perf_counter()
        with patched(clocks[0], (api, PARTS[0])), patched(clocks[1], (api, PARTS[1])):
            model = crank.fit(frame, formula, prune=None, min_samples_leaf=20, n_jobs=-1)
        whole = time.perf_counter() - start
        parts = [clock.seconds for clock in clocks]
        start = time.perf_counter()
        model.predict(frame)
        found.append([whole - sum(parts), *parts, time.perf_counter() - start])
    return np.array(found[1:])


def report(small: bool) -> tuple[list[str], list[Bar]]:
    sizes, rounds = ([(500, 4)], 1) if small else ([(100_000, 10), (1_000_000, 10)], 5)
    lines = [
        "## From a data frame",
        "",
        "`crank.fit` with a formula of numeric columns, without pruning, on all cores; then "
        "`predict` of the same rows.",
        "",
        "| rows × columns | formula and checks | tree | its figures, with standard errors "
        "| formula ÷ tree | predict |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    ratio = float("nan")
    for n, d in sizes:
        found = shares(n, d, rounds)
        formula, tree, figures, predict = map(readable, np.median(found, axis=0))
        ratio = float(np.median(found[:, 0] / found[:, 1]))
        lines.append(f"| {n:,} × {d} | {formula} | {tree} | {figures} | {ratio:.2f} | {predict} |")
    bar = Bar("1,000,000 × 10, formula and checks: times the fit of the tree", ratio, most=1)
    return lines, [] if small else [bar]
