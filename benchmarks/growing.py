"""What the grower adds to the time of the learners that it asks, node by node."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import crank
from benchmarks import samples
from benchmarks.timing import Bar, readable
from crank.plugins.nodewise import NodeWiseSplitter
from crank.plugins.registry import get_learner
from crank.plugins.standardise import StandardisedSplitter

DEPTH, LEAF = 5, 20


class Clock:
    """Wall seconds spent inside some functions."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._inside = False

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Count the time of a function's calls; one that another one makes is not counted twice."""

        def timed(*given: Any, **named: Any) -> Any:
            if self._inside:
                return function(*given, **named)
            self._inside, start = True, time.perf_counter()
            try:
                return function(*given, **named)
            finally:
                self.seconds += time.perf_counter() - start
                self._inside = False

        return timed


@contextmanager
def patched(by: Clock | Callable[..., Any], *places: tuple[Any, str]) -> Iterator[None]:
    """Put a clock around functions of classes or modules, or another in their place, a while."""
    originals = [(owner, name, getattr(owner, name)) for owner, name in places]
    for owner, name, function in originals:
        setattr(owner, name, by.around(function) if isinstance(by, Clock) else by)
    try:
        yield
    finally:
        for owner, name, function in originals:
            setattr(owner, name, function)


def shares(learner: str, n: int, d: int, rounds: int) -> list[tuple[float, float]]:
    """Time whole fits, and in them the learner: preparing, fitting, decision values."""
    X, y = samples.plain(n, d)
    kind = type(get_learner(learner))
    places: list[tuple[Any, str]] = [(kind, "prepare")]
    if learner == "logistic":
        places += [(StandardisedSplitter, verb) for verb in ("gather", "fit", "decide")]
    else:
        places += [(NodeWiseSplitter, verb) for verb in ("fit", "decide")]
    found = []
    for _ in range(rounds + 1):
        own, start = Clock(), time.perf_counter()
        with patched(own, *places):
            crank.RankingTree(learner, max_depth=DEPTH, min_samples_leaf=LEAF).fit(X, y)
        found.append((time.perf_counter() - start, own.seconds))
    return found[1:]


def peers_fits(n: int, d: int, rounds: int) -> list[float]:
    """Time scikit-learn's LogisticRegression alone, on the rows and labels of the same nodes."""
    from sklearn.linear_model import LogisticRegression

    X, y = samples.plain(n, d)
    tasks: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    fit = StandardisedSplitter.fit

    def noted(self: Any, Z: np.ndarray, label: np.ndarray, weight: np.ndarray, rng: Any) -> Any:
        tasks.append((Z, label, weight))
        return fit(self, Z, label, weight, rng)

    with patched(noted, (StandardisedSplitter, "fit")):
        crank.RankingTree("logistic", max_depth=DEPTH, min_samples_leaf=LEAF).fit(X, y)
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        for rows, label, weight in tasks:
            LogisticRegression().fit(rows, label, sample_weight=weight)
        seconds.append(time.perf_counter() - start)
    return seconds


def report(small: bool) -> tuple[list[str], list[Bar]]:
    n, d, rounds = (500, 4, 1) if small else (100_000, 20, 7)
    lines = [
        "## The grower beside its learners",
        "",
        f"Trees of depth {DEPTH} on {n:,} × {d}, one thread for nodes. The learner's own time is "
        "that of preparing the columns (logistic: standardising rows, too), of its fits and of its "
        "decision values; all else is put down to the grower: input checks, sorting y, scores, "
        "order and gathering of rows, sides, summaries.",
        "",
        "| learner | whole tree | learner's own | the grower adds |",
        "|---|---:|---:|---:|",
    ]
    bars = []
    for learner in ("logistic", "lightgbm"):
        found = shares(learner, n, d, 1 if small else rounds if learner == "logistic" else 3)
        added = float(np.median([whole / own - 1.0 for whole, own in found]))
        whole, own = np.median(np.array(found), axis=0)
        lines.append(f"| {learner} | {readable(whole)} | {readable(own)} | {100 * added:.1f}% |")
        bars.append(Bar(f"the grower adds to {learner}: share of its time", added, most=0.1))
        if learner == "logistic":
            alone = float(np.median(peers_fits(n, d, 1 if small else 3)))
            peer = f"| LogisticRegression alone, on the same nodes | | {readable(alone)} | |"
    lines.append(peer)
    return lines, [] if small else bars
