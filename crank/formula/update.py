"""Formulas changed in R's manner: ``. ~ . + z`` is the old formula with one more term."""

from __future__ import annotations

import re

from crank.errors import FormulaError

_TOKENS = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"|(?<![\w.])\.(?![\w.])")


def updated(old: str, new: str) -> str:
    """Put the sides of an old formula where a new one has a dot.

    Parameters
    ----------
    old, new : str
        A new formula without ``~`` is a new right side.

    Examples
    --------
    >>> updated("log(y) ~ x + z", ". ~ . - z + C(g)")
    'log(y) ~ (x + z) - z + C(g)'
    >>> updated("y ~ x", "sqrt(.) ~ .")
    'sqrt(y) ~ x'
    >>> updated("y ~ a.b + x", "a.b * 0.5 + .")
    'y ~ a.b * 0.5 + (a.b + x)'
    """
    if not isinstance(new, str):
        raise FormulaError(
            f"a formula must be text such as '. ~ . + x2', got {type(new).__name__}."
        )
    left, right = _sides(old)
    if "~" not in _TOKENS.sub("", new):
        new = f". ~ {new}"
    new_left, new_right = _sides(new)
    return f"{_filled(new_left, left)} ~ {_filled(new_right, right)}"


def _sides(formula: str) -> tuple[str, str]:
    """Cut a formula at its ``~``, which a quoted name may hold as well."""
    hidden = _TOKENS.sub(lambda found: "x" * len(found[0]), formula)
    at = hidden.find("~")
    return formula[:at].strip(), formula[at + 1 :].strip()


def _filled(text: str, old: str) -> str:
    """Put an old side where the dots are; in parentheses, unless it is or stands alone."""
    single = text == "." or re.fullmatch(r"[\w.]+(\([^()]*\))?|`[^`]*`", old)

    def filled_in(found: re.Match[str]) -> str:
        if found[0].startswith("("):
            return f"({old})"
        return found[0] if found[0] != "." else old if single else f"({old})"

    return re.sub(rf"\(\s*\.\s*\)|{_TOKENS.pattern}", filled_in, text)
