"""A comment in SQL that says which model it is: one line, before the expression."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from crank._version import __version__
from crank.export.onnx.metadata import lineage, own_entries
from crank.records.base import ModelRecord


def commented(text: str, model: ModelRecord, metadata: Mapping[str, Any]) -> str:
    """Put the fingerprint of the model file, its time and its owner's metadata before SQL."""
    if metadata:
        own_entries(metadata)  # refuses what cannot be stored
        model = replace(model, metadata={**model.metadata, **metadata})
    said = {
        "crank_version": __version__,
        "formula": model.formula,
        **lineage(model),
        **own_entries(model.metadata),
    }
    # a text in the formula or the metadata cannot end the comment
    line = json.dumps(said).replace("*/", "*\\/").replace("/*", "\\/*")
    return f"/* crank: {line} */\n{text}"
