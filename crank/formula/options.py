"""The options of a formula's functions: literals only, bound to names as Python binds them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from crank.errors import FormulaError, listed
from crank.formula.contrasts import CONTRASTS, Coding

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
    >>> call = ast.parse("f(x, 3)", mode="eval").body
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
        if keyword.arg is None or keyword.arg not in signature or keyword.arg in given:
            raise FormulaError(
                f"{function}(...) in the term {term!r} cannot take {keyword.arg!r}. "
                f"It takes {listed(signature)}, each once."
            )
        given[keyword.arg] = keyword.value
    first = next(iter(signature))
    if first not in given:
        raise FormulaError(f"{function}(...) in the term {term!r} lacks its column.")
    return {**signature, **given}


def literal(node: ast.expr, term: str) -> Any:
    """Read a number, a text, True, False, None, or a list or dict of these."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "np.array" and len(node.args) == 1:
        node = node.args[0]
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise FormulaError(
            f"the option {ast.unparse(node)!r} in the term {term!r} must be written out: a number, "
            f"a text, True, False, None, or a list of these."
        ) from None


def contrasts(node: ast.expr, term: str) -> Coding:
    """Read the contrasts of ``C(g, ...)``: ``contr.sum``, ``Treatment('b')``, a matrix, ….

    Examples
    --------
    >>> contrasts(ast.parse("contr.treatment(base='b')", mode="eval").body, "t")
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
