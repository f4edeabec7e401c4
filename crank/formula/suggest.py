"""A formula to begin with, guessed from a table, and what was assumed in guessing it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crank.errors import DataError, listed
from crank.frames.table import Table

RESPONSES = ("y", "target", "response", "outcome", "label")
"""Names that responses often have."""
FEWEST_VALUES = 10
"""Distinct numbers that a response of another name must have."""
MOST_LEVELS = 0.5
"""Share of the rows from which levels of text are names of rows."""


class Suggestion(NamedTuple):
    """A formula, and in words what it rests on."""

    formula: str
    assumed: tuple[str, ...]


def suggest_formula(data: object) -> Suggestion:
    """Guess what is to be ranked, and by which columns.

    Examples
    --------
    >>> found = suggest_formula({"id": ["a", "b", "c"], "x": [1.0, 1.0, 2.0], "y": [3.0, 1.0, 2.0]})
    >>> found.formula
    'y ~ x'
    >>> print(*found.assumed, sep="; ")
    y is ranked, because it is called so; id is left out: each row has its own
    """
    table = Table.read(data)
    numbers = {name: _distinct(table, name) for name in table.names if _is_number(table, name)}
    response, because = _response(table, numbers)
    assumed, kept = [f"{response} is ranked, because {because}"], []
    for name in table.names:
        if name == response:
            continue
        wrong = _unusable(table, name)
        if wrong:
            assumed.append(f"{name} is left out: {wrong}")
        else:
            kept.append(name)
    if not kept:
        raise DataError(
            f"no column beside {response!r} could serve to rank it. Columns: {listed(table.names)}."
            " Write a formula."
        )
    return Suggestion(f"{_quoted(response)} ~ {' + '.join(map(_quoted, kept))}", tuple(assumed))


def _response(table: Table, numbers: dict[str, int]) -> tuple[str, str]:
    for name in table.names:
        if name.lower() in RESPONSES and name in numbers:
            return name, "it is called so"
    rich = [name for name, count in numbers.items() if count >= FEWEST_VALUES]
    rich = [name for name in rich if not _counts_rows(table, name)]
    if not rich:
        raise DataError(
            f"no column looks like a response: none holds {FEWEST_VALUES} different numbers. "
            f"Columns: {listed(table.names)}. Write a formula, such as 'y ~ .'."
        )
    return rich[-1], f"it is the last column with at least {FEWEST_VALUES} different numbers"


def _is_number(table: Table, name: str) -> bool:
    try:
        return table.kind(name) == "number"
    except DataError:
        return False


def _distinct(table: Table, name: str) -> int:
    values = table.numeric(name)
    return len(np.unique(values[~np.isnan(values)]))


def _counts_rows(table: Table, name: str) -> bool:
    """Tell whether a column numbers the rows."""
    values = table.numeric(name)
    return len(values) > 2 and bool((np.diff(values) == 1.0).all())


def _unusable(table: Table, name: str) -> str:
    try:
        kind = table.kind(name)
        codes = table.codes(name)[0]
    except DataError:
        return "a formula cannot use what it holds"
    known = codes[codes >= 0]
    present = len(np.unique(known))
    if present < 2:
        return "it has one value" if present else "it has no value"
    if kind == "number" and _counts_rows(table, name):
        return "it numbers the rows"
    if kind == "category":
        if present == len(known):
            return "each row has its own"
        if present > MOST_LEVELS * len(known):
            return f"{present} levels in {len(known)} rows are names of rows"
    return ""


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"
