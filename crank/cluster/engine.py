"""The one verb of a distributed fit, the sum over partitions, and Dask behind it.

Tasks know their partition and their arguments and nothing else, and keep the recipe of the
partition: what a dying worker takes along is computed again, to the same bits.
"""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

from crank.errors import ClusterError, CrankError, DataError, require

FAN_IN = 8
"""Results that are added in one task."""

HELD = 0.2
"""Partitions are read once and kept if they take at most this share of the memory."""


SMALL = 2**22
"""Bytes of arguments that go with every task: others are sent once, which takes a task more."""

ACTIVE = (None, "distributed", "dask.distributed")
"""Settings of Dask's scheduler by which the active client works."""


class Cluster:
    """The partitions of a data frame, and where to work on them.

    Parameters
    ----------
    parts : sequence of Delayed
        One a partition.
    client : distributed.Client, optional
        By default Dask chooses: the active client if there is one.
    where : sequence of str, optional
        What to call the partitions in messages.
    """

    def __init__(
        self, parts: Sequence[Any], client: Any = None, where: Sequence[str] | None = None
    ) -> None:
        self.parts, self.client = list(parts), client
        self.where = list(where) if where is not None else names(len(self.parts))
        self.kept: list[Any] = []

    @classmethod
    def of(cls, frame: Any, columns: Sequence[str], client: Any = None) -> Cluster:
        """Take the partitions of a Dask data frame, with some of its columns."""
        require("dask", "dask")
        key = {str(name): name for name in frame.columns}
        parts = frame[[key[name] for name in columns]].to_delayed()
        return cls(parts, client)

    def gather(
        self, work: Callable[..., Any], *arguments: Any, each: Sequence[Any] | None = None
    ) -> list[Any]:
        """Return what the work gives for each partition; see `keep` for ``each``."""
        return list(self._run(self._tasks(work, arguments, each)))

    def sum(
        self, work: Callable[..., Any], *arguments: Any, each: Sequence[Any] | None = None
    ) -> Any:
        """Add up what the work gives for each partition; results know ``+``, see `keep`."""
        return self.sum_later(work, *arguments, each=each)()

    def sum_later(
        self, work: Callable[..., Any], *arguments: Any, each: Sequence[Any] | None = None
    ) -> Callable[[], Any]:
        """Begin such a sum, and return a function that waits for it."""
        wait = self._begin([_total(self._tasks(work, arguments, each))])
        return lambda: wait()[0]

    def sum_twice(
        self,
        first: Callable[..., Any],
        argument: Any,
        between: Callable[[Any, Any, Any], Any],
        shared: Any,
        second: Callable[..., Any],
        *others: Any,
    ) -> Callable[[], tuple[Any, ...]]:
        """Begin a sum and another one that needs it, without the client between them.

        The second one's work is ``second(part, between(sum, argument, shared), *others)``. What is
        returned waits for both sums. ``shared`` comes from `share`.
        """
        import dask

        counts = _total(self._tasks(first, (argument,)))
        own = self._sent((argument,))
        make = dask.delayed(_between, pure=False)
        made = make(between, counts, own, shared, dask_key_name=named(between))
        sums = _total(self._tasks(second, others, [made] * len(self.parts)))
        return self._begin([counts, sums])

    def share(self, value: Any) -> Any:
        """Send a value once for several passes; the scheduler keeps it, so it cannot be lost."""
        import dask

        held = dask.delayed((value,), pure=False, traverse=False)
        kept = self._persisted([dask.delayed(_same, pure=False)(held)])
        self.kept += kept
        return kept[0]

    def keep(
        self, work: Callable[..., Any], *arguments: Any, each: Sequence[Any] | None = None
    ) -> Cluster:
        """Put what the work makes of each partition in its place, in the workers' memory.

        ``each`` has an argument for every partition, which comes before the others.
        """
        kept = self._persisted(self._tasks(work, arguments, each))
        self.kept += kept
        found = Cluster(kept, self.client, self.where)
        found.kept = self.kept
        return found

    def assemble(
        self,
        work: Callable[..., Any],
        seeds: Sequence[int],
        argument: Any,
        join: Callable[[list[Any], int], Any],
    ) -> list[Any]:
        """Join, for each seed, what ``work(part, seed, argument)`` gives for all partitions."""
        import dask

        last, task = dask.delayed(_joined, pure=False), dask.delayed(_named, pure=False)
        shared = self._sent((argument,))
        joining = dask.delayed(join, pure=False, traverse=False)
        found = []
        for seed in seeds:
            own = zip(self.where, self.parts, strict=True)
            pieces = [
                task(where, work, part, (seed,), shared, dask_key_name=named(work))
                for where, part in own
            ]
            found.append(last(joining, pieces, seed))
        return list(self._run(found))

    @property
    def workers(self) -> int:
        """Number of workers; one if this process works."""
        client = self._client()
        return 1 if client is None else max(1, len(client.ncores()))

    def wait(self) -> None:
        """Wait until what is kept is there."""
        self.gather(_there)

    def release(self) -> None:
        """Let go of these partitions; what was made of them stays."""
        mine = {id(part) for part in self.parts}
        self.kept[:] = [part for part in self.kept if id(part) not in mine]
        self.parts = []

    def hold(self) -> Cluster:
        """Keep the partitions in memory if they are small beside it, so that they are read once.

        The first tells how large they are.
        """
        import dask
        from dask.sizeof import sizeof

        some = self.workers  # none is idle while the first is read
        first = self._persisted(self.parts[:some])
        (size,) = self._run([dask.delayed(sizeof, pure=False)(first[0])])
        if size * len(self.parts) > HELD * self._memory():
            return self
        held = Cluster([*first, *self._persisted(self.parts[some:])], self.client, self.where)
        self.kept += held.parts
        held.kept = self.kept
        return held

    def _persisted(self, tasks: Sequence[Any]) -> list[Any]:
        import dask

        if not tasks:  # a client has nothing to say about none
            return []
        with self._clear():
            return list(self.client.persist(tasks) if self.client else dask.persist(*tasks))

    def _client(self) -> Any:
        """Return the client that works: the one given, or the active one unless told otherwise."""
        import dask

        told = dask.config.get("scheduler", None)
        if self.client is None and "distributed" in sys.modules and told in ACTIVE:
            from distributed import Client

            with suppress(ValueError):
                return Client.current()
        return self.client

    def _memory(self) -> float:
        """Bytes that all workers may use, or that this machine has."""
        client = self._client()
        if client is not None:
            workers = client.scheduler_info(n_workers=-1)["workers"].values()
            return float(sum(worker["memory_limit"] for worker in workers))
        with suppress(AttributeError, ValueError, OSError):
            return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
        return 0.0

    def close(self) -> None:
        """Let go of all that was kept or begun; what nobody wants is no longer worked on.

        Without it a traceback that somebody holds would keep the workers busy. Dask's ``cancel``
        must not be used: it fails over tasks that only other tasks want, and takes the client's
        connection along, with all that its owner keeps on the cluster.
        """
        if "distributed" in sys.modules and self.kept:
            from distributed import futures_of

            for future in futures_of(self.kept):
                with suppress(Exception):  # the cluster may be gone
                    future.release()
        self.kept.clear()

    def _tasks(
        self,
        work: Callable[..., Any],
        arguments: Sequence[Any],
        each: Sequence[Any] | None = None,
    ) -> list[Any]:
        import dask

        task = dask.delayed(_named, pure=False)
        shared = self._sent(tuple(arguments))
        own = [()] * len(self.parts) if each is None else [(one,) for one in each]
        return [
            task(where, work, part, mine, shared, dask_key_name=named(work))
            for where, part, mine in zip(self.where, self.parts, own, strict=True)
        ]

    def _sent(self, arguments: tuple[Any, ...]) -> Any:
        """Write arguments as tasks take them: a part of the graph, so that they cannot be lost."""
        import cloudpickle  # as Dask does
        import dask

        written = cloudpickle.dumps(arguments)
        if len(written) * len(self.parts) <= SMALL:
            return written
        return dask.delayed(written, pure=False, traverse=False)

    def _run(self, tasks: list[Any]) -> tuple[Any, ...]:
        return self._begin(tasks)()

    def _begin(self, tasks: list[Any]) -> Callable[[], tuple[Any, ...]]:
        """Begin tasks, and return a function that waits for them; by no client, they are run."""
        import dask

        client = self._client()
        with self._clear():
            if client is None:
                found = dask.compute(*tasks)
                return lambda: found
            futures = client.compute(tasks)
        self.kept += futures  # `close` lets go of them if nobody waits

        def wait() -> tuple[Any, ...]:
            from distributed import as_completed

            with self._clear():
                # interrupted, `gather` would wait on by itself
                for _ in as_completed(futures, loop=client.loop):
                    pass
                found = tuple(client.gather(futures))
            self.kept[:] = [one for one in self.kept if not any(one is own for own in futures)]
            futures.clear()
            return found

        return wait

    @contextmanager
    def _clear(self) -> Iterator[None]:
        """Say what went wrong on the cluster, and in which partition."""
        try:
            with warnings.catch_warnings():
                # histograms travel with the graph on purpose, see `_tasks`
                warnings.filterwarnings("ignore", message="(?s).*large graph")
                yield
        except (CrankError, KeyboardInterrupt):
            raise
        except BaseException as error:  # a cancelled future is no Exception
            lost = cluster_failure(error)
            if lost is not None:
                raise lost from error
            if isinstance(error, Exception):
                self._blame(error)
            raise

    def _blame(self, error: Exception) -> None:
        """Find the partition that cannot be read, if it is that, and name it."""
        import dask

        for where, part in zip(self.where, self.parts, strict=True):
            task = dask.delayed(_there, pure=False)(part)
            try:
                task.compute() if self.client is None else self.client.compute(task, sync=True)
            except Exception as found:
                if cluster_failure(found) is None:
                    what = f"{type(found).__name__}: {found}".rstrip(".")
                    raise DataError(
                        f"{where} cannot be read: {what}. Repair it, or leave it out."
                    ) from error


