"""The members of a blend in a model file: whole documents, each with its weight."""

from __future__ import annotations

from typing import Any

from crank.errors import ModelFileError
from crank.export.json.schema import check_schema, ranker_schema
from crank.export.json.text import number, read_number
from crank.metrics.figures import get_figure
from crank.records.base import DesignedRecord
from crank.records.blend import BlendRecord, LeftOut, Member
from crank.records.kinds import model_class


def write(model: BlendRecord) -> dict[str, Any]:
    """Return what a blend adds to a document."""
    from crank.export.json import document

    return {
        "metric": model.metric,
        "folds": model.folds,
        "members": [
            {
                "name": member.name,
                "weight": member.weight,
                "coef": member.coef,
                "heldout": number(member.heldout),
                "model": document(member.model),
            }
            for member in model.members
        ],
        "left_out": [
            {"name": out.name, "because": out.because, "heldout": number(out.heldout)}
            for out in model.left_out
        ],
    }


def read(stored: dict[str, Any]) -> dict[str, Any]:
    """Build the fields of a blend from plain data, every value checked."""
    check_schema(stored, ranker_schema("blend"), where="ranker")
    get_figure(stored["metric"], option="ranker.metric")
    return {
        "metric": stored["metric"],
        "folds": stored["folds"],
        "members": tuple(_member(entry) for entry in stored["members"]),
        "left_out": tuple(
            LeftOut(out["name"], out["because"], read_number(out["heldout"]))
            for out in stored["left_out"]
        ),
    }


def _member(stored: dict[str, Any]) -> Member:
    from crank.export.json import read_document

    kind, fields = read_document(stored["model"])
    model = model_class(kind)(**fields)
    if not isinstance(model, DesignedRecord):
        raise ModelFileError(f"member {stored['name']!r} is a {kind}; a blend has no blends.")
    return Member(
        name=stored["name"],
        weight=stored["weight"],
        coef=float(stored["coef"]),
        heldout=read_number(stored["heldout"]),
        model=model,
    )
