"""A toy ranker: the sum of the design's columns, some with a minus sign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crank.formula import learn_design, learn_response, parse_formula
from crank.frames.table import Table
from crank.growing.matrix import FloatArray
from crank.models.designed import DesignedModel
from crank.rankers.base import Ranker
from crank.records.kinds import Kind
from crank.records.provenance import TrainingInfo


@dataclass(frozen=True)
class SignedSum(Ranker):
    """Scores a row by the signed sum of its columns."""

    kind: ClassVar[str] = "signed sum"

    signs: tuple[int, ...]

    def predict(self, X: FloatArray, type: str = "score") -> NDArray[Any]:
        return np.asarray(X @ np.array(self.signs, dtype=np.float64))


@dataclass(frozen=True, repr=False, kw_only=True)
class SignedSumModel(DesignedModel):
    """A formula, a design and a signed sum."""

    kind: ClassVar[str] = SignedSum.kind

    ranker: SignedSum


def fit(data: Any, formula: str) -> SignedSumModel:
    """Give every column a plus."""
    table = Table.read(data)
    parsed = parse_formula(formula, table.names)
    design = learn_design(parsed, table, native=False)
    return SignedSumModel(
        formula=parsed.text,
        response=learn_response(parsed, table),
        design=design,
        training=TrainingInfo(
            n=table.n_rows, n_dropped=0, weighted=False, figures={}, crossvalidated={}
        ),
        ranker=SignedSum((1,) * len(design.names)),
    )


KIND = Kind(
    model="tests.seams.ranker:SignedSumModel",
    fit="tests.seams.ranker:fit",
    readers={
        "report": "tests.seams.ranker_report",
        "json": "tests.seams.ranker_json",
        "onnx": "tests.seams.ranker_onnx",
    },
)
