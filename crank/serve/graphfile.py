"""What an ONNX file of crank says about itself, checked when it is opened."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crank.errors import ModelFileError
from crank.export.onnx.metadata import FORMAT, FORMAT_KEY
from crank.graphs.digest import check_digest
from crank.graphs.runtime import session

NUMBER, TEXT = "tensor(double)", "tensor(string)"
ELEMENTS = (NUMBER, "tensor(float)", "tensor(int64)", "tensor(bool)", TEXT)
DAMAGED = "the metadata of this ONNX file are damaged, or from a newer version of crank."


@dataclass(frozen=True)
class GraphFile:
    """A graph that is open, and its metadata as values.

    Attributes
    ----------
    session : onnxruntime.InferenceSession
    metadata : dict of str
        As they stand in the file.
    outputs : mapping of str
        Names of the outputs by what they are.
    columns : mapping
        What is said of each raw column; empty if the file takes a matrix.
    design : tuple of str
        Names of the design columns.
    types : mapping of str
        Element type of each input.
    schema : dict or None
        The contract of the inputs; None in files of earlier versions.
    """

    session: Any
    metadata: Mapping[str, str]
    outputs: Mapping[str, str]
    columns: Mapping[str, Mapping[str, Any]]
    design: tuple[str, ...]
    types: Mapping[str, str]
    schema: Mapping[str, Any] | None


def open_graph(content: bytes, providers: Sequence[str] | None = None) -> GraphFile:
    """Open a file that `RankingModel.to_onnx` wrote; anything else is a `ModelFileError`."""
    has_digest = check_digest(content)
    opened = session(content, providers)
    try:
        metadata = dict(opened.get_modelmeta().custom_metadata_map)
        types = {i.name: i.type for i in opened.get_inputs()}
        made = {o.name for o in opened.get_outputs()}
    except Exception as error:  # text that is no text, from a file that lost a bit
        raise ModelFileError(f"{DAMAGED} Export the model again.") from error
    if "crank_version" not in metadata:
        raise ModelFileError(
            "this ONNX file was not written by crank. "
            "Allowed: files that RankingModel.to_onnx wrote."
        )
    _check_format(metadata, has_digest=has_digest)
    try:
        file = GraphFile(
            session=opened,
            metadata=metadata,
            outputs=json.loads(metadata["outputs"]),
            columns=json.loads(metadata["columns"]),
            design=tuple(json.loads(metadata["design"])),
            types=types,
            schema=json.loads(metadata["schema"]) if "schema" in metadata else None,
        )
        valid = _is_valid(file, made)
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ModelFileError(f"{DAMAGED} Export the model again.") from error
    if not valid:
        raise ModelFileError(f"{DAMAGED} Export the model again.")
    return file


def _check_format(metadata: Mapping[str, str], *, has_digest: bool) -> None:
    """Refuse files of a newer format, and those that must have a digest and have none."""
    stated = metadata.get(FORMAT_KEY)
    if stated is None and not has_digest:
        return  # as files were before they had either
    if stated is None or not stated.isdecimal() or not has_digest:
        raise ModelFileError(f"{DAMAGED} Export the model again.")
    if int(stated) > FORMAT:
        raise ModelFileError(
            f"its metadata have version {int(stated)}; this crank reads versions up to {FORMAT}. "
            "Install a newer crank."
        )


def _is_valid(file: GraphFile, made: set[str]) -> bool:
    names = [*file.outputs, *file.outputs.values(), *file.columns, *file.design]
    return (
        all(isinstance(name, str) for name in names)
        and set(file.outputs.values()) <= made
        and set(file.types.values()) <= set(ELEMENTS)
        and (set(file.columns) == set(file.types) if file.columns else len(file.types) == 1)
        and all(isinstance(note["kind"], str) for note in file.columns.values())
        and all(isinstance(n.get("missing", ""), str) for n in file.columns.values())
        and all(_are_texts(n.get("texts", [])) for n in file.columns.values())
        and isinstance(json.loads(file.metadata["levels"]), dict)
        and file.metadata["unknown"] in ("error", "nan")
        and (file.schema is None or isinstance(file.schema["properties"], dict))
    )


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)
