"""What each term of an additive model adds to the score, with its band: the curves as numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crank.checks import check_alpha
from crank.design.factors import Contrast, Dummies, Factor, Number, Smooth
from crank.errors import OptionError, did_you_mean, listed
from crank.metrics.student import quantile
from crank.records.additive import AdditiveRecord, AdditiveTerm

GRID = 101
"""Values at which a curve is computed."""
SIDE = 41
"""Values on either side of a surface."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Effect:
    """What a term adds to the score.

    Attributes
    ----------
    part : AdditiveTerm
    factors : tuple of Factor
        What it is a function of; of a curve by another column, the curve first.
    x : ndarray or tuple
        Values of the first; the levels of a category.
    by : ndarray or tuple or None
        Values of the second, for surfaces and curves by another column.
    value, se : ndarray
        Of shape (x,), or (x, by).
    """

    part: AdditiveTerm
    factors: tuple[Factor, ...]
    x: Floats | tuple[object, ...]
    by: Floats | tuple[object, ...] | None
    value: Floats
    se: Floats

    @property
    def names(self) -> tuple[str, ...]:
        """The expressions, or categories, that it is a function of."""
        return tuple(_shown(factor) for factor in self.factors)


def effect_table(model: AdditiveRecord, term: str | None, alpha: float) -> pd.DataFrame:
    """Tabulate effects; see `AdditiveModel.effects`."""
    check_alpha(alpha)
    wide = quantile(1.0 - alpha / 2.0, math.inf)
    tables = []
    for effect in effects(model, term):
        x, by = effect.x, effect.by
        count = 1 if by is None else len(by)
        table = pd.DataFrame(
            {
                "term": effect.part.name,
                "x": [value for value in x for _ in range(count)],
                "by": [None] * len(x) if by is None else list(by) * len(x),
                "effect": effect.value.ravel(),
                "se": effect.se.ravel(),
            }
        )
        table["ci_low"] = table["effect"] - wide * table["se"]
        table["ci_high"] = table["effect"] + wide * table["se"]
        tables.append(table.astype({"x": object, "by": object}))
    names = ["term", "x", "by", "effect", "se", "ci_low", "ci_high"]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=names)


def effects(model: AdditiveRecord, term: str | None = None) -> list[Effect]:
    """Compute the effects of all terms that are functions of one or two columns, or of one term."""
    parts: Sequence[AdditiveTerm] = model.parts
    if term is not None:
        parts = [part for part in parts if term == part.name or term in part.variables]
        if not parts:
            known = [part.name for part in model.parts]
            raise OptionError(
                f"term={term!r} is not a term of the model. Terms: {listed(known)}."
                f"{did_you_mean(term, known)}"
            )
    found = (effect(model, part) for part in parts)
    return [one for one in found if one is not None]


def effect(model: AdditiveRecord, part: AdditiveTerm) -> Effect | None:
    """Compute the effect of a term; None if it cannot be drawn over one or two columns."""
    block = model.design.blocks[model.parts.index(part)]
    factors = tuple(model.design.factors[i] for i in block.factors)
    if len(factors) > 2 or (len(factors) == 2 and part.shape not in ("curves", "surface")):
        return None
    sides = [
        _values(model, factor, SIDE if part.shape == "surface" else GRID) for factor in factors
    ]
    if any(side is None for side in sides):
        return None
    (x, first), *rest = [side for side in sides if side is not None]
    columns, by = first, None
    if rest:
        by, second = rest[0]
        # the first factor's columns vary fastest
        columns = np.einsum("xi,yj->xyji", first, second).reshape(len(x) * len(by), -1)
    if part.shape != "curves":
        columns = columns - model.ranker.centre[part.columns]
    shape = (len(x),) if by is None else (len(x), len(by))
    known = model.ranker.estimated[part.columns]
    used = columns[:, known]
    value = used @ model.ranker.coef[part.columns][known]
    spread = model.ranker.uncertainty[part.columns, part.columns][np.ix_(known, known)]
    variance = np.einsum("ni,ij,nj->n", used, spread, used)
    se = np.sqrt(np.maximum(variance, 0.0))
    value, se = value.reshape(shape), se.reshape(shape)
    if by is not None and isinstance(x, tuple):  # a category, and then a curve for each level
        return Effect(part, factors[::-1], by, x, value.T, se.T)
    return Effect(part, factors, x, by, value, se)


def _values(
    model: AdditiveRecord, factor: Factor, count: int
) -> tuple[Floats | tuple[object, ...], Floats] | None:
    """Choose values of a factor, and compute its columns there."""
    if isinstance(factor, Dummies):
        shown = [k for k in range(len(factor.levels)) if k != factor.base]
        return tuple(factor.levels), np.eye(len(factor.levels))[:, shown]
    if isinstance(factor, Contrast):
        return tuple(factor.levels), np.array(factor.matrix)
    rug = model.ranker.rugs.get(factor.name)
    if rug is None or not len(rug):
        return None
    x = np.linspace(rug[0], rug[-1], count)
    if isinstance(factor, Smooth):
        columns = np.empty((count, len(factor.labels)))
        factor.at(x, columns)
        return x, columns
    if isinstance(factor, Number):
        values = np.unique(rug)
        x = values if len(values) <= 2 else x
        return x, x[:, None]
    return None


def _shown(factor: Factor) -> str:
    """Name what a factor is a function of: the expression within s(…)."""
    if isinstance(factor, Smooth):
        return factor.name.removeprefix("s(").removesuffix(")").partition(", ")[0]
    return factor.name if isinstance(factor, Number | Dummies | Contrast) else ""