def names(count: int) -> list[str]:
    """Name the partitions of a frame."""
    return [f"partition {k} of {count} (counted from 0)" for k in range(count)]


def named(work: Callable[..., Any]) -> str:
    """Name a task by its work: the scheduler knows tasks of one name by how long they took."""
    return f"{work.__name__.strip('_<>')}-{uuid4()}"


def cluster_failure(error: BaseException) -> ClusterError | None:
    """Turn what Dask raises when workers or the scheduler are gone into a message; else None."""
    module, kind = type(error).__module__.split(".")[0], type(error).__name__
    if kind == "KilledWorker":
        return ClusterError(
            f"the workers of the cluster died again and again at the same task ({error}). They "
            "probably lack memory: give them more, or make partitions smaller: "
            "frame.repartition(partition_size='100MB')."
        )
    gone = ("CommClosedError", "CancelledError", "FutureCancelledError", "FuturesCancelledError")
    if kind in gone or (module == "distributed" and isinstance(error, OSError | TimeoutError)):
        return ClusterError(
            f"the connection to the cluster was lost ({kind}: {str(error).partition(chr(10))[0]}). "
            "No file is half written. Start the cluster again and repeat the call."
        )
    return None


def _named(
    where: str, work: Callable[..., Any], part: Any, own: tuple[Any, ...], shared: bytes
) -> Any:
    try:
        return work(part, *own, *pickle.loads(shared))
    except CrankError as error:
        named = type(error)(f"{where}: {error}")
        vars(named).update(vars(error))
        raise named from None


def _added(results: Sequence[Any]) -> Any:
    total = results[0]
    for result in results[1:]:
        total = total + result
    return total


def _total(tasks: list[Any]) -> Any:
    """Add up the results of tasks, some at a time."""
    import dask

    add = dask.delayed(_added, pure=False)
    while len(tasks) > 1:
        tasks = [add(tasks[k : k + FAN_IN]) for k in range(0, len(tasks), FAN_IN)]
    return tasks[0]


def _between(make: Callable[[Any, Any, Any], Any], total: Any, argument: bytes, shared: Any) -> Any:
    (own,) = pickle.loads(argument)
    return make(total, own, shared)


def _same(held: tuple[Any]) -> Any:
    return held[0]


def _joined(join: Callable[[list[Any], int], Any], pieces: list[Any], seed: int) -> Any:
    return join(pieces, seed)


def _there(part: Any) -> bool:
    return part is not None
