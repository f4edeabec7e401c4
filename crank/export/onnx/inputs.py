"""The raw columns of a design as inputs of a graph: their types, their missing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crank.design.expressions import Steps
from crank.design.factors import Codes, Contrast, Cross, Dummies, Factor
from crank.design.spec import DesignSpec
from crank.errors import OptionError, did_you_mean, listed
from crank.frames.columns import LevelValue
from crank.graphs.graph import ML, Element, Graph

ELEMENTS = {
    "double": Element.DOUBLE,
    "float": Element.FLOAT,
    "int64": Element.INT64,
    "bool": Element.BOOL,
    "string": Element.STRING,
}
MARKS = ("", "NA", "<missing>")
"""Texts that may stand for a missing category: the first that is not a level is taken."""


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

    def mark(self, name: str) -> str:
        """Return the text that stands for a missing value of a text column."""
        free = (mark for mark in MARKS if mark not in self._texts[name])
        return next(free, "?" * (1 + max(map(len, self._texts[name]))))

    def notes(self, name: str) -> dict[str, str]:
        """Say what someone who fills a column must know besides its type."""
        if self.is_text(name):
            return {"missing": self.mark(name)}
        return {"unit": "days since 1970-01-01 UTC"} if self._holds(name) == "dates" else {}

    def is_text(self, name: str) -> bool:
        """Say whether a column comes in as text."""
        return name in self._texts

    def raw(self, name: str) -> str:
        """Declare a column as an input and return its name."""
        if name not in self.graph.inputs:
            self.graph.input(name, ELEMENTS[self._types[name]], 1)
        return name

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
            mark = {self.mark(name): 1}
            return graph.once(
                ("missing", name),
                lambda: graph.cast(self.looked_up(name, mark, 0), Element.BOOL),
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
