"""An additive model as plain data: its terms, each with its columns of the design."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crank.design.expressions import columns_of
from crank.design.factors import Contrast, Cross, Dummies, Smooth
from crank.design.penalties import is_interaction
from crank.design.spec import Block, DesignSpec
from crank.rankers.additive import AdditiveRanker
from crank.records.linear import LinearRecord

Shape = Literal["curve", "curves", "surface", "levels", "columns"]


class AdditiveTerm(NamedTuple):
    """A term of an additive model.

    Attributes
    ----------
    name : str
    shape : {"curve", "curves", "surface", "levels", "columns"}
        A smooth curve; one for each level of a category, or times a number; a smooth surface; a
        value for each level of a category; columns as they are.
    columns : slice
        Of the design.
    bent : ndarray of bool
        Which of these columns bend.
    variables : tuple of str
        The raw columns that it reads.
    """

    name: str
    shape: Shape
    columns: slice
    bent: NDArray[np.bool_]
    variables: tuple[str, ...]


@dataclass(frozen=True, repr=False, kw_only=True)
class AdditiveRecord(LinearRecord):
    """A formula, a design of spline bases, and an additive ranker.

    Attributes
    ----------
    ranker : AdditiveRanker
    """

    kind: ClassVar[str] = AdditiveRanker.kind

    ranker: AdditiveRanker

    @cached_property
    def parts(self) -> tuple[AdditiveTerm, ...]:
        """The terms, in the order of the design."""
        found, start = [], 0
        for block in self.design.blocks:
            stop = start + self.design.width(block)
            found.append(_term(self.design, block, slice(start, stop)))
            start = stop
        return tuple(found)

    @property
    def smooth_parts(self) -> tuple[AdditiveTerm, ...]:
        """The terms that are curves and surfaces."""
        return tuple(part for part in self.parts if part.shape in ("curve", "curves", "surface"))

    @property
    def chosen_pairs(self) -> tuple[str, ...]:
        """The products of terms that are terms themselves, by name."""
        return tuple(b.term for b in self.design.blocks if is_interaction(self.design, b))


def _term(design: DesignSpec, block: Block, columns: slice) -> AdditiveTerm:
    factors = [design.factors[i] for i in block.factors]
    smooth = [isinstance(factor, Smooth) for factor in factors]
    shape: Shape = "columns"
    if any(smooth):
        shape = "surface" if sum(smooth) == 2 else "curves" if len(smooth) > 1 else "curve"
    elif len(factors) == 1 and isinstance(factors[0], Dummies | Contrast):
        shape = "levels"
    bending = np.zeros(1)
    for factor in factors:
        own = factor.penalty if isinstance(factor, Smooth) else np.zeros(len(factor.labels))
        bending = np.add.outer(np.asarray(own), bending).ravel()
    steps = (factor.steps for factor in factors if not isinstance(factor, Cross))
    variables = tuple(dict.fromkeys(name for one in steps for name in columns_of(one)))
    return AdditiveTerm(block.term, shape, columns, bending > 0.0, variables)
