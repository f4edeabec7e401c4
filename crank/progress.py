"""Progress of long work: a bar on a terminal, one of HTML in a notebook, else nothing."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TextIO, TypeVar

T = TypeVar("T")

PATIENCE = 1.0
"""Seconds before anything is shown."""
WIDTH = 30
BREATH = 0.1
"""Seconds between two messages to a notebook, each of which crosses a network."""


class Shown(Protocol):
    """Where a bar appears."""

    def show(self, done: int, total: int, label: str, elapsed: float, detail: str) -> None:
        """Show how far the work has come."""

    def clear(self) -> None:
        """Leave nothing behind."""


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
        By default a bar is shown on a terminal and in a notebook.
    stream : file, optional
        Where to write; by default a notebook's output, or standard error.
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
    place = _place(show, stream)
    start, done = time.monotonic(), 0
    try:
        for item in items:
            yield item
            done += 1
            elapsed = time.monotonic() - start
            if place is not None and elapsed >= patience:
                place.show(done, total, label, elapsed, detail() if detail else "")
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{label} stopped after {done} of {total}") from None
    finally:
        if place is not None:
            place.clear()


def _place(show: bool | None, stream: TextIO | None) -> Shown | None:
    """Find where a bar is to appear, if it is wanted there."""
    if show is False:
        return None
    display = notebook() if stream is None else None
    if display is not None:
        return NotebookBar(display)
    out = stream if stream is not None else sys.stderr
    wanted = out is not None and (show or out.isatty())
    return TerminalLine(out) if wanted else None


class TerminalLine:
    """A line that is written over and over, and erased in the end."""

    def __init__(self, out: TextIO) -> None:
        self.out, self.width = out, 0

    def show(self, done: int, total: int, label: str, elapsed: float, detail: str) -> None:
        """Write the line over the last one."""
        line = bar(done, total, label, elapsed) + (f" {detail}" if detail else "")
        self.out.write("\r" + line.ljust(self.width))
        self.width = max(self.width, len(line))
        self.out.flush()

    def clear(self) -> None:
        """Write blanks over the line, if there was one."""
        if self.width:
            self.out.write("\r" + " " * self.width + "\r")
            self.out.flush()


class NotebookBar:
    """The browser's own progress bar, in the output of a cell; empty once the work is done."""

    def __init__(self, display: Callable[..., Any]) -> None:
        self.display, self.handle, self.last = display, None, 0.0

    def show(self, done: int, total: int, label: str, elapsed: float, detail: str) -> None:
        """Display the bar, or bring the one that is there up to date."""
        if self.handle is not None and elapsed - self.last < BREATH and done < total:
            return
        self.last = elapsed
        text = f"{done}/{total}, {_left(done, total, elapsed)} {detail}".rstrip()
        name = html.escape(label)
        self._put(
            f'{name} <progress value="{done}" max="{total}" aria-label="{name}"></progress> '
            f"{html.escape(text)}",
            f"{label}: {text}",
        )

    def clear(self) -> None:
        """Empty the output, if there was one."""
        if self.handle is not None:
            self._put("", "")

    def _put(self, markup: str, text: str) -> None:
        shown = {"text/html": markup, "text/plain": text}
        if self.handle is None:
            self.handle = self.display(shown, raw=True, display_id=True)
        else:
            self.handle.update(shown, raw=True)


def notebook() -> Callable[..., Any] | None:
    """Return IPython's ``display`` if a kernel runs this process; it is never imported for that.

    Examples
    --------
    >>> notebook() is None
    True
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

    return display  # type: ignore[no-any-return, unused-ignore]


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
    left = _left(done, total, elapsed)
    line = f"{label} {'━' * filled}{' ' * (WIDTH - filled)} {done}/{total}  {left}"
    return line.ljust(len(label) + WIDTH + 18)


def _left(done: int, total: int, elapsed: float) -> str:
    return f"{elapsed / done * (total - done):.0f} s left"
