"""The factors of a design: each turns raw columns into one or more columns of numbers."""

from __future__ import annotations

from typing import TypeAlias

from crank.design.factors.category import Codes, Contrast, Cross, Dummies, crossed
from crank.design.factors.numeric import (
    EXTRAPOLATIONS,
    MOST_POWERS,
    Number,
    Poly,
    Powers,
    Spline,
)

__all__ = [
    "EXTRAPOLATIONS",
    "MOST_POWERS",
    "Codes",
    "Contrast",
    "Cross",
    "Dummies",
    "Factor",
    "Number",
    "Poly",
    "Powers",
    "Spline",
    "crossed",
]

Factor: TypeAlias = Number | Powers | Poly | Spline | Dummies | Contrast | Codes | Cross
