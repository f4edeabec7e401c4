"""Hard nodes in a process of their own: a fit that never ends, or crashes, is reported."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from crank.plugins.base import SplitLearner
from crank.testing.check import BrokenContract, Kit
from crank.testing.nodes import NodeData, hard_nodes

ENDLESS = (
    "Limit the iterations of what fit calls, or bring the columns to one scale first; a larger "
    "time_budget accepts it."
)

CHILD = """
import json, sys
sys.path[:] = json.loads(sys.stdin.buffer.readline())
from crank.testing.apart import answer
answer(sys.stdin.buffer)
"""


def try_apart(learner: SplitLearner, kit: Kit) -> bool:
    """Try hard nodes in a new process; False if the learner cannot be sent there.

    Compiled code does not listen to interrupts: only a process can be ended.
    """
    kind = type(learner)
    if not kit.new_process or kind.__module__ == "__main__":
        return False
    try:
        sent = pickle.dumps((learner, kit.time_budget))
    except Exception:  # "is copied" says so
        return False
    given = json.dumps(sys.path).encode() + b"\n" + sent
    command = [sys.executable, "-W", "ignore", "-c", CHILD]
    patience = 60.0 + 20.0 * kit.time_budget  # of the wall, for what waits and does not work
    try:
        done = subprocess.run(
            command, input=given, capture_output=True, check=False, timeout=patience
        )
        told, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as late:
        told, code = late.stdout or b"", None
    lines = told.decode(errors="replace").splitlines()
    begun = [line.partition(" ")[2] for line in lines if line.startswith("node ")]
    if not begun:
        return False
    problems = [line for line in lines if line.startswith("problem ")]
    if problems:
        raise BrokenContract(*json.loads(problems[0].partition(" ")[2]))
    if "end" not in lines:
        raise _ended(begun[-1], code, kit)
    return True


def _ended(name: str, code: int | None, kit: Kit) -> BrokenContract:
    if code is None or code == -_cpu_signal():
        late = f"a fit of {name} did not end within {kit.time_budget:g} s."
        return BrokenContract(late, "does not end", ENDLESS)
    how = f"signal {-code}" if code < 0 else f"code {code}"
    return BrokenContract(f"a fit of {name} ended the process, with {how}.", "ends the process")


def answer(stream: Any) -> None:
    """Try the nodes in the new process, each within its time of the processor."""
    from crank.testing.decisions import finite_or_none

    learner, budget = pickle.load(stream)
    limit = _limiter(budget)
    for data in hard_nodes():
        print(f"node {data.name}", flush=True)
        limit()
        try:
            _try(finite_or_none, learner, data)
        except BrokenContract as broken:
            print("problem", json.dumps([str(broken), broken.cause, broken.remedy]), flush=True)
            return
    print("end", flush=True)


def _try(
    run: Callable[[SplitLearner, NodeData], None], learner: SplitLearner, data: NodeData
) -> None:
    """Keep what the learner prints out of the answer."""
    from contextlib import redirect_stdout

    with redirect_stdout(sys.stderr):
        run(learner, data)


def _limiter(budget: float) -> Callable[[], None]:
    """Return what grants the next fit its time; where the system cannot, the parent waits."""
    try:
        import resource
    except ImportError:  # Windows
        return lambda: None

    def limit() -> None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        until = int(used.ru_utime + used.ru_stime + budget) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))

    return limit


def _cpu_signal() -> int:
    import signal

    return int(getattr(signal, "SIGXCPU", 0))
