"""A design as JSON types, and back with every field checked."""

from __future__ import annotations

import math
import reprlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from itertools import pairwise
from typing import Any

from crank.design.expressions import Steps, check, from_list, to_list
from crank.design.factors import (
    EXTRAPOLATIONS,
    MOST_DEGREE,
    MOST_POWERS,
    Codes,
    Contrast,
    Cross,
    Dummies,
    Factor,
    NaturalSpline,
    Number,
    Ordered,
    Poly,
    Powers,
    Smooth,
    Spline,
)
from crank.design.response import ResponseSpec
from crank.design.spec import MOST_COLUMNS, Block, DesignSpec, Variable
from crank.errors import FormulaError
from crank.frames.columns import Kind, LevelValue

KINDS: tuple[Kind, ...] = ("number", "boolean", "category", "date")


def to_dict(spec: DesignSpec) -> dict[str, Any]:
    """Write a design as JSON types."""
    return {
        "variables": [list(variable) for variable in spec.variables],
        "factors": [_factor_to_dict(factor) for factor in spec.factors],
        "blocks": [[b.term, list(b.factors), b.scale] for b in spec.blocks],
    }


def _factor_to_dict(factor: Factor) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": factor.type}
    for field in fields(factor):
        value = getattr(factor, field.name)
        if field.name == "steps":
            value = to_list(value, factor.name)
        elif field.name == "parts":
            value = [_factor_to_dict(part) for part in value]
        elif field.name == "matrix":
            value = [list(row) for row in value]
        elif field.name == "pieces":
            value = [[list(column) for column in piece] for piece in value]
        entry[field.name] = list(value) if isinstance(value, tuple) else value
    return entry


def from_dict(data: Any) -> DesignSpec:
    """Read a design from JSON types, or raise `FormulaError`; no code in it is run."""
    whole = _Entry(data, "design", {"variables", "factors", "blocks"})
    variables, kinds = _variables(whole)
    factors = tuple(_factor(f, kinds) for f in whole.items("factors"))
    blocks = tuple(_block(b, factors) for b in whole.items("blocks"))
    width = sum(math.prod(len(factors[i].labels) for i in block.factors) for block in blocks)
    if not 0 < width <= MOST_COLUMNS:
        raise _invalid("blocks", f"they make {width} columns")
    return DesignSpec(variables, factors, blocks)


def response_from_dict(data: Any) -> ResponseSpec:
    """Read a response from JSON types, or raise `FormulaError`; no code in it is run."""
    whole = _Entry(data, "response", {"name", "variables", "steps"})
    variables, kinds = _variables(whole)
    return ResponseSpec(whole.name(), variables, whole.steps(kinds))


def _variables(entry: _Entry) -> tuple[tuple[Variable, ...], dict[str, Kind]]:
    variables = tuple(map(_variable, entry.items("variables")))
    kinds = {variable.name: variable.kind for variable in variables}
    if len(kinds) < len(variables):
        raise _invalid("variables", entry.data["variables"])
    return variables, kinds


def _variable(data: Any) -> Variable:
    match data:
        case [str(name), str(kind)] if kind in KINDS:
            return Variable(name, kind)
    raise _invalid("variable", data)


def _block(data: Any, factors: tuple[Factor, ...]) -> Block:
    match data:
        case [str(term), [*chosen], scale] if chosen and _is_number(scale):
            known = all(type(i) is int and 0 <= i < len(factors) for i in chosen)
            if known and len(set(chosen)) == len(chosen):
                coded = any(isinstance(factors[i], Codes | Cross) for i in chosen)
                if len(chosen) == 1 or not coded:
                    return Block(term, tuple(chosen), float(scale))
    raise _invalid("block", data)


def _factor(data: Any, kinds: Mapping[str, Kind]) -> Factor:
    kind = data.get("type") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in _READERS:
        raise _invalid("factor", data)
    cls, read = _READERS[kind]
    entry = _Entry(data, f"factor of type {kind!r}", {"type", *(f.name for f in fields(cls))})
    return read(entry, kinds)


