"""The fixed set of operations that a formula's expressions are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crank.frames.columns import Kind

Floats: TypeAlias = NDArray[np.float64]


class Operation(NamedTuple):
    """What an operation takes from the stack, what it gives, and how NumPy computes it."""

    arity: int
    apply: Callable[..., NDArray[Any]]
    takes: Kind = "number"
    gives: Kind = "number"


def _where(condition: Floats, yes: Floats, no: Floats) -> Floats:
    return np.where(condition != 0, yes, no)


def _power(base: Floats, exponent: Floats) -> Floats:
    # the operator squares and takes roots exactly where np.power calls pow()
    return np.asarray(base ** (exponent.item() if exponent.ndim == 0 else exponent))


def _rounded(x: Floats, bits: Floats) -> Floats:
    """Keep so many bits of 53, by arithmetic that is the same everywhere (Veltkamp's splitting)."""
    spread = x * (2.0 ** (53.0 - bits) + 1.0)
    return np.where(np.abs(x) < _NEARLY_ALL, spread - (spread - x), x)


_NEARLY_ALL = 2.0**1000  # beyond, the product would overflow

OPERATIONS: Mapping[str, Operation] = {
    "abs": Operation(1, np.abs),
    "negative": Operation(1, np.negative),
    "sign": Operation(1, np.sign),
    "square": Operation(1, np.square),
    "sqrt": Operation(1, np.sqrt),
    "cbrt": Operation(1, np.cbrt),
    "reciprocal": Operation(1, np.reciprocal),
    "floor": Operation(1, np.floor),
    "ceil": Operation(1, np.ceil),
    "trunc": Operation(1, np.trunc),
    "rint": Operation(1, np.rint),
    "log": Operation(1, np.log),
    "log2": Operation(1, np.log2),
    "log10": Operation(1, np.log10),
    "log1p": Operation(1, np.log1p),
    "exp": Operation(1, np.exp),
    "exp2": Operation(1, np.exp2),
    "expm1": Operation(1, np.expm1),
    "sin": Operation(1, np.sin),
    "cos": Operation(1, np.cos),
    "tan": Operation(1, np.tan),
    "arcsin": Operation(1, np.arcsin),
    "arccos": Operation(1, np.arccos),
    "arctan": Operation(1, np.arctan),
    "sinh": Operation(1, np.sinh),
    "cosh": Operation(1, np.cosh),
    "tanh": Operation(1, np.tanh),
    "add": Operation(2, np.add),
    "subtract": Operation(2, np.subtract),
    "multiply": Operation(2, np.multiply),
    "divide": Operation(2, np.divide),
    "floor_divide": Operation(2, np.floor_divide),
    "mod": Operation(2, np.mod),
    "power": Operation(2, _power),
    "rounded": Operation(2, _rounded),
    "maximum": Operation(2, np.maximum),
    "minimum": Operation(2, np.minimum),
    "less": Operation(2, np.less, gives="boolean"),
    "less_equal": Operation(2, np.less_equal, gives="boolean"),
    "greater": Operation(2, np.greater, gives="boolean"),
    "greater_equal": Operation(2, np.greater_equal, gives="boolean"),
    "equal": Operation(2, np.equal, gives="boolean"),
    "not_equal": Operation(2, np.not_equal, gives="boolean"),
    "and": Operation(2, np.logical_and, takes="boolean", gives="boolean"),
    "or": Operation(2, np.logical_or, takes="boolean", gives="boolean"),
    "not": Operation(1, np.logical_not, takes="boolean", gives="boolean"),
    "where": Operation(3, _where),
}
