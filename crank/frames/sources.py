"""Where the columns of a table come from: pandas, what narwhals reads, or a dict of columns."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from crank.errors import DataError, listed
from crank.frames.columns import Column, Unusable, from_array, from_narwhals, from_pandas, objects
from crank.frames.partitioned import is_dask

FEW_VALUES = 2**16
"""Values of a data frame up to which it may be copied as a whole."""


class Source(NamedTuple):
    """Named columns that are read when they are asked for, and the names of their types."""

    names: tuple[str, ...]
    n_rows: int
    column: Callable[[str], Column]
    dtype: Callable[[str], str]


def source_of(data: Any) -> Source:
    """Find out how the columns of some data are read."""
    if isinstance(data, Mapping):
        return _from_mapping(data)
    # Reading a row of pandas through narwhals costs five times as much as directly.
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(data, pandas.DataFrame):
        return _from_pandas(data)
    return _from_narwhals(data)


def _from_pandas(frame: Any) -> Source:
    names = _unique_names(frame.columns)
    if frame.size <= FEW_VALUES and len(types := set(frame.dtypes)) == 1:
        # one block is read at once: asking pandas for a column takes 20 µs
        (dtype,) = types
        if isinstance(dtype, np.dtype) and dtype.kind in "fiu":
            block = dict(zip(names, frame.to_numpy().T, strict=True))
            return Source(names, len(frame), lambda name: block[name], lambda name: str(dtype))
    key = dict(zip(names, frame.columns, strict=True))
    seen: dict[str, Column] = {}

    def column(name: str) -> Column:
        found = seen.get(name)
        if found is None:
            found = from_pandas(frame[key[name]])
            if isinstance(found, np.ndarray) and found.base is not None:
                seen[name] = found  # a view, which takes no memory; pandas takes 50 µs to make it
        return found

    return Source(names, len(frame), column, lambda name: str(frame[key[name]].dtype))


def _from_narwhals(data: Any) -> Source:
    import narwhals as nw

    if is_dask(data):
        raise DataError(
            "a Dask data frame cannot be used here: all its rows would have to come into this "
            "process. Take some of them, frame.sample(frac=0.01).compute(); fit, linear, predict, "
            "augment and evaluate take it whole."
        )
    data = _as_arrow_table(data)
    try:
        frame = nw.from_native(data)
    except TypeError:
        if isinstance(data, str) and "~" in data:
            raise DataError(
                f"the data is the text {data!r}, which looks like a formula. Give a data frame or "
                f"a dict of columns; a fitted model keeps its formula."
            ) from None
        raise DataError(
            f"data must be a pandas, polars or pyarrow data frame or a dict of columns, got "
            f"{type(data).__name__}. Give the values named columns, for example in a dict."
        ) from None
    eager = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    return Source(
        _unique_names(eager.columns),
        len(eager),
        lambda name: from_narwhals(eager.get_column(name)),
        lambda name: str(eager.get_column(name).dtype),
    )


def _as_arrow_table(data: Any) -> Any:
    """Take a record batch of Arrow as a table, without a copy; anything else as it is."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(data, arrow.RecordBatch):
        return arrow.Table.from_batches([data])
    return data


def _from_mapping(data: Mapping[Any, Any]) -> Source:
    names = _unique_names(data)
    values = {n: _one_dimensional(v, n) for n, v in zip(names, data.values(), strict=True)}
    sizes = {name: len(column) for name, column in values.items()}
    if len(set(sizes.values())) > 1:
        short, long = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
        raise DataError(
            f"columns have different lengths: {short!r} has {sizes[short]} rows, {long!r} has "
            f"{sizes[long]}. Give columns of one length."
        )
    return Source(
        names,
        next(iter(sizes.values()), 0),
        lambda name: _from_values(values[name]),
        lambda name: str(values[name].dtype),
    )


def _one_dimensional(values: Any, name: str) -> Any:
    """Make an array of a list or a scalar; a library's own series stays as it is."""
    if isinstance(values, np.ma.MaskedArray):
        values = objects(values.tolist())
    elif hasattr(values, "dtype") and not isinstance(values, np.ndarray | np.generic):
        return values
    array = np.asarray(values)
    if array.dtype.kind in "US":  # NumPy would write the numbers of a mixed list as text
        array = np.asarray(values, dtype=object)
    if array.ndim > 1:
        raise DataError(
            f"column {name!r} has {array.ndim} dimensions (shape {array.shape}). "
            f"Give one value for each row."
        )
    return np.atleast_1d(array)


def _from_values(values: Any) -> Column:
    if isinstance(values, np.ndarray):
        return from_array(values)
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        own = pandas.Series | pandas.Index | pandas.api.extensions.ExtensionArray
        if isinstance(values, own):
            return from_pandas(pandas.Series(values))
    import narwhals as nw

    try:
        return from_narwhals(nw.from_native(values, series_only=True))
    except TypeError:
        return Unusable()


def _unique_names(columns: Any) -> tuple[str, ...]:
    names = tuple(map(str, columns))
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise DataError(
            f"column names must differ, but these appear more than once: "
            f"{listed(map(repr, twice))}. Rename or drop the others."
        )
    return names