class _Entry:
    """A JSON object whose fields are taken one by one, each with its check."""

    def __init__(self, data: Any, what: str, keys: set[str]) -> None:
        if not isinstance(data, dict) or set(data) != keys:
            raise _invalid(what, data)
        self.data, self.what = data, what

    def items(self, key: str) -> list[Any]:
        return self.take(key, lambda value: isinstance(value, list))  # type: ignore[no-any-return]

    def take(self, key: str, valid: Callable[[Any], bool]) -> Any:
        if not valid(self.data[key]):
            raise _invalid(f"{key} of a {self.what}", self.data[key])
        return self.data[key]

    def name(self) -> str:
        return self.take("name", lambda v: isinstance(v, str))  # type: ignore[no-any-return]

    def whole(self, key: str, least: int, most: int) -> int:
        return self.take(  # type: ignore[no-any-return]
            key, lambda v: type(v) is int and least <= v <= most
        )

    def number(self, key: str) -> float:
        return float(self.take(key, _is_number))

    def numbers(self, key: str) -> tuple[float, ...]:
        return tuple(map(float, self.take(key, _are_numbers)))

    def steps(self, kinds: Mapping[str, Kind]) -> Steps:
        steps = from_list(self.data["steps"], kinds, self.name())
        check(steps, kinds, self.name())
        return steps

    def category(self, kinds: Mapping[str, Kind]) -> tuple[str, Steps, tuple[LevelValue, ...]]:
        """Read name, steps and levels; a category's single column may hold anything."""
        steps = from_list(self.data["steps"], kinds, self.name())
        if len(steps) > 1 or steps[0].op != "column":
            check(steps, kinds, self.name())
        levels = tuple(self.take("levels", _are_levels))
        if steps[-1].op == "cut" and len(levels) != len(steps[-1].given[0]) - 1:
            raise _invalid("levels of a cut", list(levels))
        return self.name(), steps, levels


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(map(_is_number, values))


def _are_levels(values: Any) -> bool:
    if not isinstance(values, list) or not values:
        return False
    text = [isinstance(v, str) for v in values]
    if not all(text) and not all(isinstance(v, bool) or _is_number(v) for v in values):
        return False
    return len(set(values)) == len(values)


def _number(entry: _Entry, kinds: Mapping[str, Kind]) -> Number:
    return Number(entry.name(), entry.steps(kinds))


def _powers(entry: _Entry, kinds: Mapping[str, Kind]) -> Powers:
    return Powers(entry.name(), entry.steps(kinds), entry.whole("degree", 1, MOST_POWERS))


def _poly(entry: _Entry, kinds: Mapping[str, Kind]) -> Poly:
    alpha, norms = entry.numbers("alpha"), entry.numbers("norms")
    if not 0 < len(alpha) <= MOST_POWERS or len(norms) != len(alpha) + 1 or min(norms) <= 0:
        raise _invalid("poly", entry.data)
    return Poly(entry.name(), entry.steps(kinds), alpha, norms)


