"""The table of kinds: the only place that knows every kind of model.

Names, not imports: a reader is loaded when a model of its kind is read.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from crank.errors import NotExportableError, not_for_scoring


@dataclass(frozen=True)
class Kind:
    """Where the class and the readers of one kind of model live.

    Attributes
    ----------
    model : str
        ``"module:class"``, a `crank.records.base.ModelRecord` with verbs.
    fit : str
        ``"module:function"``, which makes a model of data and a formula.
    readers : mapping
        By what they write ("report", "json", "onnx", "sql"), the modules that read this kind.
    """

    model: str
    fit: str
    readers: Mapping[str, str]


KINDS: dict[str, Kind] = {
    "tree": Kind(
        model="crank.models.tree:TreeModel",
        fit="crank.api:fit",
        readers={
            "report": "crank.report.tree",
            "json": "crank.export.json.tree",
            "onnx": "crank.export.onnx.tree",
            "sql": "crank.export.sql.tree",
        },
    ),
    "linear": Kind(
        model="crank.models.linear:LinearModel",
        fit="crank.api:linear",
        readers={
            "report": "crank.report.linear",
            "json": "crank.export.json.linear",
            "onnx": "crank.export.onnx.linear",
            "sql": "crank.export.sql.linear",
        },
    ),
    "additive": Kind(
        model="crank.models.additive:AdditiveModel",
        fit="crank.api:additive",
        readers={
            "report": "crank.report.additive",
            "json": "crank.export.json.additive",
            "onnx": "crank.export.onnx.linear",
        },
    ),
    "booster": Kind(
        model="crank.models.booster:BoosterModel",
        fit="crank.api:boost",
        readers={
            "report": "crank.report.booster",
            "json": "crank.export.json.booster",
            "onnx": "crank.export.onnx.booster",
            "sql": "crank.export.sql.sums",
        },
    ),
    "forest": Kind(
        model="crank.models.forest:ForestModel",
        fit="crank.api:forest",
        readers={
            "report": "crank.report.forest",
            "json": "crank.export.json.forest",
            "onnx": "crank.export.onnx.forest",
            "sql": "crank.export.sql.sums",
        },
    ),
    "blend": Kind(
        model="crank.models.blend:BlendModel",
        fit="crank.api:blend",
        readers={
            "report": "crank.report.blend",
            "json": "crank.export.json.blend",
            "onnx": "crank.export.onnx.blend",
        },
    ),
}


PAGE = "crank.page:write_page"
"""What writes a model as an HTML page; it stands above models, which have a verb for it."""


def page_writer() -> Any:
    """Load the function that writes models as a page."""
    return _named(PAGE)


def model_class(kind: str) -> Any:
    """Load the class of a kind's models."""
    return _named(KINDS[kind].model)


def fitting_function(kind: str) -> Any:
    """Load the function that fits models of a kind."""
    return _named(KINDS[kind].fit)


def named_function(name: str, kind: str) -> Any:
    """Load the function that a call names; that of the kind if it is none that fits."""
    for entry in KINDS.values():
        if entry.fit.partition(":")[2] == name.removeprefix("crank."):
            return _named(entry.fit)
    return fitting_function(kind)


def _named(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def reader(kind: str, what: str) -> ModuleType:
    """Load the module that writes something of a kind's models, or reads it back."""
    name = KINDS[kind].readers.get(what)
    if name is None:
        able = [other for other, entry in KINDS.items() if what in entry.readers]
        raise NotExportableError(
            f"a model of kind {kind!r} cannot be written as {what}. Kinds that can: "
            f"{', '.join(able)}."
        )
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as absent:
        raise not_for_scoring(absent) or absent from absent
