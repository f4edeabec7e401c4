"""What an ONNX file says about itself: for people, for `crank.serve.Scorer`, for audits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Protocol

from crank._version import __version__
from crank.errors import CrankError, OptionError, listed
from crank.export.json import document
from crank.export.onnx.inputs import levels_by_column
from crank.graphs.digest import BLANK, KEY
from crank.graphs.graph import Graph
from crank.records.base import ModelRecord
from crank.records.inputs import input_schema
from crank.records.kinds import reader
from crank.texts import HALF, is_broken, json_is_broken

FORMAT_KEY, FORMAT = "crank_onnx", 2
"""Raised when an older crank would misread a new file; files of older formats stay readable."""
RESERVED = (
    *("crank_version", "formula", "learner", "criterion", "link", "loss", "members", "outputs"),
    *("columns", "design", "levels", "figures", "unknown", "schema", "fingerprint", "created"),
    *("versions", "data", FORMAT_KEY, KEY),
)


class Notes(Protocol):
    """Says what someone who fills a column must know."""

    def notes(self, name: str) -> dict[str, Any]:
        """Describe a column."""


def entries(
    model: ModelRecord,
    graph: Graph,
    inputs: Notes,
    names: Mapping[str, str],
    form: str,
    unknown: str,
) -> dict[str, str]:
    """Return crank's own entries, the digest still blank."""
    training = model.training
    columns: dict[str, Any] = {}
    if form == "columns":
        kinds = {v.name: v.kind for v in model.variables}
        columns = {name: {"kind": kinds[name], **inputs.notes(name)} for name in graph.inputs}
    figures = {
        "training": {k: asdict(v) for k, v in training.figures.items()},
        "crossvalidated": {k: asdict(v) for k, v in training.crossvalidated.items()},
        "n": training.n,
    }
    schema = input_schema(model, [*columns]) if form == "columns" else None
    return {
        KEY: BLANK,
        FORMAT_KEY: str(FORMAT),
        "crank_version": __version__,
        "formula": model.formula,
        **reader(model.kind, "onnx").described(model),
        "outputs": as_text(names),
        "columns": as_text(columns),
        "design": as_text([name for design in model.designs for name in design.names]),
        "levels": as_text({k: v for d in model.designs for k, v in levels_by_column(d).items()}),
        "figures": as_text(figures),
        "unknown": "error" if unknown == "error" else "nan",
        **({} if schema is None else {"schema": as_text(schema)}),
        **lineage(model),
    }


def lineage(model: ModelRecord) -> dict[str, str]:
    """Say which model file this is made of, when it was fitted, by what, to which data."""
    training = model.training
    found: dict[str, str | None] = {
        "fingerprint": fingerprint_of(model),
        "created": training.created,
        "versions": None if training.versions is None else as_text(dict(training.versions)),
        "data": training.data,
    }
    return {key: value for key, value in found.items() if value is not None}


def fingerprint_of(model: ModelRecord) -> str | None:
    """Return the fingerprint of the model's JSON file; None if it cannot be written as JSON."""
    try:
        found: str = document(model)["fingerprint"]
    except CrankError:
        return None
    return found


def own_entries(given: Mapping[str, Any]) -> dict[str, str]:
    """Write what the owner wants in the file; text as it is, other values as JSON."""
    taken = sorted(set(given) & set(RESERVED))
    if taken:
        raise OptionError(
            f"metadata has the keys {listed(taken)}, which crank writes itself. Choose others."
        )
    try:
        found = {str(k): v if isinstance(v, str) else as_text(v) for k, v in given.items()}
    except (TypeError, ValueError) as error:
        raise OptionError(f"metadata cannot be stored: {error}. Allowed: text, JSON.") from error
    stored = zip(found.items(), given.values(), strict=True)
    if any(is_broken(key) or json_is_broken(text, value) for (key, text), value in stored):
        raise OptionError(f"metadata cannot be stored: they hold {HALF}.")
    return found


def as_text(value: Any) -> str:
    """Write a value as JSON."""
    return json.dumps(value)
