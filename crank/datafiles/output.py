"""Results as a file that appears when it is complete, or as CSV on standard output."""

from __future__ import annotations

import csv
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

from crank.datafiles.formats import create_text, delimiter_of, format_of
from crank.datafiles.parquet import ParquetWriter, engine


class Writer(Protocol):
    """Takes rows as columns of one length."""

    def write(self, columns: dict[str, Any]) -> None:
        """Append rows."""


def check_target(path: str | Path) -> None:
    """Raise now, not after hours of work, if a file could not be written later.

    Examples
    --------
    >>> check_target("no/such/folder/m.json")
    Traceback (most recent call last):
        ...
    FileNotFoundError: [Errno 2] No such folder: 'no/such/folder'
    """
    if str(path) == "-":
        return
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(21, "Is a folder, not a file", str(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(2, "No such folder", str(target.parent))
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(13, "No permission to write in the folder", str(target.parent))


@contextmanager
def replaced(path: str | Path) -> Iterator[Path]:
    """Give a temporary path beside a file, which takes the file's place if all goes well.

    Examples
    --------
    >>> target = Path(tempfile.mkdtemp()) / "a.txt"
    >>> with replaced(target) as temporary:
    ...     _ = temporary.write_text("new")
    >>> target.read_text()
    'new'
    """
    target = Path(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def open_output(path: str | Path) -> Iterator[Writer]:
    r"""Open a CSV or Parquet file for rows that come piece by piece; ``-`` is standard output.

    Examples
    --------
    >>> target = Path(tempfile.mkdtemp()) / "scores.csv"
    >>> with open_output(target) as out:
    ...     out.write({"id": ["07"], "score": [2.0]})
    ...     out.write({"id": ["08"], "score": [0.5]})
    >>> target.read_text()
    'id,score\n07,2.0\n08,0.5\n'
    """
    if str(path) == "-":
        yield CsvWriter(sys.stdout, ",")
        return
    if format_of(path) == "parquet":
        engine()
        with replaced(path) as temporary:
            writer = ParquetWriter(temporary)
            try:
                yield writer
                writer.close()
            finally:
                writer.discard()
        return
    with replaced(path) as temporary, create_text(temporary, like=path) as file:
        yield CsvWriter(file, delimiter_of(path))


class CsvWriter:
    """Write columns as CSV; numbers so that they read back bit for bit, missing values empty."""

    def __init__(self, file: IO[str], delimiter: str) -> None:
        self._writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        self._header_written = False

    def write(self, columns: dict[str, Any]) -> None:
        """Append rows."""
        if not self._header_written:
            self._writer.writerow(columns)
            self._header_written = True
        self._writer.writerows(zip(*map(_plain, columns.values()), strict=True))


def _plain(values: Any) -> Sequence[Any]:
    """Take an array or a library's column as Python values."""
    for method in ("tolist", "to_pylist", "to_list"):
        if hasattr(values, method):
            listed: Sequence[Any] = getattr(values, method)()
            return listed
    taken: Sequence[Any] = values
    return taken
