"""Classifiers that only skl2onnx can translate, spliced into a graph."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from crank.errors import require
from crank.export.onnx_functions import apply
from crank.export.onnx_graph import ML, ML_OPSET, OPSET, Call, Element, Graph
from crank.plugins.base import NotExportableError
from crank.plugins.sklearn_arrays import LEAST_PROBABILITY, decision_values


def classifier(graph: Graph, x: str, estimator: Any, n_columns: int) -> str:
    """Add a fitted binary classifier and return its decision value in double.

    A translation counts only if it decides like the classifier: it is run on a few random rows.
    """
    require("skl2onnx", "onnx")
    model = _converted(estimator, n_columns)
    trial = Graph(reserved=["x", "value"])
    rows = trial.input("x", Element.DOUBLE, n_columns)
    trial.op("Identity", _value(trial, model, estimator, rows), out="value")
    trial.output("value", Element.DOUBLE)
    _compare(trial, estimator, n_columns)
    return _value(graph, model, estimator, x)


def _converted(estimator: Any, n_columns: int) -> Any:
    import skl2onnx
    from skl2onnx.common.data_types import DoubleTensorType

    options: dict[str, Any] = {"zipmap": False}
    if hasattr(estimator, "decision_function"):
        options["raw_scores"] = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return skl2onnx.to_onnx(
                estimator,
                initial_types=[("X", DoubleTensorType([None, n_columns]))],
                options={id(estimator): options},
                target_opset={"": OPSET, ML: ML_OPSET},
            )
    except Exception as error:
        raise NotExportableError(
            f"skl2onnx cannot convert {type(estimator).__name__} with its decision value "
            f"({type(error).__name__}: {str(error).strip()[:200]}). Use a classifier that it "
            "converts, or a built-in learner."
        ) from error


def _value(graph: Graph, model: Any, estimator: Any, x: str) -> str:
    """Splice the nodes in, and turn what they give into a decision value."""
    outputs = _spliced(graph, model, x)
    second = graph.op("Gather", outputs[-1], np.array([-1]), axis=1)
    value = graph.cast(second, Element.DOUBLE)
    if hasattr(estimator, "decision_function"):
        return value
    chance = graph.op("Clip", value, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    rest = apply(graph, "log1p", graph.op("Neg", chance))
    return graph.op("Sub", graph.op("Log", chance), rest)


def _spliced(graph: Graph, model: Any, x: str) -> list[str]:
    from onnx import helper, numpy_helper

    name = {"": "", model.graph.input[0].name: x}
    for constant in model.graph.initializer:
        name[constant.name] = graph.initializer(numpy_helper.to_array(constant))
    for node in model.graph.node:
        for output in node.output:
            name.setdefault(output, graph.fresh())
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        inputs, outputs = (tuple(name[n] for n in some) for some in (node.input, node.output))
        graph.use(inputs)
        graph.calls.append(Call(node.op_type, inputs, outputs, node.domain, attributes))
    return [name[output.name] for output in model.graph.output]


def _compare(trial: Graph, estimator: Any, n_columns: int) -> None:
    """Raise unless the translation gives the classifier's own decision values."""
    from crank.serve import session

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(64, n_columns)) * np.repeat([1.0, 30.0], 32)[:, None]
    wanted = decision_values(estimator, rows)
    try:
        got = session(trial.serialise({}, ""), None, 1).run(None, {"x": rows})[0][:, 0]
    except Exception as error:
        raise NotExportableError(
            f"what skl2onnx made of {type(estimator).__name__} cannot be run in double "
            f"({type(error).__name__}: {str(error).strip()[:200]}). Use another classifier."
        ) from error
    near = np.isclose(got, wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())
    if np.count_nonzero(~near) > 3:  # single-precision thresholds may send a row elsewhere
        raise NotExportableError(
            f"what skl2onnx made of {type(estimator).__name__} decides otherwise than the "
            "classifier itself. Use another classifier, or a built-in learner."
        )
