"""Threads that share work: made when first needed, for as long as one fit or one scorer."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from types import TracebackType
from typing import Self


class Threads:
    """A pool of threads; the one who calls it works too, and a forked process makes its own.

    Parameters
    ----------
    n_jobs : int
        Number of threads, the caller's among them.

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
        self._process = 0

    def run(self, function: Callable[..., object], tasks: Iterable[tuple[object, ...]]) -> None:
        """Call a function with each tuple of arguments; return when all calls have."""
        waiting = deque(tasks)
        helpers = min(self.n_jobs, len(waiting)) - 1
        if helpers < 1:
            _work_off(function, waiting)
            return
        pool = self._helpers()
        job = [(function, waiting)]
        helped = [pool.submit(_help, job) for _ in range(helpers)]
        try:
            _work_off(function, waiting)
            for future in helped:
                if not future.cancel():  # it has begun
                    future.result()
        finally:
            job.clear()  # a thread that comes too late should not keep our arrays alive

    def _helpers(self) -> ThreadPoolExecutor:
        if self._pool is None or self._process != os.getpid():
            self._pool = ThreadPoolExecutor(self.n_jobs - 1, thread_name_prefix="crank")
            self._process = os.getpid()
        return self._pool

    def chunks(self, n: int, least: int = 1) -> list[tuple[int, int]]:
        """Cut 0..n into about four ranges a thread, each of at least ``least``."""
        if n == 0:
            return []
        parts = min(4 * self.n_jobs, max(1, n // least)) if self.n_jobs > 1 else 1
        return list(pairwise(n * k // parts for k in range(parts + 1)))

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


def count(n_jobs: int) -> int:
    """Return a number of threads, −1 meaning one for each core."""
    return _cores() if n_jobs == -1 else int(n_jobs)


@cache  # asking the system takes as long as sorting a small column
def _cores() -> int:
    return os.cpu_count() or 1


def _help(job: list[tuple[Callable[..., object], deque[tuple[object, ...]]]]) -> None:
    for function, waiting in job:
        _work_off(function, waiting)


def _work_off(function: Callable[..., object], waiting: deque[tuple[object, ...]]) -> None:
    """Do tasks until none is waiting; after a failure, nobody begins another."""
    while waiting:
        try:
            task = waiting.popleft()
        except IndexError:  # another thread was quicker
            return
        try:
            function(*task)
        except BaseException:
            waiting.clear()
            raise
