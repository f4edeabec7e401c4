"""The raw columns of a design as inputs of a graph: their types, their missing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crank.design.expressions import Steps
from crank.design.factors import Codes, Contrast, Cross, Dummies, Factor
from crank.design.spec import DesignSpec
from crank.errors import OptionError, did_you_mean, listed
from crank.frames.columns import MISSING_TEXT, LevelValue
from crank.graphs.graph import ML, Element, Graph

ELEMENTS = {
    "double": Element.DOUBLE,
    "float": Element.FLOAT,
    "int64": Element.INT64,
    "bool": Element.BOOL,
    "string": Element.STRING,
}
DAYS = "days since 1970-01-01 UTC"


class Inputs:
    """Declare the columns that a graph turns out to read, each when it is first asked for.

    Parameters
    ----------
    graph : Graph
    spec : DesignSpec
    types : mapping
        Element type of some columns; double and string by default.

    Examples
    --------
    >>> from crank.formula import learn_design, parse_formula
    >>> from crank.frames.table import Table
    >>> table = Table.read({"y": [1, 2], "x": [0.5, 1.0], "g": ["a", "b"]})
    >>> spec = learn_design(parse_formula("y ~ x + g", table.names), table, native=True)
    >>> graph = Graph()
    >>> inputs = Inputs(graph, spec, {"x": "int64"})
    >>> inputs.is_text("g"), inputs.number("x"), graph.inputs
    (True, 't0', {'x': (<Element.INT64: 7>, 1)})
    """

    def __init__(self, graph: Graph, spec: DesignSpec, types: Mapping[str, str]) -> None:
        self.graph, self.spec = graph, spec
        self._texts = _texts(spec)
        self._types = {
            variable.name: "string" if variable.name in self._texts else "double"
            for variable in spec.variables
        }
        for name, given in types.items():
            self._types[name] = self._checked(name, given)

    def _checked(self, name: str, given: str) -> str:
        if name not in self._types:
            raise OptionError(
                f"types names the column {name!r}, which the formula does not use. "
                f"Columns: {listed(self._types)}.{did_you_mean(name, self._types)}"
            )
        holds = "text" if self._types[name] == "string" else self._holds(name)
        fixed = {"text": ["string"], "dates": ["double"]}
        allowed = fixed.get(holds, [t for t in ELEMENTS if t != "string"])
        if given not in allowed:
            raise OptionError(
                f"types gives {given!r} for column {name!r}, which holds {holds}. "
                f"Allowed: {listed(allowed)}."
            )
        return given

    def _holds(self, name: str) -> str:
        kinds = {variable.name: variable.kind for variable in self.spec.variables}
        return "dates" if kinds[name] == "date" else "numbers"

    def notes(self, name: str) -> dict[str, Any]:
        """Say what someone who fills a column must know besides its type."""
        if self.is_text(name):
            return {"missing": MISSING_TEXT, "texts": sorted(self._texts[name])}
        return {"unit": DAYS} if self._holds(name) == "dates" else {}

    def is_text(self, name: str) -> bool:
        """Say whether a column comes in as text."""
        return name in self._texts

    def raw(self, name: str) -> str:
        """Declare a column as an input and return its name."""
        if name not in self.graph.inputs:
            self.graph.input(name, ELEMENTS[self._types[name]], 1, self._about(name))
        return name

    def _about(self, name: str) -> str:
        if self.is_text(name):
            return "text; U+FFFF stands for a missing value"
        if self._types[name] in ("int64", "bool"):
            return "never missing"
        if self._holds(name) == "dates":
            return f"{DAYS}; NaN stands for a missing value"
        return "NaN stands for a missing value"

    def number(self, name: str) -> str:
        """Return a column of numbers, truth values or dates (their days) as double."""
        raw = self.raw(name)
        if self._types[name] == "double":
            return raw
        return self.graph.once(("double", name), lambda: self.graph.cast(raw, Element.DOUBLE))

    def missing(self, name: str) -> str | None:
        """Return where a column has no value, or None if it cannot lack any."""
        if self._types[name] in ("int64", "bool"):
            return None
        graph = self.graph
        if self.is_text(name):
            return graph.once(
                ("missing", name),
                lambda: graph.cast(self.looked_up(name, {MISSING_TEXT: 1}, 0), Element.BOOL),
            )
        return graph.once(("missing", name), lambda: graph.op("IsNaN", self.number(name)))

    def among(self, name: str, texts: Sequence[str]) -> str:
        """Return whether a category is one of these."""
        found = self.looked_up(name, dict.fromkeys(texts, 1), 0)
        return self.graph.cast(found, Element.BOOL)

    def looked_up(self, name: str, table: Mapping[str, int], other: int) -> str:
        """Translate a column's texts into whole numbers."""
        return self.graph.op(
            "LabelEncoder",
            self.raw(name),
            domain=ML,
            keys_strings=list(table),
            values_int64s=list(table.values()),
            default_int64=other,
        )


def category_parts(factor: Factor) -> tuple[Codes | Dummies | Contrast, ...]:
    """List the categories that a factor reads."""
    if isinstance(factor, Cross):
        return factor.parts
    return (factor,) if isinstance(factor, Codes | Dummies | Contrast) else ()


def _texts(spec: DesignSpec) -> dict[str, set[str]]:
    """Collect for each column of text all texts that the design knows."""
    texts: dict[str, set[str]] = {}
    for factor in spec.factors:
        for part in category_parts(factor):
            name = single_column(part.steps)
            if name is not None and isinstance(part.levels[0], str):
                texts.setdefault(name, set()).update(map(str, part.levels))
        for steps in [factor.steps] if not isinstance(factor, Cross) else []:
            for step in steps:
                if step.op == "among":
                    texts.setdefault(step.given[0], set()).update(step.given[1])
    return texts


def single_column(steps: Steps) -> str | None:
    """Return the name of the column that the steps merely read, if that is all they do."""
    if len(steps) == 1 and steps[0].op == "column":
        name: str = steps[0].given[0]
        return name
    return None


def levels_by_column(spec: DesignSpec) -> dict[str, tuple[LevelValue, ...]]:
    """Return the levels of each category of a design, under its own name."""
    return {part.name: part.levels for factor in spec.factors for part in category_parts(factor)}
