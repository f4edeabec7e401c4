"""Capture what code prints, from Python or from compiled libraries."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO


@contextmanager
def captured_output() -> Iterator[list[str]]:
    r"""Keep what is printed to standard output and error, also by compiled libraries.

    Examples
    --------
    >>> with captured_output() as printed:
    ...     print("progress: 10%")
    >>> printed
    ['progress: 10%\n', '']
    """
    printed: list[str] = []
    text = StringIO()
    with tempfile.TemporaryFile() as file:
        saved = [(number, os.dup(number)) for number in (1, 2)]
        try:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, _ in saved:
                os.dup2(file.fileno(), number)
            with redirect_stdout(text), redirect_stderr(text):
                yield printed
        finally:
            for number, before in saved:
                os.dup2(before, number)
                os.close(before)
            file.seek(0)
            printed += [text.getvalue(), file.read().decode("utf-8", "replace")]
