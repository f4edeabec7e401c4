"""Some training values of each number of a design: what a plot shows below its curves."""

from __future__ import annotations

import numpy as np

from crank.design.factors import Number, Smooth
from crank.design.operations import Floats
from crank.design.reader import Reader
from crank.design.spec import DesignSpec
from crank.frames.table import Table

MOST = 100
"""Values that are kept of a factor."""


def rugs_of(design: DesignSpec, table: Table) -> dict[str, Floats]:
    """Take values in increasing order, evenly spread over the rows, the extremes included.

    Examples
    --------
    >>> from crank.formula import learn_design, parse_formula
    >>> table = Table.read({"y": [1, 2, 3], "x": [4.0, 1.0, 2.0]})
    >>> design = learn_design(parse_formula("y ~ x", table.names), table, native=False)
    >>> rugs_of(design, table)["x"].tolist()
    [1.0, 2.0, 4.0]
    """
    reader, found = Reader(table, design.functions), {}
    for factor in design.factors:
        if isinstance(factor, Number | Smooth):
            values = np.sort(reader.finished(factor.steps, factor.name))
            places = np.linspace(0, len(values) - 1, min(MOST, len(values)))
            found[factor.name] = values[places.astype(np.intp)].astype(np.float64)
    return found
