"""What ``center`` and ``scale`` learn: the numbers to subtract and to divide by."""

from __future__ import annotations

from typing import Any

import numpy as np

from crank.design.expressions import Step, Steps, check, columns_of, operand_start
from crank.design.reader import Reader
from crank.errors import DataError
from crank.formula.compile import RawFactor
from crank.formula.dated import resolved
from crank.frames.columns import Kind


def kinds_of(steps: Steps, reader: Reader) -> dict[str, Kind]:
    """Say what the columns hold that the steps read."""
    return {name: reader.table.kind(name) for name in columns_of(steps)}


def learn_steps(factor: RawFactor, reader: Reader) -> Steps:
    """Write centring and scaling as arithmetic with the numbers learned here, dates as days."""
    learned: list[Step] = []
    for step in factor.steps:
        if step.op == "column" and reader.table.kind(step.given[0]) == "date":
            learned.append(Step("days", step.given))
        elif step.op in ("among", "dated"):
            table, name = reader.table, step.given[0]
            learned += resolved(step, table.kind(name), factor.name, table.declared(name))
        elif step.op == "standardize":
            operand = tuple(learned[operand_start(learned) :])
            learned += _standardizing(operand, step.given, factor.name, reader)
        else:
            learned.append(step)
    steps = tuple(learned)
    check(steps, kinds_of(steps, reader), factor.name)
    return steps


def _standardizing(operand: Steps, given: tuple[Any, ...], term: str, reader: Reader) -> list[Step]:
    check(operand, kinds_of(operand, reader), term)
    x = reader.finished(operand, term)
    x = x[~np.isnan(x)]
    center, scale, ddof = given
    if x.size == 0:
        raise DataError(f"the term {term!r} has no value in these rows to learn from.")
    steps: list[Step] = []
    if center is not False:
        shift = float(x.mean()) if center is True else float(center)
        x = x - shift
        steps += [Step("constant", (shift,)), Step("subtract")]
    if scale is not False:
        with np.errstate(all="ignore"):
            spread = (
                float(np.sqrt(np.sum(x**2) / (x.size - ddof))) if scale is True else float(scale)
            )
        if not np.isfinite(spread) or spread == 0:
            raise DataError(
                f"the term {term!r} cannot be scaled: its values do not vary in these rows. "
                f"Leave the term out, or centre it without scaling: center(x)."
            )
        steps += [Step("constant", (spread,)), Step("divide")]
    return steps
