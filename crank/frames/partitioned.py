"""Data frames that are not in this process: recognised without loading the library they are of."""

from __future__ import annotations

import sys
from typing import Any

from crank.errors import OptionError


def is_dask(data: Any) -> bool:
    """Say whether the data is a Dask data frame; Dask is not imported to find out.

    Examples
    --------
    >>> is_dask({"x": [1.0]})
    False
    """
    if "dask.dataframe" not in sys.modules:
        return False
    here = type(data)
    return here.__module__.split(".")[0] in ("dask", "dask_expr") and here.__name__ == "DataFrame"


def only_for_dask(data: Any, client: Any, sample: Any) -> None:
    """Refuse options of a cluster where there is none."""
    for name, value in (("client", client), ("sample", sample)):
        if value is not None and not is_dask(data):
            raise OptionError(
                f"{name}= is for Dask data frames; got {type(data).__name__}. Leave it out."
            )
