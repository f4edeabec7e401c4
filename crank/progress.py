"""Progress that is shown only on a terminal: a bar when work takes a while, a line before it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO, TypeVar

T = TypeVar("T")

PATIENCE = 1.0
"""Seconds before anything is shown."""
WIDTH = 30


def track(
    items: Iterable[T],
    total: int,
    label: str,
    *,
    show: bool | None = None,
    stream: TextIO | None = None,
    patience: float = PATIENCE,
    detail: Callable[[], str] | None = None,
) -> Iterator[T]:
    """Yield the items and show how many are done.

    Parameters
    ----------
    items : iterable
    total : int
    label : str
        What is being done, e.g. ``"cross-validation"``.
    show : bool, optional
        By default a bar is shown on a terminal only.
    stream : file, optional
        Standard error by default.
    patience : float
        Seconds before the bar appears.
    detail : callable, optional
        Asked for a few words to show behind the bar.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C clears the bar and says how far the work had come.

    Examples
    --------
    >>> list(track("ab", 2, "letters"))
    ['a', 'b']
    """
    out = stream if stream is not None else sys.stderr
    visible = out.isatty() if show is None else show
    start = time.monotonic()
    shown, done = 0, 0
    try:
        for item in items:
            yield item
            done += 1
            elapsed = time.monotonic() - start
            if visible and elapsed >= patience:
                line = bar(done, total, label, elapsed) + (f" {detail()}" if detail else "")
                out.write("\r" + line.ljust(shown))
                shown = max(shown, len(line))
                out.flush()
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{label} stopped after {done} of {total}") from None
    finally:
        if shown:
            out.write("\r" + " " * shown + "\r")
            out.flush()


def note(text: str, *, stream: TextIO | None = None) -> None:
    """Write one line, on a terminal only.

    Examples
    --------
    >>> note("loading")
    """
    out = stream if stream is not None else sys.stderr
    if out is not None and out.isatty():
        out.write(f"{text}\n")
        out.flush()


def bar(done: int, total: int, label: str, elapsed: float) -> str:
    """Draw one line.

    Examples
    --------
    >>> bar(1, 3, "cross-validation", 2.0)
    'cross-validation ━━━━━━━━━━                     1/3  4 s left   '
    """
    filled = WIDTH * done // total
    left = elapsed / done * (total - done)
    line = f"{label} {'━' * filled}{' ' * (WIDTH - filled)} {done}/{total}  {left:.0f} s left"
    return line.ljust(len(label) + WIDTH + 18)
