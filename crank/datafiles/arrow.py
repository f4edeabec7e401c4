"""Blocks of a CSV file as columns, read by Arrow where it is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from crank.datafiles.ahead import BlockColumns
from crank.datafiles.expected import Expected
from crank.datafiles.fields import coded_column, marks_of
from crank.errors import DataError
from crank.frames.columns import Column

WHOLE = 2**30
"""Bytes that Arrow takes at a time: more than a block has, so that a column is one array."""


def available() -> bool:
    """Say whether Arrow is installed."""
    return find_spec("pyarrow") is not None


class ArrowBlocks:
    """Reads blocks of whole records; None where a block needs a closer look.

    Parameters
    ----------
    width : int
        Fields of a record.
    position : mapping
        Where each column stands.
    expected : mapping of Expected
    keep : sequence of str
        Columns to take as they stand.
    delimiter : str
    marks : frozenset of str, optional
        What stands for a missing value, in place of the usual.
    """

    def __init__(
        self,
        width: int,
        position: Mapping[str, int],
        expected: Mapping[str, Expected],
        keep: Sequence[str],
        delimiter: str,
        marks: frozenset[str] | None,
    ) -> None:
        self.expected, self.marks = expected, marks
        self._csv, self._arrow = import_module("pyarrow.csv"), import_module("pyarrow")
        text, double = self._arrow.string(), self._arrow.float64()
        coded = self._arrow.dictionary(self._arrow.int32(), text)
        numbers = {n for n, e in expected.items() if e.type == "number"}
        self._names = {name: str(position[name]) for name in (*expected, *keep)}
        types = {self._names[n]: double if n in numbers else coded for n in expected}
        kept = {self._names[n]: text for n in keep}
        every = [str(j) for j in range(width)]
        self._read = self._csv.ReadOptions(column_names=every, block_size=WHOLE, use_threads=False)
        self._parse = {
            quoted: self._csv.ParseOptions(
                delimiter=delimiter,
                quote_char='"' if quoted else False,
                newlines_in_values=quoted,
                ignore_empty_lines=False,
            )
            for quoted in (False, True)
        }
        null = sorted(marks_of(Expected("number"), marks))
        # the usual marks are no numbers, or NaN: they are looked for once one is met
        self._columns = [self._options(types, [""])] if marks is None else []
        self._columns.append(self._options(types, null))
        # a kept column stands as it is; one that the model reads too is read twice
        self._kept = self._options(kept, []) if keep else None
        self.keep = tuple(keep)

    def _options(self, types: Mapping[str, Any], null: list[str]) -> Any:
        return self._csv.ConvertOptions(
            column_types=types,
            include_columns=[*types],
            null_values=null,
            strings_can_be_null=False,
        )

    def columns(self, content: bytes, quoted: bool) -> BlockColumns | None:
        """Read a block, with quotes or without: the model's columns, those to keep, and rows."""
        try:
            table = self._model_table(content, quoted)
            read = {name: self._column(table, name) for name in self.expected}
            kept: dict[str, Any] = {}
            if self._kept is not None:
                found = self._table(content, quoted, self._kept)
                kept = {name: found[self._names[name]].to_pylist() for name in self.keep}
        except (self._arrow.ArrowInvalid, DataError):
            return None  # Python says where, or reads what Arrow does not
        return read, kept, table.num_rows

    def _model_table(self, content: bytes, quoted: bool) -> Any:
        for options in self._columns[:-1]:
            try:
                return self._table(content, quoted, options)
            except self._arrow.ArrowInvalid:
                self._columns = self._columns[-1:]  # later blocks will have marks too
        return self._table(content, quoted, self._columns[-1])

    def _table(self, content: bytes, quoted: bool, options: Any) -> Any:
        source = self._arrow.BufferReader(content)
        return self._csv.read_csv(
            source,
            read_options=self._read,
            parse_options=self._parse[quoted],
            convert_options=options,
        )

    def _column(self, table: Any, name: str) -> Column:
        found, expected = table[self._names[name]], self.expected[name]
        if expected.type == "number":
            return as_array(_whole(found), np.float64)
        whole = _whole(found.unify_dictionaries())
        codes = as_array(whole.indices, np.int32)
        return coded_column(codes, whole.dictionary.to_pylist(), expected, name, self.marks)


def _whole(column: Any) -> Any:
    """Take a column as one array, without a copy if it is one."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def as_array(values: Any, dtype: DTypeLike) -> NDArray[Any]:
    """View Arrow's numbers as NumPy's; a missing one is NaN, for which they are copied.

    Arrow's own way there loads pandas, which takes as long as half a million rows.
    """
    if not len(values):
        return np.empty(0, dtype=dtype)
    rows = slice(values.offset, values.offset + len(values))
    valid, numbers = values.buffers()
    found: NDArray[Any] = np.frombuffer(numbers, dtype, rows.stop)[rows]
    if not values.null_count:
        return found
    bits = np.unpackbits(np.frombuffer(valid, dtype=np.uint8), bitorder="little")
    return np.where(bits[rows], found, np.nan)
