"""A model on a Dask data frame: predictions stay lazy, figures come from counts over partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crank.cluster.engine import Cluster
from crank.cluster.sketch import (
    Numbers,
    Parts,
    Refinement,
    count_numbers,
    count_refined,
    cut,
    refine_all,
)
from crank.cluster.tally import FloatArray
from crank.cluster.units import Units
from crank.errors import DataError, OptionError
from crank.frames.table import Table, unknown_column
from crank.frames.weights import read_weights
from crank.metrics.figures import figures
from crank.metrics.inference import figure_concordance
from crank.rankers.validation import Estimate
from crank.records.base import ModelRecord

SCORE_LEVELS = 2**8
"""Scores that are told apart, if there are more: rows of nearly equal score count as tied."""

CELLS = 2**20
"""Cells of the table of score by response."""

Y_LEVELS = 2**16
"""Responses that are told apart at most."""


def needed(model: ModelRecord, frame: Any, others: Sequence[str] = ()) -> list[Any]:
    """List the columns of a frame that a model reads; raise if it lacks one."""
    key = {str(name): name for name in frame.columns}
    wanted = [*dict.fromkeys([*(v.name for v in model.variables), *others])]
    for name in wanted:
        if name not in key:
            raise unknown_column(name, list(key))
    return [key[name] for name in wanted]


def lazy_values(model: ModelRecord, frame: Any, type: str, unknown: str) -> Any:
    """Predict for each partition when it is asked for: a Dask series of the frame's partitions."""
    dtype = "int64" if type == "leaf" else "float64"
    meta = pd.Series([], dtype=dtype, name=type, index=frame._meta.index[:0])
    read = frame[needed(model, frame)]
    return read.map_partitions(part_values, model, type, unknown, meta=meta)


def part_values(part: pd.DataFrame, model: ModelRecord, type: str, unknown: str) -> pd.Series[Any]:
    """Predict for one partition, with its index."""
    dtype = np.int64 if type == "leaf" else np.float64
    found: NDArray[Any] = np.empty(0)
    if len(part):
        found = model.values(Table.read(part), type, unknown)
    return pd.Series(found.astype(dtype), index=part.index, name=type)


def lazy_augmented(model: ModelRecord, frame: Any, unknown: str) -> Any:
    """Add the model's predictions to each partition when it is asked for."""
    needed(model, frame)
    meta = part_augmented(frame._meta.iloc[:0], model, unknown)
    return frame.map_partitions(part_augmented, model, unknown, meta=meta)


def part_augmented(part: pd.DataFrame, model: ModelRecord, unknown: str) -> pd.DataFrame:
    """Add the model's predictions to one partition."""
    new = {f".{type}": part_values(part, model, type, unknown) for type in model.predictions}
    return part.assign(**new)


