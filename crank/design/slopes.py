"""Monotone terms of a linear score: inequalities that coefficients obey.

A line is monotone if its coefficient has the right sign. The slope of a curve is a parabola between
two knots; it is nowhere negative if its three Bernstein coefficients there are not, and they are
linear in the coefficients of the curve. Beyond the outer knots the slope is that at the knot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crank.design.factors import Dummies, Factor, Number, Smooth
from crank.design.monotone import check_named, reads, trend
from crank.design.operations import Floats
from crank.design.penalties import is_interaction
from crank.design.spec import Block, DesignSpec
from crank.errors import OptionError

STEEPEST_FLAT = 1e-7
"""Least slope of a monotone curve, by standard deviation of its column: rounding is far smaller."""
AT_BOUND = 1e-9
"""An inequality that holds by no more than this binds."""


class Slopes(NamedTuple):
    """What a monotone score asks of its coefficients: ``rows @ coef >= least``.

    Attributes
    ----------
    rows : ndarray of shape (r, p)
    least : ndarray of shape (r,)
    """

    rows: Floats
    least: Floats

    def binding(self, coef: Floats) -> NDArray[np.bool_]:
        """Tell which inequalities hold coefficients back."""
        return np.asarray(self.rows @ np.nan_to_num(coef) - self.least <= AT_BOUND)


def slopes(design: DesignSpec, wanted: Mapping[str, int]) -> Slopes:
    """Find the inequalities that make a linear score monotone.

    Parameters
    ----------
    design : DesignSpec
    wanted : mapping of str to int
        1 or −1 for a raw column, or for a term by its name.

    Raises
    ------
    OptionError
        A name is not known, or a term is no line or curve in a monotone function of the column.

    Examples
    --------
    >>> from crank.frames.table import Table
    >>> from crank.formula import learn_design, parse_formula
    >>> table = Table.read({"y": [1, 2, 3], "x": [1.0, 2.0, 4.0], "z": [1.0, 5.0, 2.0]})
    >>> parsed = parse_formula("y ~ log(x) + I(-x) + z", table.names)
    >>> slopes(learn_design(parsed, table, native=False), {"x": 1}).rows.tolist()
    [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]
    """
    rows, least = [np.zeros((0, len(design.names)))], [np.zeros(0)]
    asked: dict[str, int] = {}
    for name, sign in wanted.items():
        check_named(design, name)
        start = 0
        for block in design.blocks:
            stop = start + design.width(block)
            parts = [design.factors[i] for i in block.factors]
            if block.term == name or any(name in reads(part) for part in parts):
                if asked.setdefault(block.term, sign) != sign:
                    raise OptionError(
                        f"monotone= asks for both directions of {block.term!r}. Allowed: one."
                    )
                found = sign * _rows(design, block, parts, name)
                whole = np.zeros((len(found), len(design.names)))
                whole[:, start:stop] = found
                rows.append(whole)
                curved = isinstance(parts[0], Smooth)
                least.append(np.full(len(found), STEEPEST_FLAT if curved else 0.0))
            start = stop
    return Slopes(np.concatenate(rows), np.concatenate(least))


def _rows(design: DesignSpec, block: Block, parts: list[Factor], name: str) -> Floats:
    """Slopes of a term, linear in its coefficients."""
    first, others = parts[0], parts[1:]
    by_level = len(others) == 1 and isinstance(others[0], Dummies)
    if (isinstance(first, Number) and not others) or (
        isinstance(first, Smooth) and (not others or by_level)
    ):
        slope = 1 if block.term == name else trend(first.steps, name)
        if slope and block.scale and not is_interaction(design, block):
            own = curve_slopes(first) if isinstance(first, Smooth) else np.ones((1, 1))
            levels = len(others[0].labels) if others else 1
            # the columns of the curve vary fastest
            return np.asarray(slope * np.sign(block.scale) * np.kron(np.eye(levels), own))
    raise OptionError(
        f"monotone= names {name!r}, but the term {block.term!r} is no line or curve in a known "
        "monotone function of it. Allowed: the column itself, s() of it, one for each level of a "
        "category, and log, sqrt, exp and the like; not poly, ns, products or pairs. Leave the "
        "term out."
    )


def curve_slopes(smooth: Smooth) -> Floats:
    """Bernstein coefficients of the slope of each column, by standard deviation of x.

    Examples
    --------
    >>> line = ((0.0, 0.5, 0.0, 0.0),)
    >>> curve_slopes(Smooth("s(x)", (), (0.0, 1.0), (line, line, line), (0.0,))).tolist()
    [[1.0], [1.0], [1.0]]
    """
    pieces, width = smooth.coefficients, np.diff(smooth.knots)[:, None]
    first, second = pieces[1:-1, :, 1], pieces[1:-1, :, 2]
    found = [first, first + width * second, pieces[-1:, :, 1]]  # slopes agree at knots
    return np.asarray(np.concatenate(found) / pieces[0, 0, 1])
