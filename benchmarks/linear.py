"""Readable rankers: the linear one against scikit-learn's logistic regression; the additive one."""

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
        "crank.linear": lambda: crank.linear(frame, "y ~ ."),
    }


def curves(n: int, d: int) -> dict[str, Callable[[], object]]:
    """Fit curves and what pairs they need, at the defaults; three curves and a product are true."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] + X[:, 2] ** 2 / 2.0 + 0.7 * X[:, 0] * X[:, 3]
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(d)])
    frame["y"] = y + rng.logistic(size=n)
    return {"crank.additive": lambda: crank.additive(frame, "y ~ .")}


def report(small: bool) -> tuple[list[str], list[Bar]]:
    n, d = (500, 4) if small else (1_000_000, 10)
    times = race(tasks(n, d), 1 if small else 5)
    lines = [
        "## Linear rankers",
        "",
        f"{n:,} rows, {d} columns. RankingLinear takes the matrix, as its peer does, and gives "
        "standard errors too. crank.linear begins with a formula and a data frame and ends with "
        "training and, unless cv=None, cross-validated figures and their standard errors, which no "
        "peer has.",
        "",
        "| | wall | CPU | wall ÷ peer's | CPU ÷ peer's |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, each in times.items():
        wall, cpu = each.over(times[PEER])
        shown = f"{middle(each.wall)} | {middle(each.cpu)} | {wall:.2f} | {cpu:.2f}"
        lines.append(f"| {name} | {shown} |")
    n_curves, d_curves = (300, 4) if small else (100_000, 20)
    additive = race(curves(n_curves, d_curves), 1, warm=False)["crank.additive"]
    lines += [
        "",
        f"crank.additive at its defaults, pairs and cross-validated figures included, on "
        f"{n_curves:,} rows of {d_curves} columns: {middle(additive.wall)} "
        f"(CPU {middle(additive.cpu)}).",
    ]
    ratio = times["RankingLinear"].over(times[PEER])[0]
    bars = [
        Bar(f"{n:,} × {d}: a linear ranker, times LogisticRegression", ratio, most=1.5),
        Bar(
            f"{n_curves:,} × {d_curves}: an additive ranker with pairs, seconds",
            float(additive.wall[0]),
            most=60.0,
        ),
    ]
    return lines, [] if small else bars
