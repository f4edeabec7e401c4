"""The words of a formula's expressions, and the operations that they stand for."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Any

from crank.design.operations import OPERATIONS

SAME = {  # other names of operations, NumPy's or Python's
    "absolute": "abs",
    "fabs": "abs",
    "around": "rint",
    "round": "rint",
    "fix": "trunc",
    "remainder": "mod",
    "true_divide": "divide",
    "pow": "power",
    "logical_and": "and",
    "logical_or": "or",
    "logical_not": "not",
}
BINARY = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "mod",
    ast.Pow: "power",
    ast.BitAnd: "and",
    ast.BitOr: "or",
}
COMPARE = {
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
}
CONSTANTS = {"np.pi": math.pi, "np.e": math.e}
SCALINGS: Mapping[str, Mapping[str, Any]] = {
    "center": {"data": None},
    "scale": {"data": None, "center": True, "scale": True, "ddof": 1},
    "standardize": {"x": None, "center": True, "rescale": True, "ddof": 0},
}
SEVERAL: Mapping[str, Mapping[str, Any]] = {  # functions that make a factor of several columns
    "poly": {"x": None, "degree": 1, "raw": False},
    "bs": {
        "x": None,
        "df": None,
        "knots": None,
        "degree": 3,
        "include_intercept": False,
        "lower_bound": None,
        "upper_bound": None,
        "extrapolation": "raise",
    },
    "C": {"data": None, "contrasts": None, "levels": None, "spans_intercept": True},
}
FUNCTIONS = tuple(
    sorted(
        {*OPERATIONS, *SAME, *SCALINGS, *SEVERAL, "I", "Q", "clip", "isin"} - {"and", "or", "not"}
    )
)
# what a message names
COMMON = (
    *("log", "log2", "log10", "log1p", "exp", "sqrt", "abs", "floor", "ceil", "round", "where"),
    *("clip", "maximum", "minimum", "isin", "center", "scale", "standardize", "poly", "bs", "C"),
    "I",
)
