"""The additive ranker of a model file: a linear ranker, and what its penalty came to."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from crank.design.spec import DesignSpec
from crank.errors import ModelFileError
from crank.export.json import linear
from crank.export.json.arrays import read_symmetric, read_vector, triangle, vector
from crank.export.json.schema import check_schema, ranker_schema
from crank.rankers.additive import AdditiveRanker


def write(ranker: AdditiveRanker) -> dict[str, Any]:
    """Return an additive ranker as plain data."""
    return {
        "linear": linear.write(ranker),
        "smoothing": None if ranker.smoothing is None else float(ranker.smoothing),
        "penalty": vector(ranker.column_penalty),
        "freedom": vector(ranker.freedom),
        "uncertainty": triangle(ranker.uncertainty),
        "rugs": {name: vector(values) for name, values in ranker.rugs.items()},
    }


def read(stored: dict[str, Any], design: DesignSpec) -> AdditiveRanker:
    """Build an additive ranker from plain data, every value checked."""
    check_schema(stored, ranker_schema("additive"), where="ranker")
    base = linear.read(stored["linear"], design)
    for entry in ("penalty", "freedom", "uncertainty"):
        if len(stored[entry]) != len(base.coef):
            raise ModelFileError(
                f"ranker.{entry} has {len(stored[entry])} entries; the design has "
                f"{len(base.coef)} columns."
            )
    penalty, freedom = read_vector(stored["penalty"]), read_vector(stored["freedom"])
    uncertainty = read_symmetric(stored["uncertainty"], "uncertainty")
    known = base.estimated
    for entry, values in (("penalty", penalty), ("freedom", freedom)):
        if not np.array_equal(np.isnan(values), ~known) or (values[known] < 0.0).any():
            raise ModelFileError(
                f"ranker.{entry} is negative, or not null exactly where ranker.linear.coef is."
            )
    if not np.array_equal(np.isnan(uncertainty), ~np.outer(known, known)):
        raise ModelFileError("ranker.uncertainty is not null exactly where ranker.linear.coef is.")
    rugs = {name: read_vector(values) for name, values in stored["rugs"].items()}
    if not all((np.diff(values) >= 0.0).all() for values in rugs.values()):
        raise ModelFileError("ranker.rugs holds values that do not increase.")
    return AdditiveRanker(
        **{field.name: getattr(base, field.name) for field in fields(base)},
        smoothing=None if stored["smoothing"] is None else float(stored["smoothing"]),
        column_penalty=penalty,
        freedom=freedom,
        uncertainty=uncertainty,
        rugs=rugs,
    )
