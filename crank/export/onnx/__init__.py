"""A model as one ONNX file: raw columns in, scores and leaves out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from crank.checks import one_of
from crank.design.spec import DesignSpec
from crank.errors import NotExportableError, OptionError, listed, require
from crank.export.onnx.design import DesignColumns, MatrixColumns
from crank.export.onnx.inputs import Inputs
from crank.export.onnx.metadata import entries, own_entries
from crank.files import write_bytes
from crank.graphs.digest import sealed
from crank.graphs.graph import Graph
from crank.records.base import DesignedRecord, ModelRecord
from crank.records.kinds import reader
from crank.texts import HALF, broken

MATRIX = "X"
"""Name of the input in the form "matrix"."""


def to_onnx(
    model: ModelRecord,
    path: str | Path | None = None,
    *,
    form: Literal["columns", "matrix"] = "columns",
    unknown: Literal["nan", "missing", "error"] = "nan",
    outputs: Sequence[str] | Mapping[str, str] | None = None,
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
        Which of the model's predictions; a mapping gives them other names. By default the first
        two, for a tree "score" and "leaf" (of "score", "leaf", "quantile",
        "median", "lower" and "upper").
    types : mapping, optional
        Element type of some number columns: "double" (the default), "float", "int64" or "bool".
        Only floating-point columns can be missing, as NaN.
    metadata : mapping, optional
        Entries for the file beside crank's own, and beside those that the model has.

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
    if form == "matrix" and not isinstance(model, DesignedRecord):
        raise NotExportableError(
            f"{type(model).__name__} has no single design, so form='matrix' is not allowed. "
            "Use form='columns'."
        )
    kind = reader(model.kind, "onnx")
    names = _output_names(outputs, model.predictions)
    if (half := broken(names.values())) is not None:
        raise OptionError(f"the output name {half!a} holds {HALF}.")
    if form == "matrix" and types:
        raise OptionError("types is for form='columns': the matrix is double throughout.")
    graph = Graph(reserved=[MATRIX, *names.values(), *(v.name for v in model.variables)])
    inputs = _AllInputs(graph, model.designs, types or {}, strict=unknown == "error")
    if not isinstance(model, DesignedRecord):
        kind.outputs(graph, model, names, inputs.attach)
    else:
        if form == "columns":
            inputs.attach(model.design)
        else:
            graph.attach(MatrixColumns(graph, model.design, MATRIX))
        kind.outputs(graph, model, names)
    order = [MATRIX, *(variable.name for variable in model.variables)]
    graph.inputs = {name: graph.inputs[name] for name in order if name in graph.inputs}
    clash = sorted(set(graph.inputs) & set(names.values()))
    if clash:
        raise OptionError(
            f"{listed(map(repr, clash))} would be the name of a column and of an output. Rename "
            f"the output: outputs={{{clash[0]!r}: 'crank_{clash[0]}'}}."
        )
    if metadata:
        own_entries(metadata)  # refuses what cannot be stored
        model = replace(model, metadata={**model.metadata, **metadata})
    written = {
        **entries(model, graph, inputs, names, form, unknown),
        **own_entries(model.metadata),
    }
    content = sealed(graph.serialise(written, doc=f"Ranking {model.kind}: {model.formula}"))
    if path is None:
        return content
    write_bytes(path, content)
    return None


class _AllInputs:
    """The raw columns of one design or of several, each declared once."""

    def __init__(
        self, graph: Graph, designs: Sequence[DesignSpec], types: Mapping[str, str], *, strict: bool
    ) -> None:
        self.graph, self.strict = graph, strict
        self._of: list[tuple[DesignSpec, Inputs]] = []
        several = len(designs) > 1
        for design in designs:
            own = {v.name for v in design.variables}
            # a name that none of several designs has is refused by the first
            elsewhere = {v.name for other in designs for v in other.variables} - own
            given = {n: t for n, t in types.items() if not several or n not in elsewhere}
            self._of.append((design, Inputs(graph, design, given)))

    def attach(self, design: DesignSpec) -> None:
        """Make the columns of a design those that the graph offers."""
        inputs = next(inputs for known, inputs in self._of if known is design)
        self.graph.kept = {}  # columns go by their numbers, which are the design's own
        self.graph.attach(DesignColumns(self.graph, design, inputs, strict=self.strict))

    def notes(self, name: str) -> dict[str, Any]:
        """Say what someone who fills a column must know besides its type."""
        found: dict[str, Any] = {}
        for design, inputs in self._of:
            if name in {variable.name for variable in design.variables}:
                more = inputs.notes(name)
                texts = {*found.get("texts", ()), *more.get("texts", ())}
                found |= more | ({"texts": sorted(texts)} if texts else {})
        return found


def _output_names(
    outputs: Sequence[str] | Mapping[str, str] | None, predictions: Sequence[str]
) -> dict[str, str]:
    if outputs is None:
        outputs = predictions[:2]
    if isinstance(outputs, str):
        outputs = (outputs,)
    names = dict(outputs) if isinstance(outputs, Mapping) else {o: o for o in outputs}
    for output in names:
        one_of("outputs", output, predictions)
    if not names or len(set(names.values())) < len(names) or not all(names.values()):
        raise OptionError(
            f"outputs is {outputs!r}. Allowed: one or more of {listed(predictions)}, each with "
            "a name of its own."
        )
    return names