class Reading(Protocol):
    """Reads what is to be judged in one partition."""

    def read(self, part: Any) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Return y, score and weight of rows that have all three."""


@dataclass(frozen=True)
class Judge:
    """What is to be judged: a model, its weights' column, how to take unknown levels."""

    model: ModelRecord
    weights: str | None
    unknown: str

    def read(self, part: pd.DataFrame) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Return y, score and weight of the rows of a partition that have all three."""
        if not len(part):
            return np.empty(0), np.empty(0), None if self.weights is None else np.empty(0)
        table = Table.read(part)
        y = self.model.response.values(table)
        w = read_weights(self.weights, table)
        known = ~np.isnan(y) if w is None else ~np.isnan(y) & (w > 0.0)
        score = self.model.values(table.rows(known), unknown=self.unknown)
        return y[known], score.astype(np.float64), None if w is None else w[known]


@dataclass(frozen=True)
class Pair:
    """Responses and scores, counted; the smallest and the largest weight."""

    y: Numbers
    score: Numbers
    smallest: float
    largest: float

    def __add__(self, other: Pair) -> Pair:
        return Pair(
            self.y + other.y,
            self.score + other.score,
            min(self.smallest, other.smallest),
            max(self.largest, other.largest),
        )


def count_pair(part: Any, judge: Reading) -> Pair:
    """Count the responses and scores of one partition."""
    y, score, w = judge.read(part)
    ends = (np.inf, 0.0) if w is None or not len(w) else (float(w.min()), float(w.max()))
    return Pair(count_numbers(y, Y_LEVELS), count_numbers(score, CELLS // 4), *ends)


@dataclass(frozen=True)
class Cells:
    """A table of score by response: the cells with rows, their rows, weight and its squares."""

    cell: NDArray[np.int64]
    sums: NDArray[np.float64]

    def __add__(self, other: Cells) -> Cells:
        cell, place = np.unique(np.concatenate((self.cell, other.cell)), return_inverse=True)
        sums = np.zeros((3, len(cell)))
        both = np.concatenate((self.sums, other.sums), axis=1)
        for k in range(3):
            sums[k] = np.bincount(place, both[k], len(cell))
        return Cells(cell, sums)


def count_pair_cells(part: Any, judge: Reading, wanted: Sequence[Any]) -> Any:
    """Count the responses and scores of one partition in the parts of cells."""
    y, score, _ = judge.read(part)
    return _Refined(
        [
            None if each is None else count_refined(x, each)
            for x, each in zip((y, score), wanted, strict=True)
        ]
    )


class _Refined(list[Any]):
    def __add__(self, other: Any) -> _Refined:
        both = zip(self, other, strict=True)
        return _Refined([None if a is None else a + b for a, b in both])


def count_table(part: Any, judge: Reading, y: Parts, score: Parts, units: Units) -> Cells:
    """Count the cells of one partition."""
    response, scores, w = judge.read(part)
    cell = y.of(response).astype(np.int64) * len(score.value) + score.of(scores)
    found, place = np.unique(cell, return_inverse=True)
    whole = units.whole(w)
    whole = np.ones(len(cell)) if whole is None else whole
    each = (None, whole, np.maximum(np.rint(whole**2 / units.heaviest**2 * 2.0**30), 1.0))
    sums = [np.bincount(place, x, len(found)).astype(np.float64) for x in each]
    return Cells(found, np.stack(sums))


@dataclass(frozen=True)
class Counted:
    """Responses and scores with the number of rows, their weight, and copies of equal weight."""

    y: FloatArray
    score: FloatArray
    weight: FloatArray
    copies: FloatArray
    n: int


def counted_scores(model: ModelRecord, frame: Any, weights: Any, unknown: str) -> Counted:
    """Count the responses and scores of a frame's rows."""
    if weights is not None and not isinstance(weights, str):
        raise OptionError(
            f"weights of a Dask data frame must be a column's name, got {type(weights).__name__}. "
            "Put them into the frame as a column first."
        )
    others = [v.name for v in model.response.variables] + ([weights] if weights else [])
    read = needed(model, frame, others)
    cluster = Cluster.of(frame, [str(name) for name in read])
    return counted(cluster, Judge(model, weights, unknown))


def counted(cluster: Cluster, judge: Reading) -> Counted:
    """Count the responses and scores of all partitions.

    Scores of more than 256 values are put into 256 classes of about equal size, responses
    into 4,096 or more; up to so many, nothing is lost.
    """
    first: Pair = cluster.sum(count_pair, judge)
    if not first.y.n:
        raise DataError(
            "the response is missing in all rows of the data. Evaluation needs rows whose response "
            "is known."
        )

    def count(wanted: Sequence[Refinement | None]) -> Any:
        return cluster.sum(count_pair_cells, judge, wanted)

    y, score = refine_all([first.y, first.score], [Y_LEVELS, SCORE_LEVELS], count)
    if y.distinct and score.distinct and min(y.n, y.distinct * score.distinct) <= CELLS:
        scores, levels = cut(score, CELLS), cut(y, CELLS)
    else:
        scores = cut(score, SCORE_LEVELS)
        levels = cut(y, min(Y_LEVELS, CELLS // len(scores.value)))
    units = Units()
    if first.largest > 0.0:
        units = Units.of((first.smallest, first.largest), False, first.y.n)
    table: Cells = cluster.sum(count_table, judge, levels, scores, units)
    of_y, of_score = np.divmod(table.cell, len(scores.value))
    rows, weight, squares = table.sums
    copies = rows
    if not units.unweighted:
        copies = weight**2 / (squares * units.heaviest**2 / 2.0**30)
    return Counted(
        levels.value[of_y], scores.value[of_score], weight, np.maximum(copies, 1.0), first.y.n
    )


def table_figures(known: Counted) -> dict[str, Estimate]:
    """Estimate the figures of trees that the responses allow."""
    distinct = len(np.unique(known.y))
    found = {
        figure.name: figure_concordance(
            figure, known.y, known.score, weights=known.weight, copies=known.copies
        )
        for figure in figures(of_trees=True)
        if figure.members <= distinct
    }
    return {k: Estimate(e.estimate, e.se, e.ci_low, e.ci_high) for k, e in found.items()}
