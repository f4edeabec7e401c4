"""The words of a formula's expressions, and the operations that they stand for."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Any

from crank.design.operations import OPERATIONS

SAME = {  # other names of operations: NumPy's, Python's, R's
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
    "ifelse": "where",
    "pmin": "minimum",
    "pmax": "maximum",
    "ceiling": "ceil",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
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
TURNED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {  # with the sides exchanged
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}
CONSTANTS = {"np.pi": math.pi, "pi": math.pi, "np.e": math.e}
SCALINGS: Mapping[str, Mapping[str, Any]] = {
    "center": {"data": None},
    "scale": {"data": None, "center": True, "scale": True, "ddof": 1},
    "standardize": {"x": None, "center": True, "rescale": True, "ddof": 0},
}
SEVERAL: Mapping[str, Mapping[str, Any]] = {  # functions that make a factor of their own
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
    "ns": {"x": None, "df": None, "knots": None, "intercept": False, "Boundary.knots": None},
    "s": {"x": None, "df": None, "by": None},
    "cut": {
        "x": None,
        "breaks": None,
        "labels": None,
        "include.lowest": False,
        "right": True,
        "dig.lab": 3,
        "ordered_result": False,
    },
    "C": {"data": None, "contrasts": None, "levels": None, "spans_intercept": True},
}
FUNCTIONS = tuple(
    sorted(
        {*OPERATIONS, *SAME, *SCALINGS, *SEVERAL, "I", "Q", "clip", "isin", "as.Date"}
        - {"and", "or", "not", "rounded"}
    )
)
# what a message names
COMMON = (
    *("log", "log2", "log10", "log1p", "exp", "sqrt", "abs", "floor", "ceil", "round", "ifelse"),
    *("clip", "maximum", "minimum", "isin", "center", "scale", "standardize", "poly", "bs", "ns"),
    *("s", "cut", "C", "I"),
)
# what R calls otherwise
CALLED_HERE = {"factor": "C", "as.factor": "C", "as_factor": "C", "relevel": "C", "ordered": "C"}
# functions of R and pandas whose value in a row depends on the other rows
OF_ALL_ROWS = frozenset(
    {
        *("rank", "order", "sort", "rev", "cumsum", "cumprod", "cummax", "cummin", "diff", "lag"),
        *("shift", "lead", "mean", "median", "sd", "var", "sum", "min", "max", "quantile", "qcut"),
        *("ecdf", "ave", "rolling", "ntile", "percent_rank", "row_number", "dense_rank"),
    }
)
