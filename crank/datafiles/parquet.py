"""Parquet files, through pyarrow or polars, whichever is installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from crank.errors import CrankError, DataError, MissingExtraError
from crank.frames.table import unknown_column


def engine(what: str = "Parquet") -> str:
    """Name the installed package that reads and writes Parquet, Feather and Arrow."""
    for package in ("pyarrow", "polars"):
        if find_spec(package) is not None:
            return package
    raise MissingExtraError(
        f"{what} files need pyarrow or polars, and neither is installed. Install one with: "
        "pip install pyarrow"
    )


def read_parquet(path: str | Path) -> Any:
    """Read a whole file as a data frame."""
    with readable(path):
        if engine() == "pyarrow":
            return _pyarrow_parquet().read_table(str(path))
        import polars as pl

        return pl.read_parquet(path, glob=False)


def parquet_names(path: str | Path) -> tuple[str, ...]:
    """Name the columns of a file."""
    with readable(path):
        if engine() == "pyarrow":
            return tuple(_pyarrow_parquet().read_schema(str(path)).names)
        import polars as pl

        return tuple(pl.read_parquet_schema(path))


@contextmanager
def open_parquet(
    path: str | Path, names: Sequence[str], rows: int
) -> Iterator[tuple[Iterator[Any], int]]:
    """Read some columns of a file as data frames of at most so many rows, in order.

    Yields
    ------
    iterator of data frames, int
        And the number of rows in all.
    """
    with readable(path):
        if engine() == "pyarrow":
            with _pyarrow_parquet().ParquetFile(str(path)) as file:
                require_names(names, file.schema_arrow.names)
                batches = file.iter_batches(min(rows, 2**31 - 1), columns=list(names))
                empty = file.schema_arrow.empty_table().select(list(names))
                table = import_module("pyarrow").Table
                frames = (table.from_batches([batch]) for batch in batches)
                yield _at_least(empty, frames), file.metadata.num_rows
            return
        import polars as pl

        scan = pl.scan_parquet(path, glob=False)
        require_names(names, scan.collect_schema().names())
        total = scan.select(pl.len()).collect().item()
        starts = range(0, max(total, 1), rows)
        parts = (scan.select(names).slice(start, min(rows, total)).collect() for start in starts)
        yield parts, total


def _at_least(empty: Any, frames: Iterator[Any]) -> Iterator[Any]:
    """Yield one empty frame where there is none: its columns still have names."""
    first = next(frames, empty)
    yield first
    yield from frames


def require_names(names: Sequence[str], present: Sequence[str]) -> None:
    """Raise unless a file has some columns."""
    for name in names:
        if name not in present:
            raise unknown_column(name, present)


@contextmanager
def readable(path: str | Path, what: str = "Parquet") -> Iterator[None]:
    """Turn what the packages raise over a broken file into a message."""
    if not Path(path).exists():
        raise FileNotFoundError(2, "No such file or directory", str(path))
    try:
        yield
    except CrankError:
        raise
    except Exception as cause:
        own = type(cause).__module__.partition(".")[0] in ("pyarrow", "polars")
        # Arrow's word for damaged pages is an OSError, which the system did not number
        if not own and not (isinstance(cause, OSError) and cause.errno is None):
            raise
        text = str(cause).strip().partition("\n")[0]
        raise DataError(f"{str(path)!r} cannot be read as {what}: {text}") from cause


class ParquetWriter:
    """Write columns piece by piece."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writer: Any = None
        self._parts: list[Path] = []
        self._engine = engine()

    def write(self, columns: dict[str, Any]) -> None:
        """Append rows, given as columns of one length."""
        if self._engine == "pyarrow":
            table = import_module("pyarrow").table({n: _arrow(v) for n, v in columns.items()})
            if self._writer is None:
                self._writer = _pyarrow_parquet().ParquetWriter(str(self.path), table.schema)
            self._writer.write_table(table)
            return
        import polars as pl

        # polars appends to no file: parts lie beside it until they are joined
        part = self.path.with_name(f"{self.path.name}.{len(self._parts)}")
        self._parts.append(part)
        text = {n: pl.Series(v, dtype=pl.String) for n, v in columns.items() if type(v) is list}
        pl.DataFrame(columns | text).write_parquet(part)

    def close(self) -> None:
        """Finish the file."""
        if self._writer is not None:
            self._writer.close()
        elif self._parts:
            import polars as pl

            pl.scan_parquet(self._parts, glob=False).sink_parquet(self.path)

    def discard(self) -> None:
        """Remove what lies beside the file."""
        if self._writer is not None:
            self._writer.close()
        for part in self._parts:
            part.unlink(missing_ok=True)


def _arrow(values: Any) -> Any:
    """Take fields of a CSV file as text; arrays as they are."""
    pyarrow = import_module("pyarrow")
    if type(values) is list:
        return pyarrow.array(values, pyarrow.string())
    known = isinstance(values, pyarrow.Array | pyarrow.ChunkedArray)
    return values if known else pyarrow.array(values)


def _pyarrow_parquet() -> Any:
    return import_module("pyarrow.parquet")
