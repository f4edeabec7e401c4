"""Where the last digit of a function would decide about a step, both runtimes round first.

NumPy's logarithm and that of ONNX Runtime differ by a unit in the last place here and there, so
``floor(log(x) / log(10))`` at x = 1000 would be 3 in one and 2 in the other. On its way to a step
the result of such a function is rounded to 45 bits at once, so that all arithmetic after it is the
same everywhere, and what the step is taken of to 41, which makes up for the first rounding.
Sines and cosines keep 45 bits after the point: where they cross zero, as cos(π/2) does, they have
no digit in common. Whole numbers, and all numbers of a few digits, stay what they are.
"""

from __future__ import annotations

from typing import NamedTuple

from crank.design.expressions import Step, Steps, arity
from crank.design.operations import OPERATIONS

INEXACT = frozenset(
    {
        *("cbrt", "log", "log2", "log10", "log1p", "exp", "exp2", "expm1", "power"),
        *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh"),
    }
)
"""Operations whose last digit depends on who computes them."""
JUMPS = frozenset(
    {
        *("floor", "ceil", "trunc", "rint", "sign", "floor_divide", "mod"),
        *(name for name, operation in OPERATIONS.items() if operation.gives == "boolean"),
    }
    - {"and", "or", "not"}
)
"""Operations that turn a last digit into another number, or into another truth."""
AT_ONCE, BEFORE_A_STEP = 45.0, 41.0
"""Bits that are kept of a function's result, and of what a step is taken of."""


class _Value(NamedTuple):
    """Steps as they are, and as they must be if the value decides about a step."""

    steps: Steps
    safe: Steps
    inexact: bool

    def settled(self) -> Steps:
        return _rounded(self.safe, BEFORE_A_STEP)


def with_rounding(steps: Steps) -> Steps:
    """Round where a step is taken of numbers whose last digit is not the same everywhere.

    Examples
    --------
    >>> x = Step("column", ("x",))
    >>> [step.op for step in with_rounding((x, Step("log"), Step("floor")))]
    ['column', 'log', 'constant', 'rounded', 'constant', 'rounded', 'floor']
    """
    return _walked(steps).steps


def safe_for_steps(steps: Steps) -> Steps:
    """Round an expression so that a step may be taken of it."""
    found = _walked(steps)
    return found.settled() if found.inexact else found.steps


def is_exact(steps: Steps) -> bool:
    """Say whether every runtime computes the same number, to the last digit.

    Examples
    --------
    >>> x = Step("column", ("x",))
    >>> is_exact((x, Step("sqrt"))), is_exact((x, Step("log")))
    (True, False)
    """
    return not _walked(steps).inexact


def _walked(steps: Steps) -> _Value:
    if not any(step.op in INEXACT for step in steps):
        return _Value(steps, steps, False)
    stack: list[_Value] = []
    for step in steps:
        start = len(stack) - arity(step)
        stack[start:] = [_applied(step, stack[start:])]
    (result,) = stack
    return result


def _applied(step: Step, taken: list[_Value]) -> _Value:
    inexact = any(value.inexact for value in taken)
    if inexact and (step.op in JUMPS or step.op == "cut"):
        taken = [_Value(value.settled(), value.settled(), False) for value in taken]
        inexact = False
    elif step.op == "where" and taken[0].inexact:
        condition = taken[0].settled()
        taken = [_Value(condition, condition, False), *taken[1:]]
        inexact = any(value.inexact for value in taken)
    steps = (*(part for value in taken for part in value.steps), step)
    safe = (*(part for value in taken for part in value.safe), step)
    if step.op in INEXACT:
        return _Value(steps, _settled_at_once(step, taken, safe), True)
    return _Value(steps, safe, inexact and step.op != "rounded")


def _settled_at_once(step: Step, taken: list[_Value], safe: Steps) -> Steps:
    if step.op in ("sin", "cos"):
        return _to_the_point(safe)
    if step.op == "tan":  # by its sine and cosine, so that its signs agree beside a pole
        (angle,) = taken
        sine, cosine = (_to_the_point((*angle.safe, Step(op))) for op in ("sin", "cos"))
        return (*sine, *cosine, Step("divide"))
    return _rounded(safe, AT_ONCE)


def _to_the_point(steps: Steps) -> Steps:
    """Keep 45 bits after the point of numbers from -1 to 1."""
    shift = Step("constant", (1.5 * 2.0 ** (52 - AT_ONCE),))
    return (*steps, shift, Step("add"), shift, Step("subtract"))


def _rounded(steps: Steps, bits: float) -> Steps:
    return (*steps, Step("constant", (bits,)), Step("rounded"))
