"""What a formula learns from partitions: levels, centres, knots; and the design that follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.cluster.engine import Cluster
from crank.cluster.rows import Asked, ColumnSeen, Survey, read_rows, survey
from crank.cluster.sketch import (
    Numbers,
    Refinement,
    count_numbers,
    count_refined,
    refine_all,
    typical,
)
from crank.design.expressions import Steps
from crank.design.operations import Floats
from crank.design.reader import Reader
from crank.design.response import ResponseSpec
from crank.design.spec import DesignSpec
from crank.formula import ParsedFormula, learn_design, learn_response
from crank.frames.columns import Kind
from crank.frames.table import Table

MOST_NUMBERS = 2**17
"""Numbers from which a term learns: all of them, or quantiles."""


@dataclass(frozen=True)
class Learned:
    """A formula's state, and what partitions hold."""

    asked: Asked
    survey: Survey
    response: ResponseSpec
    design: DesignSpec


def learn_formula(cluster: Cluster, asked: Asked, *, native: bool) -> Learned:
    """Survey all partitions, then learn both sides of the formula."""
    found: Survey = cluster.sum(survey, asked, each=cluster.where)
    found.check(asked)
    table = found.stand_in()
    reader = ClusterReader(table, cluster, asked)
    return Learned(
        asked,
        found,
        learn_response(asked.parsed, table, reader),
        learn_design(asked.parsed, table, native=native, reader=reader),
    )


class NeedsRowsError(Exception):
    """Something in a formula learns from the rows."""


class NoRows(Reader):
    """Reads nothing: for formulas that learn nothing from rows."""

    def finished(self, steps: Steps, term: str) -> Floats:
        """Refuse."""
        raise NeedsRowsError

    def distinct(self, read: Callable[[Reader], NDArray[Any]]) -> NDArray[Any]:
        """Refuse."""
        raise NeedsRowsError


def guessed(asked: Asked, meta: Any, *, native: bool) -> Learned | None:
    """Learn a formula from the types that a frame declares, if no more is needed; else None.

    Partitions may hold something else: what is counted by a guess counts only if they do not.
    """
    if asked.weights is not None or asked.levels_of:
        return None
    empty = survey(meta, "", replace(asked, subset=None))
    types = {str(name): dtype for name, dtype in meta.dtypes.items()}
    kinds: dict[str, ColumnSeen] = {}
    for name in asked.variables:
        declared = getattr(types[name], "kind", "O")
        if declared not in "biuf":
            return None
        kind: Kind = "boolean" if declared == "b" else "number"
        kinds[name] = replace(empty.columns[name], kind=kind)
    found = replace(empty, columns=kinds)
    table = found.stand_in()
    reader = NoRows(table, asked.parsed.response.functions)
    try:
        response = learn_response(asked.parsed, table, reader)
        design = learn_design(asked.parsed, table, native=native, reader=reader)
    except NeedsRowsError:
        return None
    return Learned(asked, found, response, design)


def columns_with_values(parsed: ParsedFormula) -> tuple[str, ...]:
    """List the columns that are categories by ``C(x)``, whatever they hold."""
    return tuple(
        factor.steps[0].given[0]
        for factor in parsed.factors
        if factor.form == "C" and len(factor.steps) == 1 and factor.steps[0].op == "column"
    )


class ClusterReader(Reader):
    """Reads columns for what learns from them: passes over the partitions stand behind it."""

    def __init__(self, table: Table, cluster: Cluster, asked: Asked) -> None:
        super().__init__(table, asked.parsed.response.functions)
        self.cluster, self.asked = cluster, asked

    def finished(self, steps: Steps, term: str) -> Floats:
        """Return numbers that are spread like those of all rows; see `typical`."""
        return typical(self._refined(steps, term), MOST_NUMBERS)

    def _refined(self, steps: Steps, term: str) -> Numbers:
        first: Numbers = self.cluster.sum(count_steps, self.asked, steps, term)

        def count(wanted: Any) -> list[NDArray[np.int64]]:
            return [self.cluster.sum(count_steps_refined, self.asked, steps, term, wanted[0])]

        (found,) = refine_all([first], [MOST_NUMBERS], count)
        return found

    def distinct(self, read: Callable[[Reader], NDArray[Any]]) -> NDArray[Any]:
        """Return the values, sorted, that something read of the rows has in any partition."""
        found = self.cluster.gather(distinct_values, self.asked, read)
        return np.unique(np.concatenate(found))


def count_steps(frame: Any, asked: Asked, steps: Steps, term: str) -> Numbers:
    """Count the values of an expression in one partition."""
    return count_numbers(_values(frame, asked, steps, term), MOST_NUMBERS)


def count_steps_refined(
    frame: Any, asked: Asked, steps: Steps, term: str, wanted: Refinement
) -> NDArray[np.int64]:
    """Count the values of an expression in the parts of cells, in one partition."""
    return count_refined(_values(frame, asked, steps, term), wanted)


def distinct_values(
    frame: Any, asked: Asked, read: Callable[[Reader], NDArray[Any]]
) -> NDArray[Any]:
    """Read something of one partition, each value once."""
    return np.unique(read(Reader(read_rows(frame, asked).table)))


def _values(frame: Any, asked: Asked, steps: Steps, term: str) -> Floats:
    found = Reader(read_rows(frame, asked).table).finished(steps, term)
    return np.asarray(found, dtype=np.float64)
