"""Write files so that a reader, a full disk or a kill never leaves half of one.

A link is followed and permissions are kept. What is no regular file (a pipe, a device) is written
through, not replaced.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from crank.errors import DataError
from crank.texts import HALF, is_broken

_DESCRIPTOR = re.compile(r"/dev/(?:std(in|out|err)|fd/(\d+))|/proc/self/fd/(\d+)")
_STANDARD = {"in": 0, "out": 1, "err": 2}


def write_bytes(path: str | Path, content: bytes) -> Path:
    """Replace a file in one step: the old content or the new, never a part.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "note.txt"
    >>> write_bytes(target, b"ready").read_bytes()
    b'ready'
    """
    with written(path) as file:
        file.write(content)
    return Path(path)


def write_text(path: str | Path, content: str) -> Path:
    """Replace a text file in one step, in UTF-8."""
    if is_broken(content):
        raise DataError(f"{str(path)!r} is not written: a text for it holds {HALF}.")
    return write_bytes(path, content.encode("utf-8"))


def is_stream(path: str | Path) -> bool:
    """Say whether a path is a pipe, a device or an open descriptor: nothing to replace."""
    if _descriptor(path) is not None:
        return True
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _descriptor(path: str | Path) -> int | None:
    found = _DESCRIPTOR.fullmatch(str(path))
    if found is None:
        return None
    word, *numbers = found.groups()
    return _STANDARD[word] if word else int(next(filter(None, numbers)))


@contextmanager
def written(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that appears when it is complete; ``-`` is standard output.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "a.txt"
    >>> with written(target) as file:
    ...     _ = file.write(b"new")
    >>> target.read_text()
    'new'
    """
    if str(path) == "-":
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif is_stream(path):
        number = _descriptor(path)
        # opened by name, a descriptor's file would be truncated, or begun anew
        with open(path if number is None else os.dup(number), "wb") as file:
            yield file
    else:
        with replaced(path) as temporary, temporary.open("wb") as file:
            yield file


@contextmanager
def replaced(path: str | Path) -> Iterator[Path]:
    """Give a temporary path beside a file, which takes the file's place if all goes well.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "a.txt"
    >>> with replaced(target) as temporary:
    ...     _ = temporary.write_text("new")
    >>> target.read_text()
    'new'
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}")
    try:
        old = _status(target)
        # a new file gets the usual permissions; others are set before anyone may read it
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        os.close(os.open(temporary, flags, 0o666 if old is None else 0o600))
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        if old is not None:
            _like(temporary, old)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _like(path: Path, old: os.stat_result) -> None:
    """Give a file the owner, if we may, and the permissions of another."""
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(path, old.st_uid, old.st_gid)
    path.chmod(stat.S_IMODE(old.st_mode))
