"""A CSV file in pieces: by Arrow or pandas where they can, by Python what is odd."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from io import BufferedReader, BytesIO, RawIOBase, StringIO, TextIOWrapper
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

import numpy as np

from crank.datafiles import arrow, pandas
from crank.datafiles.ahead import BlockReader, parsed
from crank.datafiles.blocks import SIZE, Block, blocks
from crank.datafiles.expected import Expected
from crank.datafiles.fields import as_column
from crank.datafiles.formats import UNPACKING_ERRORS
from crank.datafiles.piece import Piece
from crank.datafiles.rows import Rows, read_rows
from crank.errors import DataError
from crank.frames.columns import Coded, Column
from crank.frames.table import Table, unknown_column

USUAL_HEADER, LARGEST_HEADER = 2**14, 2**22
"""Bytes that are looked at; the second if the first do not suffice."""


class CsvReader:
    """Read a CSV file: by Arrow or pandas where they can, by Python what is odd."""

    def __init__(
        self, file: IO[bytes], path: str | Path, delimiter: str, marks: frozenset[str] | None
    ) -> None:
        self.file, self.path, self.delimiter, self.marks = file, path, delimiter, marks

    def pieces(
        self,
        expected: Mapping[str, Expected],
        keep: Sequence[str],
        rows: int,
        optional: Mapping[str, Expected],
    ) -> Iterator[Piece]:
        """Read the rows, in order; a file without rows has one empty piece."""
        try:
            yield from self._pieces(expected, keep, rows, optional)
        except UnicodeDecodeError as cause:
            raise DataError(
                f"{str(self.path)!r} is not text in UTF-8 ({cause.reason}). Convert it, for "
                f"example with iconv -t utf-8."
            ) from None
        except UNPACKING_ERRORS as cause:
            raise DataError(f"{str(self.path)!r} cannot be unpacked: {cause}.") from None

    def _pieces(
        self,
        expected: Mapping[str, Expected],
        keep: Sequence[str],
        rows: int,
        optional: Mapping[str, Expected],
    ) -> Iterator[Piece]:
        cut = blocks(self.file, self.delimiter, SIZE)
        first = next(cut, None)
        header, first, below = self._header(first)
        self.width = len(header)
        there = {name: about for name, about in optional.items() if name in header}
        self.expected, self.keep = {**there, **expected}, keep
        self.position = _positions(header, [*self.expected, *keep])
        for block, line, found in parsed(chain([first], cut), self._block_reader(), below):
            if found is not None:
                yield from self._slices(block, line, *found, rows)
                continue
            raw = BytesIO(block.content)
            text = TextIOWrapper(
                raw if block.regular else _joined(raw, self.file), "utf-8", newline=""
            )
            for read in read_rows(text, self.delimiter, self.width, line, rows):
                yield self._piece(read)
            text.detach()
        if not first.content:
            yield self._piece(Rows([], []))

    def _block_reader(self) -> BlockReader | None:
        given = (self.width, self.position, self.expected, self.keep, self.delimiter, self.marks)
        if len(self.delimiter.encode()) > 1:
            return None
        if arrow.available():
            return arrow.ArrowBlocks(*given)
        return pandas.PandasBlocks(*given) if pandas.available() else None

    def _header(self, first: Block | None) -> tuple[list[str], Block, int]:
        """Read the first record; return the block without it, and the line after it."""
        content = b"" if first is None else first.content
        for size in (USUAL_HEADER, LARGEST_HEADER):
            text = StringIO(content[:size].decode("utf-8", "surrogateescape"), newline="")
            reader = csv.reader(text, delimiter=self.delimiter, strict=True)
            header, failure = None, None
            try:
                header = next(reader, None)
            except csv.Error as cause:
                failure = cause
            if failure is None and text.tell() < len(text.getvalue()):
                break  # it ends before what was cut off
        if failure is not None:
            raise DataError(f"line 1: {failure}.")
        if first is None or not header:
            raise DataError(f"{str(self.path)!r} is empty. Its first line must name the columns.")
        end = len(text.getvalue()[: text.tell()].encode("utf-8", "surrogateescape"))
        header = [name.encode("utf-8", "surrogateescape").decode("utf-8") for name in header]
        return header, first._replace(content=content[end:]), 1 + reader.line_num

    def _slices(
        self,
        block: Block,
        line: int,
        columns: dict[str, Column],
        kept: dict[str, Any],
        n: int,
        rows: int,
    ) -> Iterator[Piece]:
        for start in range(0, n, rows):
            stop = min(start + rows, n)
            some = {name: _rows_of(column, start, stop) for name, column in columns.items()}
            yield Piece(
                _table(some, stop - start),
                {name: fields[start:stop] for name, fields in kept.items()},
                stop - start,
                partial(self._where, block, line, start),
            )

    def _where(self, block: Block, line: int, start: int, row: int) -> str:
        """Find the line of a block's row by reading the block again."""
        row += start
        text = TextIOWrapper(BytesIO(block.content), "utf-8", newline="")
        (read,) = islice(read_rows(text, self.delimiter, self.width, line, row + 1), 1)
        return f"line {read.lines[row]}"

    def _piece(self, read: Rows) -> Piece:
        fields = {n: list(map(itemgetter(j), read.fields)) for n, j in self.position.items()}
        data = {
            name: as_column(fields[name], expected, name, read.lines, self.marks)
            for name, expected in self.expected.items()
        }
        kept = {name: fields[name] for name in self.keep}
        lines = read.lines
        return Piece(_table(data, len(lines)), kept, len(lines), lambda k: f"line {lines[k]}")


def _table(columns: Mapping[str, Column], n_rows: int) -> Table:
    return Table(tuple(columns), n_rows, lambda name: columns[name], lambda name: "CSV")


def _rows_of(column: Column, start: int, stop: int) -> Column:
    if isinstance(column, Coded):
        return Coded(column.codes[start:stop], column.levels)
    assert isinstance(column, np.ndarray)
    return column[start:stop]


def _joined(held: BytesIO, file: IO[bytes]) -> BufferedReader:
    """Read on from what is held into the file."""

    class Joined(RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            read = held.read(len(buffer)) or file.read(len(buffer))
            buffer[: len(read)] = read
            return len(read)

    return BufferedReader(Joined())


def _positions(header: list[str], names: Sequence[str]) -> dict[str, int]:
    position = {name: j for j, name in enumerate(header)}
    counts = Counter(header)
    for name in names:
        if name not in position:
            raise unknown_column(name, header)
        if counts[name] > 1:
            raise DataError(
                f"{counts[name]} columns of the data are called {name!r}. Rename all but one."
            )
    return {name: position[name] for name in dict.fromkeys(names)}
