"""The design on which a tree is grown, and what its learners have made of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class TrainingMatrix:
    """The design on which one tree is grown.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Design columns, float64 or float32. NaN is a missing value.
    levels : tuple of int
        For each column its number of levels if it holds category codes 0, 1, …, else 0.
    n_jobs : int
        Threads that the fit may use.
    monotone : tuple of int
        For each column 1 if the score may not decrease in it, −1 if it may not increase, else 0;
        empty if no column is constrained.
    shared : dict
        What learners have prepared from the matrix, by name: fits on other rows of the same
        matrix, such as the folds of a cross-validation, need not prepare it again.

    Examples
    --------
    >>> matrix = TrainingMatrix(np.array([[1.5, 0.0], [2.5, 1.0]]), levels=(0, 2))
    >>> matrix.has_categories
    True
    """

    X: FloatArray
    levels: tuple[int, ...]
    n_jobs: int = 1
    monotone: tuple[int, ...] = ()
    shared: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def has_categories(self) -> bool:
        """Whether any column holds category codes."""
        return any(self.levels)
