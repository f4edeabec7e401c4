"""The options of a formula's functions: literals only, bound to names as Python binds them."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from crank.errors import FormulaError, listed
from crank.formula.contrasts import CONTRASTS, Coding
from crank.formula.syntax import name_of
from crank.frames.dates import days_of_text

_LONGEST = 10_000  # of a sequence
_PATSY = {
    "Treatment": "treatment",
    "Sum": "sum",
    "Helmert": "helmert",
    "Diff": "diff",
    "Poly": "poly",
}


def bound(call: ast.Call, signature: Mapping[str, Any], term: str) -> dict[str, Any]:
    """Bind a call's arguments to names; defaults are values, what was given is a syntax tree.

    Examples
    --------
    >>> from crank.formula.syntax import read_expression
    >>> call = read_expression("f(x, 3)")
    >>> sorted(bound(call, {"data": None, "degree": 1, "raw": False}, "f(x, 3)"))
    ['data', 'degree', 'raw']
    """
    function = ast.unparse(call.func)
    given: dict[str, Any] = {}
    if len(call.args) > len(signature) or any(isinstance(a, ast.Starred) for a in call.args):
        raise FormulaError(
            f"{function}(...) in the term {term!r} has too many arguments. "
            f"It takes {listed(signature)}."
        )
    given.update(zip(signature, call.args, strict=False))
    for keyword in call.keywords:
        name = str(keyword.arg)
        if name not in signature:
            name = name.replace("_", ".")  # include_lowest is R's include.lowest
        if name not in signature or name in given:
            raise FormulaError(
                f"{function}(...) in the term {term!r} cannot take {keyword.arg!r}. "
                f"It takes {listed(signature)}, each once."
            )
        given[name] = keyword.value
    first = next(iter(signature))
    if first not in given:
        raise FormulaError(f"{function}(...) in the term {term!r} lacks its column.")
    return {**signature, **given}


def literal(node: ast.expr, term: str) -> Any:
    """Read a number, a text, True, False, None, or a list or dict of these; dates are days.

    Examples
    --------
    >>> from crank.formula.syntax import read_expression
    >>> literal(read_expression("c(-Inf, 0, 1.5)"), "t")
    [-inf, 0, 1.5]
    >>> literal(read_expression("seq(0, 6, 3)"), "t")
    [0, 3, 6]
    >>> literal(read_expression("as.Date('1970-01-02')"), "t")
    1.0
    """
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id="Inf" | "inf" | "np.inf"):
            return math.inf
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            number = literal(operand, term)
            if isinstance(number, int | float):
                return -number if isinstance(sign, ast.USub) else number
        case ast.List(elts=items):
            return [literal(item, term) for item in items]
        case ast.Tuple(elts=items):
            return tuple(literal(item, term) for item in items)
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {literal(k, term): literal(v, term) for k, v in pairs if k is not None}
        case ast.Call(func=ast.Name(id="np.array"), args=[inner], keywords=[]):
            return literal(inner, term)
        case ast.Call(func=ast.Name(id="as.Date"), args=[ast.Constant(value=text)], keywords=[]):
            with suppress(TypeError, ValueError):
                return days_of_text(text)
        case ast.Call(func=ast.Name(id="seq"), args=[_, _, _] as given, keywords=[]):
            start, stop, step = (literal(one, term) for one in given)
            if all(isinstance(v, int | float) for v in (start, stop, step)) and step:
                count = math.floor((stop - start) / step + 1e-10) + 1
                if 0 < count <= _LONGEST:
                    return [start + k * step for k in range(count)]
    raise FormulaError(
        f"the option {ast.unparse(node)!r} in the term {term!r} must be written out: a number, "
        f"a text, a date such as as.Date('2020-12-31'), True, False, None, or a list of these."
    )


def column(node: ast.expr, term: str) -> str | None:
    """Read an option that is a column of the data.

    Examples
    --------
    >>> from crank.formula.syntax import read_expression
    >>> column(read_expression("sex"), "s(x, by=sex)")
    'sex'
    """
    if isinstance(node, ast.Constant) and node.value is None:
        return None
    name = name_of(node) if isinstance(node, ast.Name) else None
    if name is None:
        raise FormulaError(
            f"by= in the term {term!r} must be a column of the data, got {ast.unparse(node)!r}. "
            f"Compute the column before fitting."
        )
    return str(name)


def contrasts(node: ast.expr, term: str) -> Coding:
    """Read the contrasts of ``C(g, ...)``: ``contr.sum``, ``Treatment('b')``, a matrix, ….

    Examples
    --------
    >>> from crank.formula.syntax import read_expression
    >>> contrasts(read_expression("contr.treatment(base='b')"), "t")
    Coding(kind='treatment', options={'base': 'b'})
    """
    if isinstance(node, ast.Constant) and node.value is None:
        return Coding()
    function = node.func if isinstance(node, ast.Call) else node
    name = ast.unparse(function)
    kind = _PATSY.get(name, name.removeprefix("contr."))
    if kind not in CONTRASTS or (name not in _PATSY and not name.startswith("contr.")):
        if isinstance(node, ast.List | ast.Tuple | ast.Dict) or name == "np.array":
            return Coding("custom", {"contrasts": literal(node, term)})
        raise FormulaError(
            f"the contrasts {ast.unparse(node)!r} of the term {term!r} are not known. Allowed are "
            f"{listed('contr.' + known for known in CONTRASTS)}, or a matrix."
        )
    options: dict[str, Any] = {}
    if isinstance(node, ast.Call):
        options = _options(node, CONTRASTS[kind], term)
    if kind == "custom" and "contrasts" not in options:
        raise FormulaError(f"contr.custom in the term {term!r} lacks its matrix.")
    return Coding(kind, options)


def _options(call: ast.Call, signature: Mapping[str, Any], term: str) -> dict[str, Any]:
    keywords = [
        ast.keyword("base" if k.arg == "reference" and "base" in signature else k.arg, k.value)
        for k in call.keywords
    ]
    placeholder = ast.Constant(None)  # `bound` wants a first argument, contrasts need none
    whole = ast.Call(call.func, [placeholder, *call.args], keywords)
    given = bound(whole, {"": None, **signature}, term)
    return {
        key: literal(value, term)
        for key, value in given.items()
        if key and isinstance(value, ast.expr)
    }
