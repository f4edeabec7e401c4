"""Groups of rows that belong together: one label each, for clustered standard errors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.errors import DataError
from crank.kernels.order import IntArray


def read_groups(groups: Any, n: int) -> IntArray:
    """Give each group of rows a number.

    Parameters
    ----------
    groups : array-like of shape (n,)
        A label for each row: numbers, text, anything that can be told apart.
    n : int
        Rows.

    Examples
    --------
    >>> read_groups(["b", "a", "b"], 3).tolist()
    [0, 1, 0]
    """
    import pandas as pd

    labels: NDArray[Any] = np.asarray(groups)
    if labels.shape != (n,):
        raise DataError(
            f"groups must have one label for each row. Got shape {labels.shape} for {n} rows. "
            "Pass a column of the same data."
        )
    try:
        number = pd.factorize(labels)[0].astype(np.int64)
    except TypeError:
        raise DataError(
            f"groups must hold labels that can be compared. Got dtype {labels.dtype} with values "
            "such as lists. Pass numbers or text."
        ) from None
    absent = np.flatnonzero(number < 0)
    if len(absent):
        raise DataError(
            f"groups must not be missing. Got {len(absent)} missing of {n}, the first at position "
            f"{absent[0]}. Drop these rows, or give each a label of its own."
        )
    return number


def missing_labels(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which rows have no label."""
    import pandas as pd

    return np.asarray(pd.isna(labels))


def check_several(number: IntArray) -> None:
    """Raise unless the rows that count come from two groups or more."""
    if (number == number[0]).all():
        raise DataError(
            f"groups has one label in all {len(number)} rows that count. A standard error needs "
            "two groups or more. Leave groups out if rows are independent."
        )
