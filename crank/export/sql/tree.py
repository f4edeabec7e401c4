"""A stump tree on single columns as one SQL expression that gives the same scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from crank.blame import blamed
from crank.checks import one_of
from crank.export.sql.conditions import Conditions, Unwritable
from crank.export.sql.dialects import DIALECTS, Dialect, selected
from crank.growing.rule import Split
from crank.growing.tree import Node
from crank.plugins.base import NotExportableError
from crank.rankers.tree import TreeRanker

if TYPE_CHECKING:
    from crank.records.tree import TreeRecord

TYPES = TreeRanker.predictions


def to_sql(
    model: TreeRecord,
    dialect: str = "duckdb",
    *,
    table: str | Sequence[str] | None = None,
    type: Literal["score", "leaf", "quantile", "median", "lower", "upper"] = "score",
) -> str:
    """Write a stump tree on single columns as a CASE expression.

    NULL and NaN go where missing values go in Python; a category's value that training did not
    have counts as missing, as with ``predict(unknown="missing")``.

    Parameters
    ----------
    model : TreeModel
    dialect : {"duckdb", "postgres", "sqlite", "bigquery", "snowflake", "spark"}
    table : str or sequence of str, optional
        Gives a whole query, ``SELECT *, … FROM table``; several parts are a qualified name.
    type : {"score", "leaf", "quantile", "median", "lower", "upper"}
        As in ``predict``.

    Returns
    -------
    str

    Examples
    --------
    >>> import crank
    >>> train, _ = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame.round({"x": 1}), "y ~ x", max_depth=1, prune=None)
    >>> print(m.to_sql("postgres"))
    CASE WHEN ("x"::float8 > 0.45::float8 OR "x"::float8 IS NULL OR "x"::float8 = 'NaN'::float8)
      THEN 2.0::float8
      ELSE 1.0::float8
    END
    """
    one_of("dialect", dialect, DIALECTS)
    one_of("type", type, TYPES)
    writer = _Writer(model, DIALECTS[dialect])
    if type == "leaf":
        values = [str(k) for k in range(model.tree.n_leaves)]
    else:
        values = [writer.dialect.number(float(v)) for v in model.ranker.leaf_values(type)]
    expression = writer.node(0, values, "\n")
    return selected(expression, writer.dialect, table, type)


class _Writer:
    """Write nodes, each as the CASE of its split."""

    def __init__(self, model: TreeRecord, dialect: Dialect) -> None:
        self.tree, self.dialect = model.tree, dialect
        self.learner = model.learner.name
        self.conditions = Conditions(model.design, dialect)

    def node(self, index: int, values: Sequence[str], line: str) -> str:
        node = self.tree.nodes[index]
        if node.split is None:
            return values[int(self.tree.leaf_of_node[index])]
        deeper, condition = line + "  ", self.condition(node, node.split)
        left, right = (self.node(child, values, deeper) for child in (node.left, node.right))
        return f"CASE WHEN {condition}{deeper}THEN {left}{deeper}ELSE {right}{line}END"

    def condition(self, node: Node, split: Split) -> str:
        """Write which rows go left, by the grower's sign."""
        with blamed(type(split.rule), "column_test", f"node {node.number}"):
            test = split.rule.column_test()
        if test is None or split.cut != 0.0:
            raise _refused(node, f"made by learner {self.learner!r}, it is no test of one column")
        if split.sign < 0:
            test = test._replace(
                above=not test.above,
                levels=None if test.levels is None else test.levels[::-1],
                missing_left=not test.missing_left,
            )
        try:
            return self.conditions.of(test)
        except Unwritable as why:
            raise _refused(node, str(why)) from None


def _refused(node: Node, why: str) -> NotExportableError:
    return NotExportableError(
        f"node {node.number} of the tree cannot be written as SQL: {why}. Allowed: trees of tests "
        "on one column as it is (numbers and categories), such as those of learner 'stump'. "
        "Compute the column in the database before fitting, or use to_onnx."
    )
