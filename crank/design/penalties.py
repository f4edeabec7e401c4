"""What a penalised fit holds against each column of a design: bending, and size."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crank.design.factors import Contrast, Dummies, Smooth
from crank.design.operations import Floats
from crank.design.spec import Block, DesignSpec


class ColumnPenalties(NamedTuple):
    """Factors of the penalty on each column's squared coefficient.

    Attributes
    ----------
    bending : ndarray of shape (p,)
        Multiplied by the smoothing; 0 for columns that are straight.
    size : ndarray of shape (p,)
        Multiplied by the ridge.
    scaled : ndarray of bool, shape (p,)
        Whether the column's unit is its standard deviation; the others have a unit of their own.
    """

    bending: Floats
    size: Floats
    scaled: np.ndarray[tuple[int], np.dtype[np.bool_]]


def column_penalties(design: DesignSpec, *, straight: float = 1.0) -> ColumnPenalties:
    """Find the penalties that the terms of a design ask for.

    Parameters
    ----------
    design : DesignSpec
    straight : float
        What the ridge holds against terms that are not smooth; 0 leaves them alone.

    Examples
    --------
    >>> from crank.formula import learn_design, parse_formula
    >>> from crank.frames.table import Table
    >>> table = Table.read({"y": [1, 2, 3, 4], "x": [1.0, 2.0, 4.0, 5.0], "z": [0, 1, 1, 3]})
    >>> parsed = parse_formula("y ~ z + s(x, df=2)", table.names)
    >>> design = learn_design(parsed, table, native=False, smooth=True)
    >>> column_penalties(design).bending.tolist()
    [0.0, 0.0, 1.0]
    """
    bending, size, scaled = [], [], []
    for block in design.blocks:
        width = design.width(block)
        bends = _bending(design, block)
        own = bends is not None or _is_category(design, block)
        bending.append(np.zeros(width) if bends is None else bends)
        size.append(np.full(width, straight if bends is None else 1.0))
        scaled.append(np.full(width, not own))
    return ColumnPenalties(np.concatenate(bending), np.concatenate(size), np.concatenate(scaled))


def is_smooth(design: DesignSpec, block: Block) -> bool:
    """Tell whether a block is a smooth term, or a product with one."""
    return any(isinstance(design.factors[i], Smooth) for i in block.factors)


def _is_category(design: DesignSpec, block: Block) -> bool:
    parts = [design.factors[i] for i in block.factors]
    return all(isinstance(part, Dummies | Contrast) for part in parts)


def _bending(design: DesignSpec, block: Block) -> Floats | None:
    """Add up the penalties of the factors, the first one's columns varying fastest."""
    total = np.zeros(1)
    if not is_smooth(design, block):
        return None
    for i in block.factors:
        factor = design.factors[i]
        own = (
            np.array(factor.penalty) if isinstance(factor, Smooth) else np.zeros(len(factor.labels))
        )
        total = (own[:, None] + total[None, :]).ravel()
    return total
