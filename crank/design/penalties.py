"""What a penalised fit holds against each column of a design: bending, and size."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crank.design.factors import Contrast, Cross, Dummies, Factor, Smooth
from crank.design.operations import Floats
from crank.design.spec import Block, DesignSpec

CAUTION = 2.0
"""How many times smoother than its size asks for a product of two terms is made.

Such pairs are sought among many, and the strongest owe a part of their strength to chance.
"""


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
    term : ndarray of int, shape (p,)
        Number of the smooth term whose smoothing a column shares, from 0; -1 if it does not bend.
    caution : ndarray of shape (p,)
        What the smoothing that the data ask for is multiplied by.
    """

    bending: Floats
    size: Floats
    scaled: NDArray[np.bool_]
    term: NDArray[np.intp]
    caution: Floats


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
    bending, size, scaled, term, caution, count = [], [], [], [], [], 0
    for block in design.blocks:
        width = design.width(block)
        bends = _bending(design, block)
        own = bends is not None or _is_category(design, block)
        bending.append(np.zeros(width) if bends is None else bends)
        size.append(np.full(width, straight if bends is None else 1.0))
        scaled.append(np.full(width, not own))
        term.append(np.where(bending[-1] > 0.0, count, -1))
        caution.append(np.full(width, CAUTION if is_interaction(design, block) else 1.0))
        count += bool((bending[-1] > 0.0).any())
    parts = (bending, size, scaled, term, caution)
    return ColumnPenalties(*(np.concatenate(part) for part in parts))


def is_smooth(design: DesignSpec, block: Block) -> bool:
    """Tell whether a block is a smooth term, or a product with one."""
    return any(isinstance(design.factors[i], Smooth) for i in block.factors)


def _is_category(design: DesignSpec, block: Block) -> bool:
    parts = [design.factors[i] for i in block.factors]
    return all(isinstance(part, Dummies | Contrast) for part in parts)


def _bending(design: DesignSpec, block: Block) -> Floats | None:
    """Add up the penalties of the factors, the first one's columns varying fastest.

    A product of factors that are terms themselves has no lines of its own: all of it bends.
    """
    total = np.zeros(1)
    if not is_smooth(design, block):
        return None
    for i in block.factors:
        factor = design.factors[i]
        own = (
            np.array(factor.penalty) if isinstance(factor, Smooth) else np.zeros(len(factor.labels))
        )
        total = (own[:, None] + total[None, :]).ravel()
    return total + is_interaction(design, block)


def is_interaction(design: DesignSpec, block: Block) -> bool:
    """Tell whether a block is the product of factors whose expressions are terms themselves."""
    alone = {_steps(design.factors[b.factors[0]]) for b in design.blocks if len(b.factors) == 1}
    return len(block.factors) > 1 and all(_steps(design.factors[i]) in alone for i in block.factors)


def _steps(factor: Factor) -> object:
    return factor.name if isinstance(factor, Cross) else factor.steps
