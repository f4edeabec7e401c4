"""Count new data in the parts that training was counted in, piece by piece."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.errors import DataError
from crank.frames.profile import ColumnProfile
from crank.frames.table import Table
from crank.frames.weights import read_weights
from crank.records.base import ModelRecord


class Tally:
    """Counts of everything that drift is judged by; pieces of data are added one at a time.

    Attributes
    ----------
    n, n_unscored : int
        Rows, and those that the model cannot score because a value is missing or unknown.
    counts : dict of ndarray
        For each column, rows in each part of its profile.
    outside : dict of int
        For each column of numbers, values beyond the range of training.
    scores : ndarray or None
        Rows in each part of the profile of the scores, for kinds that keep one.
    """

    def __init__(self, model: ModelRecord) -> None:
        if model.training.columns is None:
            raise DataError(
                "this model does not know how its training data were spread: it was saved by an "
                "older crank. Fit it again with this one."
            )
        self.model, self.profile = model, model.score_profile
        needed = {variable.name for variable in model.variables}
        self.columns: Mapping[str, ColumnProfile] = {
            name: found for name, found in model.training.columns.items() if name in needed
        }
        self.n = self.n_unscored = 0
        self.counts: dict[str, NDArray[np.int64]] = {}
        self.outside = dict.fromkeys(self.columns, 0)
        self.scores: NDArray[np.int64] | None = None
        self.judged: list[tuple[NDArray[Any], ...]] = []

    def add(self, data: Any, weights: str | None = None) -> None:
        """Count some rows."""
        table = Table.read(data)
        self.n += table.n_rows
        absent = np.zeros(table.n_rows, dtype=bool)
        for name, known in self.columns.items():
            counted = known.count(table, name)
            self.counts[name] = self.counts.get(name, 0) + counted
            absent |= table.missing(name)
            if known.kind == "category":
                absent |= table.codes(name, known.levels)[0] < 0
            elif known.lowest is not None and known.highest is not None:
                x = table.days(name) if known.kind == "date" else table.numeric(name)
                self.outside[name] += int(((x < known.lowest) | (x > known.highest)).sum())
        score, scored = self._scores(table, absent)
        self.n_unscored += int((~scored).sum())
        if self.profile is not None:
            counted = self.profile.count_numbers(score)
            self.scores = counted if self.scores is None else self.scores + counted
        self._judge(table.rows(scored), score, weights)

    def _scores(
        self, table: Table, absent: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Score all rows, or those without missing and unknown values if the model needs that."""
        try:
            return self.model.values(table, unknown="missing"), np.ones(table.n_rows, dtype=bool)
        except DataError:
            if not absent.any():
                raise
        return self.model.values(table.rows(~absent), unknown="missing"), ~absent

    def _judge(self, table: Table, score: NDArray[np.float64], weights: str | None) -> None:
        """Keep responses beside scores, where there are responses."""
        response = self.model.response
        if not {variable.name for variable in response.variables} <= set(table.names):
            return
        y = response.values(table)
        w = read_weights(weights, table, None)
        known = ~np.isnan(y) if w is None else ~np.isnan(y) & ~np.isnan(w)
        rows = (y[known], score[known])
        self.judged.append(rows if w is None else (*rows, w[known]))

    @property
    def responses(self) -> tuple[NDArray[Any], ...] | None:
        """All responses, scores and weights; None if there are no two different responses."""
        if not self.judged:
            return None
        joined = tuple(np.concatenate(parts) for parts in zip(*self.judged, strict=True))
        return joined if len(np.unique(joined[0])) > 1 else None
