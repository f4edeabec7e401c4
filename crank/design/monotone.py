"""Which columns of a design move with a raw column, and which way: for monotone models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from crank.design.expressions import Steps, columns_of
from crank.design.factors import Cross, Factor, Number
from crank.design.operations import OPERATIONS
from crank.design.spec import Block, DesignSpec
from crank.errors import OptionError, did_you_mean, listed

INCREASING = frozenset(
    [
        "sqrt",
        "cbrt",
        "log",
        "log2",
        "log10",
        "log1p",
        "exp",
        "exp2",
        "expm1",
        "sinh",
        "tanh",
        "arcsin",
        "arctan",
        "sign",
        "floor",
        "ceil",
        "trunc",
        "rint",
    ]
)
DECREASING = frozenset({"negative", "arccos", "not"})
TOGETHER = {"add": 1, "maximum": 1, "minimum": 1, "and": 1, "or": 1, "subtract": -1}
COMPARED = {"greater": 1, "greater_equal": 1, "less": -1, "less_equal": -1}


class Trend(NamedTuple):
    """How a value moves with a raw column: 1, −1, 0 if it does not, None if nobody knows."""

    slope: int | None
    constant: float | None = None


def trend(steps: Steps, column: str) -> int | None:
    """Tell whether an expression increases (1) or decreases (−1) in a raw column, if it is known.

    Examples
    --------
    >>> from crank.design.expressions import Step
    >>> x = Step("column", ("x",))
    >>> trend((x, Step("log"), Step("negative")), "x"), trend((x, Step("square")), "x")
    (-1, None)
    """
    stack: list[Trend] = []
    for op, given in steps:
        if op == "column":
            stack.append(Trend(1 if given[0] == column else 0))
        elif op == "among":
            stack.append(Trend(0))
        elif op == "constant":
            stack.append(Trend(0, float(given[0])))
        else:
            arity = given[1] if op == "call" else OPERATIONS[op].arity
            taken, stack = stack[len(stack) - arity :], stack[: len(stack) - arity]
            still = all(one.slope == 0 for one in taken)
            stack.append(Trend(0 if still else _slope(op, taken)))
    return stack[-1].slope


def _slope(op: str, taken: list[Trend]) -> int | None:
    first = taken[0]
    if op in INCREASING or op == "rounded":
        return first.slope
    if op in DECREASING:
        return None if first.slope is None else -first.slope
    if op in TOGETHER:
        return _both(first.slope, taken[1].slope, TOGETHER[op])
    if op in COMPARED:
        found = _both(first.slope, taken[1].slope, -1)
        return None if found is None else COMPARED[op] * found
    if op in ("multiply", "divide", "floor_divide", "power"):
        return _times(op, first, taken[1])
    return None


def _both(a: int | None, b: int | None, sign: int) -> int | None:
    """Combine two slopes that act side by side, the second with a sign."""
    if a is None or b is None or a * b * sign < 0:
        return None
    return a or sign * b


def _times(op: str, first: Trend, second: Trend) -> int | None:
    if op == "multiply" and first.constant is not None:
        first, second = second, first
    if second.constant is None or first.slope is None:
        return None
    if op == "power":
        # odd powers increase everywhere, fractional ones wherever they are defined
        rises = second.constant > 0 and second.constant % 2 != 0
        return first.slope if rises else None
    return first.slope * (1 if second.constant > 0 else -1) if second.constant else None


def signs(design: DesignSpec, wanted: Mapping[str, int]) -> tuple[int, ...]:
    """Find the direction of each design column.

    Parameters
    ----------
    design : DesignSpec
    wanted : mapping of str to int
        1 or −1 for a raw column, or for one column of the design by its name.

    Returns
    -------
    tuple of int
        1, −1 or 0 for each design column.

    Raises
    ------
    OptionError
        A name is not known, or a term is no known monotone function of its raw column.

    Examples
    --------
    >>> from crank.frames.table import Table
    >>> from crank.formula import learn_design, parse_formula
    >>> table = Table.read({"y": [1, 2, 3], "x": [1.0, 2.0, 4.0], "z": [1.0, 5.0, 2.0]})
    >>> parsed = parse_formula("y ~ log(x) + I(-x) + z", table.names)
    >>> design = learn_design(parsed, table, native=True)
    >>> signs(design, {"x": 1})
    (1, -1, 0)
    """
    raw = {variable.name: variable.kind for variable in design.variables}
    found = [0] * len(design.names)
    for name, sign in wanted.items():
        if raw.get(name) == "category":
            raise _unordered(name)
        moved = _moved_by(design, name) if name in raw else _column(design, name)
        for j, slope in moved.items():
            if found[j] == -slope * sign:
                raise OptionError(
                    f"monotone= asks for both directions of {design.names[j]!r}. Allowed: one."
                )
            found[j] = slope * sign
    return tuple(found)


def check_named(design: DesignSpec, name: str) -> None:
    """Refuse the name of what is neither a column of numbers nor a term."""
    kinds = {variable.name: variable.kind for variable in design.variables}
    if kinds.get(name) == "category":
        raise _unordered(name)
    if name not in kinds and name not in design.terms:
        raise _unknown(name, [*kinds, *design.terms])


def _unknown(name: str, known: Iterable[str]) -> OptionError:
    allowed = list(dict.fromkeys(known))
    return OptionError(
        f"monotone= names {name!r}, which the formula does not use. "
        f"Allowed: {listed(map(repr, allowed))}.{did_you_mean(name, allowed)}"
    )


def _column(design: DesignSpec, name: str) -> dict[int, int]:
    """Find a column of the design by its own name."""
    at = [j for j, label in enumerate(design.names) if label == name]
    if not at:
        raise _unknown(name, [*(v.name for v in design.variables), *design.names])
    if design.levels[at[0]] is not None:
        raise _unordered(name)
    return {at[0]: 1}


def _moved_by(design: DesignSpec, name: str) -> dict[int, int]:
    """Find the columns of the design that a raw column moves, each with its slope."""
    moved: dict[int, int] = {}
    start = 0
    for block in design.blocks:
        width = design.width(block)
        parts = [design.factors[i] for i in block.factors]
        if any(name in reads(part) for part in parts):
            moved[start] = _block_slope(block, parts, name)
        start += width
    return moved


def reads(part: Factor) -> tuple[str, ...]:
    """Name the raw columns that a factor is made of."""
    parts = part.parts if isinstance(part, Cross) else (part,)
    return tuple(name for one in parts for name in columns_of(one.steps))


def _block_slope(block: Block, parts: list[Factor], name: str) -> int:
    part, slope = parts[0], None
    if len(parts) == 1 and isinstance(part, Number):
        slope = trend(part.steps, name)
    if not slope or not block.scale:
        raise OptionError(
            f"monotone= names {name!r}, but the term {block.term!r} is no known monotone function "
            f"of it. Allowed: the column itself, and log, sqrt, exp, scale, center and the like of "
            f"it; not poly, splines, interactions or dummies. Leave the term out, or name a column "
            f"of the design."
        )
    return slope if block.scale > 0 else -slope


def _unordered(name: str) -> OptionError:
    return OptionError(
        f"monotone= names {name!r}, which holds categories: they have no order to increase in. "
        "Allowed: columns of numbers. Code its levels as numbers first."
    )
