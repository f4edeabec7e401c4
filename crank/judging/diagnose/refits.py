"""Rows of a diagnosis of any ranker: the model is fitted again, trees see its raw columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.errors import DataError, OptionError
from crank.formula import learn_design, parse_formula
from crank.frames.table import Table
from crank.frames.weights import read_weights
from crank.growing.tree import Tree
from crank.judging.diagnose.crossfit import Rows
from crank.plugins.registry import get_learner
from crank.rankers.options import TreeOptions
from crank.records.base import DesignedRecord, ModelRecord
from crank.records.blend import BlendRecord

Refit = Callable[[NDArray[np.bool_], NDArray[np.float64] | None], ModelRecord]
"""Fits the model again to some rows of the data, with weights of all of them."""


@dataclass(frozen=True)
class RefitRows(Rows):
    """Of a model that is fitted again by its own call."""

    table: Table
    usable: NDArray[np.intp]
    weights: NDArray[np.float64] | None
    refit: Refit

    def anew(self, test: NDArray[np.bool_]) -> tuple[Tree, NDArray[np.float64]]:
        """Fit the model anew; the tree for y is one like those for the thresholds."""
        train = np.zeros(self.table.n_rows, dtype=bool)
        train[self.usable[~test]] = True
        model = self.refit(train, self.weights)
        held = self.table.rows(self.usable[test])
        return self.tree(self.y, ~test), held_scores(model, held)


def read_refits(
    model: ModelRecord, data: Any, refit: Refit, *, weights: Any, unknown: Any
) -> RefitRows:
    """Read the rows that can be used, as fitting would: with a response, and with a score."""
    table = Table.read(data).with_dates(_dates(model))
    y = model.response.values(table)
    w = read_weights(weights, table, data)
    usable = ~np.isnan(y) & scorable(model, table, unknown)
    if w is not None:
        usable &= w > 0
    if not usable.any():
        raise DataError(f"none of the {len(y)} rows has all it takes to be ranked and judged.")
    left = model.formula.partition("~")[0]
    names = " + ".join(f"`{variable.name}`" for variable in model.variables)
    parsed = parse_formula(f"{left} ~ {names}", table.names, context=functions(model))
    design = learn_design(parsed, table, native=True)
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
    )


def scorable(model: ModelRecord, table: Table, unknown: str = "missing") -> NDArray[np.bool_]:
    """Mark the rows that lack no value that the model needs."""
    found = np.ones(table.n_rows, dtype=bool)
    for part in _parts(model):
        X = part.design.matrix(table, unknown=unknown)
        if not part.ranker.takes_missing:
            found &= ~np.isnan(X).any(axis=1)
    return found


def held_scores(model: ModelRecord, table: Table) -> NDArray[np.float64]:
    """Score rows; those with a level that the fold's model has not met get the others' mean."""
    score = np.zeros(table.n_rows)
    known = scorable(model, table)
    if known.any():
        score[known] = model.values(table.rows(known), "score", "missing")
        score[~known] = score[known].mean()
    return score


def _parts(model: ModelRecord) -> tuple[DesignedRecord, ...]:
    if isinstance(model, BlendRecord):
        return tuple(member.model for member in model.members)
    assert isinstance(model, DesignedRecord)
    return (model,)


def functions(model: ModelRecord) -> dict[str, Callable[..., Any]]:
    """Collect the user's functions that a model calls."""
    known = {name: f for design in model.designs for name, f in design.functions.items()}
    return {**model.response.functions, **known}


def own_columns(model: ModelRecord, data: Any) -> Table:
    """Leave out columns that a dot in the formula would take for predictors now.

    Raises
    ------
    OptionError
        The model's call cannot be repeated, because it does not keep an argument.
    """
    call = model.asked
    for name, shown in call.lost().items():
        if name not in ("weights", "subset") and not (name == "context" and functions(model)):
            remedy = "the name of a column" if name == "groups" else "plain values"
            raise OptionError(
                f"{name} was given as {shown}, which the model does not keep, so that it cannot "
                f"be fitted again in each fold. Fit the model with {name} given as {remedy}."
            )
    table = Table.read(data)
    parsed = parse_formula(model.formula, table.names, context=functions(model))
    known = {variable.name for variable in model.variables}
    extra = set(parsed.variables) - known - {call.arguments.get("groups")}
    names = tuple(name for name in table.names if name not in extra)
    return table.only(names)


def _dates(model: ModelRecord) -> list[str]:
    """Name the columns that the model takes for dates, which may be written as text."""
    return [v.name for v in model.variables if v.kind == "date"]
