"""The response: how to compute y from raw columns, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crank.design.expressions import Function, Steps, to_list
from crank.design.operations import Floats
from crank.design.reader import Reader
from crank.design.spec import Variable
from crank.design.table import Table


@dataclass(frozen=True)
class ResponseSpec:
    """How to compute the response from raw columns; plain data, as a design is.

    Examples
    --------
    >>> from crank.formula import learn_response, parse_formula
    >>> table = Table.read({"y": [1.0, 8.0], "x": [0, 1]})
    >>> spec = learn_response(parse_formula("log2(y) ~ x", table.names), table)
    >>> spec.values(table)
    array([0., 3.])
    >>> ResponseSpec.from_dict(spec.to_dict()) == spec
    True
    """

    name: str
    variables: tuple[Variable, ...]
    steps: Steps
    functions: Mapping[str, Function] = field(default_factory=dict, compare=False, repr=False)

    def values(self, table: Any) -> Floats:
        """Compute the response of a table's rows, NaN where it is missing."""
        table = Table.read(table)
        return Reader(table, self.functions).finished(self.steps, self.name)

    def to_dict(self) -> dict[str, Any]:
        """Write the response as JSON types."""
        return {
            "name": self.name,
            "variables": [list(variable) for variable in self.variables],
            "steps": to_list(self.steps, self.name),
        }

    @classmethod
    def from_dict(cls, data: Any) -> ResponseSpec:
        """Read a response from JSON types, checking every field; no code in it is run."""
        from crank.design.stored import response_from_dict

        return response_from_dict(data)
