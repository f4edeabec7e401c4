"""A booster in a graph: ensembles that sum whole numbers, times their unit."""

from __future__ import annotations

from collections.abc import Mapping

from crank.graphs.ensemble import whole_sums
from crank.graphs.graph import Element, Graph
from crank.records.booster import BoosterRecord


def described(model: BoosterRecord) -> dict[str, str]:
    """Say in the file what made the model."""
    return {"loss": model.options.loss}


def outputs(graph: Graph, model: BoosterRecord, names: Mapping[str, str]) -> None:
    """Write the score under its name."""
    total = graph.cast(whole_sums(graph, model.ranker.nodes), Element.DOUBLE)
    graph.op("Mul", total, model.ranker.quantum, out=names["score"])
    graph.output(names["score"], Element.DOUBLE)
