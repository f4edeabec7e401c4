"""Blocks of a CSV file as columns, read by pandas where Arrow is not installed."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from typing import Any

import numpy as np

from crank.datafiles.ahead import BlockColumns
from crank.datafiles.blocks import records_in
from crank.datafiles.expected import Expected
from crank.datafiles.fields import coded_column, marks_of
from crank.errors import DataError
from crank.frames.columns import Column

WORTH_LOADING = 2**21
"""Bytes of a block for which pandas is loaded: half a block; only the last of many is smaller."""
EXACT_FROM = (3, 1)
"""The pandas whose usual way reads numbers to the last bit."""


def available() -> bool:
    """Say whether pandas is installed, which those who only score need not have."""
    return find_spec("pandas") is not None


class PandasBlocks:
    """Reads blocks of whole records; None where a block needs a closer look.

    Parameters
    ----------
    width, position, expected, keep, delimiter, marks
        As for `ArrowBlocks`.
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
        self.width, self.position, self.delimiter, self.marks = width, position, delimiter, marks
        self.expected, self.keep = expected, tuple(keep)
        absent = marks_of(Expected("number"), marks)
        numbers = {n for n, e in expected.items() if e.type == "number"}
        # of type float64 a column of True and False would become numbers
        self._types = {position[n]: None if n in numbers else "object" for n in expected}
        self._absent = {position[n]: sorted(absent) for n in numbers}
        # to pandas the mark -9 stands for -9.0 too
        self._exact = not any(map(_is_number, absent))

    def columns(self, content: bytes, quoted: bool) -> BlockColumns | None:
        """Read a block, with quotes or without: the model's columns, those to keep, and rows."""
        if not self._worth_it(content):
            return None
        # pandas fills short records up and cuts long ones off
        n = records_in(content, quoted, self.delimiter, self.width)
        if n is None:
            return None
        try:
            table = self._table(content, quoted, self._types, self._absent)
            read = {name: self._column(table, name) for name in self.expected}
            # a kept column stands as it is; one that the model reads too is read twice
            whole = {self.position[name]: "object" for name in self.keep}
            found = self._table(content, quoted, whole, {})
            kept = {name: found[self.position[name]].tolist() for name in self.keep}
        except (ValueError, OverflowError, DataError):  # those of pandas are ValueErrors
            return None  # Python says where, or reads what pandas does not
        return read, kept, n

    def _worth_it(self, content: bytes) -> bool:
        """Say whether pandas reads the block as Python does, and soon enough."""
        loaded = "pandas" in sys.modules or len(content) >= WORTH_LOADING
        return bool(content) and self._exact and loaded and b"\0" not in content

    def _table(
        self,
        content: bytes,
        quoted: bool,
        types: Mapping[int, str | None],
        absent: Mapping[int, Sequence[str]],
    ) -> Any:
        if not types:
            return {}
        return self._pandas.read_csv(
            BytesIO(content),
            sep=self.delimiter,
            quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
            header=None,
            index_col=False,
            usecols=sorted(types),
            dtype={j: type for j, type in types.items() if type is not None},
            na_values=absent,
            keep_default_na=False,
            skip_blank_lines=False,
            low_memory=False,
            float_precision=self._precision,
        )

    def _column(self, table: Any, name: str) -> Column:
        found, expected = table[self.position[name]], self.expected[name]
        if expected.type == "number":
            if found.dtype.kind not in "fiu":
                raise ValueError("words among numbers")
            return np.asarray(found, dtype=np.float64)
        # texts in categories of pandas may become numbers
        codes, levels = self._pandas.factorize(found.to_numpy())
        return coded_column(codes.astype(np.int32), levels.tolist(), expected, name, self.marks)

    @cached_property
    def _pandas(self) -> Any:
        return import_module("pandas")

    @cached_property
    def _precision(self) -> str | None:
        version = tuple(map(int, self._pandas.__version__.split(".")[:2]))
        return None if version >= EXACT_FROM else "round_trip"


def _is_number(mark: str) -> bool:
    """Say whether a mark is a number to pandas; NaN is none."""
    try:
        return not np.isnan(float(mark))
    except ValueError:
        return False
