"""Read a data file: whole for a fit, in pieces of bounded size for scoring."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.datafiles.csvfile import CsvReader
from crank.datafiles.expected import Expected
from crank.datafiles.formats import (
    UNPACKING_ERRORS,
    delimiter_of,
    format_of,
    open_bytes,
    open_text,
)
from crank.datafiles.ipc import ipc_names, open_ipc, read_ipc
from crank.datafiles.parquet import open_parquet, parquet_names, read_parquet
from crank.datafiles.piece import Piece, Source
from crank.datafiles.rows import line_of
from crank.errors import DataError, absent_column
from crank.files import is_stream
from crank.frames.columns import objects
from crank.frames.table import Table


@contextmanager
def open_source(
    path: str | Path,
    expected: Mapping[str, Expected],
    *,
    optional: Mapping[str, Expected] | None = None,
    keep: Sequence[str] = (),
    rows: int = 50_000,
    delimiter: str | None = None,
    marks: frozenset[str] | None = None,
) -> Iterator[Source]:
    r"""Read a file piece by piece, in order, each piece of at most so many rows.

    What a column holds is taken from ``expected``, never guessed from a piece, and from
    ``optional`` for columns that a file need not have; ``marks`` are what stands for a missing
    value in a CSV file, in place of the usual.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "new.csv"
    >>> _ = path.write_text("id,x\n07,1.5\n08,\n")
    >>> with open_source(path, {"x": Expected("number")}, keep=["id"]) as source:
    ...     [(piece.data.numeric("x").tolist(), piece.kept) for piece in source.pieces]
    [([1.5, nan], {'id': ['07', '08']})]
    """
    kind = format_of(path)
    if kind == "csv":
        with open_bytes(path) as file:
            reader = CsvReader(file, path, delimiter_of(path, delimiter), marks)
            yield Source(reader.pieces(expected, keep, rows, optional or {}), None)
        return
    there = (parquet_names if kind == "parquet" else ipc_names)(path) if optional else ()
    names = list(dict.fromkeys([*expected, *keep, *(n for n in optional or () if n in there)]))
    if kind == "parquet":
        with open_parquet(path, names, rows) as (frames, n_rows):
            yield Source(_frame_pieces(frames, keep), n_rows)
        return
    with open_ipc(path, names, rows) as frames:
        yield Source(_frame_pieces(frames, keep), None)


def _frame_pieces(frames: Iterator[Any], keep: Sequence[str]) -> Iterator[Piece]:
    done = 0
    for frame in frames:
        kept = {name: frame[name] for name in keep}
        yield Piece(frame, kept, len(frame), partial(_row, done + 1))
        done += len(frame)


def read_frame(
    path: str | Path,
    *,
    text: Sequence[str] = (),
    delimiter: str | None = None,
    marks: frozenset[str] | None = None,
) -> Any:
    """Read a whole file for a fit; pandas finds out what the columns of a CSV file hold.

    Parameters
    ----------
    path : str or Path
    text : sequence of str
        Columns of a CSV file that are text even if they look like numbers.
    delimiter : str, optional
    marks : frozenset of str, optional
        What stands for a missing value, in place of the usual; the empty field always does.
    """
    kind = format_of(path)
    if kind != "csv":
        if text:
            _check_names(text, (parquet_names if kind == "parquet" else ipc_names)(path))
        return read_parquet(path) if kind == "parquet" else read_ipc(path)
    import pandas as pd

    # pandas 3.1 reads doubles exactly and warns about the option that older ones need
    old = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
    options: dict[str, Any] = {"float_precision": "round_trip"} if old else {}
    if marks is not None:
        options |= {"na_values": sorted(marks | {""}), "keep_default_na": False}
    try:
        with open_text(path) as file:
            frame = pd.read_csv(
                file,
                sep=delimiter_of(path, delimiter),
                dtype=dict.fromkeys(text, "str"),
                low_memory=False,
                index_col=False,
                **options,
            )
    except pd.errors.EmptyDataError:
        raise DataError(f"{str(path)!r} is empty. Its first line must name the columns.") from None
    except (pd.errors.ParserError, UnicodeDecodeError, *UNPACKING_ERRORS) as cause:
        raise DataError(
            f"{str(path)!r} cannot be read as CSV: {cause}.".replace("\n", " ")
        ) from None
    _check_names(text, frame.columns)
    return frame


def _check_names(text: Sequence[str], names: Collection[str]) -> None:
    for name in text:
        if name not in names:
            raise absent_column(f"column {name!r}", name, names)


def read_rows(
    path: str | Path,
    expected: Mapping[str, Expected],
    *,
    delimiter: str | None = None,
    marks: frozenset[str] | None = None,
) -> dict[str, NDArray[Any]]:
    """Read some columns of a whole file, each as what a model expects of it."""
    parts: dict[str, list[NDArray[Any]]] = {name: [] for name in expected}
    with open_source(path, expected, delimiter=delimiter, marks=marks) as source:
        for piece in source.pieces:
            table = Table.read(piece.data)
            for name, about in expected.items():
                number = about.type == "number" and table.kind(name) in ("number", "boolean")
                parts[name].append(table.numeric(name) if number else objects(table.values(name)))
    return {name: np.concatenate(found) for name, found in parts.items()}


def _row(first: int, k: int) -> str:
    return f"row {first + k}"


@contextmanager
def placed(path: str | Path, delimiter: str | None = None) -> Iterator[None]:
    """Add to an error of a row, counted as `read_frame` does, where in the file it is."""
    try:
        yield
    except DataError as error:
        if error.row is None or str(path) == "-" or is_stream(path):
            raise  # what cannot be read again
        where = f"row {error.row + 1}"
        if format_of(path) == "csv":
            with open_text(path) as text:
                where = f"line {line_of(text, delimiter_of(path, delimiter), error.row)}"
        raise DataError(f"{error} It is {where} of {str(path)!r}.") from error
