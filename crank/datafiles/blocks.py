"""A CSV file as blocks of whole records, read once from the start; quotes are understood."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crank.errors import DataError

SIZE = 2**22
LARGEST = 2**26
"""Bytes of one record; a quote that is never closed would otherwise fill the memory."""
_QUOTE, _FEED, _RETURN = b'"', b"\n", b"\r"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Block(NamedTuple):
    """Whole records of a file.

    Attributes
    ----------
    content : bytes
    quoted : bool
        Whether there are quotes; without any, a record is a line.
    regular : bool
        Whether quotes stand only around fields and double within them, as RFC 4180 has it.
    """

    content: bytes
    quoted: bool
    regular: bool


def blocks(file: IO[bytes], delimiter: str, size: int = SIZE) -> Iterator[Block]:
    r"""Cut a stream where records end; once a block is not regular, the rest is one block.

    Examples
    --------
    >>> from io import BytesIO
    >>> [block.content for block in blocks(BytesIO(b'a,b\n1,"x\ny"\n2,z'), ",", size=8)]
    [b'a,b\n', b'1,"x\ny"\n', b'2,z']
    """
    held = b""
    read = file.read(size).removeprefix(BYTE_ORDER_MARK)
    while held or read:
        quoted = _QUOTE in held or _QUOTE in read
        parted = _parted_quoted if quoted else _parted
        content, rest, regular = parted(held, read, delimiter)
        if content:
            yield Block(content, quoted, regular)
        if not (read and regular):
            return
        if len(rest) > LARGEST:
            raise DataError(f"a record does not end within {LARGEST >> 20} MiB. Is a quote open?")
        held, read = rest, file.read(size)


def _parted(held: bytes, read: bytes, delimiter: str) -> tuple[bytes, bytes, bool]:
    """Return the whole records, what is left, and whether all quotes are where they should be.

    Nothing is left at the end of the file, which is there where nothing was read.
    """
    cut = _last_end(read) if read else 0
    if cut:
        return b"".join((held, memoryview(read)[:cut])), read[cut:], True
    both = held + read  # a return at the end of what was held may end a line
    cut = _last_end(both) if read else len(both)
    return both[:cut], both[cut:], True


def _parted_quoted(held: bytes, read: bytes, delimiter: str) -> tuple[bytes, bytes, bool]:
    """Do the same where there are quotes; nothing is left of what is not regular."""
    both = held + read
    cut, regular = _last_end_quoted(both, delimiter, at_end=not read)
    return (both[:cut], both[cut:], True) if regular else (both, b"", False)


def lines_in(content: bytes) -> int:
    """Count lines as an editor does: a line feed, a carriage return or both end one."""
    if _RETURN not in content:
        return int(np.count_nonzero(np.frombuffer(content, dtype=np.uint8) == ord(_FEED)))
    both = content.count(b"\r\n")
    return content.count(_FEED) + content.count(_RETURN) - both


def records_in(content: bytes, quoted: bool, delimiter: str, width: int) -> int | None:
    r"""Count the records of a block; None if one has more or fewer fields than the others should.

    Examples
    --------
    >>> records_in(b"1,2\n3,4", False, ",", 2), records_in(b"1,2\n\n3", False, ",", 2)
    (2, None)
    """
    array: NDArray[np.uint8] = np.frombuffer(content, dtype=np.uint8)
    ends = _line_ends(array)
    edges = np.flatnonzero(ends | (array == ord(delimiter)))
    if quoted:
        quotes = np.flatnonzero(array == ord(_QUOTE))
        edges = edges[np.searchsorted(quotes, edges) % 2 == 0]
    last = ends[edges]
    if not content.endswith((_FEED, _RETURN)):
        last = np.append(last, True)
    count = int(np.count_nonzero(last))
    even = len(last) == count * width and bool(last[width - 1 :: width].all())
    return count if even else None


def _line_ends(array: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Mark the bytes that end a line: a line feed, a carriage return or both."""
    ends: NDArray[np.bool_] = array == ord(_FEED)
    returns = np.flatnonzero(array == ord(_RETURN))
    if len(returns):
        after = array[np.minimum(returns + 1, len(array) - 1)]
        ends[returns[after != ord(_FEED)]] = True
    return ends


def _last_end(content: bytes) -> int:
    """Find where the last whole line ends; a return at the very end may yet be half of one."""
    feed = content.rfind(_FEED)
    return feed + 1 if feed >= 0 else content.rfind(_RETURN, 0, -1) + 1


def _last_end_quoted(content: bytes, delimiter: str, *, at_end: bool) -> tuple[int, bool]:
    """Find the last line end outside of quotes, and whether all quotes are where they should be.

    Counted from the start, odd quotes open and even ones close; that is true if every opening one
    begins a field or follows a closing one, and every closing one ends a field or is doubled.
    """
    array: NDArray[np.uint8] = np.frombuffer(content, dtype=np.uint8)
    quotes = np.flatnonzero(array == ord(_QUOTE))
    ends = np.flatnonzero((array == ord(_FEED)) | (array == ord(_RETURN)))
    outside = ends[np.searchsorted(quotes, ends) % 2 == 0]
    if at_end:
        cut = len(content)
    else:
        feeds = outside[array[outside] == ord(_FEED)]
        cut = int(feeds[-1]) + 1 if len(feeds) else 0
    inside = quotes[quotes < cut]
    opening, closing = inside[0::2], inside[1::2]
    edges = np.frombuffer(delimiter.encode() + b'\r\n"', dtype=np.uint8)
    padded = np.concatenate([[ord(_FEED)], array[:cut], [ord(_FEED)]])
    regular = (
        len(delimiter.encode()) == 1
        and len(opening) == len(closing)
        and bool(np.isin(padded[opening], edges).all())
        and bool(np.isin(padded[closing + 2], edges).all())
        and _doubled(opening, closing, padded)
    )
    return cut, regular


def _doubled(
    opening: NDArray[np.intp], closing: NDArray[np.intp], padded: NDArray[np.uint8]
) -> bool:
    """Say whether a quote before an opening one is the closing one of the same field."""
    follows = padded[opening] == ord(_QUOTE)
    return bool((opening[1:][follows[1:]] == closing[:-1][follows[1:]] + 1).all()) and not bool(
        follows[:1].any()
    )
