"""Threads that share work: everything once, failures heard, nothing left hanging."""

import threading

import pytest

from crank.kernels.threads import Threads


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize("n_tasks", [0, 1, 2, 40])
def test_every_task_is_done_once(n_jobs, n_tasks):
    done: list[int] = []
    with Threads(n_jobs) as threads:
        for _ in range(3):
            done.clear()
            threads.run(done.append, ((k,) for k in range(n_tasks)))
            assert sorted(done) == list(range(n_tasks))


def test_the_caller_works_beside_the_others():
    together = threading.Barrier(3, timeout=30)
    seen = set()

    def meet(_: int) -> None:
        seen.add(threading.current_thread())
        together.wait()

    with Threads(3) as threads:
        threads.run(meet, [(k,) for k in range(3)])
    assert threading.current_thread() in seen
    assert len(seen) == 3


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_failure_is_heard_and_nothing_more_begun(n_jobs):
    begun = []

    def fail(k: int) -> None:
        begun.append(k)
        if k == 3:
            raise IndexError("no such row")

    with Threads(n_jobs) as threads:
        with pytest.raises(IndexError, match="no such row"):
            threads.run(fail, [(k,) for k in range(1000)])
        assert len(begun) < 1000
        threads.run(fail, [(1,), (2,)])  # it goes on serving


def test_two_callers_do_not_wait_for_each_other():
    release, inside = threading.Event(), threading.Event()
    threads = Threads(2)

    def hold(_: int) -> None:
        inside.set()
        release.wait(30)

    slow = threading.Thread(target=threads.run, args=(hold, [(1,), (2,)]))
    slow.start()
    inside.wait(30)
    done: list[int] = []
    threads.run(done.append, [(1,), (2,)])
    assert sorted(done) == [1, 2]
    release.set()
    slow.join(30)
    threads.close()
    assert not slow.is_alive()
