"""Conditions in words: as short as a plot needs them, or so that a row can be judged by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from typing import Literal

from crank.growing.conditions import Box, Condition, Sum, Values


@dataclass(frozen=True)
class ColumnWords:
    """How one design column is spoken of.

    Attributes
    ----------
    name : str
    kind : {"number", "boolean", "date", "indicator"}
        A boolean is true or false; a date counts days since 1970-01-01; an indicator says whether
        ``category`` is ``level``.
    levels : sequence of str, optional
        Names of the codes of a column of categories; bounds of an ordered one are levels.
    category, level : str
    missing : bool
        Whether missing values were met in training.
    """

    name: str
    kind: Literal["number", "boolean", "date", "indicator"] = "number"
    levels: Sequence[str] | None = None
    category: str = ""
    level: str = ""
    missing: bool = True


@dataclass(frozen=True)
class Wording:
    """How much is said.

    Attributes
    ----------
    levels, terms, boxes : int, optional
        Most levels of a list, terms of a sum and boxes of several cuts; None for all.
    listed : int
        Levels of a list that is shown whole even where lists are cut.
    digits : {"few", "short", "exact"}
        Six digits; those that tell the number from its neighbours; all.
    missing : {"met", "always"}
        Whether "or missing" is said of every column, or of those that had missing values in
        training. A missing value meets no condition that does not say so.
    means : bool
        Whether a sum says what a missing value counts as.
    """

    levels: int | None = None
    listed: int = 6
    terms: int | None = None
    boxes: int | None = None
    digits: Literal["few", "short", "exact"] = "few"
    missing: Literal["met", "always"] = "met"
    means: bool = True


BRIEF = Wording(levels=3, terms=3, boxes=3, means=False)
"""For the printed tree and summaries."""
PLOTS = replace(BRIEF, listed=4)
"""For boxes, which are narrow."""
RULES = Wording(levels=3)
"""For `rules`: only long lists of levels are cut."""
TABLES = Wording(digits="short")
"""For data frames."""
WORDS = Wording(missing="always")
"""For a rule that speaks for itself."""
FULL = Wording(digits="exact", missing="always")
"""For ``rules(full=True)``: whoever reads it can send any row to its leaf."""


def named_columns(
    names: Sequence[str], levels: Sequence[Sequence[str] | None] | None = None
) -> list[ColumnWords]:
    """Speak of columns of which no more than names, and perhaps level names, is known."""
    known = [None] * len(names) if levels is None else levels
    return [ColumnWords(name, levels=some) for name, some in zip(names, known, strict=True)]


def condition_text(condition: Condition, columns: Sequence[ColumnWords], wording: Wording) -> str:
    """Say a condition in one line.

    Examples
    --------
    >>> from crank.growing.conditions import AnyOf
    >>> x = named_columns(["x"])
    >>> condition_text(AnyOf(({0: Values.number(">", 2.5, missing=True)},)), x, FULL)
    'x > 2.5 or missing'
    """
    return joined([condition], columns, wording)


def joined(
    parts: Sequence[Condition | str], columns: Sequence[ColumnWords], wording: Wording
) -> str:
    """Join conditions that must all be met; those with an "or" get parentheses."""
    found: list[tuple[str, bool]] = []
    for part in parts:
        if isinstance(part, str):
            found.append((part, " or " in part))
        elif isinstance(part, Sum):
            found.append((_sum_text(part, columns, wording), False))
        elif len(part.boxes) == 1:
            found += _box_texts(part.boxes[0], columns, wording)
        else:
            found.append(_boxes_text(part.boxes, columns, wording))
    return _all_of(found) or "all rows"


def _all_of(found: Sequence[tuple[str, bool]]) -> str:
    if len(found) == 1:
        return found[0][0]
    return " & ".join(f"({text})" if has_or else text for text, has_or in found)


def _boxes_text(
    boxes: Sequence[Box], columns: Sequence[ColumnWords], wording: Wording
) -> tuple[str, bool]:
    """Join boxes, one of which must hold; "&" binds tighter than "or"."""
    shown = boxes if wording.boxes is None else boxes[: wording.boxes]
    texts = []
    for box in shown:
        inside = _box_texts(box, columns, wording)
        if len(inside) == 1 and inside[0][1]:  # "missing" would refer to the boxes before
            texts.append(f"({inside[0][0]})")
        else:
            texts.append(_all_of(inside) or "always")
    if len(boxes) > len(shown):
        texts.append(f"… {len(boxes) - len(shown)} more")
    return " or ".join(texts) or "never", len(texts) > 1


def _box_texts(
    box: Box, columns: Sequence[ColumnWords], wording: Wording
) -> list[tuple[str, bool]]:
    """Say what a box demands of each of its columns, and whether that has an "or"."""
    texts = (_values_text(values, columns[j], wording) for j, values in box.items())
    return [found for found in texts if found is not None]


def _values_text(values: Values, column: ColumnWords, wording: Wording) -> tuple[str, bool] | None:
    """Say which values of a column are allowed; None if all are."""
    named = wording.missing == "always" or column.missing
    name = column.category if column.kind == "indicator" else column.name
    whole = _names_every_level(values, column)
    if values.no_number or (whole and values.all_but):
        return (f"{name} is missing" if values.missing else "never"), False
    text = None
    if not whole:
        text = (
            _levels_text(values, column, wording)
            or _truth_text(values, column)
            or _order_text(values, column)
            or _bounds_text(values, column, name, wording)
        )
    if text is None:
        return None if values.missing or not named else (f"{name} is not missing", False)
    return (f"{text} or missing", True) if values.missing and named else (text, False)


def _levels_text(values: Values, column: ColumnWords, wording: Wording) -> str | None:
    """List levels; all but a few are listed as what they are if their names are known."""
    if values.levels is None:
        return None
    codes = sorted(values.levels)
    if not values.all_but:
        return f"{column.name} in {_level_list(codes, column, wording)}"
    if column.levels is None:
        return f"{column.name} not in {_level_list(codes, column, wording)}" if codes else None
    others = [code for code in range(len(column.levels)) if code not in values.levels]
    if len(others) == len(column.levels):
        return None
    return f"{column.name} in {_level_list(others, column, wording)}"


def _names_every_level(values: Values, column: ColumnWords) -> bool:
    """Tell whether all levels of a column are named, as allowed or as left out."""
    if values.levels is None or column.levels is None:
        return False
    return len(values.levels) == len(column.levels)


def _level_list(codes: Sequence[int], column: ColumnWords, wording: Wording) -> str:
    names = [str(code) if column.levels is None else quoted(column.levels[code]) for code in codes]
    if wording.levels is not None and len(names) > wording.listed:
        names = [*names[: wording.levels], f"… {len(names) - wording.levels} more"]
    return f"{{{', '.join(names)}}}"


def quoted(level: str) -> str:
    """Put quotes around a level that a list would tear apart.

    Examples
    --------
    >>> quoted("Very Good"), quoted("a, b"), quoted("")
    ('Very Good', "'a, b'", "''")
    """
    torn = not level or level != level.strip() or any(mark in level for mark in ",{}'\"…")
    return repr(level) if torn else level


def _truth_text(values: Values, column: ColumnWords) -> str | None:
    """Say a condition on a column of 0 and 1 in words."""
    if column.kind in ("number", "date"):
        return None
    no, yes = values.allows(0.0), values.allows(1.0)
    if no == yes:
        return None
    if column.kind == "boolean":
        return f"{column.name} is {'true' if yes else 'false'}"
    return f"{column.category} {'' if yes else 'not '}in {{{quoted(column.level)}}}"


def _order_text(values: Values, column: ColumnWords) -> str | None:
    """Say between which levels of an ordered factor the allowed ones lie."""
    if column.levels is None or values.any_number:
        return None
    allowed = [code for code in range(len(column.levels)) if values.allows(float(code))]
    if not allowed:
        return None
    first, last = (quoted(column.levels[code]) for code in (allowed[0], allowed[-1]))
    if allowed[-1] == len(column.levels) - 1:
        return f"{column.name} >= {first}"
    if allowed[0] == 0:
        return f"{column.name} <= {last}"
    return f"{column.name} = {first}" if first == last else f"{first} <= {column.name} <= {last}"


def _bounds_text(values: Values, column: ColumnWords, name: str, wording: Wording) -> str | None:
    if values.any_number:
        return None
    above, below = (">=" if values.at_low else ">"), ("<=" if values.at_high else "<")
    low, high = (
        date_text(bound) if column.kind == "date" else number_text(bound, wording.digits)
        for bound in (values.low, values.high)
    )
    if values.high == float("inf"):
        return f"{name} {above} {low}"
    if values.low == -float("inf"):
        return f"{name} {below} {high}"
    return f"{low} {'<=' if values.at_low else '<'} {name} {below} {high}"


def _sum_text(condition: Sum, columns: Sequence[ColumnWords], wording: Wording) -> str:
    """Write a weighted sum and its bound, in the units of the columns."""
    most = wording.terms or len(condition.columns)

    def shown(value: float) -> str:
        return number_text(value, wording.digits) if wording.terms is None else f"{value:.4g}"

    terms: list[str] = []
    for j, weight in zip(condition.columns[:most], condition.weights[:most], strict=True):
        size = shown(abs(weight))
        sign = "-" if weight < 0.0 else "+" if terms else ""
        terms.append(f"{sign}{' ' * bool(terms)}{size} {columns[j].name}")
    if len(condition.columns) > most:
        terms.append(f"+ … {len(condition.columns) - most} more")
    text = f"{' '.join(terms)} {condition.comparison} {shown(condition.bound + 0.0)}"
    if not wording.means:
        return text
    means = means_text(
        dict(zip(condition.columns, condition.missing_as, strict=True)), columns, wording
    )
    return f"{text} [missing: {means}]" if means else text


def means_text(
    missing_as: Mapping[int, float], columns: Sequence[ColumnWords], wording: Wording
) -> str:
    """Say what missing values count as in sums, of the columns of which it is worth saying."""
    return ", ".join(
        f"{columns[j].name} as {number_text(mean, wording.digits)}"
        for j, mean in missing_as.items()
        if wording.missing == "always" or columns[j].missing
    )


def date_text(days: float) -> str:
    """Write days since 1970-01-01 as a date, with the time of day if it is not midnight.

    Examples
    --------
    >>> date_text(18686.0), date_text(18686.5)
    ('2021-02-28', '2021-02-28 12:00:00')
    """
    try:
        moment = datetime(1970, 1, 1) + timedelta(days=days)
    except OverflowError:  # beyond the years that a calendar has, or no bound at all
        return number_text(days)
    return str(moment.date()) if moment.time() == time() else str(moment)


def number_text(value: float, digits: Literal["few", "short", "exact"] = "few") -> str:
    """Write a number with few digits, but not with fewer than a plain decimal needs.

    Examples
    --------
    >>> number_text(1.0 / 3.0), number_text(1234567.5), number_text(11.700000000000001)
    ('0.333333', '1234567.5', '11.7')
    >>> number_text(1.0 / 3.0, "short"), number_text(11.700000000000001, "exact")
    ('0.3333333333333333', '11.700000000000001')
    """
    value += 0.0  # no negative zero
    exact = repr(float(value)).removesuffix(".0")
    if digits == "exact":
        return exact
    short = f"{value:.9g}"
    if abs(float(short) - value) <= 2e-15 * abs(value) and "e" not in short:
        return short
    return exact if digits == "short" else f"{value:.6g}"
