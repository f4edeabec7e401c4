"""The response: how to compute y from raw columns, stored as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.design.expressions import Function, Steps, to_list
from crank.design.operations import Floats
from crank.design.reader import Reader
from crank.design.spec import Variable
from crank.frames.table import Table


def in_order_of(values: Floats, exact: NDArray[Any]) -> Floats:
    """Move floats that are tied apart where what they stand for is not.

    Parameters
    ----------
    values : ndarray of float64
        NaN where there is none.
    exact : ndarray of whole numbers
        What was rounded to ``values``.

    Examples
    --------
    >>> big = 2**53
    >>> moved = in_order_of(np.array([big, big, 1.0]), np.array([big + 1, big, 1]))
    >>> bool(moved[0] > moved[1] > moved[2])
    True
    """
    present = ~np.isnan(values)
    distinct, first, place = np.unique(exact[present], return_index=True, return_inverse=True)
    rounded = values[present][first]
    if len(distinct) < 2 or (rounded[1:] > rounded[:-1]).all():
        return values
    # the bits of floats are in their order, but for the sign
    bits = rounded.view(np.int64)
    count = np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)
    step = np.arange(len(count))
    count = np.maximum.accumulate(count - step) + step
    moved = np.where(count < 0, np.iinfo(np.int64).min - count, count).view(np.float64)
    result = values.copy()
    result[present] = moved[place]
    return result


@dataclass(frozen=True)
class ResponseSpec:
    """How to compute the response from raw columns, stored as data like a design.

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
        """Compute the response of a table's rows, NaN where it is missing.

        Whole numbers and times that would be the same float keep their order: they become
        neighbouring floats.
        """
        table = Table.read(table)
        values = Reader(table, self.functions).finished(self.steps, self.name)
        if len(self.steps) == 1 and self.steps[0].op in ("column", "days"):
            exact = table.exact(self.steps[0].given[0])
            if exact is not None:
                return in_order_of(values, exact)
        return values

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
