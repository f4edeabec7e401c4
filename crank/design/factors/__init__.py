"""The factors of a design: each computes one or more columns of numbers from raw columns."""

from __future__ import annotations

from typing import TypeAlias

from crank.design.factors.category import Codes, Contrast, Cross, Dummies, Ordered, crossed
from crank.design.factors.natural import NaturalSpline, Smooth
from crank.design.factors.numeric import (
    EXTRAPOLATIONS,
    MOST_DEGREE,
    MOST_POWERS,
    Number,
    Poly,
    Powers,
    Spline,
)

__all__ = [
    "EXTRAPOLATIONS",
    "MOST_DEGREE",
    "MOST_POWERS",
    "Codes",
    "Contrast",
    "Cross",
    "Dummies",
    "Factor",
    "NaturalSpline",
    "Number",
    "Ordered",
    "Poly",
    "Powers",
    "Smooth",
    "Spline",
    "crossed",
]

Factor: TypeAlias = (
    Number
    | Powers
    | Poly
    | Spline
    | NaturalSpline
    | Smooth
    | Dummies
    | Contrast
    | Codes
    | Ordered
    | Cross
)
