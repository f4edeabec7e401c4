"""Arrays of a model file: numbers, null where there is none; symmetric matrices as triangles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crank.errors import ModelFileError
from crank.export.json.text import number, read_number


def vector(values: NDArray[np.float64]) -> list[float | None]:
    """Write an array of one dimension.

    Examples
    --------
    >>> vector(np.array([1.5, np.nan]))
    [1.5, None]
    """
    return [number(value) for value in values.tolist()]


def read_vector(values: Sequence[float | None]) -> NDArray[np.float64]:
    """Read an array of one dimension."""
    return np.array([read_number(value) for value in values], dtype=np.float64)


def triangle(matrix: NDArray[np.float64]) -> list[list[float | None]]:
    """Write a symmetric matrix row by row, up to its diagonal.

    Examples
    --------
    >>> triangle(np.array([[2.0, 1.0], [1.0, 3.0]]))
    [[2.0], [1.0, 3.0]]
    """
    return [vector(row[: k + 1]) for k, row in enumerate(matrix)]


def read_symmetric(rows: Sequence[Sequence[float | None]], entry: str) -> NDArray[np.float64]:
    """Read a symmetric matrix from its triangle."""
    for k, row in enumerate(rows):  # before a square of their number is allocated
        if len(row) != k + 1:
            raise ModelFileError(
                f"ranker.{entry}[{k}] has {len(row)} entries. Allowed: {k + 1}, up to the diagonal."
            )
    matrix = np.empty((len(rows), len(rows)))
    for k, row in enumerate(rows):
        matrix[k, : k + 1] = matrix[: k + 1, k] = read_vector(row)
    return matrix
