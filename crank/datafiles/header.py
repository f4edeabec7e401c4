"""The names of the columns of a data file, before it is read."""

from __future__ import annotations

import csv
from pathlib import Path

from crank.datafiles.formats import delimiter_of, format_of, open_text
from crank.datafiles.ipc import ipc_names
from crank.datafiles.parquet import parquet_names


def column_names(path: str | Path, *, delimiter: str | None = None) -> tuple[str, ...]:
    """Name the columns; none of standard input, which can be read only once."""
    if str(path) == "-":
        return ()
    if format_of(path) == "parquet":
        return parquet_names(path)
    if format_of(path) == "arrow":
        return ipc_names(path)
    with open_text(path) as file:
        reader = csv.reader(file, delimiter=delimiter_of(path, delimiter))
        return tuple(next(reader, ()))
