"""What requests and answers look like: a row or rows as JSON, or an Arrow stream."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.errors import DataError, MissingExtraError
from crank.service.served import Served

ARROW = "application/vnd.apache.arrow.stream"


class TooLarge(Exception):
    """A request is larger than the service allows."""


def parsed(body: bytes) -> Any:
    """Read JSON, or say where it is wrong."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise DataError(f"the body is no JSON: {error}.") from None


def json_columns(served: Served, content: Any, most_rows: int) -> tuple[dict[str, Any], int]:
    """Read ``{"rows": [...]}`` or ``{"columns": {...}}``; return columns and the number of rows."""
    match content:
        case {"rows": list(rows)}:
            _check_rows(len(rows), most_rows)
            return served.rows_to_columns(rows), len(rows)
        case {"columns": dict(given)}:
            absent = [name for name in served.columns if not isinstance(given.get(name), list)]
            if absent:
                raise DataError(f"columns lacks a list of values for {absent[0]!r}.")
            lists: dict[str, list[Any]] = {name: list(given[name]) for name in served.columns}
            sizes = {name: len(values) for name, values in lists.items()}
            n = next(iter(sizes.values()))
            _check_rows(max(sizes.values()), most_rows)
            if set(sizes.values()) != {n}:
                raise DataError(f"columns have different lengths: {sizes}.")
            return {name: served.column(name, values) for name, values in lists.items()}, n
    raise DataError(
        'the body has neither rows nor columns. Allowed: {"rows": [{"x": 1, …}, …]} or '
        '{"columns": {"x": [1, …], …}}.'
    )


def _check_rows(n: int, most_rows: int) -> None:
    if n > most_rows:
        raise TooLarge(f"the batch has {n} rows. Allowed: at most {most_rows} a request.")


def arrow_table(body: bytes, most_rows: int) -> Any:
    """Read an Arrow stream."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError(
            "Arrow needs pyarrow where the service runs: pip install 'crank-rank[arrow]'"
        ) from None
    try:
        table = pa.ipc.open_stream(body).read_all()
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"the body is no Arrow stream: {error}.") from None
    _check_rows(table.num_rows, most_rows)
    return table


def arrow_answer(type: str, values: NDArray[Any]) -> bytes:
    """Write one column as an Arrow stream."""
    import pyarrow as pa

    table = pa.table({type: values})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def as_json(values: NDArray[Any]) -> list[Any]:
    """Write numbers; NaN, which JSON does not have, as null."""
    if values.dtype.kind == "f" and np.isnan(values).any():
        return [None if np.isnan(value) else value for value in values.tolist()]
    found: list[Any] = values.tolist()
    return found


def single(served: Served, content: Any) -> Mapping[str, Any]:
    """Read the one row of a request."""
    if not isinstance(content, dict):
        raise DataError('the body is no row. Allowed: one object, such as {"x": 1, …}.')
    return served.rows_to_columns([content])
