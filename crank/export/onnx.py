"""A model as one ONNX file: raw columns in, scores and leaves out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from crank._version import __version__
from crank.errors import OptionError, listed, require
from crank.export.onnx_design import DesignColumns, MatrixColumns
from crank.export.onnx_graph import Element, Graph
from crank.export.onnx_inputs import Inputs, levels_by_column
from crank.export.onnx_tree import leaf_numbers
from crank.files import write_bytes
from crank.options import one_of
from crank.plugins.base import NotExportableError

if TYPE_CHECKING:
    from crank.model import RankingModel

OUTPUTS = ("score", "leaf", "quantile", "median")
MATRIX = "X"
"""Name of the input in the form "matrix"."""
KEYS = (
    *("crank_version", "formula", "learner", "criterion", "outputs", "columns"),
    *("design", "levels", "figures", "unknown"),
)


def to_onnx(
    model: RankingModel,
    path: str | Path | None = None,
    *,
    form: Literal["columns", "matrix"] = "columns",
    unknown: Literal["nan", "missing", "error"] = "nan",
    outputs: Sequence[str] | Mapping[str, str] = ("score", "leaf"),
    types: Mapping[str, str] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> bytes | None:
    """Write a model as ONNX, in double throughout; the file is replaced in one step.

    Parameters
    ----------
    model : RankingModel
    path : str or Path, optional
        Where to write; without it the content is only returned.
    form : {"columns", "matrix"}
        One input for each raw column that the tree uses, of shape [N, 1]; or one input ``X`` with
        all design columns, [N, p], in the order of ``model.design.names``.
    unknown : {"nan", "error"}
        What a category's value is that training did not have: missing (as with
        ``predict(unknown="missing")``, whose word is taken too), or a row that makes the runtime
        fail.
    outputs : sequence or mapping
        Which of "score", "leaf", "quantile" and "median"; a mapping gives them other names.
    types : mapping, optional
        Element type of some number columns: "double" (the default), "float", "int64" or "bool".
        Only floating-point columns can be missing, as NaN.
    metadata : mapping, optional
        Entries for the file beside crank's own.

    Returns
    -------
    bytes or None
        The content of the file, unless it was written to ``path``.

    Examples
    --------
    >>> import crank
    >>> train, test = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame, "y ~ x", max_depth=3, prune=None)
    >>> scorer = crank.serve.Scorer(m.to_onnx())
    >>> bool((scorer(test.frame) == m.predict(test.frame)).all())
    True
    """
    require("onnx", "onnx")
    one_of("form", form, ("columns", "matrix"))
    one_of("unknown", unknown, ("nan", "missing", "error"))
    names = _output_names(outputs)
    if form == "matrix" and types:
        raise OptionError("types is for form='columns': the matrix is double throughout.")
    graph = Graph(reserved=[MATRIX, *names.values(), *(v.name for v in model.design.variables)])
    inputs = Inputs(graph, model.design, types or {})
    if form == "columns":
        graph.attach(DesignColumns(graph, model.design, inputs, strict=unknown == "error"))
    else:
        graph.attach(MatrixColumns(graph, model.design, MATRIX))
    _write_outputs(graph, model, leaf_numbers(graph, model.tree, _decisions(graph, model)), names)
    order = [MATRIX, *(variable.name for variable in model.design.variables)]
    graph.inputs = {name: graph.inputs[name] for name in order if name in graph.inputs}
    clash = sorted(set(graph.inputs) & set(names.values()))
    if clash:
        raise OptionError(
            f"{listed(map(repr, clash))} would be the name of a column and of an output. Rename "
            f"the output: outputs={{{clash[0]!r}: 'crank_{clash[0]}'}}."
        )
    entries = {
        **_metadata(model, graph, inputs, names, form, unknown),
        **_own_metadata(metadata or {}),
    }
    content = graph.serialise(entries, doc=f"Ranking tree: {model.formula}")
    if path is None:
        return content
    write_bytes(path, content)
    return None


def _output_names(outputs: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    if isinstance(outputs, str):
        outputs = (outputs,)
    names = dict(outputs) if isinstance(outputs, Mapping) else {o: o for o in outputs}
    for output in names:
        one_of("outputs", output, OUTPUTS)
    if not names or len(set(names.values())) < len(names) or not all(names.values()):
        raise OptionError(
            f"outputs is {outputs!r}. Allowed: one or more of {listed(OUTPUTS)}, each with a name "
            "of its own."
        )
    return names


def _decisions(graph: Graph, model: RankingModel) -> list[str]:
    """Ask every rule for its decision value, in the order in which the tree is walked."""
    whole = graph.later(_matrix, len(model.design.names))
    values = []
    for _, node in model.tree.walk():
        if node.split is None:
            continue
        try:
            values.append(node.split.rule.to_onnx(graph, whole))
        except (NotExportableError, NotImplementedError) as error:
            raise NotExportableError(
                f"node {node.number} of the tree, made by learner {model.learner.name!r}, cannot "
                f"be written as ONNX: {error}"
            ) from error
    return values


def _matrix(graph: Graph, batch: list[tuple[str, int]]) -> None:
    for name, width in batch:
        graph.op("Identity", graph.columns(range(width)), out=name)


def _write_outputs(graph: Graph, model: RankingModel, leaf: str, names: Mapping[str, str]) -> None:
    number = graph.op("Cast", leaf, out=names.get("leaf"), to=int(Element.INT64))
    for output, name in names.items():
        if output == "leaf":
            graph.output(name, Element.INT64)
            continue
        # looking up a vector is several times as fast as Gather from a table of single numbers
        flat = graph.once("flat leaf", lambda: graph.op("Reshape", number, np.array([-1])))
        found = graph.op("GatherElements", model.leaf_values(output), flat, axis=0)
        graph.op("Reshape", found, np.array([-1, 1]), out=name)
        graph.output(name, Element.DOUBLE)


def _metadata(
    model: RankingModel,
    graph: Graph,
    inputs: Inputs,
    names: Mapping[str, str],
    form: str,
    unknown: str,
) -> dict[str, str]:
    """Say in the file what it computes, for people and for `crank.serve.Scorer`."""
    design = model.design
    if form == "columns":
        kinds = {v.name: v.kind for v in design.variables}
        columns = {
            name: {"kind": kinds[name], "missing": inputs.mark(name)}
            if inputs.is_text(name)
            else {"kind": kinds[name]}
            for name in graph.inputs
        }
    else:
        columns = {}
    figures = {
        "training": {k: asdict(v) for k, v in model.training.figures.items()},
        "crossvalidated": {k: asdict(v) for k, v in model.training.crossvalidated.items()},
        "n": model.training.n,
    }
    return {
        "crank_version": __version__,
        "formula": model.formula,
        "learner": model.learner.name,
        "criterion": model.options.criterion,
        "outputs": _json(names),
        "columns": _json(columns),
        "design": _json(design.names),
        "levels": _json(levels_by_column(design)),
        "figures": _json(figures),
        "unknown": "error" if unknown == "error" else "nan",
    }


def _own_metadata(given: Mapping[str, Any]) -> dict[str, str]:
    taken = sorted(set(given) & set(KEYS))
    if taken:
        raise OptionError(
            f"metadata has the keys {listed(taken)}, which crank writes itself. Choose others."
        )
    try:
        return {str(k): v if isinstance(v, str) else _json(v) for k, v in given.items()}
    except (TypeError, ValueError) as error:
        raise OptionError(f"metadata cannot be stored: {error}. Allowed: text, JSON.") from error


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
