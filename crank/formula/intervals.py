"""What ``cut`` learns: breaks, and the labels of the intervals between them, as R writes them."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from crank.design.expressions import Step, Steps
from crank.design.operations import Floats
from crank.design.reader import Reader
from crank.errors import DataError
from crank.formula.bases import option_error
from crank.formula.compile import RawFactor

_MOST_BREAKS = 10_000
_LARGEST = sys.float_info.max


def learn_intervals(
    factor: RawFactor, steps: Steps, reader: Reader
) -> tuple[Steps, tuple[str, ...]]:
    """Add the step that numbers intervals, and label them."""
    options = factor.options
    given, right = options["breaks"], bool(options["right"])
    outermost = bool(options["include.lowest"])
    if type(given) in (int, float):
        if not 2 <= given <= _MOST_BREAKS:
            raise option_error(
                factor, "breaks", given, "a number of intervals from 2 up, or a list"
            )
        breaks = _equal_widths(_present(factor, steps, reader), int(given) + 1)
    else:
        numbers = isinstance(given, list | tuple) and all(type(b) in (int, float) for b in given)
        if not numbers or not 2 <= len(set(given)) == len(given) <= _MOST_BREAKS:
            raise option_error(factor, "breaks", given, "a number, or a list of distinct numbers")
        breaks = sorted(map(float, given))
    labels = _given_labels(factor, len(breaks) - 1) or interval_labels(
        breaks, right=right, outermost=outermost, digits=options["dig.lab"]
    )
    stored = tuple(min(max(b, -_LARGEST), _LARGEST) for b in breaks)  # JSON has no infinity
    return (*steps, Step("cut", (stored, right, outermost))), labels


def interval_labels(
    breaks: Sequence[float], *, right: bool = True, outermost: bool = False, digits: int = 3
) -> tuple[str, ...]:
    """Label the intervals between breaks with as few digits as tell the breaks apart.

    Examples
    --------
    >>> interval_labels([-np.inf, 0.5, 1000.0])
    ('(-Inf,0.5]', '(0.5,1e+03]')
    """
    shown: list[str] = []
    for count in range(digits, max(12, digits) + 1):
        shown = [_shown(b, count) for b in breaks]
        if all(a != b for a, b in pairwise(shown)):
            break
    opening, closing = ("(", "]") if right else ("[", ")")
    labels = [f"{opening}{a},{b}{closing}" for a, b in pairwise(shown)]
    if outermost and right:
        labels[0] = "[" + labels[0][1:]
    if outermost and not right:
        labels[-1] = labels[-1][:-1] + "]"
    return tuple(labels)


def _shown(number: float, digits: int) -> str:
    # R aligns infinities, so that its labels read (0, Inf]
    return " Inf" if number == math.inf else f"{number:.{digits}g}".replace("inf", "Inf")


def _equal_widths(x: Floats, count: int) -> list[float]:
    """Place breaks evenly, the outer ones a thousandth of the range further out, as R does."""
    low, high = float(x.min()), float(x.max())
    width = high - low
    if width == 0:
        width = abs(low) or 1.0
        return [float(b) for b in np.linspace(low - width / 1000, high + width / 1000, count)]
    breaks = [float(b) for b in np.linspace(low, high, count)]
    breaks[0], breaks[-1] = low - width / 1000, high + width / 1000
    return breaks


def _present(factor: RawFactor, steps: Steps, reader: Reader) -> Floats:
    x = reader.finished(steps, factor.name)
    x = x[~np.isnan(x)]
    if x.size == 0:
        raise DataError(f"the term {factor.name!r} has no value in these rows to learn from.")
    return x


def _given_labels(factor: RawFactor, count: int) -> tuple[str, ...] | None:
    labels, digits = factor.options["labels"], factor.options["dig.lab"]
    if type(digits) is not int or not 1 <= digits <= 17:
        raise option_error(factor, "dig.lab", digits, "a whole number from 1 to 17")
    if labels is None:
        return None
    texts = isinstance(labels, list | tuple) and all(isinstance(text, str) for text in labels)
    if not texts or len(set(labels)) != len(labels) or len(labels) != count:
        raise option_error(factor, "labels", labels, f"a list of {count} distinct texts")
    return tuple(labels)
