"""Data in several Parquet files: found by a pattern or in a folder, read as a Dask data frame."""

from __future__ import annotations

from collections.abc import Sequence
from glob import glob
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from crank.datafiles.parquet import readable
from crank.errors import DataError, require

PART_ROWS = 500_000
"""Rows of a partition, about: large files are parted at their row groups."""


class Part(NamedTuple):
    """Row groups of a file."""

    path: str
    first: int
    past: int


def part_files(pattern: str) -> list[str]:
    """List the Parquet files of a folder, or those that a pattern names, in order.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("b.parquet", "a.parquet", "note.txt"):
    ...     _ = (folder / name).write_bytes(b"")
    >>> [Path(path).name for path in part_files(str(folder))]
    ['a.parquet', 'b.parquet']
    """
    given = Path(pattern)
    found = sorted(map(str, given.glob("*.parquet"))) if given.is_dir() else sorted(glob(pattern))
    files = [path for path in found if Path(path).is_file()]
    if not files:
        raise DataError(
            f"there is no Parquet file {pattern!r}. Give a folder of them, a file, or a pattern "
            "in quotes such as 'data/*.parquet'."
        )
    return files


def read_parts(pattern: str) -> Any:
    """Read Parquet files as a Dask data frame; rows are read when they are needed."""
    require("dask", "dask")
    require("pyarrow", "dask")
    import dask.dataframe as dd

    parts = [part for path in part_files(pattern) for part in parts_of(path)]
    meta = read_part(parts[0], empty=True)
    return dd.from_map(read_part, parts, meta=meta, enforce_metadata=False)


def parts_of(path: str) -> list[Part]:
    """Part a file at its row groups."""
    with readable(path), _parquet().ParquetFile(path) as file:
        groups = [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)]
    cuts, rows = [0], 0
    for k, here in enumerate(groups):
        if rows and rows + here > PART_ROWS:
            cuts.append(k)
            rows = 0
        rows += here
    whole = str(Path(path).absolute())  # workers may be started in another folder
    return [Part(whole, first, past) for first, past in pairwise([*cuts, len(groups)])]


def read_part(part: Part, columns: Sequence[str] | None = None, empty: bool = False) -> Any:
    """Read some columns of a part as pandas; Dask asks for those that are needed."""
    groups = [] if empty else list(range(part.first, part.past))
    names = None if columns is None else list(columns)
    with readable(part.path), _parquet().ParquetFile(part.path) as file:
        return file.read_row_groups(groups, columns=names).to_pandas(types_mapper=column_type)


def column_type(stored: Any) -> Any:
    """Choose pandas' type for one of Arrow's; None for its own choice.

    What pandas would keep as Python objects, such as dates and numbers with decimals, would become
    text: Dask takes all objects for text.
    """
    import pandas as pd

    types = import_module("pyarrow.types")
    if types.is_boolean(stored):
        return pd.BooleanDtype()
    own = (
        types.is_integer,
        types.is_floating,
        types.is_timestamp,
        types.is_string,
        types.is_large_string,
        types.is_dictionary,
        types.is_null,
    )
    return None if any(test(stored) for test in own) else pd.ArrowDtype(stored)


def _parquet() -> Any:
    return import_module("pyarrow.parquet")
