"""Signals that stop a command unwind the stack, so that temporary files are removed.

The exception may be lost on its way: an extension module that is being imported turns it into an
ImportError, a callback from C drops it. Then it is raised once more, and the exit code is that of
the signal in any case.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

STOPPING = ("SIGINT", "SIGTERM", "SIGHUP")
AGAIN = 0.5
"""Seconds after which an exception that unwinds nothing is raised once more."""


class Stopped(BaseException):
    """A signal other than an interrupt has stopped the command."""


class Stop:
    """Which signal has stopped a command, if any."""

    def __init__(self) -> None:
        self.number: int | None = None


@contextmanager
def stopped_by_signals(stop: Stop) -> Iterator[None]:
    """Raise KeyboardInterrupt or `Stopped` once a signal comes, until the stack unwinds."""
    before: dict[int, Any] = {}

    def unwind() -> None:
        raise KeyboardInterrupt if stop.number == signal.SIGINT else Stopped

    def arrived(number: int, _: object) -> None:
        stop.number = number
        if hasattr(signal, "setitimer"):  # Windows has none
            if signal.SIGALRM not in before:
                before[signal.SIGALRM] = signal.signal(signal.SIGALRM, ask_again)
            signal.setitimer(signal.ITIMER_REAL, AGAIN, AGAIN)
        unwind()

    def ask_again(number: int, _: object) -> None:
        if not _unwinding():
            unwind()

    try:
        for name in STOPPING:
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            # what was told to ignore hangups (nohup) goes on
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, arrived)
    except ValueError:  # not in the main thread, where no signal arrives anyhow
        yield
        return
    try:
        yield
    finally:
        if stop.number is not None and hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _unwinding() -> bool:
    """Say whether the code under way cleans up after the exception, which must not be cut short."""
    error = sys.exception()
    while error is not None:
        if isinstance(error, KeyboardInterrupt | Stopped):
            return True
        error = error.__context__
    return False
