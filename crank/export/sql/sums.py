"""Sums of trees, forests and boosters, as one SQL expression that gives the same scores.

Leaves hold whole numbers, so that sums are exact in every database and in every order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from crank.checks import one_of
from crank.errors import NotExportableError
from crank.export.sql.conditions import Conditions, Unwritable
from crank.export.sql.dialects import DIALECTS, selected
from crank.kernels.column_tests import ColumnTest
from crank.kernels.descent import GOES_HIGH, GOES_LOW, NodeTable
from crank.rankers.booster import BoosterRanker
from crank.rankers.votes import GRID, ColumnTrees

if TYPE_CHECKING:
    from crank.records.booster import BoosterRecord
    from crank.records.forest import ForestRecord

MOST_NODES = 10_000
"""Splits that are written; databases refuse longer queries, or take minutes to read them."""


def to_sql(
    model: ForestRecord | BoosterRecord,
    dialect: str = "duckdb",
    *,
    table: str | Sequence[str] | None = None,
    type: Literal["score", "quantile"] = "score",
) -> str:
    """Write a forest of stumps or a booster as a sum of CASE expressions.

    NULL and NaN go where missing values go in Python; a category's value that training did not
    have counts as missing, as with ``predict(unknown="missing")``.

    Parameters
    ----------
    model : ForestModel or BoosterModel
    dialect : {"duckdb", "postgres", "sqlite", "bigquery", "snowflake", "spark"}
    table : str or sequence of str, optional
        Gives a whole query, ``SELECT *, … FROM table``; several parts are a qualified name.
    type : {"score", "quantile"}
        As in ``predict``; the quantile is a forest's.

    Returns
    -------
    str

    Raises
    ------
    NotExportableError
        A split is on no single column, or the trees have more than 10,000 splits.

    Examples
    --------
    >>> import crank
    >>> data = {"x": [1.0, 2.0, 3.0, 4.0], "y": [1.0, 3.0, 2.0, 4.0]}
    >>> m = crank.forest(data, "y ~ x", n_trees=2, max_depth=1, min_samples_leaf=1)
    >>> m.to_sql("postgres").count("CASE WHEN")
    2
    """
    one_of("dialect", dialect, DIALECTS)
    chosen, ranker = DIALECTS[dialect], model.ranker
    if isinstance(ranker, BoosterRanker):
        one_of("type", type, ("score",))
        nodes, unit = ranker.nodes, f" * {chosen.number(ranker.quantum)}"
    else:
        one_of("type", type, ("score", "quantile"))
        trees = ranker.trees
        if not isinstance(trees, ColumnTrees):
            raise _refused(f"trees of learner {ranker.learner.name!r} are no tests of one column")
        nodes = trees.nodes
        unit = "" if type == "score" else f" / {chosen.number(float(GRID * len(trees)))}"
    size = int(np.count_nonzero(nodes.inner & (nodes.tree >= 0)))
    if size > MOST_NODES:
        raise _refused(f"they have {size} splits, and {MOST_NODES} is the most")
    writer = _Writer(nodes, Conditions(model.design, chosen))
    total = _sum([writer.node(root, "\n  ") for root in nodes.roots.tolist()])
    return selected(f"{chosen.double.format(f'({total})')}{unit}", chosen, table, type)


class _Writer:
    """Write nodes of a table, each as the CASE of its test, the high branch first."""

    def __init__(self, nodes: NodeTable, conditions: Conditions) -> None:
        self.nodes, self.conditions = nodes, conditions

    def node(self, at: int, line: str) -> str:
        nodes = self.nodes
        if not nodes.inner[at]:
            return str(int(nodes.value[at]))
        try:
            condition = self.conditions.of(self.test(at))
        except Unwritable as why:
            raise _refused(str(why)) from None
        deeper = line + "  "
        high, low = (self.node(int(side[at]), deeper) for side in (nodes.high, nodes.low))
        return f"CASE WHEN {condition}{deeper}THEN {high}{deeper}ELSE {low}{line}END"

    def test(self, at: int) -> ColumnTest:
        """Return what sends a row to the high branch."""
        nodes = self.nodes
        column, missing_high = int(nodes.column[at]), not nodes.missing_low[at]
        branch = nodes.branches_of(at)
        if len(branch):
            high, low = (
                tuple(np.flatnonzero(branch == side).tolist()) for side in (GOES_HIGH, GOES_LOW)
            )
            return ColumnTest(column, None, True, (high, low), missing_high)
        threshold = float(nodes.threshold[at])
        if abs(threshold) >= np.finfo(np.float64).max:  # missing values against all others
            return ColumnTest(column, None, threshold < 0.0, None, missing_high)
        return ColumnTest(column, threshold, True, None, missing_high)


def _sum(parts: list[str]) -> str:
    """Add in pairs: some databases limit how deep an expression may be."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return f"({_sum(parts[:half])}\n  + {_sum(parts[half:])})"


def _refused(why: str) -> NotExportableError:
    return NotExportableError(
        f"the trees cannot be written as SQL: {why}. Allowed: up to {MOST_NODES} tests on one "
        "column as it is (numbers and categories). Fit fewer or smaller trees, compute the column "
        "in the database before fitting, or use to_onnx."
    )
