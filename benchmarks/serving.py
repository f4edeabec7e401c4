"""A depth-8 stump tree in ONNX Runtime against scikit-learn's tree, interleaved in one process.

Run ``python benchmarks/serving.py``; it writes a Markdown table of best times and ratios, to
scikit-learn on an array and on a data frame: the first is the peer of a matrix, the second of named
columns. It uses one thread whatever there is. ``--rows 1000 --repeat 2`` for a quick look.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable, Iterator

import numpy as np
import onnxruntime
import pandas as pd
import sklearn
from sklearn.tree import DecisionTreeRegressor

import crank
from crank.serve import Scorer

Task = Callable[[], object]
COLUMNS = 10
DEPTH = 8
ALL_CORES = 0  # ONNX Runtime's default
ARRAY, FRAME = "scikit-learn, array", "scikit-learn, data frame"


def timed(tasks: dict[str, Task], repeat: int, inner: int) -> dict[str, float]:
    """Best wall seconds of one call; the tasks take turns."""
    best = dict.fromkeys(tasks, np.inf)
    for task in tasks.values():
        task()
    for _ in range(repeat):
        for name, task in tasks.items():
            start = time.perf_counter()
            for _ in range(inner):
                task()
            best[name] = min(best[name], (time.perf_counter() - start) / inner)
    return best


def sample(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, COLUMNS)), columns=[f"x{j}" for j in range(COLUMNS)])
    frame["y"] = np.sin(2 * frame["x0"]) + frame["x1"] * frame["x2"] + rng.normal(size=n)
    return frame


def tasks_for(n: int) -> dict[str, Task]:
    train = sample(20_000)
    model = crank.fit(train, "y ~ .", criterion="kendall", max_depth=DEPTH, prune=None)
    names = [name for name in train.columns if name != "y"]
    peer = DecisionTreeRegressor(max_depth=DEPTH).fit(train[names].to_numpy(), train["y"])
    framed = DecisionTreeRegressor(max_depth=DEPTH).fit(train[names], train["y"])
    rows = sample(n)[names]
    X = np.ascontiguousarray(rows.to_numpy())
    columns, matrix = Scorer(model.to_onnx()), Scorer(model.to_onnx(form="matrix"))
    columns_all = Scorer(model.to_onnx(), threads=ALL_CORES)
    matrix_all = Scorer(model.to_onnx(form="matrix"), threads=ALL_CORES)
    feeds = columns.feeds(rows)
    plain = rows.iloc[0].to_dict() if n == 1 else {c: rows[c].to_numpy() for c in names}
    expected = model.predict(rows)
    for got in (columns(rows), columns_all(rows), matrix(X), matrix_all(X)):
        assert np.array_equal(got, expected)
    return {
        ARRAY: lambda: peer.predict(X),
        FRAME: lambda: framed.predict(rows),
        "ONNX Runtime, matrix, 1 thread": lambda: matrix.session.run(["score"], {"X": X}),
        "ONNX Runtime, matrix, all cores": lambda: matrix_all.session.run(["score"], {"X": X}),
        "ONNX Runtime, columns, 1 thread": lambda: columns.session.run(["score"], feeds),
        "ONNX Runtime, columns, all cores": lambda: columns_all.session.run(["score"], feeds),
        "Scorer, matrix": lambda: matrix(X),
        "Scorer, dict": lambda: columns(plain),
        "Scorer, data frame": lambda: columns(rows),
        "crank predict, data frame": lambda: model.predict(rows),
    }


def table(sizes: list[int], repeat: int) -> Iterator[str]:
    yield "| rows | path | µs a call | ÷ scikit-learn, array | ÷ scikit-learn, data frame |"
    yield "|---:|---|---:|---:|---:|"
    for n in sizes:
        best = timed(tasks_for(n), repeat, inner=max(1, 200 // (n + 1)))
        for name, seconds in best.items():
            ratios = " | ".join(f"{seconds / best[peer]:.3f}" for peer in (ARRAY, FRAME))
            yield f"| {n:,} | {name} | {1e6 * seconds:,.1f} | {ratios} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=60)
    options = parser.parse_args()
    print(
        f"Python {platform.python_version()}, onnxruntime {onnxruntime.__version__}, "
        f"scikit-learn {sklearn.__version__}, {platform.machine()}\n"
    )
    for line in table([1, 100, options.rows], options.repeat):
        print(line)


if __name__ == "__main__":
    main()
