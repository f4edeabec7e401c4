"""Score with ONNX Runtime: a model file, rows of any data frame in, an array out."""

from __future__ import annotations

from crank.records.inputs import ColumnCounts, InputReport
from crank.serve.scorer import BATCH, RowScores, Scorer

__all__ = ["BATCH", "ColumnCounts", "InputReport", "RowScores", "Scorer"]
