"""A ranker: what turns a design matrix into scores, as frozen data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crank.errors import OptionError
from crank.growing.matrix import FloatArray


class Ranker(ABC):
    """The fitted part of a model that knows numbers only: no formula, no column names.

    A kind of ranker is a frozen dataclass that derives from this class; what people and machines
    read of it is written by the readers that `crank.records.kinds` lists for its kind.
    """

    kind: ClassVar[str]
    """Name of the kind, as in model files."""
    predictions: ClassVar[tuple[str, ...]] = ("score",)
    """What `predict` can give; the score, which orders rows, comes first."""

    @property
    def takes_missing(self) -> bool:
        """Whether a design may hold NaN."""
        return False

    @property
    def made_by(self) -> str:
        """What refuses missing values, in words for a message."""
        return f"a {self.kind} ranker"

    @abstractmethod
    def predict(self, X: FloatArray, type: str = "score") -> NDArray[Any]:
        """Return one value a row of the design: a larger score is a higher rank."""

    def contributions(self, X: FloatArray) -> tuple[NDArray[np.float64], float]:
        """Return what each column adds to each row's score (its Shapley value), and the base.

        The contributions of a row, shape (n, p) in all, and the base add up to its score.
        """
        raise no_contributions(self.made_by)


def no_contributions(what: str) -> OptionError:
    """Say that something has no exact Shapley values."""
    return OptionError(
        f"{what} has no exact Shapley values: they need trees whose splits test one column each, "
        "or a sum of terms. Use m.permutation_importance(data), or m.plot_score."
    )
