"""Data files of the command line: CSV, Parquet, Feather, whole or in pieces; results written."""

from __future__ import annotations

from crank.datafiles.expected import Expected, expected_columns
from crank.datafiles.formats import format_of
from crank.datafiles.output import Writer, check_target, open_output, same_target
from crank.datafiles.piece import Piece, Source
from crank.datafiles.source import open_source, placed, read_frame, read_rows

__all__ = [
    "Expected",
    "Piece",
    "Source",
    "Writer",
    "check_target",
    "expected_columns",
    "format_of",
    "open_output",
    "open_source",
    "placed",
    "read_frame",
    "read_rows",
    "same_target",
]
