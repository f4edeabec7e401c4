"""Threads that share work: everything once, failures heard, nothing left hanging."""

import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from crank.kernels.threads import Threads

NEVER = 600
"""Seconds. No result depends on them: they only end a test that would never end."""


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize("n_tasks", [0, 1, 2, 40])
def test_every_task_is_done_once(n_jobs: int, n_tasks: int) -> None:
    done: list[int] = []
    with Threads(n_jobs) as threads:
        for _ in range(3):
            done.clear()
            threads.run(done.append, ((k,) for k in range(n_tasks)))
            assert sorted(done) == list(range(n_tasks))


def test_the_caller_works_beside_the_others() -> None:
    together = threading.Barrier(3, timeout=NEVER)
    seen = set()

    def meet(_: int) -> None:
        seen.add(threading.current_thread())
        together.wait()

    with Threads(3) as threads:
        threads.run(meet, [(k,) for k in range(3)])
    assert threading.current_thread() in seen
    assert len(seen) == 3


class Task:
    """A task's argument; when the last one goes, nobody holds the tasks that were waiting."""


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_a_failure_is_heard_and_nothing_more_begun(n_jobs: int) -> None:
    begun: list[Any] = []
    done: list[Any] = []
    dropped = threading.Event()

    def tasks() -> Iterator[tuple[Any, ...]]:
        yield from ((k, None) for k in range(999))
        last = Task()
        weakref.finalize(last, dropped.set)
        yield 999, last

    def fail(k: int, _: object) -> None:
        begun.append(k)
        if k == 3:
            raise IndexError("no such row")
        # whoever has begun another by now waits, so as not to outrun the failure
        assert k < 3 or dropped.wait(NEVER)

    with Threads(n_jobs) as threads:
        with pytest.raises(IndexError, match="no such row"):
            threads.run(fail, tasks())
        threads.run(done.append, [(1,), (2,)])  # it goes on serving
    assert sorted(done) == [1, 2]
    assert sorted(begun) == list(range(len(begun)))
    assert 4 <= len(begun) <= 3 + n_jobs


def test_two_callers_do_not_wait_for_each_other() -> None:
    release, inside = threading.Event(), threading.Event()
    threads = Threads(2)

    def hold(_: int) -> None:
        inside.set()
        release.wait(NEVER)

    slow = threading.Thread(target=threads.run, args=(hold, [(1,), (2,)]))
    slow.start()
    assert inside.wait(NEVER)
    done: list[int] = []
    threads.run(done.append, [(1,), (2,)])
    assert sorted(done) == [1, 2]
    release.set()
    slow.join(NEVER)
    threads.close()
    assert not slow.is_alive()
