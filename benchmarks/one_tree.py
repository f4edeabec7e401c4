"""One tree from an array, end to end: input checks, binning or sorting, growing."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import crank
from benchmarks import samples
from benchmarks.timing import Bar, Task, Times, cores, race, ratio_table

LEAF = 20


def contestants(
    X: np.ndarray, y: np.ndarray, depth: int, criterion: str = "crank"
) -> dict[str, Task]:
    """Build the same size of tree with every package, on all cores that it can use."""
    import lightgbm
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.tree import DecisionTreeRegressor

    leaves = 2**depth

    def ours() -> object:
        tree = crank.RankingTree(
            criterion=criterion, max_depth=depth, min_samples_leaf=LEAF, n_jobs=-1
        )
        return tree.fit(X, y)

    def regressor() -> object:
        return DecisionTreeRegressor(max_depth=depth, min_samples_leaf=LEAF).fit(X, y)

    def boosting() -> object:
        one = HistGradientBoostingRegressor(
            max_iter=1,
            max_leaf_nodes=leaves,
            max_depth=depth,
            min_samples_leaf=LEAF,
            early_stopping=False,
        )
        return one.fit(X, y)

    def gbm() -> object:
        settings = {
            "objective": "regression",
            "num_leaves": leaves,
            "max_depth": depth,
            "min_data_in_leaf": LEAF,
            "num_threads": cores(),
            "verbose": -1,
        }
        return lightgbm.train(settings, lightgbm.Dataset(X, y), num_boost_round=1)

    return {
        "crank": ours,
        "DecisionTreeRegressor": regressor,
        "LightGBM": gbm,
        "HistGradientBoosting": boosting,
    }


def races(sizes: list[tuple[int, int, int, int]]) -> Iterator[tuple[str, dict[str, Times]]]:
    """Race crank with one peer at a time for each (rows, columns, depth, rounds).

    In pairs, because threads of LightGBM and scikit-learn go on spinning after their turn and
    would slow whoever comes next.
    """
    for n, d, depth, rounds in sizes:
        for kind, draw in (("continuous", samples.plain), ("mixed", samples.mixed)):
            X, y = draw(n, d)
            large = X.size >= 10_000_000
            tasks = contestants(X, y, depth)
            ours = tasks.pop("crank")
            times: dict[str, Times] = {}
            for name, peer in tasks.items():
                # by then the smaller sizes have warmed everything up
                times = race({"crank": ours, name: peer}, rounds, warm=not large)
                yield f"{n:,} × {d}, depth {depth}, {kind}", times
            if not large and (rpart := time_rpart(X, y, depth, min(rounds, 5))) is not None:
                alone = {"crank": times["crank"], "rpart (R, own process)": rpart}
                yield f"{n:,} × {d}, depth {depth}, {kind}", alone
            if large:
                break


def criteria(n: int, d: int, rounds: int) -> Iterator[tuple[str, dict[str, Times]]]:
    """Race the criteria against each other."""
    X, y = samples.plain(n, d)
    tasks = {
        "crank" if name == "crank" else f"crank, {name}": contestants(X, y, 6, name)["crank"]
        for name in ("crank", "kendall", "iauc", "spearman")
    }
    yield f"{n:,} × {d}, depth 6", race(tasks, rounds)


RPART = """
given <- commandArgs(trailingOnly = TRUE)
n <- as.integer(given[2]); d <- as.integer(given[3]); depth <- as.integer(given[4])
values <- readBin(given[1], "double", n * (d + 1))
data <- as.data.frame(matrix(values, n))
names(data) <- c("y", paste0("x", seq_len(d)))
suppressPackageStartupMessages(library(rpart))
for (round in seq_len(as.integer(given[5]))) {
  used <- system.time(rpart(y ~ ., data, control = rpart.control(
    maxdepth = depth, minbucket = 20, minsplit = 40, cp = 0, xval = 0,
    maxsurrogate = 0, maxcompete = 0)))
  cat(used[["elapsed"]], used[["user.self"]] + used[["sys.self"]], "\\n")
}
"""


def time_rpart(X: np.ndarray, y: np.ndarray, depth: int, rounds: int) -> Times | None:
    """Time rpart inside R; None where it is not installed."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        script, data = Path(folder) / "rpart.R", Path(folder) / "data.bin"
        script.write_text(RPART)
        np.column_stack([y, X]).T.tofile(data)
        command = [
            "Rscript",
            str(script),
            str(data),
            *map(str, (len(y), X.shape[1], depth, rounds)),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return None
    wall, cpu = np.array([line.split() for line in done.stdout.splitlines()], dtype=float).T
    return Times(wall, np.maximum(cpu, 1e-3))


def report(small: bool) -> tuple[list[str], list[Bar]]:
    if small:
        sizes, many = [(500, 4, 3, 1)], (500, 1)
    else:
        sizes = [(1_000, 10, 4, 51), (100_000, 20, 6, 9), (1_000_000, 50, 6, 3)]
        many = (100_000, 7)
    found = list(races(sizes))
    lines = [
        "## One tree",
        "",
        "`crank.RankingTree` on an array against one tree of each peer, as many leaves allowed, "
        f"at least {LEAF} rows in each. Input checks are included, and LightGBM's `Dataset`.",
        "",
        *ratio_table("rows × columns", found),
        "",
        "The criteria of crank:",
        "",
        *ratio_table("rows × columns", criteria(many[0], 20 if not small else 4, many[1])),
    ]
    return lines, [] if small else list(promises(found))


def promises(found: list[tuple[str, dict[str, Times]]]) -> Iterator[Bar]:
    """Compare with what crank promises: times as fast as a peer, wall."""
    for label, peer, least in (
        ("1,000 × 10, depth 4, continuous", "DecisionTreeRegressor", 1),
        ("100,000 × 20, depth 6, continuous", "LightGBM", 2),
        ("100,000 × 20, depth 6, continuous", "HistGradientBoosting", 2),
        ("1,000,000 × 50, depth 6, continuous", "LightGBM", 2),
        ("1,000,000 × 50, depth 6, continuous", "DecisionTreeRegressor", 10),
    ):
        times = next(times for where, times in found if where == label and peer in times)
        wall, _ = times[peer].over(times["crank"])
        yield Bar(f"one tree, {label}: times as fast as {peer}", wall, least=least)
