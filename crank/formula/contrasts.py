"""Contrasts: how a category's levels become columns of numbers, as formulaic codes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crank.design.expressions import Steps
from crank.design.factors import Contrast, Dummies
from crank.design.operations import Floats
from crank.errors import FormulaError, listed
from crank.formula.polynomials import polynomials
from crank.frames.columns import LevelValue

# name in the formula (R's and patsy's) -> options with their defaults
CONTRASTS: dict[str, dict[str, Any]] = {
    "treatment": {"base": None},
    "SAS": {"base": None},
    "sum": {},
    "helmert": {"reverse": True, "scale": False},
    "diff": {"backward": True},
    "poly": {"scores": None},
    "custom": {"contrasts": None, "names": None},
}

_MOST_LEVELS = 2000


@dataclass(frozen=True)
class Coding:
    """A contrast by name, with its options."""

    kind: str = "treatment"
    options: dict[str, Any] = field(default_factory=dict)


def code(
    coding: Coding, name: str, steps: Steps, levels: tuple[LevelValue, ...], *, reduced: bool
) -> Dummies | Contrast:
    """Make the factor that codes a category, in full or reduced by one column.

    Examples
    --------
    >>> code(Coding("sum"), "g", (), ("a", "b", "c"), reduced=True).labels
    ('g[S.a]', 'g[S.b]')
    """
    if coding.kind == "custom":
        return _custom(coding.options, name, steps, levels)
    if not reduced:
        return Dummies(name, steps, levels)
    if coding.kind in ("treatment", "SAS"):
        return Dummies(name, steps, levels, _base(coding, name, levels))
    if len(levels) > _MOST_LEVELS:
        raise FormulaError(
            f"the contrasts of {name!r} need a matrix of {len(levels)} levels squared; at most "
            f"{_MOST_LEVELS} levels are possible. Use the default contrasts, or join rare levels."
        )
    if len(levels) == 1:
        return Contrast(name, steps, levels, (), ((),))
    fields, matrix = _reduced(coding, name, levels)
    return Contrast(name, steps, levels, tuple(fields), _rows(matrix))


def _base(coding: Coding, name: str, levels: tuple[LevelValue, ...]) -> int:
    base = coding.options.get("base")
    if base is None:
        return len(levels) - 1 if coding.kind == "SAS" else 0
    if base not in levels:
        raise FormulaError(
            f"the base level {base!r} of {name!r} is not one of its levels. "
            f"Levels: {listed(map(repr, levels))}."
        )
    return levels.index(base)


def _reduced(coding: Coding, name: str, levels: tuple[LevelValue, ...]) -> tuple[list[str], Floats]:
    n, options = len(levels), coding.options
    if coding.kind == "sum":
        matrix = np.eye(n, n - 1)
        matrix[-1] = -1
        return [f"S.{level}" for level in levels[:-1]], matrix
    if coding.kind == "helmert":
        reverse = options.get("reverse", True)
        shown = levels[1:] if reverse else levels[:-1]
        return [f"H.{level}" for level in shown], _helmert(n, reverse, options.get("scale", False))
    if coding.kind == "diff":
        backward = options.get("backward", True)
        matrix = np.tile(np.arange(1.0, n) / n, (n, 1)) - np.triu(np.ones((n, n - 1)))
        shown = levels[1:] if backward else levels[:-1]
        return [f"D.{level}" for level in shown], matrix if backward else -matrix
    scores = options.get("scores")
    if scores is not None and len(scores) != n:
        raise FormulaError(f"{name!r} gives {len(scores)} scores for {n} levels. Give one each.")
    points = np.arange(float(n)) if scores is None else np.array(scores, dtype=np.float64)
    _, _, matrix = polynomials(points, n - 1)
    return [{1: ".L", 2: ".Q", 3: ".C"}.get(d, f"^{d}") for d in range(1, n)], matrix


def _helmert(n: int, reverse: bool, scale: bool) -> Floats:
    matrix = np.zeros((n, n - 1))
    for i in range(n - 1):
        if reverse:
            matrix[: i + 1, i], matrix[i + 1, i] = -1, i + 1
        else:
            matrix[i, i], matrix[i + 1 :, i] = n - i - 1, -1
        if scale:
            matrix[:, i] /= i + 2 if reverse else n - i
    return matrix


def _custom(
    options: dict[str, Any], name: str, steps: Steps, levels: tuple[LevelValue, ...]
) -> Contrast:
    given, names = options["contrasts"], options.get("names")
    if isinstance(given, dict):
        names = list(given) if names is None else names
        given = [list(row) for row in zip(*given.values(), strict=True)]
    try:
        matrix = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.ndim != 2 or matrix.shape[0] != len(levels) or not np.isfinite(matrix).all():
        raise FormulaError(
            f"the contrasts of {name!r} must be numbers, one row for each of its {len(levels)} "
            f"levels ({listed(map(repr, levels))}); got shape {matrix.shape}."
        )
    if names is None:
        names = range(1, matrix.shape[1] + 1)
    elif len(names) != matrix.shape[1]:
        raise FormulaError(
            f"{name!r} names {len(names)} contrasts but has {matrix.shape[1]}. Give one name each."
        )
    return Contrast(name, steps, levels, tuple(map(str, names)), _rows(matrix))


def _rows(matrix: Floats) -> tuple[tuple[float, ...], ...]:
    rows: Sequence[Sequence[float]] = matrix.tolist()
    return tuple(map(tuple, rows))
