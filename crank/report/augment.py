"""Predictions beside the data: a frame of the kind that came in goes out, with columns added."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import pandas as pd

from crank.errors import DataError
from crank.frames.table import Table
from crank.records.base import ModelRecord


def augmented(model: ModelRecord, data: Any, unknown: str) -> Any:
    """Add the model's predictions to a data frame, under names that start with a dot."""
    table = Table.read(data)
    new = {f".{type}": model.values(table, type, unknown) for type in model.predictions}
    if isinstance(data, pd.DataFrame):
        return data.assign(**new)
    try:
        frame = nw.from_native(data)
        lazy, frame = (frame, frame.collect()) if isinstance(frame, nw.LazyFrame) else (None, frame)
    except TypeError:
        raise DataError(
            f"augment adds columns to a data frame; got {type(data).__name__}. "
            "Allowed: pandas, polars, pyarrow or a DuckDB relation."
        ) from None
    backend = nw.get_native_namespace(frame)
    columns = [nw.new_series(name, values, backend=backend) for name, values in new.items()]
    found = frame.with_columns(*columns)
    if lazy is None:
        return found.to_native()
    if lazy.implementation.value == "duckdb":
        import duckdb

        return duckdb.from_arrow(found.to_arrow())
    return found.lazy().to_native()
