"""Terms of linear and additive models as a page draws them: forest plot, curves, surfaces."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.page.encoded import number, numbers, table
from crank.records.additive import AdditiveRecord
from crank.records.linear import LinearRecord
from crank.report.coefficients import coefficients
from crank.report.effects import Effect, effects

WIDE = 1.96
"""Standard errors on either side of a 95% interval."""
SIDE = 21
"""Cells on either side of a heat map."""


def shown_coefficients(model: LinearRecord) -> dict[str, Any]:
    """Tabulate coefficients, and draw them per standard deviation of their columns."""
    found = coefficients(model, 0.05)
    spread = model.ranker.spread
    plot = [
        {"term": str(term), "y": number(b * s), "low": number(low * s), "high": number(high * s)}
        for term, b, low, high, s in zip(
            found["term"], found["estimate"], found["ci_low"], found["ci_high"], spread, strict=True
        )
    ]
    return {"table": table(found), "plot": plot}


def shown_effects(model: AdditiveRecord) -> list[dict[str, Any]]:
    """Describe what each term adds: curves, levels, a curve for each level, surfaces.

    Examples
    --------
    >>> import crank
    >>> sample = crank.datasets.regression(200, p=5, random_state=0).frame
    >>> m = crank.additive(sample, "y ~ x1 + s(x2):s(x3)", smoothing=0.01)
    >>> [(one["term"], "cells" in one) for one in shown_effects(m)]
    [('s(x1)', False), ('s(x2, df=3):s(x3, df=3)', True)]
    """
    return [_surface(one) if _is_surface(one) else _curves(one) for one in effects(model)]


def _is_surface(one: Effect) -> bool:
    return isinstance(one.by, np.ndarray)


def _surface(one: Effect) -> dict[str, Any]:
    """Describe a heat map; a cell is told from zero if its own 95% interval leaves it out."""
    assert one.by is not None
    across, up = _thinned(len(one.x)), _thinned(len(one.by))
    value, se = one.value[np.ix_(across, up)], one.se[np.ix_(across, up)]
    return {
        "term": one.part.name,
        "names": list(one.names),
        "x": numbers(np.asarray(one.x)[across]),
        "by": numbers(np.asarray(one.by)[up]),
        "cells": [numbers(row) for row in value],
        "apart": ["".join("01"[int(b)] for b in row) for row in np.abs(value) > WIDE * se],
    }


def _thinned(count: int) -> NDArray[np.intp]:
    """Choose places at equal steps, both ends among them."""
    return np.linspace(0, count - 1, min(count, SIDE)).round().astype(np.intp)


def _curves(one: Effect) -> dict[str, Any]:
    """Describe a curve, levels, or one curve for each level of another column."""
    names = [""] if one.by is None else [str(level) for level in one.by]
    value, se = (np.asarray(a).reshape(len(one.x), -1).T for a in (one.value, one.se))
    return {
        "term": one.part.name,
        "x": list(map(str, one.x)) if isinstance(one.x, tuple) else numbers(one.x),
        "lines": [
            {
                "name": name,
                "y": numbers(y),
                "low": numbers(y - WIDE * s),
                "high": numbers(y + WIDE * s),
            }
            for name, y, s in zip(names, value, se, strict=True)
        ],
    }
