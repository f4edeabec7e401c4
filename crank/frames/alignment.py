"""A pandas Series beside the data belongs to the rows that its index names."""

from __future__ import annotations

import sys
from typing import Any

from crank.errors import DataError


def check_aligned(values: Any, data: Any, what: str, beside: str = "data") -> None:
    """Raise if a Series has another index than the data: by position it would meet wrong rows.

    Parameters
    ----------
    values : object
        One value a row. Only a pandas Series has an index to compare.
    data : object
        A pandas data frame or Series; anything else has no index.
    what : str
        Name of the values, for the message.
    beside : str
        Name of the data, for the message.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [1.0, 2.0]}, index=["a", "b"])
    >>> check_aligned(pd.Series([1, 3], index=["b", "a"]), frame, "weights")
    Traceback (most recent call last):
        ...
    crank.errors.DataError: weights has another index than data: it begins with 'b', data \
with 'a'. Reorder it, weights.reindex(data.index), or pass weights.to_numpy() to go by position.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(values, pandas.Series):
        return
    if not isinstance(data, pandas.DataFrame | pandas.Series):
        return
    ours, theirs = values.index, data.index
    if ours is theirs or len(ours) != len(theirs) or ours.equals(theirs):
        return  # another length has a message of its own
    apart = (a is not b and a != b for a, b in zip(ours, theirs, strict=True))
    first = next((i for i, differs in enumerate(apart) if differs), 0)
    where = "begins with" if first == 0 else f"has in row {first}"
    raise DataError(
        f"{what} has another index than {beside}: it {where} {_label(ours[first])}, {beside} "
        f"{'with ' if first == 0 else ''}{_label(theirs[first])}. Reorder it, "
        f"{what}.reindex({beside}.index), or pass {what}.to_numpy() to go by position."
    )


def _label(value: Any) -> str:
    return repr(value.item() if hasattr(value, "item") else value)
