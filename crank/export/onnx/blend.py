"""A blend in a graph: each member's score, then their weighted sum."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from crank.design.spec import DesignSpec
from crank.graphs.graph import Element, Graph
from crank.records.blend import BlendRecord
from crank.records.kinds import reader


def described(model: BlendRecord) -> dict[str, str]:
    """Say in the file what made the model."""
    return {"members": ", ".join(member.name for member in model.members)}


def outputs(
    graph: Graph,
    model: BlendRecord,
    names: Mapping[str, str],
    attach: Callable[[DesignSpec], None],
) -> None:
    """Write the score under its name.

    Parameters
    ----------
    attach : callable
        Makes the columns of a design those that the graph offers.
    """
    scores = []
    for member in model.members:
        attach(member.model.design)
        own = graph.fresh()
        reader(member.model.kind, "onnx").outputs(graph, member.model, {"score": own})
        del graph.outputs[own]
        scores.append(own)
    # a product with a single number would be fused into a member's own, in single precision
    coef = np.array([[member.coef] for member in model.members])
    graph.op("MatMul", graph.op("Concat", *scores, axis=1), coef, out=names["score"])
    graph.output(names["score"], Element.DOUBLE)
