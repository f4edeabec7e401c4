"""Comparisons with a text: dates where the column holds dates, levels where they have an order."""

from __future__ import annotations

from crank.design.expressions import Step
from crank.design.operations import OPERATIONS
from crank.errors import DataError, did_you_mean, listed
from crank.frames.columns import Coded, Kind
from crank.frames.dates import days_of_text


def resolved(step: Step, kind: Kind, term: str, declared: Coded | None = None) -> tuple[Step, ...]:
    """Write a comparison with texts as what a column of this kind needs.

    Parameters
    ----------
    step : Step
        ``among`` (column, texts), or ``dated`` (column, comparison, text), which learning replaces.
    kind : {"number", "boolean", "category", "date"}
        What the column holds.
    term : str
    declared : Coded, optional
        The column, if it declares its levels.

    Examples
    --------
    >>> [step.op for step in resolved(Step("dated", ("day", "less", "2020-01-01")), "date", "t")]
    ['days', 'constant', 'less']
    >>> resolved(Step("among", ("g", ("a",))), "category", "t")
    (Step(op='among', given=('g', ('a',))),)
    """
    name, *_, given = step.given
    if step.op == "dated" and declared is not None and declared.ordered:
        return (_along(name, given, step.given[1], list(map(str, declared.levels)), term),)
    if step.op == "dated":
        return tuple(_compared(name, given, step.given[1], kind, term))
    if kind != "date":
        return (step,)
    found: list[Step] = []
    for k, text in enumerate(given):
        found += _compared(name, text, "equal", kind, term)
        found += [Step("or")] * (k > 0)
    return tuple(found)


def _along(name: str, text: str, op: str, levels: list[str], term: str) -> Step:
    """Write a comparison of an ordered factor as the levels for which it is true."""
    if text not in levels:
        raise DataError(
            f"the term {term!r} compares column {name!r} with {text!r}, which is none of its "
            f"levels: {listed(map(repr, levels))}.{did_you_mean(text, levels)}"
        )
    at = levels.index(text)
    true = tuple(v for k, v in enumerate(levels) if OPERATIONS[op].apply(k, at))
    if not true:
        raise DataError(
            f"the term {term!r} is true for none of the levels of {name!r}: "
            f"{listed(map(repr, levels))}. Compare with another one."
        )
    return Step("among", (name, true))


def _compared(name: str, text: str, op: str, kind: Kind, term: str) -> list[Step]:
    if kind != "date":
        holds = {"category": "categories, which are equal or not but in no order"}
        raise DataError(
            f"the term {term!r} compares column {name!r} with the text {text!r}, but the column "
            f"holds {holds.get(kind, kind + 's')}. Texts are compared with columns of dates: "
            f"convert it, for example with pd.to_datetime. Equality with texts, {name} == 'a' and "
            f"{name} %in% c('a', 'b'), is for categories."
        )
    try:
        days = days_of_text(text)
    except (TypeError, ValueError):
        raise DataError(
            f"the term {term!r} compares column {name!r}, which holds dates, with the text "
            f"{text!r}, which is none. Write dates as '2020-12-31', times as '2020-12-31T18:00'."
        ) from None
    return [Step("days", (name,)), Step("constant", (days,)), Step(op)]
