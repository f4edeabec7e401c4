"""Results as a file that appears when it is complete, or as CSV on standard output."""

from __future__ import annotations

import csv
import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crank.datafiles import arrow
from crank.datafiles.formats import create_text, delimiter_of, format_of
from crank.datafiles.ipc import IpcWriter
from crank.datafiles.parquet import ParquetWriter, engine
from crank.files import is_stream, replaced, written


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
        raise IsADirectoryError(errno.EISDIR, "Is a folder, not a file", str(path))
    if is_stream(path):
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, "No permission to write", str(path))
        return
    parent = Path(os.path.realpath(path)).parent
    if not parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder", str(target.parent))
    if not os.access(parent, os.W_OK):
        raise PermissionError(errno.EACCES, "No permission to write in the folder", str(parent))


def same_target(one: str | Path, other: str | Path) -> bool:
    """Say whether what is written to one path would mix with the other, or replace it.

    Examples
    --------
    >>> same_target("-", "-"), same_target("a.csv", "./a.csv"), same_target("-", "a.csv")
    (True, True, False)
    """
    if "-" in (str(one), str(other)):
        return str(one) == str(other)
    return os.path.realpath(one) == os.path.realpath(other) and str(one) != os.devnull


@contextmanager
def open_output(path: str | Path) -> Iterator[Writer]:
    r"""Open a file of any format for rows that come piece by piece; ``-`` is standard output.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "scores.csv"
    >>> with open_output(target) as out:
    ...     out.write({"id": ["07"], "score": [2.0]})
    ...     out.write({"id": ["08"], "score": [0.5]})
    >>> target.read_text()
    'id,score\n07,2.0\n08,0.5\n'
    """
    if format_of(path) != "csv":
        engine()
        with _whole_target(path) as temporary:
            kind = ParquetWriter if format_of(path) == "parquet" else IpcWriter
            writer: ParquetWriter | IpcWriter = kind(temporary)
            try:
                yield writer
                writer.close()
            finally:
                writer.discard()
        return
    with written(path) as raw, create_text(raw, like=path) as file:
        yield CsvWriter(file, delimiter_of(path))


@contextmanager
def _whole_target(path: str | Path) -> Iterator[Path]:
    """Give a path to write to: what is not text goes through a pipe only when it is complete."""
    if not is_stream(path):
        with replaced(path) as temporary:
            yield temporary
        return
    with TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.parquet"
        yield whole
        with whole.open("rb") as source, written(path) as out:
            shutil.copyfileobj(source, out)


class CsvWriter:
    """Write columns as CSV; numbers so that they read back bit for bit, missing values empty."""

    def __init__(self, file: TextIOWrapper, delimiter: str) -> None:
        self._file = file
        self._writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        self._header_written = False

    def write(self, columns: dict[str, Any]) -> None:
        """Append rows."""
        if not self._header_written:
            self._writer.writerow(columns)
            self._header_written = True
        (first, *more) = columns.values()
        if not more and _is_numeric(first) and len(first):
            self._file.flush()
            self._file.buffer.write(_lines(first))
        else:
            fields = [*map(_fields, columns.values())]
            self._writer.writerows(zip(*fields, strict=True))


def _is_numeric(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind in "fi"


def _lines(values: NDArray[Any]) -> Any:
    """Write numbers one a line: they need no quotes, and Arrow's texts lie in one buffer."""
    if not arrow.available():
        return "".join(_numbers(values, end="\n")).encode("ascii")
    lines = _words(values, end="\n")
    _, ends, text = lines.buffers()
    return memoryview(text)[: int(np.frombuffer(ends, dtype=np.int32)[len(lines)])]


def _fields(values: Any) -> Sequence[Any]:
    """Write numbers as text; a library's column becomes Python values."""
    if _is_numeric(values):
        return _numbers(values)
    for method in ("tolist", "to_pylist", "to_list"):
        if hasattr(values, method):
            listed: Sequence[Any] = getattr(values, method)()
            return listed
    taken: Sequence[Any] = values
    return taken


def _numbers(values: NDArray[Any], end: str = "") -> list[str]:
    """Write each number as Python does, with as many digits as bring it back."""
    if arrow.available():
        words: list[str] = _words(values, end).to_pylist()
        return words
    values = _contiguous(values)
    bits = values.view(np.int64).tolist()  # which tell 0.0 from -0.0
    distinct = [*set(bits)]  # the few scores of a tree are written once each
    numbers = np.array(distinct, dtype=np.int64).view(values.dtype).tolist()
    text = dict(zip(distinct, [f"{number!r}{end}" for number in numbers], strict=True))
    return [*map(text.__getitem__, bits)]


def _contiguous(values: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(values, np.float64 if values.dtype.kind == "f" else np.int64)


def _words(values: NDArray[Any], end: str = "") -> Any:
    """Let Arrow write numbers: the few scores of a tree once each, others where both write alike.

    Arrow begins to write exponents elsewhere and leaves out the ``.0`` of whole numbers.
    """
    pyarrow, compute = import_module("pyarrow"), import_module("pyarrow.compute")
    values = _contiguous(values)
    coded = _arrow(pyarrow.int64(), values).dictionary_encode()
    distinct = arrow.as_array(coded.dictionary, values.dtype)
    if 2 * len(distinct) <= len(values):
        return _texts([f"{v!r}{end}" for v in distinct.tolist()]).take(coded.indices)
    own = pyarrow.float64() if values.dtype.kind == "f" else pyarrow.int64()
    words = compute.cast(_arrow(own, values), pyarrow.string())
    if values.dtype.kind == "f":
        size = np.abs(values)
        alike = np.where((size >= 1e-4) & (size < 1e9), size, 0.0) % 1 > 0
        mask = _arrow(pyarrow.bool_(), np.packbits(~alike, bitorder="little"), len(values))
        words = compute.replace_with_mask(
            words, mask, _texts([*map(repr, values[~alike].tolist())])
        )
    return compute.binary_join_element_wise(words, end, "") if end else words


def _arrow(type: Any, values: NDArray[Any], n: int | None = None) -> Any:
    """View NumPy's numbers as Arrow's; ``pyarrow.array`` would load pandas to do so."""
    pyarrow = import_module("pyarrow")
    n = len(values) if n is None else n
    return pyarrow.Array.from_buffers(type, n, [None, pyarrow.py_buffer(values)])


def _texts(words: list[str]) -> Any:
    """Give Arrow the texts of numbers, whose characters are a byte each."""
    pyarrow = import_module("pyarrow")
    ends = np.cumsum([0, *map(len, words)], dtype=np.int32)
    content = pyarrow.py_buffer("".join(words).encode("ascii"))
    return pyarrow.StringArray.from_buffers(len(words), pyarrow.py_buffer(ends), content)
