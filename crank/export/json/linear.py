"""The linear ranker of a model file: coefficients, their covariance, what training scores were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.design.spec import DesignSpec
from crank.errors import ModelFileError
from crank.export.json.schema import check_schema, ranker_schema
from crank.export.json.text import number, read_number
from crank.rankers.linear import LinearOptions, LinearRanker

_ROUNDING = 1e-9


def write(ranker: LinearRanker) -> dict[str, Any]:
    """Return a linear ranker as plain data."""
    return {
        "link": ranker.options.link,
        "penalty": float(ranker.options.penalty),
        "groups": ranker.n_groups,
        "coef": _stored(ranker.coef),
        "vcov": _triangle(ranker.vcov),
        "centre": _stored(ranker.centre),
        "covariance": _triangle(ranker.covariance),
        "reference": _stored(ranker.reference),
        "share": _stored(ranker.share),
    }


def read(stored: dict[str, Any], design: DesignSpec) -> LinearRanker:
    """Build a linear ranker from plain data, every value checked."""
    check_schema(stored, ranker_schema("linear"), where="ranker")
    p = len(design.names)
    if any(design.levels):
        raise ModelFileError("ranker is linear, and the design has columns of category codes.")
    for entry, wanted in (("coef", p), ("centre", p), ("vcov", p), ("covariance", p)):
        if len(stored[entry]) != wanted:
            raise ModelFileError(
                f"ranker.{entry} has {len(stored[entry])} entries; the design has {p} columns."
            )
    coef = _read(stored["coef"])
    vcov = _symmetric(stored["vcov"], "vcov")
    known = ~np.isnan(coef)
    if not np.array_equal(np.isnan(vcov), ~np.outer(known, known)):
        raise ModelFileError("ranker.vcov is not null exactly where ranker.coef is.")
    covariance = _symmetric(stored["covariance"], "covariance")
    if (np.diagonal(vcov)[known] < 0.0).any() or not (np.diagonal(covariance) >= 0.0).all():
        raise ModelFileError("ranker.vcov or ranker.covariance has a negative variance.")
    reference, share = _read(stored["reference"]), _read(stored["share"])
    if len(reference) != len(share) or not (np.diff(reference) >= 0.0).all():
        raise ModelFileError("ranker.reference is not increasing, or not as long as ranker.share.")
    if not abs(share.sum() - 1.0) <= _ROUNDING:
        raise ModelFileError("ranker.share does not sum to 1.")
    return LinearRanker(
        options=LinearOptions(stored["link"], float(stored["penalty"])),
        coef=coef,
        vcov=vcov,
        centre=_read(stored["centre"]),
        covariance=covariance,
        reference=reference,
        share=share,
        n_groups=stored["groups"],
    )


def _stored(values: NDArray[np.float64]) -> list[float | None]:
    return [number(value) for value in values.tolist()]


def _read(values: Sequence[float | None]) -> NDArray[np.float64]:
    return np.array([read_number(value) for value in values], dtype=np.float64)


def _triangle(matrix: NDArray[np.float64]) -> list[list[float | None]]:
    """Write a symmetric matrix row by row, up to its diagonal."""
    return [_stored(row[: k + 1]) for k, row in enumerate(matrix)]


def _symmetric(rows: Sequence[Sequence[float | None]], entry: str) -> NDArray[np.float64]:
    for k, row in enumerate(rows):  # before a square of their number is allocated
        if len(row) != k + 1:
            raise ModelFileError(
                f"ranker.{entry}[{k}] has {len(row)} entries. Allowed: {k + 1}, up to the diagonal."
            )
    matrix = np.empty((len(rows), len(rows)))
    for k, row in enumerate(rows):
        matrix[k, : k + 1] = matrix[: k + 1, k] = _read(row)
    return matrix
