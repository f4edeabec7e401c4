"""The progress bar: on a terminal or in a notebook when it is worth it, never in a pipe."""

import io
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

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


class Cell:
    """What IPython's ``display`` was asked to show in the output of a cell."""

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []

    def display(self, data: dict[str, str], *, raw: bool, display_id: bool) -> Any:
        assert raw
        assert display_id
        self.shown.append(data)
        return SimpleNamespace(update=lambda data, raw: self.shown.append(data))


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Cell:
    """Pretend that a kernel runs this process."""
    cell = Cell()
    ipython, shown = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    shown.display = cell.display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    return cell


def test_a_notebook_shows_a_bar_of_html_and_clears_it(cell: Cell) -> None:
    tracked = track(range(3), 3, "folds <b>", patience=0.0, detail=lambda: "d_tau < 1")
    assert list(tracked) == [0, 1, 2]
    first, *_, full, last = (shown["text/html"] for shown in cell.shown)
    assert '<progress value="1" max="3"' in first
    assert '<progress value="3" max="3"' in full
    assert "folds &lt;b&gt;" in first
    assert "d_tau &lt; 1" in first
    assert cell.shown[0]["text/plain"].startswith("folds <b>: 1/3, ")
    assert last == ""


def test_a_notebook_that_asks_for_none_or_works_briefly_shows_nothing(cell: Cell) -> None:
    list(track(range(3), 3, "folds", patience=0.0, show=False))
    list(track(range(3), 3, "folds", patience=1e9))
    assert cell.shown == []


def test_ipython_in_a_terminal_has_the_terminals_bar(
    monkeypatch: pytest.MonkeyPatch, cell: Cell
) -> None:
    sys.modules["IPython"].get_ipython = SimpleNamespace  # type: ignore[attr-defined]
    out = Terminal()
    monkeypatch.setattr(sys, "stderr", out)
    list(track(range(3), 3, "folds", patience=0.0))
    assert cell.shown == []
    assert "3/3" in out.getvalue()
