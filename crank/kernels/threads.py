"""Threads for one fit: made when first needed, closed when the fit ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import Self

import numpy as np


class Threads:
    """A pool that lives as long as one fit; a pool kept in a module would hang after a fork.

    Parameters
    ----------
    n_jobs : int
        Number of threads; with 1, work is done by the caller.

    Examples
    --------
    >>> with Threads(2) as threads:
    ...     done = []
    ...     threads.run(done.append, [(1,), (2,)])
    >>> sorted(done)
    [1, 2]
    """

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        self._pool: ThreadPoolExecutor | None = None

    def run(self, function: Callable[..., object], tasks: Iterable[tuple[object, ...]]) -> None:
        """Call a function with each tuple of arguments; return when all calls have."""
        tasks = list(tasks)
        if self.n_jobs == 1 or len(tasks) < 2:
            for task in tasks:
                function(*task)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.n_jobs, thread_name_prefix="crank")
        for future in [self._pool.submit(function, *task) for task in tasks]:
            future.result()

    def chunks(self, n: int, least: int = 1) -> list[tuple[int, int]]:
        """Cut 0..n into about four ranges a thread, each of at least ``least``."""
        if n == 0:
            return []
        parts = min(4 * self.n_jobs, max(1, n // least)) if self.n_jobs > 1 else 1
        edges = np.linspace(0, n, parts + 1).astype(int).tolist()
        return list(pairwise(edges))

    def close(self) -> None:
        """End the threads; what an interrupt left waiting is not begun."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
