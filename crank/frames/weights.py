"""Case weights: a column of the data or an array, checked once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.errors import DataError, absent_column
from crank.frames.alignment import check_aligned
from crank.frames.table import Table


def read_weights(weights: Any, table: Table, data: Any = None) -> NDArray[np.float64] | None:
    """Return case weights aligned with the table, NaN where they are missing.

    Parameters
    ----------
    weights : str, array-like or None
        A column's name or one value a row.
    table : Table
    data : data frame, optional
        What the table was read from: a pandas Series of weights must have its index.

    Examples
    --------
    >>> read_weights("w", Table.read({"x": [1.0, 2.0], "w": [1, 3]})).tolist()
    [1.0, 3.0]
    """
    if weights is None:
        return None
    if isinstance(weights, str):
        if weights not in table.names:
            raise absent_column(f"weights column {weights!r}", weights, table.names)
        if table.kind(weights) not in ("number", "boolean"):
            raise DataError(
                f"weights column {weights!r} has dtype {table.dtype(weights)}, which is not "
                "numeric. Weights are numbers from 0 up: name a column of numbers."
            )
        values = np.asarray(table.numeric(weights), dtype=np.float64)
        what = f"weights column {weights!r}"
    else:
        what = "weights"
        check_aligned(weights, data, what)
        try:
            values = np.asarray(weights, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(
                f"{what} cannot be read as numbers; got {type(weights).__name__}. "
                "Allowed: the name of a column, or one number a row."
            ) from None
    if values.shape != (table.n_rows,):
        raise DataError(
            f"{what} has shape {values.shape}; the data has {table.n_rows} rows. "
            "Give one weight a row."
        )
    bad = (values < 0) | np.isinf(values)
    if bad.any():
        raise DataError(
            f"{what} is {values[bad][0]:g} in row {int(np.flatnonzero(bad)[0])} "
            f"({int(bad.sum())} such rows). Allowed: finite weights from 0 up."
        )
    with np.errstate(over="ignore"):
        too_large = np.isinf(np.nansum(values))
    if too_large:
        raise DataError(
            f"{what} adds up to more than a float can hold, {np.finfo(float).max:.1e}. Only the "
            "proportions of weights matter: divide them by the largest."
        )
    return values
