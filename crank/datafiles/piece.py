"""Some rows of a data file, and the file that they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


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
    where : callable
        From the number of a row to what it is called in the file, such as "line 7".
    """

    data: Any
    kept: Mapping[str, Any]
    n_rows: int
    where: Callable[[int], str]


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
