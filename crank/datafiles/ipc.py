"""Feather and Arrow files, through pyarrow or polars, whichever is installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from crank.datafiles.parquet import _arrow, _at_least, engine, readable, require_names

WHAT = "Feather or Arrow"


def read_ipc(path: str | Path) -> Any:
    """Read a whole file as a data frame."""
    with readable(path, WHAT):
        if engine(WHAT) == "pyarrow":
            with _opened(path) as file:
                return file.read_all()
        import polars as pl

        return pl.scan_ipc(path).collect()


def ipc_names(path: str | Path) -> tuple[str, ...]:
    """Name the columns of a file."""
    with readable(path, WHAT):
        if engine(WHAT) == "pyarrow":
            with _opened(path) as file:
                return tuple(file.schema.names)
        import polars as pl

        return tuple(pl.read_ipc_schema(path))


@contextmanager
def open_ipc(path: str | Path, names: Sequence[str], rows: int) -> Iterator[Iterator[Any]]:
    """Read some columns of a file as data frames of at most so many rows, in order."""
    with readable(path, WHAT):
        if engine(WHAT) == "pyarrow":
            with _opened(path) as file:
                require_names(names, file.schema.names)
                empty = file.schema.empty_table().select(list(names))
                yield _at_least(empty, _slices(file, list(names), rows))
            return
        import polars as pl

        scan = pl.scan_ipc(path)
        require_names(names, scan.collect_schema().names())
        total = scan.select(pl.len()).collect().item()
        starts = range(0, max(total, 1), rows)
        yield (scan.select(names).slice(start, min(rows, total)).collect() for start in starts)


def _slices(file: Any, names: list[str], rows: int) -> Iterator[Any]:
    table = import_module("pyarrow").Table
    batches = (
        (file.get_batch(k) for k in range(file.num_record_batches))
        if hasattr(file, "num_record_batches")
        else file
    )
    for batch in batches:
        part = table.from_batches([batch]).select(names)
        for start in range(0, part.num_rows, rows):
            yield part.slice(start, rows)


@contextmanager
def _opened(path: str | Path) -> Iterator[Any]:
    """Open a file of Arrow's file format (Feather), or of its stream format."""
    arrow, ipc = import_module("pyarrow"), import_module("pyarrow.ipc")
    with arrow.OSFile(str(path), "rb") as source:
        try:
            file = ipc.open_file(source)
        except arrow.ArrowInvalid:
            source.seek(0)
            file = ipc.open_stream(source)
        yield file


class IpcWriter:
    """Write columns piece by piece as Arrow's file format, which is Feather's."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writer: Any = None
        self._frames: list[Any] = []
        self._engine = engine(WHAT)

    def write(self, columns: dict[str, Any]) -> None:
        """Append rows, given as columns of one length."""
        if self._engine == "pyarrow":
            table = import_module("pyarrow").table({n: _arrow(v) for n, v in columns.items()})
            if self._writer is None:
                new_file = import_module("pyarrow.ipc").new_file
                self._writer = new_file(str(self.path), table.schema)
            self._writer.write_table(table)
            return
        import polars as pl

        text = {n: pl.Series(v, dtype=pl.String) for n, v in columns.items() if type(v) is list}
        self._frames.append(pl.DataFrame(columns | text))

    def close(self) -> None:
        """Finish the file."""
        if self._writer is not None:
            self._writer.close()
        elif self._frames:
            import polars as pl

            pl.concat(self._frames).write_ipc(self.path)

    def discard(self) -> None:
        """Let go of what is open."""
        if self._writer is not None:
            self._writer.close()
