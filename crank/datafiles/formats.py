"""What a file's name says about its format."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

from crank.errors import OptionError

Format: TypeAlias = Literal["csv", "parquet", "arrow"]

_PARQUET = (".parquet", ".pq")
_ARROW = (".feather", ".arrow", ".ipc")
_TEXT = (".csv", ".tsv", ".tab", ".txt")
_PACKED: Mapping[str, Callable[..., IO[Any]]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
UNPACKING_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError)


def format_of(path: str | Path) -> Format:
    """Tell the format from the extension; a pipe, ``-`` or a bare name is CSV.

    Examples
    --------
    >>> format_of("new.parquet"), format_of("new.csv.gz"), format_of("-")
    ('parquet', 'csv', 'csv')
    """
    suffix = _inner_suffix(path)
    if suffix in _PARQUET:
        return "parquet"
    if suffix in _ARROW:
        return "arrow"
    if suffix in (*_TEXT, ""):
        return "csv"
    raise OptionError(
        f"the data format of {str(path)!r} is not known. Allowed: {', '.join(_TEXT)} (also "
        f"{', '.join(_PACKED)}), {', '.join(_PARQUET + _ARROW)}, or - for CSV through a pipe."
    )


def _inner_suffix(path: str | Path) -> str:
    inner = Path(path)
    return (inner.with_suffix("") if inner.suffix.lower() in _PACKED else inner).suffix.lower()


def delimiter_of(path: str | Path, given: str | None = None) -> str:
    r"""Choose what separates the fields of a text file.

    Examples
    --------
    >>> delimiter_of("new.tsv.gz"), delimiter_of("new.csv"), delimiter_of("new.csv", ";")
    ('\t', ',', ';')
    """
    if given is not None:
        if len(given) != 1 or given in '"\r\n':
            raise OptionError(f"delimiter={given!r} is not allowed. Allowed: one character.")
        return given
    return "\t" if _inner_suffix(path) in (".tsv", ".tab") else ","


@contextmanager
def open_bytes(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a text file for reading, packed or not; ``-`` is standard input."""
    if str(path) == "-":
        yield sys.stdin.buffer  # not ours to close
        return
    opener = _PACKED.get(Path(path).suffix.lower(), open)
    with opener(path, mode="rb") as file:
        yield file


@contextmanager
def open_text(path: str | Path) -> Iterator[IO[str]]:
    """Open a text file for reading, packed or not; ``-`` is standard input."""
    with open_bytes(path) as file:
        text = TextIOWrapper(file, encoding="utf-8-sig", newline="")
        try:
            yield text
        finally:
            text.detach()


@contextmanager
def create_text(file: IO[bytes], like: str | Path) -> Iterator[TextIOWrapper]:
    """Write text into a file, packed as the name ``like`` says."""
    packer = _PACKED.get(Path(like).suffix.lower())
    packed = file if packer is None else packer(file, mode="wb")
    text = TextIOWrapper(packed, encoding="utf-8", newline="")
    try:
        yield text
        text.flush()
    finally:
        text.detach()
        if packer is not None:
            packed.close()
