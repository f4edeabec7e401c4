"""Scoring files and single rows: against what a pandas user would write, and against a dict.

``python -m benchmarks.scoring``: ``crank score`` of a CSV file, which writes scores too, against
``pandas.read_csv`` and ``predict``, in turns, as commands from start to end and within one process;
one row of a data frame against the same row as a dict. Ratios of processor time stand beside those
of the clock: they depend less on what else a machine does.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

import crank
from benchmarks.timing import Bar, Task, Times, bar_table, middle, race
from crank.scoring import file_scorer, score_file
from crank.serve import Scorer

PANDAS, WRITTEN = "pandas.read_csv + predict", "pandas.read_csv + predict + to_csv"
CRANK, GRAPH = "crank score m.json", "crank score m.onnx"


def sample(n: int, texts: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{j}": rng.normal(size=n) for j in range(8)})
    for j in range(texts):
        frame[f"g{j}"] = rng.choice(["low", "middle", "high"], n)
    frame["y"] = frame["x0"] + frame["x1"] * frame["x2"] + 0.3 * rng.normal(size=n)
    if texts:
        frame["y"] += frame["g0"] == "high"
    return frame


def files(n: int, texts: int, rounds: int) -> tuple[str, dict[str, Times]]:
    """Score a CSV file in three ways, which must agree."""
    model = crank.fit(sample(2_000, texts), "y ~ .", max_depth=8, criterion="kendall", prune=None)
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder) / "rows.csv", Path(folder) / "scores.csv"
        sample(n, texts).drop(columns="y").to_csv(data, index=False)
        model.to_json(Path(folder) / "m.json")
        model.to_onnx(Path(folder) / "m.onnx")
        scorers = {
            CRANK: file_scorer(Path(folder) / "m.json"),
            GRAPH: file_scorer(Path(folder) / "m.onnx"),
        }

        def by_pandas() -> object:
            return model.predict(pd.read_csv(data))

        def written() -> None:
            pd.DataFrame({"score": by_pandas()}).to_csv(out, index=False)

        written()
        wanted = pd.read_csv(out)
        tasks: dict[str, Task] = {PANDAS: by_pandas, WRITTEN: written}
        for name, scorer in scorers.items():
            tasks[name] = partial(score_file, scorer, data, out, show=False)
            tasks[name]()
            pd.testing.assert_frame_equal(pd.read_csv(out), wanted)
        found = race(tasks, rounds)
    return f"{n:,} rows, 8 numbers, {texts} texts", found


BY_HAND = "import sys, crank, pandas; crank.load(sys.argv[1]).predict(pandas.read_csv(sys.argv[2]))"


def commands(n: int, rounds: int) -> tuple[str, dict[str, Times]]:
    """Score a CSV file of numbers by commands, from their start to their end."""
    model = crank.fit(sample(2_000, 0), "y ~ .", max_depth=8, criterion="kendall", prune=None)
    with tempfile.TemporaryDirectory() as folder:
        names = ("m.json", "m.onnx", "rows.csv", "scores.csv")
        stored, graph, data, out = (str(Path(folder) / name) for name in names)
        sample(n, 0).drop(columns="y").to_csv(data, index=False)
        model.to_json(stored)
        model.to_onnx(graph)
        score = [str(Path(sys.executable).with_name("crank")), "score"]
        lines = {
            PANDAS: [sys.executable, "-c", BY_HAND, stored, data],
            CRANK: [*score, stored, data, "-o", out],
            GRAPH: [*score, graph, data, "-o", out],
        }
        tasks: dict[str, Task] = {
            name: partial(subprocess.run, line, check=True, capture_output=True)
            for name, line in lines.items()
        }
        return f"{n:,} rows, 8 numbers, as commands", race(tasks, rounds)


def rows(rounds: int, inner: int) -> tuple[str, dict[str, Times]]:
    """Score one row as a dict and as a data frame, without and with two texts."""
    tasks: dict[str, Task] = {}
    for texts, of in ((0, "numbers"), (2, "with texts")):
        frame = sample(2_000, texts)
        scorer = Scorer(crank.fit(frame, "y ~ .", max_depth=8, prune=None).to_onnx() or b"")
        row = frame[list(scorer.columns)][:1].copy()
        single = row.to_dict("records")[0]
        assert scorer(single) == scorer(row)
        tasks[f"dict, {of}"] = partial(scorer, single)
        tasks[f"data frame, {of}"] = partial(scorer, row)
    return "one row", race(tasks, rounds, inner)


def table(found: list[tuple[str, dict[str, Times]]]) -> Iterator[str]:
    yield "| what | way | wall | CPU | wall ÷ the first way's | CPU ÷ |"
    yield "|---|---|---:|---:|---:|---:|"
    for what, times in found:
        first = next(iter(times.values()))
        for name, own in times.items():
            wall, cpu = own.over(first)
            shown = f"{middle(own.wall)} | {middle(own.cpu)} | {wall:.2f} | {cpu:.2f}"
            yield f"| {what} | {name} | {shown} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    n, rounds = options.rows, options.rounds
    csv = [commands(n, rounds), commands(5 * n, max(1, rounds // 2))]
    csv += [files(n, texts, rounds) for texts in (0, 2)]
    single = rows(5 * rounds, 200)
    print("\n".join(table([*csv, single])))
    bars = [
        Bar(f"{what}, {name}: time over that of pandas", times[name].over(times[PANDAS])[0], most=1)
        for what, times in csv
        for name in (CRANK, GRAPH)
    ]
    for name, peer, most in (
        ("data frame, numbers", "dict, numbers", 3),
        ("data frame, with texts", "dict, with texts", 3),
        ("dict, with texts", "dict, numbers", 2),
    ):
        ratio = single[1][name].over(single[1][peer])[0]
        bars.append(Bar(f"one row, {name}: time over that of {peer}", ratio, most=most))
    print("\n".join(bar_table(bars)))


if __name__ == "__main__":
    main()
