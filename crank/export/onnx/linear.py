"""A linear model in a graph: one product with the coefficients, and the link if it is asked for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from crank.graphs.graph import Element, Graph
from crank.records.linear import LinearRecord

TERMS = 40
"""Of the Chebyshev series of the normal distribution function: as exact as doubles are."""


def described(model: LinearRecord) -> dict[str, str]:
    """Say in the file what made the model."""
    return {"link": model.options.link}


def outputs(graph: Graph, model: LinearRecord, names: Mapping[str, str]) -> None:
    """Write the outputs that were asked for, each under its name."""
    ranker = model.ranker
    used = np.flatnonzero(ranker.estimated).tolist()
    columns = graph.columns(used or [0])  # without coefficients there are still rows to count
    coef = ranker.coef[used] if used else np.zeros(1)
    centre = ranker.centre[used] if used else np.zeros(1)
    # centred first, as in Python: a large mean would take digits from the score
    moved = graph.op("Sub", columns, centre[None, :])
    score = graph.op("MatMul", moved, coef[:, None], out=names.get("score"))
    if "score" in names:
        graph.output(names["score"], Element.DOUBLE)
    if "probability" in names:
        difference = graph.op("Sub", score, ranker.reference[None, :])
        link = _logistic if model.options.link == "logit" else _normal
        share = ranker.share[:, None]
        graph.op("MatMul", link(graph, difference), share, out=names["probability"])
        graph.output(names["probability"], Element.DOUBLE)


def _logistic(graph: Graph, x: str) -> str:
    return graph.op("Sigmoid", x)


def _normal(graph: Graph, x: str) -> str:
    """Compute the normal distribution function, which no operator gives in double.

    With z = |x| / √2, erfc(z) = exp(−z²) f(t) for t = (z − 2) / (z + 2) in [−1, 1); f is smooth and
    its Chebyshev series is summed by Clenshaw's recurrence.
    """
    from numpy.polynomial import chebyshev
    from scipy.special import erfcx

    nodes = chebyshev.chebpts1(4 * TERMS)
    series = chebyshev.chebfit(nodes, erfcx(2.0 * (1.0 + nodes) / (1.0 - nodes)), TERMS - 1)
    z = graph.op("Mul", graph.op("Abs", x), float(np.sqrt(0.5)))
    t = graph.op("Div", graph.op("Sub", z, 2.0), graph.op("Add", z, 2.0))
    twice = graph.op("Mul", t, 2.0)
    older, last = 0.0, float(series[-1])
    newer: str | float = last
    before: str | float = older
    for c in series[-2:0:-1].tolist():
        product = graph.op("Mul", twice, newer)
        newer, before = graph.op("Add", graph.op("Sub", product, before), c), newer
    f = graph.op("Add", graph.op("Sub", graph.op("Mul", t, newer), before), float(series[0]))
    decay = graph.op("Exp", graph.op("Neg", graph.op("Mul", z, z)))
    tail = graph.op("Mul", graph.op("Mul", decay, f), 0.5)
    positive = graph.op("Greater", x, 0.0)
    return graph.op("Where", positive, graph.op("Sub", 1.0, tail), tail)
