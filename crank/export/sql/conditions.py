"""Tests on single columns as SQL conditions: which rows go left, NULL and NaN included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from crank.design.factors import Codes, Number
from crank.design.spec import DesignSpec
from crank.export.onnx.inputs import single_column
from crank.export.sql.dialects import Dialect, is_large
from crank.frames.columns import Kind, LevelValue
from crank.kernels.column_tests import ColumnTest

ALL, NONE = "1 = 1", "1 = 0"


class RawColumn(NamedTuple):
    """A raw column that is a design column as it is; levels for a category."""

    name: str
    kind: Kind
    levels: tuple[LevelValue, ...] | None


class Unwritable(Exception):
    """Why a test has no form in SQL; whoever knows the model tells the user."""


class Conditions:
    """Write tests of a design's columns."""

    def __init__(self, design: DesignSpec, dialect: Dialect) -> None:
        self.dialect = dialect
        self.columns = _single_columns(design)

    def of(self, test: ColumnTest) -> str:
        """Write which rows go left; for the others it is false or unknown."""
        column = self.columns[test.column]
        if isinstance(column, str):
            raise Unwritable(f"it splits on {column!r}, which is no single column")
        if column.levels and test.levels is None:
            test = _as_levels(test, len(column.levels))
        if column.levels and any(is_large(level) for level in column.levels):
            raise Unwritable(f"levels of {column.name!r} are whole numbers from 2^53 on")
        return self._among(test, column) if column.levels else self._compared(test, column)

    def _compared(self, test: ColumnTest, column: RawColumn) -> str:
        x = self.dialect.as_double(column.name, column.kind)
        absent = self.dialect.absent(x)
        if test.threshold is None:
            if test.above == test.missing_left:
                return ALL if test.above else NONE
            return f"({' OR '.join(absent)})" if test.missing_left else _none_of(absent)
        t = self.dialect.number(test.threshold)
        if test.above and not test.missing_left:
            # NaN is the largest number in DuckDB and PostgreSQL
            return " AND ".join([f"{x} > {t}", *self.dialect.not_nan(x)])
        found = f"{x} > {t}" if test.above else f"{x} < {t}"
        return f"({' OR '.join([found, *absent])})" if test.missing_left else found

    def _among(self, test: ColumnTest, column: RawColumn) -> str:
        assert test.levels is not None
        assert column.levels is not None
        dialect, levels = self.dialect, column.levels
        if isinstance(levels[0], str):
            x, shown = dialect.name(column.name), [dialect.text(str(v)) for v in levels]
        else:
            x = dialect.as_double(column.name, column.kind)
            shown = [dialect.number(float(v)) for v in levels]
        left, right = (", ".join(shown[code] for code in codes) for codes in test.levels)
        if test.missing_left:
            return f"({x} NOT IN ({right}) OR {x} IS NULL)" if right else ALL
        return f"{x} IN ({left})" if left else NONE


def _as_levels(rule: ColumnTest, n_levels: int) -> ColumnTest:
    """Write the cut of an ordered factor as the levels on its two sides."""
    left = rule._replace(column=0).passes(np.arange(float(n_levels))[:, None])
    high, low = (tuple(np.flatnonzero(side).tolist()) for side in (left, ~left))
    return rule._replace(threshold=None, above=True, levels=(high, low))


def _none_of(tests: Sequence[str]) -> str:
    return " AND ".join(f"NOT ({test})" for test in tests)


def _single_columns(design: DesignSpec) -> list[RawColumn | str]:
    """Find for each design column the raw column that it is, or else its name."""
    kinds = {variable.name: variable.kind for variable in design.variables}
    found: list[RawColumn | str] = []
    for block in design.blocks:
        factor = design.factors[block.factors[0]]
        name = single_column(factor.steps) if isinstance(factor, Number | Codes) else None
        if name is None or len(block.factors) > 1 or block.scale != 1.0:
            found += design.names[len(found) : len(found) + design.width(block)]
        else:
            levels = factor.levels if isinstance(factor, Codes) else None
            found.append(RawColumn(name, kinds[name], levels))
    return found
