"""Classifiers that only skl2onnx can translate, spliced into a graph."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from crank.errors import require
from crank.graphs.functions import apply
from crank.graphs.graph import ML, ML_OPSET, OPSET, Call, Element, Graph
from crank.plugins.base import NotExportableError
from crank.plugins.sklearn_arrays import LEAST_PROBABILITY, decision_values

FAR = 20.0
"""Log-odds beyond which single chances are not compared."""


def classifier(graph: Graph, x: str, estimator: Any, n_columns: int) -> str:
    """Add a fitted binary classifier and return its decision value in double.

    Its own decision value is preferred to log-odds, and double precision to single. A translation
    counts only if it decides like the classifier: it is run on a few random rows.
    """
    require("skl2onnx", "onnx")
    reasons = []
    for element in (Element.DOUBLE, Element.FLOAT):
        for raw in (True, False) if hasattr(estimator, "decision_function") else (False,):
            try:
                translation = Translation(_converted(estimator, n_columns, element, raw), raw)
                _compare(translation, estimator, n_columns)
                return translation.splice(graph, x, element)
            except Exception as error:  # the converters raise whatever comes
                reasons.append(f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
    raise NotExportableError(
        f"skl2onnx finds no translation of {type(estimator).__name__} that decides like it "
        f"({reasons[0]}). Use a classifier that it converts, or a built-in learner."
    )


def _converted(estimator: Any, n_columns: int, element: Element, raw: bool) -> Any:
    import skl2onnx
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    kind = DoubleTensorType if element is Element.DOUBLE else FloatTensorType
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    options: dict[str, Any] = {"zipmap": False} | ({"raw_scores": True} if raw else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return skl2onnx.to_onnx(
            estimator,
            initial_types=[("X", kind([None, n_columns]))],
            options={id(last): options},
            target_opset={"": OPSET, ML: ML_OPSET},
        )


@dataclass(frozen=True)
class Translation:
    """What skl2onnx made of a classifier, and whether its last output is a decision value."""

    model: Any
    raw: bool

    def splice(self, graph: Graph, x: str, element: Element) -> str:
        """Copy the nodes into a graph, and turn what they give into a decision value."""
        if element is not Element.DOUBLE:
            x = graph.cast(x, element)
        found = self._copy(graph, x)
        value = graph.cast(graph.op("Gather", found, np.array([-1]), axis=1), Element.DOUBLE)
        if self.raw:
            return value
        chance = graph.op("Clip", value, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
        rest = apply(graph, "log1p", graph.op("Neg", chance))
        return graph.op("Sub", graph.op("Log", chance), rest)

    def _copy(self, graph: Graph, x: str) -> str:
        from onnx import helper, numpy_helper

        source = self.model.graph
        name = {"": "", source.input[0].name: x}
        for constant in source.initializer:
            name[constant.name] = graph.initializer(numpy_helper.to_array(constant))
        graph.use([x])
        for node in self._needed():
            for output in node.output:
                name.setdefault(output, graph.fresh())
            attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            inputs, outputs = (tuple(name[n] for n in some) for some in (node.input, node.output))
            graph.calls.append(Call(node.op_type, inputs, outputs, node.domain, attributes))
        return name[source.output[-1].name]

    def _needed(self) -> list[Any]:
        """List the nodes that the last output depends on; labels are of no use here."""
        wanted, kept = {self.model.graph.output[-1].name}, []
        for node in reversed(self.model.graph.node):
            if wanted.intersection(node.output):
                wanted.update(node.input)
                kept.append(node)
        return kept[::-1]


def _compare(translation: Translation, estimator: Any, n_columns: int) -> None:
    """Raise unless the translation gives the classifier's own decision values."""
    from crank.graphs.runtime import session

    element = Element(translation.model.graph.input[0].type.tensor_type.elem_type)
    trial = Graph(reserved=["x", "value"])
    x = trial.input("x", Element.DOUBLE, n_columns)
    trial.op("Identity", translation.splice(trial, x, element), out="value")
    trial.output("value", Element.DOUBLE)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(64, n_columns)) * np.repeat([1.0, 30.0], 32)[:, None]
    wanted = decision_values(estimator, rows)
    got = session(trial.serialise({}, "")).run(None, {"x": rows})[0][:, 0]
    if not translation.raw:  # a chance next to 1 has lost its log-odds
        wanted, got = (np.clip(value, -FAR, FAR) for value in (wanted, got))
    near = np.isclose(got, wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())
    if np.count_nonzero(~near) > 3:  # single-precision thresholds may send a row elsewhere
        raise NotExportableError("its decision values differ from the classifier's")
