"""Records of a CSV file one by one, in Python: for odd files, for messages, and without Arrow."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from crank.errors import DataError


class Rows(NamedTuple):
    """Some records, all with as many fields as the header, and the lines that they begin in."""

    fields: list[list[str]]
    lines: list[int]


def read_rows(
    text: Iterable[str], delimiter: str, width: int, line: int, most: int
) -> Iterator[Rows]:
    """Read records, at most so many at a time; a blank line is a row without values.

    Parameters
    ----------
    text : iterable of str
        Lines with their ends.
    width : int
        Fields of a record.
    line : int
        Number of the first line.
    """
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    numbered = _numbered(reader, line)
    try:
        while read := list(islice(numbered, most)):
            lines = [number for number, _ in read]
            # scores stay beside their rows
            fields = [found or [""] * width for _, found in read]
            for number, found in zip(lines, fields, strict=True):
                if len(found) != width:
                    raise DataError(
                        f"line {number} has {len(found)} fields, the header {width}. Put text "
                        f"that holds the delimiter in quotes, or give another --delimiter."
                    )
            yield Rows(fields, lines)
    except csv.Error as cause:
        raise DataError(f"line {line + max(reader.line_num, 1) - 1}: {cause}.") from None


def _numbered(reader: Iterator[list[str]], line: int) -> Iterator[tuple[int, list[str]]]:
    before = 0
    for fields in reader:
        yield line + before, fields
        before = reader.line_num  # type: ignore[attr-defined]  # of csv.reader


def line_of(text: Iterable[str], delimiter: str, row: int) -> int:
    r"""Find the line of a row below the header, blank lines not counted as rows.

    Examples
    --------
    >>> line_of(["x,g\n", "1,a\n", "\n", '2,"b\n', 'c"\n', "3,d\n"], ",", 2)
    6
    """
    reader = csv.reader(text, delimiter=delimiter)
    filled = (line for line, fields in _numbered(reader, 1) if fields)
    return next(islice(filled, row + 1, None))