def _spline(entry: _Entry, kinds: Mapping[str, Kind]) -> Spline:
    knots = entry.numbers("knots")
    degree = entry.whole("degree", 0, min(MOST_DEGREE, len(knots) // 2 - 1))
    lower, upper = entry.number("lower"), entry.number("upper")
    if list(knots) != sorted(knots) or lower > upper:
        raise _invalid("spline", entry.data)
    extrapolation = entry.take("extrapolation", lambda v: v in EXTRAPOLATIONS)
    first = entry.whole("first", 0, 1)
    steps = entry.steps(kinds)
    return Spline(entry.name(), steps, knots, degree, lower, upper, extrapolation, first)


def _dummies(entry: _Entry, kinds: Mapping[str, Kind]) -> Dummies:
    name, steps, levels = entry.category(kinds)
    base = None if entry.data["base"] is None else entry.whole("base", 0, len(levels) - 1)
    return Dummies(name, steps, levels, base)


def _contrast(entry: _Entry, kinds: Mapping[str, Kind]) -> Contrast:
    name, steps, levels = entry.category(kinds)
    labels = entry.take("fields", lambda v: isinstance(v, list) and all(type(f) is str for f in v))
    rows = entry.items("matrix")
    if len(rows) != len(levels) or not all(map(_are_numbers, rows)):
        raise _invalid("matrix of a contrast", rows)
    if any(len(row) != len(labels) for row in rows):
        raise _invalid("matrix of a contrast", rows)
    matrix = tuple(tuple(map(float, row)) for row in rows)
    return Contrast(name, steps, levels, tuple(labels), matrix)


def _natural(entry: _Entry, kinds: Mapping[str, Kind]) -> NaturalSpline:
    name, steps, knots = entry.name(), entry.steps(kinds), entry.numbers("knots")
    pieces = entry.items("pieces")
    width = len(pieces[0]) if pieces and isinstance(pieces[0], list) else 0
    whole = width > 0 and all(
        isinstance(piece, list)
        and len(piece) == width
        and all(_are_numbers(column) and len(column) == 4 for column in piece)
        for piece in pieces
    )
    if len(knots) < 2 or not all(a < b for a, b in pairwise(knots)):
        raise _invalid("knots of a natural spline", list(knots))
    if not whole or len(pieces) != len(knots) + 1:
        raise _invalid("pieces of a natural spline", pieces)
    rows = tuple(tuple(tuple(map(float, column)) for column in piece) for piece in pieces)
    return NaturalSpline(name, steps, knots, rows)


def _smooth(entry: _Entry, kinds: Mapping[str, Kind]) -> Smooth:
    natural, penalty = _natural(entry, kinds), entry.numbers("penalty")
    if len(penalty) != len(natural.labels) or min(penalty) < 0:
        raise _invalid("penalty of a smooth term", list(penalty))
    return Smooth(natural.name, natural.steps, natural.knots, natural.pieces, penalty)


def _ordered(entry: _Entry, kinds: Mapping[str, Kind]) -> Ordered:
    return Ordered(*entry.category(kinds))


def _codes(entry: _Entry, kinds: Mapping[str, Kind]) -> Codes:
    return Codes(*entry.category(kinds))


def _cross(entry: _Entry, kinds: Mapping[str, Kind]) -> Cross:
    keys = {"type", "name", "steps", "levels"}
    parts = [_Entry(part, "part of a cross", keys) for part in entry.items("parts")]
    codes = tuple(_codes(part, kinds) for part in parts if part.data["type"] == Codes.type)
    count = math.prod(len(part.levels) for part in codes)
    seen = entry.items("seen")
    if len(codes) < max(2, len(parts)) or count >= 2**63:
        raise _invalid("parts of a cross", entry.data["parts"])
    if not all(type(n) is int and 0 <= n < count for n in seen) or seen != sorted(set(seen)):
        raise _invalid("seen of a cross", seen)
    return Cross(codes, tuple(seen))


_READERS: Mapping[str, tuple[type[Any], Callable[[_Entry, Mapping[str, Kind]], Factor]]] = {
    Number.type: (Number, _number),
    Powers.type: (Powers, _powers),
    Poly.type: (Poly, _poly),
    Spline.type: (Spline, _spline),
    Dummies.type: (Dummies, _dummies),
    Contrast.type: (Contrast, _contrast),
    Codes.type: (Codes, _codes),
    Ordered.type: (Ordered, _ordered),
    NaturalSpline.type: (NaturalSpline, _natural),
    Smooth.type: (Smooth, _smooth),
    Cross.type: (Cross, _cross),
}


def _invalid(what: str, got: Any) -> FormulaError:
    return FormulaError(
        f"the stored design is not valid: {what} cannot be {reprlib.repr(got)}. "
        f"The file is damaged or from a newer version of crank."
    )
