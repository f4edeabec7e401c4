"""A fitted model as plain data: how raw columns become scores, and what is known of the fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from crank.design.response import ResponseSpec
from crank.design.spec import DesignSpec, Variable
from crank.errors import DataError
from crank.frames.profile import ColumnProfile
from crank.frames.table import Table
from crank.growing.matrix import FloatArray
from crank.rankers.base import Ranker
from crank.rankers.validation import Estimate
from crank.records.call import Call
from crank.records.provenance import TrainingInfo

Unknown = Literal["error", "missing"]
"""What to do with category levels that training did not have."""


@dataclass(frozen=True, repr=False, kw_only=True)
class ModelRecord(ABC):
    """What every kind of model is: a formula, a response, and scores of raw columns.

    Attributes
    ----------
    formula : str
    response : ResponseSpec
        How raw columns become the response.
    training : TrainingInfo
    call : Call, optional
        What the user asked for; None if an older file does not say.
    metadata : mapping
        What its owner says about it: plain JSON values, written into every file.
    """

    kind: ClassVar[str]
    """Name of the kind in `crank.records.kinds` and in model files."""

    formula: str
    response: ResponseSpec
    training: TrainingInfo
    call: Call | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    @abstractmethod
    def designs(self) -> tuple[DesignSpec, ...]:
        """The design, or that of each member of a blend."""

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The raw columns of the formula's right side that a score needs."""
        found = {
            variable.name: variable for design in self.designs for variable in design.variables
        }
        return tuple(found.values())

    @property
    def asked(self) -> Call:
        """The call that made it; of an older file, what is known of the call."""
        return self.call or Call("crank.fit", self.formula)

    @property
    def score_profile(self) -> ColumnProfile | None:
        """How the scores of the training rows were spread; None if it is not known."""
        return self.training.scores

    @property
    def known_figures(self) -> tuple[str, Mapping[str, Estimate]]:
        """The least optimistic figures of the fit, after the word for where they come from."""
        if self.training.crossvalidated:
            return "cross-validated", self.training.crossvalidated
        return "training", self.training.figures

    @property
    @abstractmethod
    def predictions(self) -> tuple[str, ...]:
        """What `values` can give, the score first."""

    @abstractmethod
    def contributions(
        self, table: Table, unknown: str = "error"
    ) -> tuple[dict[str, NDArray[np.float64]], float]:
        """Return what each term adds to each row's score, by term, and the base."""

    @abstractmethod
    def values(self, table: Table, type: str = "score", unknown: str = "error") -> NDArray[Any]:
        """Score the rows of a table, or give what else a prediction of this kind offers."""


@dataclass(frozen=True, repr=False, kw_only=True)
class DesignedRecord(ModelRecord):
    """A model with one design: raw columns → design matrix → ranker.

    Attributes
    ----------
    design : DesignSpec
        How raw columns become design columns.
    ranker : Ranker
    """

    design: DesignSpec
    ranker: Ranker

    @property
    def designs(self) -> tuple[DesignSpec, ...]:
        """Its one design."""
        return (self.design,)

    @property
    def predictions(self) -> tuple[str, ...]:
        """What the ranker can give."""
        return self.ranker.predictions

    def matrix(self, table: Table, unknown: str = "error") -> FloatArray:
        """Build the design of new data, as it was built in training."""
        X = self.design.matrix(table, unknown=unknown)
        if not self.ranker.takes_missing:
            refuse_missing(X, self.design, self.ranker.made_by)
        return X

    def values(self, table: Table, type: str = "score", unknown: str = "error") -> NDArray[Any]:
        """Build the design and ask the ranker."""
        return self.ranker.predict(self.matrix(table, unknown), type)

    def contributions(
        self, table: Table, unknown: str = "error"
    ) -> tuple[dict[str, NDArray[np.float64]], float]:
        """Build the design, and add up what the columns of each term contribute."""
        values, base = self.ranker.contributions(self.matrix(table, unknown))
        found: dict[str, NDArray[np.float64]] = {}
        for term, column in zip(self.design.terms, values.T, strict=True):
            found[term] = found[term] + column if term in found else column
        return found, base


def refuse_missing(X: FloatArray, design: DesignSpec, made_by: str) -> None:
    """Raise if what takes no missing values would meet some."""
    missing = np.isnan(X)
    if missing.any():
        column = int(np.flatnonzero(missing.any(axis=0))[0])
        name, term = design.names[column], design.terms[column]
        which = f"column {name!r}" if name == term else f"the term {term!r}"
        way = "use a learner that takes them (see crank.learners())"
        if "learner" not in made_by:
            way = "fit a ranker that takes them, such as crank.forest"
        raise DataError(
            f"{which} is missing in {int(missing[:, column].sum())} of "
            f"{len(X)} rows, and {made_by} takes no missing values. Drop those rows, "
            f"fill them, or {way}."
        )
