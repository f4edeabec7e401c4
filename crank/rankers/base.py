"""A ranker: what turns a design matrix into scores, as frozen data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from numpy.typing import NDArray

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
