"""A signed sum in a graph."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from crank.graphs.graph import Element, Graph
from tests.seams.ranker import SignedSumModel


def described(model: SignedSumModel) -> dict[str, str]:
    return {"learner": "", "criterion": ""}


def outputs(graph: Graph, model: SignedSumModel, names: Mapping[str, str]) -> None:
    signs = np.array(model.ranker.signs, dtype=np.float64)[:, None]
    graph.op("MatMul", graph.columns(range(len(signs))), signs, out=names["score"])
    graph.output(names["score"], Element.DOUBLE)
