"""The linear ranker on all pairs against scikit-learn's logistic regression on y > median."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import crank
from benchmarks.timing import Bar, middle, race
from crank import RankingLinear

PEER = "LogisticRegression, y > median"


def tasks(n: int, d: int) -> dict[str, Callable[[], object]]:
    """Fit the same matrix; the peer has one label a row, crank all pairs and standard errors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = X @ np.linspace(1.0, -0.5, d) + rng.logistic(size=n)
    above = y > np.median(y)
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(d)]).assign(y=y)
    return {
        PEER: lambda: LogisticRegression().fit(X, above),
        "RankingLinear": lambda: RankingLinear(penalty=0.0).fit(X, y),
        "crank.linear, cv=None": lambda: crank.linear(frame, "y ~ .", cv=None),
    }


def report(small: bool) -> tuple[list[str], list[Bar]]:
    n, d = (500, 4) if small else (1_000_000, 10)
    times = race(tasks(n, d), 1 if small else 5)
    lines = [
        "## Linear rankers",
        "",
        f"{n:,} rows, {d} columns. RankingLinear takes the matrix, as its peer does, and gives "
        "standard errors too. crank.linear begins with a formula and a data frame and ends with "
        "training figures and their standard errors, which no peer has.",
        "",
        "| | wall | CPU | wall ÷ peer's | CPU ÷ peer's |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, each in times.items():
        wall, cpu = each.over(times[PEER])
        shown = f"{middle(each.wall)} | {middle(each.cpu)} | {wall:.2f} | {cpu:.2f}"
        lines.append(f"| {name} | {shown} |")
    ratio = times["RankingLinear"].over(times[PEER])[0]
    promise = f"{n:,} × {d}: a linear ranker, times LogisticRegression"
    return lines, [] if small else [Bar(promise, ratio, most=1.5)]
