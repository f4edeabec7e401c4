"""Rows of a diagnosis of any ranker: the model is fitted again, trees see its raw columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.errors import DataError
from crank.formula import learn_design, parse_formula
from crank.frames.table import Table
from crank.frames.weights import read_weights
from crank.growing.tree import Tree
from crank.judging.diagnose.crossfit import Rows
from crank.plugins.registry import get_learner
from crank.rankers.options import TreeOptions
from crank.records.base import ModelRecord

Refit = Callable[[NDArray[np.bool_], NDArray[np.float64] | None], ModelRecord]
"""Fits the model again to some rows of the data, with weights of all of them."""


@dataclass(frozen=True)
class RefitRows(Rows):
    """Of a model that is fitted again by its own call."""

    table: Table
    usable: NDArray[np.intp]
    weights: NDArray[np.float64] | None
    refit: Refit
    unknown: Any

    def anew(self, test: NDArray[np.bool_]) -> tuple[Tree, NDArray[np.float64]]:
        """Fit the model anew; the tree for y is one like those for the thresholds."""
        train = np.zeros(self.table.n_rows, dtype=bool)
        train[self.usable[~test]] = True
        model = self.refit(train, self.weights)
        held = self.table.rows(self.usable[test])
        return self.tree(self.y, ~test), model.values(held, "score", self.unknown)


def read_refits(
    model: ModelRecord, data: Any, refit: Refit, *, weights: Any, unknown: Any
) -> RefitRows:
    """Read the rows whose response is known; the model must be able to score them all."""
    table = Table.read(data)
    y = model.response.values(table)
    w = read_weights(weights, table, data)
    model.values(table, "score", unknown)
    usable = ~np.isnan(y) if w is None else ~np.isnan(y) & (w > 0)
    if not usable.any():
        raise DataError(f"none of the {len(y)} rows has all it takes to be ranked and judged.")
    left = model.formula.partition("~")[0]
    names = " + ".join(f"`{variable.name}`" for variable in model.variables)
    design = learn_design(parse_formula(f"{left} ~ {names}", table.names), table, native=True)
    return RefitRows(
        X=design.matrix(table)[usable],
        y=y[usable],
        weight=None if w is None else w[usable],
        levels=tuple(0 if known is None else len(known) for known in design.levels),
        learner=get_learner("stump"),
        options=TreeOptions(),
        table=table,
        usable=np.flatnonzero(usable),
        weights=w,
        refit=refit,
        unknown=unknown,
    )
