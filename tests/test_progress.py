"""The progress bar: seen on a terminal when it is worth it, never in a pipe."""

import io
from collections.abc import Iterator

import pytest

from crank.progress import track


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_the_bar_and_clears_it() -> None:
    out = Terminal()
    assert list(track(range(3), 3, "folds", stream=out, patience=0.0)) == [0, 1, 2]
    text = out.getvalue()
    assert "2/3" in text
    assert text.endswith("\r")


def test_a_pipe_shows_nothing() -> None:
    out = io.StringIO()
    list(track(range(3), 3, "folds", stream=out, patience=0.0))
    assert out.getvalue() == ""


def test_short_work_shows_nothing() -> None:
    out = Terminal()
    list(track(range(3), 3, "folds", stream=out, patience=1e9))
    assert out.getvalue() == ""


def test_an_interrupt_clears_the_bar_and_passes_through() -> None:
    out = Terminal()

    def work() -> Iterator[int]:
        yield 1
        raise KeyboardInterrupt

    tracked = track(work(), 2, "folds", stream=out, patience=0.0)
    assert next(tracked) == 1
    with pytest.raises(KeyboardInterrupt, match="folds stopped after 1 of 2"):
        next(tracked)
    assert out.getvalue().endswith("\r")
