"""A model file made ready to answer requests; a JSON model and an ONNX graph look the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.errors import DataError, ModelFileError, listed
from crank.models.loading import from_json
from crank.records.inputs import NOTES, input_schema
from crank.serve import Scorer


@dataclass(frozen=True)
class Served:
    """What the service needs of a model.

    Attributes
    ----------
    columns : mapping of str to str
        The kind of each raw column.
    outputs : tuple of str
        What can be asked for, the score first.
    predict : callable
        From columns and one of the outputs to a value a row.
    card : dict
        What is known of the model, for people.
    row_schema : dict
        JSON Schema of a row.
    digest : str
        SHA-256 of the file.
    """

    columns: Mapping[str, str]
    outputs: tuple[str, ...]
    predict: Callable[[Mapping[str, Any], str], NDArray[Any]]
    card: Mapping[str, Any]
    row_schema: Mapping[str, Any]
    digest: str

    def rows_to_columns(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Turn records into the columns that the model needs; null is a missing value.

        Raises
        ------
        DataError
            A row is no object, or lacks a column; the message names both.
        """
        for k, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise DataError(f"row {k} is no object. Allowed: {{column: value, …}}.")
            if not row.keys() >= self.columns.keys():
                absent = [name for name in self.columns if name not in row]
                raise DataError(
                    f"row {k} lacks {listed(map(repr, absent))}. Give null for a missing value."
                )
        return {name: self.column(name, [row[name] for row in rows]) for name in self.columns}

    def column(self, name: str, values: Sequence[Any]) -> Any:
        """Check the values of one column, as JSON gives them."""
        if self.columns[name] in ("number", "boolean"):
            for k, value in enumerate(values):
                if not (value is None or isinstance(value, int | float)):
                    raise DataError(
                        f"column {name!r} holds {value!r} in row {k}. Allowed: numbers, null."
                    )
            try:
                return np.array([np.nan if v is None else v for v in values], dtype=np.float64)
            except OverflowError:
                raise DataError(f"column {name!r} holds a number beyond 1.8e308.") from None
        for k, value in enumerate(values):
            if isinstance(value, list | dict):
                raise DataError(f"column {name!r} holds a list or object in row {k}.")
        return np.array([*values, None], dtype=object)[:-1]


def load_served(path: str | Path) -> Served:
    """Read a model file of either kind, known by its content."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ModelFileError(f"{str(path)!r} cannot be read: {error.strerror}.") from error
    read = _from_json if content.lstrip()[:1] == b"{" else _from_onnx
    return read(content, hashlib.sha256(content).hexdigest())


def _from_json(content: bytes, digest: str) -> Served:
    model = from_json(content)
    figures = {
        "training": {name: f.estimate for name, f in model.training.figures.items()},
        "crossvalidated": {name: f.estimate for name, f in model.training.crossvalidated.items()},
    }
    columns = {variable.name: variable.kind for variable in model.variables}
    return Served(
        columns=columns,
        outputs=model.predictions,
        predict=lambda data, type: model.predict(data, type),
        card={"kind": model.kind, "formula": model.formula, "n": model.training.n, **figures},
        row_schema=input_schema(model),
        digest=digest,
    )


def _from_onnx(content: bytes, digest: str) -> Served:
    scorer = Scorer(content)
    about = scorer.metadata
    described: dict[str, dict[str, Any]] = json.loads(about["columns"])
    if not described:
        raise ModelFileError(
            "the file takes a matrix of design columns. Export it with form='columns'."
        )
    columns = {name: notes["kind"] for name, notes in described.items()}
    card = {name: _readable(text) for name, text in about.items() if name != "schema"}
    return Served(
        columns=columns,
        outputs=tuple(json.loads(about["outputs"])),
        predict=scorer.predict,
        card=card,
        row_schema=scorer.schema or _bare_schema(columns),
        digest=digest,
    )


def _readable(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _bare_schema(columns: Mapping[str, str]) -> dict[str, Any]:
    """Describe a row for a graph of before schemas were in the files: names and kinds only."""
    kinds = {name: {NOTES: {"kind": kind}} for name, kind in columns.items()}
    return {"type": "object", "required": list(columns), "properties": kinds}
