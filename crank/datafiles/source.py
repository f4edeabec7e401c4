"""Read a data file: whole for a fit, in pieces of bounded size for scoring."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

from crank.datafiles.expected import Expected
from crank.datafiles.fields import as_column
from crank.datafiles.formats import UNPACKING_ERRORS, delimiter_of, format_of, open_text
from crank.datafiles.parquet import open_parquet, read_parquet
from crank.errors import DataError, listed
from crank.frames.table import unknown_column


@dataclass(frozen=True)
class Piece:
    """Some neighbouring rows of a data file.

    Attributes
    ----------
    data : data frame or dict of columns
        The columns that the model expects.
    kept : dict of columns
        Those that are to be passed on, as they stand in the file.
    n_rows : int
    """

    data: Any
    kept: Mapping[str, Any]
    n_rows: int


@dataclass(frozen=True)
class Source:
    """A data file that is being read.

    Attributes
    ----------
    pieces : iterator of Piece
    n_rows : int or None
        How many rows there are in all, if the file says so.
    """

    pieces: Iterator[Piece]
    n_rows: int | None


@contextmanager
def open_source(
    path: str | Path,
    expected: Mapping[str, Expected],
    *,
    keep: Sequence[str] = (),
    rows: int = 50_000,
    delimiter: str | None = None,
) -> Iterator[Source]:
    r"""Read a file piece by piece, in order, each piece of at most so many rows.

    What a column holds is taken from ``expected``, never guessed from a piece.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "new.csv"
    >>> _ = path.write_text("id,x\n07,1.5\n08,\n")
    >>> with open_source(path, {"x": Expected("number")}, keep=["id"]) as source:
    ...     [(piece.data["x"].tolist(), piece.kept) for piece in source.pieces]
    [([1.5, nan], {'id': ['07', '08']})]
    """
    if format_of(path) == "parquet":
        names = list(dict.fromkeys([*expected, *keep]))
        with open_parquet(path, names, rows) as (frames, n_rows):
            pieces = (Piece(frame, {n: frame[n] for n in keep}, len(frame)) for frame in frames)
            yield Source(pieces, n_rows)
        return
    with open_text(path) as file:
        yield Source(_csv_pieces(file, path, expected, keep, rows, delimiter), None)


def _csv_pieces(
    file: IO[str],
    path: str | Path,
    expected: Mapping[str, Expected],
    keep: Sequence[str],
    rows: int,
    delimiter: str | None,
) -> Iterator[Piece]:
    reader = csv.reader(file, delimiter=delimiter_of(path, delimiter), strict=True)
    try:
        header = next(reader, None)
        if not header:
            raise DataError(f"{str(path)!r} is empty. Its first line must name the columns.")
        position = _positions(header, [*expected, *keep])
        done = 0
        # the first piece comes even if it is empty: its columns still have names
        while (read := list(islice(reader, rows))) or not done:
            # a blank line is a row without values: scores stay beside their rows
            lines = [fields or [""] * len(header) for fields in read]
            _check_lengths(lines, len(header), done + 1)
            columns = {name: list(map(itemgetter(j), lines)) for name, j in position.items()}
            data = {n: as_column(columns[n], expected[n], n, done + 1) for n in expected}
            yield Piece(data, {n: columns[n] for n in keep}, len(lines))
            done += len(lines)
            if not read:
                return
    except UnicodeDecodeError as cause:
        raise DataError(
            f"{str(path)!r} is not text in UTF-8 ({cause.reason}). Convert it, for example with "
            f"iconv -t utf-8."
        ) from None
    except csv.Error as cause:
        raise DataError(f"{str(path)!r}, line {reader.line_num}: {cause}.") from None
    except UNPACKING_ERRORS as cause:
        raise DataError(f"{str(path)!r} cannot be unpacked: {cause}.") from None


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


def _check_lengths(lines: list[list[str]], width: int, first_row: int) -> None:
    if set(map(len, lines)) <= {width}:
        return
    k, fields = next((k, line) for k, line in enumerate(lines) if len(line) != width)
    raise DataError(
        f"row {first_row + k} (counted from 1, below the header) has {len(fields)} fields, the "
        f"header {width}. Put text that holds the delimiter in quotes, or give another --delimiter."
    )


def read_columns(
    path: str | Path, expected: Mapping[str, Expected], *, delimiter: str | None = None
) -> Any:
    """Read the expected columns of a whole file."""
    most = 2**62
    with open_source(path, expected, rows=most, delimiter=delimiter) as source:
        return next(source.pieces).data


def read_frame(path: str | Path, *, text: Sequence[str] = (), delimiter: str | None = None) -> Any:
    """Read a whole file for a fit; pandas finds out what the columns of a CSV file hold.

    Parameters
    ----------
    path : str or Path
    text : sequence of str
        Columns of a CSV file that are text even if they look like numbers.
    delimiter : str, optional
    """
    if format_of(path) == "parquet":
        return read_parquet(path)
    import pandas as pd

    # pandas 3.1 reads doubles exactly and warns about the option that older ones need
    old = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
    exact: dict[str, Any] = {"float_precision": "round_trip"} if old else {}
    try:
        with open_text(path) as file:
            frame = pd.read_csv(
                file,
                sep=delimiter_of(path, delimiter),
                dtype=dict.fromkeys(text, "str"),
                low_memory=False,
                index_col=False,
                **exact,
            )
    except pd.errors.EmptyDataError:
        raise DataError(f"{str(path)!r} is empty. Its first line must name the columns.") from None
    except (pd.errors.ParserError, UnicodeDecodeError, *UNPACKING_ERRORS) as cause:
        raise DataError(
            f"{str(path)!r} cannot be read as CSV: {cause}.".replace("\n", " ")
        ) from None
    unknown = [name for name in text if name not in frame.columns]
    if unknown:
        raise DataError(
            f"column {unknown[0]!r} is not in the data. Columns: {listed(frame.columns)}."
        )
    return frame
