"""A stump tree on single columns as one SQL expression that gives the same scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from crank.blame import blamed
from crank.checks import one_of
from crank.design.factors import Codes, Number
from crank.design.spec import DesignSpec
from crank.export.onnx.inputs import single_column
from crank.export.sql.dialects import DIALECTS, Dialect, is_large, selected
from crank.frames.columns import Kind, LevelValue
from crank.growing.rule import Split
from crank.growing.tree import Node
from crank.kernels.column_tests import ColumnTest
from crank.plugins.base import NotExportableError
from crank.rankers.tree import TreeRanker

if TYPE_CHECKING:
    from crank.records.tree import TreeRecord

TYPES = TreeRanker.predictions
ALL, NONE = "1 = 1", "1 = 0"


class Plain(NamedTuple):
    """A raw column that is a design column as it is; levels for a category."""

    name: str
    kind: Kind
    levels: tuple[LevelValue, ...] | None


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
    dialect : {"duckdb", "postgres", "sqlite"}
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
        self.columns = _single_columns(model.design)

    def node(self, index: int, values: Sequence[str], line: str) -> str:
        node = self.tree.nodes[index]
        if node.split is None:
            return values[int(self.tree.leaf_of_node[index])]
        deeper, condition = line + "  ", self.condition(node, node.split)
        left, right = (self.node(child, values, deeper) for child in (node.left, node.right))
        return f"CASE WHEN {condition}{deeper}THEN {left}{deeper}ELSE {right}{line}END"

    def condition(self, node: Node, split: Split) -> str:
        """Write which rows go left; for the others it is false or unknown."""
        with blamed(type(split.rule), "column_test", f"node {node.number}"):
            rule = split.rule.column_test()
        if rule is None or split.cut != 0.0:
            raise _refused(node, f"made by learner {self.learner!r}, it is no test of one column")
        column = self.columns[rule.column]
        if isinstance(column, str):
            raise _refused(node, f"it splits on {column!r}, which is no single column")
        if column.levels and rule.levels is None:
            rule = _as_levels(rule, len(column.levels))
        if split.sign < 0:
            rule = rule._replace(
                above=not rule.above,
                levels=None if rule.levels is None else rule.levels[::-1],
                missing_left=not rule.missing_left,
            )
        if column.levels and any(is_large(level) for level in column.levels):
            raise _refused(node, f"levels of {column.name!r} are whole numbers beyond 2^53")
        return self.among(rule, column) if column.levels else self.compared(rule, column)

    def compared(self, rule: ColumnTest, column: Plain) -> str:
        x, nan = self.dialect.as_double(column.name, column.kind), self.dialect.nan
        absent = [f"{x} IS NULL", *([f"{x} = {nan}"] if nan else [])]
        if rule.threshold is None:
            if rule.above == rule.missing_left:
                return ALL if rule.above else NONE
            return f"({' OR '.join(absent)})" if rule.missing_left else _none_of(absent)
        t = self.dialect.number(rule.threshold)
        if rule.above and not rule.missing_left:
            # NaN is the largest number in DuckDB and PostgreSQL
            return " AND ".join([f"{x} > {t}", *([f"{x} <> {nan}"] if nan else [])])
        test = f"{x} > {t}" if rule.above else f"{x} < {t}"
        return f"({' OR '.join([test, *absent])})" if rule.missing_left else test

    def among(self, rule: ColumnTest, column: Plain) -> str:
        assert rule.levels is not None
        assert column.levels is not None
        dialect, levels = self.dialect, column.levels
        if isinstance(levels[0], str):
            x, shown = dialect.name(column.name), [dialect.text(str(v)) for v in levels]
        else:
            x = dialect.as_double(column.name, column.kind)
            shown = [dialect.number(float(v)) for v in levels]
        left, right = (", ".join(shown[code] for code in codes) for codes in rule.levels)
        if rule.missing_left:
            return f"({x} NOT IN ({right}) OR {x} IS NULL)" if right else ALL
        return f"{x} IN ({left})" if left else NONE


def _as_levels(rule: ColumnTest, n_levels: int) -> ColumnTest:
    """Write the cut of an ordered factor as the levels on its two sides."""
    left = rule._replace(column=0).passes(np.arange(float(n_levels))[:, None])
    high, low = (tuple(np.flatnonzero(side).tolist()) for side in (left, ~left))
    return rule._replace(threshold=None, above=True, levels=(high, low))


def _none_of(tests: Sequence[str]) -> str:
    return " AND ".join(f"NOT ({test})" for test in tests)


def _single_columns(design: DesignSpec) -> list[Plain | str]:
    """Find for each design column the raw column that it is, or else its name."""
    kinds = {variable.name: variable.kind for variable in design.variables}
    found: list[Plain | str] = []
    for block in design.blocks:
        factor = design.factors[block.factors[0]]
        name = single_column(factor.steps) if isinstance(factor, Number | Codes) else None
        if name is None or len(block.factors) > 1 or block.scale != 1.0:
            found += design.names[len(found) : len(found) + design.width(block)]
        else:
            levels = factor.levels if isinstance(factor, Codes) else None
            found.append(Plain(name, kinds[name], levels))
    return found


def _refused(node: Node, why: str) -> NotExportableError:
    return NotExportableError(
        f"node {node.number} of the tree cannot be written as SQL: {why}. Allowed: trees of tests "
        "on one column as it is (numbers and categories), such as those of learner 'stump'. "
        "Compute the column in the database before fitting, or use to_onnx."
    )
