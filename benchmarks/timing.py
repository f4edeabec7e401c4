"""Contestants take turns; what counts is the ratio of times within a turn."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

Task = Callable[[], object]


@dataclass(frozen=True)
class Times:
    """Seconds of one contestant, an entry a round."""

    wall: np.ndarray
    cpu: np.ndarray

    def over(self, other: Times) -> tuple[float, float]:
        """Ratio to another contestant, wall and CPU: its median over the rounds that both ran.

        Contestants timed elsewhere, with other rounds, are compared by their medians.
        """
        if len(self.wall) == len(other.wall):
            wall, cpu = self.wall / other.wall, self.cpu / other.cpu
            return float(np.median(wall)), float(np.median(cpu))
        return (
            float(np.median(self.wall) / np.median(other.wall)),
            float(np.median(self.cpu) / np.median(other.cpu)),
        )


def cpu_seconds() -> float:
    """CPU time of the process, its threads and the children that have ended.

    Windows does not tell what children took.
    """
    try:
        from resource import RUSAGE_CHILDREN, getrusage
    except ImportError:
        return time.process_time()
    children = getrusage(RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def race(
    tasks: Mapping[str, Task], rounds: int, inner: int = 1, warm: bool = True
) -> dict[str, Times]:
    """Time contestants in turns, each round starting with another one.

    Parameters
    ----------
    tasks : mapping
        Calls without arguments, by name.
    rounds : int
    inner : int
        Calls that are timed together, for tasks of microseconds.
    warm : bool
        Whether each task is called once before the clock runs.
    """
    names = list(tasks)
    wall = np.empty((len(names), rounds))
    cpu = np.empty((len(names), rounds))
    if warm:
        for task in tasks.values():
            task()
    for turn in range(rounds):
        for at in range(len(names)):
            i = (at + turn) % len(names)
            task = tasks[names[i]]
            before, start = cpu_seconds(), time.perf_counter()
            for _ in range(inner):
                task()
            wall[i, turn] = (time.perf_counter() - start) / inner
            cpu[i, turn] = (cpu_seconds() - before) / inner
    return {name: Times(wall[i], cpu[i]) for i, name in enumerate(names)}


def readable(seconds: float) -> str:
    """Write a time with three digits and a fitting unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def ratio_table(
    what: str, results: Iterable[tuple[str, dict[str, Times]]], ours: str = "crank"
) -> list[str]:
    """Lay races out as a Markdown table; a ratio above 1 means that crank is faster.

    Parameters
    ----------
    what : str
        Heading of the first column.
    results : iterable of (label, times)
    ours : str
        The contestant that the others are measured against.
    """
    lines = [
        f"| {what} | against | crank | peer | wall ÷ crank's | crank, CPU | peer, CPU | CPU ÷ |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for label, times in results:
        our = times[ours]
        for name, peer in times.items():
            if name != ours:
                wall, cpu = peer.over(our)
                lines.append(
                    f"| {label} | {name} | {middle(our.wall)} | {middle(peer.wall)} | {wall:.2f} "
                    f"| {middle(our.cpu)} | {middle(peer.cpu)} | {cpu:.2f} |"
                )
    return lines


def middle(seconds: np.ndarray) -> str:
    """Write the median of some times."""
    return readable(float(np.median(seconds)))


@dataclass(frozen=True)
class Bar:
    """A promise about speed and what was measured: at least, or at most, so much."""

    promise: str
    measured: float
    least: float | None = None
    most: float | None = None

    @property
    def met(self) -> bool:
        """Whether the promise was kept in this run."""
        if self.least is not None and not self.measured >= self.least:
            return False
        return self.most is None or self.measured <= self.most


def bar_table(bars: Iterable[Bar]) -> list[str]:
    """Lay promises out as a Markdown table."""
    lines = ["| promise | asked | measured | |", "|---|---:|---:|---|"]
    for bar in bars:
        asked = f"≥ {bar.least:g}" if bar.least is not None else f"≤ {bar.most:g}"
        verdict = "met" if bar.met else "**missed**"
        lines.append(f"| {bar.promise} | {asked} | {bar.measured:.3g} | {verdict} |")
    return lines


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
