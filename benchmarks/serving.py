"""A depth-8 stump tree served by ONNX Runtime, against ``predict`` of scikit-learn's tree."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnxruntime
import pandas as pd
from sklearn.tree import DecisionTreeRegressor

import crank
from benchmarks.timing import Bar, Task, Times, middle, race
from crank.serve import Scorer

COLUMNS = 10
DEPTH = 8
ARRAY, FRAME = "DecisionTreeRegressor, array", "DecisionTreeRegressor, data frame"
BARE_MATRIX, BARE_COLUMNS = "ONNX Runtime, matrix", "ONNX Runtime, columns"
MATRIX, VALUES, DATA = "Scorer, matrix", "Scorer, columns", "Scorer, data frame"


def sample(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, COLUMNS)), columns=[f"x{j}" for j in range(COLUMNS)])
    frame["y"] = np.sin(2 * frame["x0"]) + frame["x1"] * frame["x2"] + rng.normal(size=n)
    return frame


def bare(content: bytes) -> onnxruntime.InferenceSession:
    """Open a file as a team without crank would, with the runtime's own settings."""
    return onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])


def tasks_for(n: int, train: int) -> dict[str, Task]:
    """Score the same rows in every way; the first two are scikit-learn's."""
    known = sample(train)
    model = crank.fit(known, "y ~ .", criterion="kendall", max_depth=DEPTH, prune=None)
    names = [name for name in known.columns if name != "y"]
    peer = DecisionTreeRegressor(max_depth=DEPTH).fit(known[names].to_numpy(), known["y"])
    framed = DecisionTreeRegressor(max_depth=DEPTH).fit(known[names], known["y"])
    rows = sample(n)[names]
    X = np.ascontiguousarray(rows.to_numpy())
    by_column, by_matrix = model.to_onnx(), model.to_onnx(form="matrix")
    columns, matrix = Scorer(by_column), Scorer(by_matrix)
    used = list(columns.columns)
    values = rows.iloc[0].to_dict() if n == 1 else {c: rows[c].to_numpy() for c in used}
    session, whole, feeds = bare(by_column), bare(by_matrix), columns.feeds(rows)
    tasks: dict[str, Task] = {
        BARE_MATRIX: lambda: whole.run(["score"], {"X": X})[0],
        BARE_COLUMNS: lambda: session.run(["score"], feeds)[0],
        MATRIX: lambda: matrix(X),
        VALUES: lambda: columns(values),
        DATA: lambda: columns(rows),
        "crank predict, data frame": lambda: model.predict(rows),
    }
    expected = model.predict(rows)
    assert all(np.array_equal(np.ravel(np.asarray(task())), expected) for task in tasks.values())
    return {ARRAY: lambda: peer.predict(X), FRAME: lambda: framed.predict(rows), **tasks}


def races(sizes: list[tuple[int, int, int]], train: int) -> Iterator[tuple[str, dict[str, Times]]]:
    """Race each way with scikit-learn's two for each (rows, rounds, calls timed together).

    One way at a time, because the runtime's threads go on spinning after a call.
    """
    for n, rounds, inner in sizes:
        tasks = tasks_for(n, train)
        peers = {name: tasks.pop(name) for name in (ARRAY, FRAME)}
        for name, task in tasks.items():
            yield f"{n:,}", race({name: task, **peers}, rounds, inner)


def table(found: list[tuple[str, dict[str, Times]]]) -> Iterator[str]:
    yield "| rows | way | a call | CPU | ÷ scikit-learn, array | ÷ scikit-learn, data frame |"
    yield "|---:|---|---:|---:|---:|---:|"
    for rows, times in found:
        name, ours = next(iter(times.items()))
        ratios = " | ".join(f"{ours.over(times[peer])[0]:.3f}" for peer in (ARRAY, FRAME))
        yield f"| {rows} | {name} | {middle(ours.wall)} | {middle(ours.cpu)} | {ratios} |"


def promises(found: list[tuple[str, dict[str, Times]]]) -> Iterator[Bar]:
    """Compare with what crank promises: the time of a way over that of a peer, wall."""
    for rows, name, peer, most in (
        ("1", BARE_MATRIX, ARRAY, 0.1),
        ("1", VALUES, ARRAY, 0.1),
        ("1", BARE_COLUMNS, ARRAY, 0.1),
        ("1", BARE_COLUMNS, FRAME, 0.1),
        ("100,000", BARE_MATRIX, ARRAY, 1),
        ("100,000", BARE_COLUMNS, ARRAY, 1),
        ("100,000", BARE_COLUMNS, FRAME, 1),
        ("100,000", VALUES, FRAME, 1),
        ("100,000", DATA, FRAME, 1),
    ):
        times = next(times for where, times in found if where == rows and name in times)
        wall, _ = times[name].over(times[peer])
        yield Bar(f"depth-8 stumps, rows: {rows}, {name}: times {peer}", wall, most=most)


def report(small: bool) -> tuple[list[str], list[Bar]]:
    if small:
        found = list(races([(1, 1, 2), (50, 1, 1)], 500))
    else:
        found = list(races([(1, 31, 200), (100, 21, 50), (100_000, 31, 1)], 20_000))
    text = [
        "## Serving",
        "",
        f"A tree of depth {DEPTH} on {COLUMNS} columns, with onnxruntime "
        f"{onnxruntime.__version__}. ONNX Runtime alone has its own settings, all cores among "
        "them, and tensors that were made before. `Scorer` makes them from a dict of columns (of "
        "plain values for one row), from a data frame, or takes the matrix. **Here a ratio below 1 "
        "means that crank is faster.**",
        "",
        *table(found),
    ]
    return text, [] if small else list(promises(found))
