"""The contract of a model's inputs: a JSON Schema of rows, and how far data keep it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from crank.design.factors import Codes, Contrast, Cross, Dummies, Factor
from crank.design.spec import DesignSpec, Variable
from crank.errors import DataError
from crank.frames.columns import LevelValue
from crank.frames.profile import ColumnProfile
from crank.frames.table import Table
from crank.records.base import ModelRecord

DIALECT = "https://json-schema.org/draft/2020-12/schema"
JSON_TYPES = {"number": "number", "boolean": "boolean", "date": "string"}
NOTES = "x-crank"
"""Under this key a property says what training held: validators pass over it."""


def input_schema(model: ModelRecord, names: Iterable[str] | None = None) -> dict[str, Any]:
    """Describe the rows that a model takes.

    Parameters
    ----------
    model : RankingModel
    names : iterable of str, optional
        Columns to describe; all that the formula reads by default.

    Returns
    -------
    dict
        A JSON Schema (draft 2020-12) of one row as an object. What training held stands under
        ``x-crank`` of each property: ``kind``, ``levels`` of a category, ``minimum`` and
        ``maximum``, the share ``missing``.

    Examples
    --------
    >>> import crank
    >>> data = {"y": [1.0, 2.0, 3.0], "x": [0.5, None, 2.0], "g": ["a", "b", "a"]}
    >>> m = crank.fit(data, "y ~ x + g", min_samples_leaf=1, prune=None)
    >>> m.schema()["properties"]["x"]["x-crank"]
    {'kind': 'number', 'minimum': 0.5, 'maximum': 2.0, 'missing': 0.3333333333333333}
    >>> m.schema()["properties"]["g"]["x-crank"]["levels"]
    ['a', 'b']
    """
    variables = {variable.name: variable for variable in model.variables}
    wanted = [*variables] if names is None else [name for name in names if name in variables]
    levels = known_levels(*model.designs)
    optional = getattr(getattr(model, "ranker", None), "takes_missing", True)
    profiles = model.training.columns or {}
    return {
        "$schema": DIALECT,
        "title": f"Rows for {model.formula}",
        "type": "object",
        "required": wanted,
        "properties": {
            name: _property(variables[name], levels.get(name), profiles.get(name), optional)
            for name in wanted
        },
    }


def _property(
    variable: Variable,
    levels: tuple[LevelValue, ...] | None,
    profile: ColumnProfile | None,
    optional: bool,
) -> dict[str, Any]:
    if levels is not None:
        kind = "string" if isinstance(levels[0], str) else "number"
        kind = "boolean" if all(isinstance(level, bool) for level in levels) else kind
    else:
        kind = JSON_TYPES.get(variable.kind, "string")
    notes: dict[str, Any] = {"kind": variable.kind}
    if levels is not None:
        notes["levels"] = list(levels)
    if profile is not None:
        if profile.lowest is not None and levels is None:
            notes |= {"minimum": profile.lowest, "maximum": profile.highest}
        notes["missing"] = profile.missing / max(1, profile.n)
    found: dict[str, Any] = {"type": [kind, "null"] if optional else kind}
    if variable.kind == "date":
        found["description"] = "a date or time in ISO format, such as 2020-12-31"
    return {**found, NOTES: notes}


def known_levels(*designs: DesignSpec) -> dict[str, tuple[LevelValue, ...]]:
    """Collect the levels of each raw column that is a category as it stands.

    A text that is only compared with some texts has no levels: none is unknown to it.
    """
    found: dict[str, dict[LevelValue, None]] = {}
    for factor in (factor for design in designs for factor in design.factors):
        for part in _categories(factor):
            if len(part.steps) == 1 and part.steps[0].op == "column":
                found.setdefault(part.steps[0].given[0], {}).update(dict.fromkeys(part.levels))
    return {name: tuple(levels) for name, levels in found.items()}


def _categories(factor: Factor) -> tuple[Codes | Contrast | Dummies, ...]:
    if isinstance(factor, Cross):
        return factor.parts
    return (factor,) if isinstance(factor, Codes | Contrast | Dummies) else ()


@dataclass(frozen=True)
class ColumnCounts:
    """How many values of a column are not as they were in training.

    Attributes
    ----------
    missing, unknown : int
        Values that are absent; levels that training did not have.
    below, above : int
        Numbers outside of the range of training.

    Examples
    --------
    >>> ColumnCounts(missing=2) + ColumnCounts(missing=1, above=4)
    ColumnCounts(missing=3, unknown=0, below=0, above=4)
    """

    missing: int = 0
    unknown: int = 0
    below: int = 0
    above: int = 0

    def __add__(self, other: ColumnCounts) -> ColumnCounts:
        pairs = zip(asdict(self).items(), asdict(other).values(), strict=True)
        return ColumnCounts(**{name: count + more for (name, count), more in pairs})


@dataclass(frozen=True)
class InputReport:
    """Counts of missing, unknown and out-of-range values; reports of pieces can be added.

    Attributes
    ----------
    n : int
        Rows.
    columns : dict of ColumnCounts

    Examples
    --------
    >>> print(InputReport(50, {"age": ColumnCounts(missing=2, above=1)}))
    column  missing  unknown    below    above   (of 50 rows)
    age           2        0        0        1
    """

    n: int
    columns: Mapping[str, ColumnCounts]

    def __add__(self, other: InputReport) -> InputReport:
        columns = {name: self.columns[name] + found for name, found in other.columns.items()}
        return InputReport(self.n + other.n, columns)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        return {"n": self.n, "columns": {name: asdict(c) for name, c in self.columns.items()}}

    def __str__(self) -> str:
        width = max([len("column"), *map(len, self.columns)])
        lines = [f"{'column':<{width}}  missing  unknown    below    above   (of {self.n} rows)"]
        for name, c in self.columns.items():
            counts = "".join(f"{v:>9}" for v in (c.missing, c.unknown, c.below, c.above))
            lines.append(f"{name:<{width}}{counts}")
        return "\n".join(lines)


def inspected(table: Table, schema: Mapping[str, Any]) -> InputReport:
    """Count what is not as it was in training, column by column of a schema.

    Examples
    --------
    >>> notes = {"kind": "number", "minimum": 0.0, "maximum": 1.0}
    >>> schema = {"properties": {"x": {"type": "number", "x-crank": notes}}}
    >>> inspected(Table.read({"x": [0.5, 2.0, None]}), schema).columns["x"]
    ColumnCounts(missing=1, unknown=0, below=0, above=1)
    """
    columns = {
        name: _counted(table, name, about.get(NOTES, {}))
        for name, about in schema["properties"].items()
    }
    return InputReport(table.n_rows, columns)


def _counted(table: Table, name: str, notes: Mapping[str, Any]) -> ColumnCounts:
    levels = notes.get("levels")
    if levels:
        codes, _ = table.codes(name, levels)
        return ColumnCounts(int((codes == -1).sum()), int((codes < -1).sum()))
    if notes.get("kind") == "category":
        return ColumnCounts(int(table.missing(name).sum()))
    values = table.days(name) if notes.get("kind") == "date" else table.numeric(name)
    missing = int(np.isnan(values).sum())
    if notes.get("minimum") is None:
        return ColumnCounts(missing)
    return ColumnCounts(
        missing,
        below=int((values < notes["minimum"]).sum()),
        above=int((values > notes["maximum"]).sum()),
    )


def report_of_nothing(schema: Mapping[str, Any]) -> InputReport:
    """Return the report of no rows, to which those of pieces are added."""
    return InputReport(0, {name: ColumnCounts() for name in schema["properties"]})


def require_schema(schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Raise if a file does not say how its training data were."""
    if schema is None:
        raise DataError(
            "this file does not say what its inputs were in training: an earlier version of crank "
            "wrote it, or it takes a matrix. Export the model again with form='columns'."
        )
    return schema
