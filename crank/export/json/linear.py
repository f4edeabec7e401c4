"""The linear ranker of a model file: coefficients, their covariance, what training scores were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.design.spec import DesignSpec
from crank.errors import ModelFileError, OptionError
from crank.export.json.schema import check_schema, ranker_schema
from crank.export.json.text import number, read_number
from crank.rankers.linear import LinearOptions, LinearRanker
from crank.rankers.penalty import PenaltyPath

_ROUNDING = 1e-9


def write(ranker: LinearRanker) -> dict[str, Any]:
    """Return a linear ranker as plain data."""
    return {
        "link": ranker.options.link,
        "penalty": ranker.options.penalty,
        "l1_ratio": ranker.options.l1_ratio,
        "cv": ranker.options.cv,
        "random_state": ranker.options.random_state,
        "groups": ranker.n_groups,
        "coef": _stored(ranker.coef),
        "vcov": _triangle(ranker.vcov),
        "centre": _stored(ranker.centre),
        "covariance": _triangle(ranker.covariance),
        "reference": _stored(ranker.reference),
        "share": _stored(ranker.share),
    } | ({} if ranker.path is None else {"path": _write_path(ranker.path)})


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
    options = _options(stored)
    unsure = np.zeros(p, dtype=bool) if options.l1_ratio else known
    if not np.array_equal(np.isnan(vcov), ~np.outer(unsure, unsure)):
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
        options=options,
        coef=coef,
        vcov=vcov,
        centre=_read(stored["centre"]),
        covariance=covariance,
        reference=reference,
        share=share,
        n_groups=stored["groups"],
        path=_read_path(stored, options, coef),
    )


def _options(stored: dict[str, Any]) -> LinearOptions:
    """Read how it was fitted; files of older versions knew a ridge alone."""
    penalty: Any = stored["penalty"]
    penalty = float(penalty) if type(penalty) is int else penalty
    try:
        return LinearOptions(
            stored["link"],
            penalty,
            float(stored.get("l1_ratio", 0.0)),
            stored.get("cv"),
            stored.get("random_state", 0),
        )
    except OptionError as cause:
        raise ModelFileError(f"ranker: {cause}") from cause


def _write_path(path: PenaltyPath) -> dict[str, Any]:
    return {
        "penalty": _stored(path.penalty),
        "coef": [_stored(row) for row in path.coef],
        "loss": [_stored(row) for row in path.loss],
        "kendall": _stored(path.kendall),
        "step": path.step,
        "step_1se": path.step_1se,
    }


def _read_path(
    stored: dict[str, Any], options: LinearOptions, coef: NDArray[np.float64]
) -> PenaltyPath | None:
    """Read the penalties that were tried: there if and only if one of them was chosen."""
    found = stored.get("path")
    if (found is not None) != options.chosen:
        raise ModelFileError("ranker.path is there without a penalty chosen from it, or missing.")
    if found is None:
        return None
    k = len(found["penalty"])
    for entry, rows, columns in (
        ("coef", k, len(coef)),
        ("loss", len(found["loss"]), k),
    ):
        if len(found[entry]) != rows or any(len(row) != columns for row in found[entry]):
            raise ModelFileError(f"ranker.path.{entry} is not {rows} rows of {columns} numbers.")
    if len(found["kendall"]) != k or max(found["step"], found["step_1se"]) >= k:
        raise ModelFileError("ranker.path.kendall or a step is not one of the penalties.")
    penalty = _read(found["penalty"])
    if not (np.diff(penalty) > 0.0).all():
        raise ModelFileError("ranker.path.penalty is not increasing.")
    return PenaltyPath(
        penalty,
        np.array([_read(row) for row in found["coef"]]),
        np.array([_read(row) for row in found["loss"]]),
        _read(found["kendall"]),
        found["step"],
        found["step_1se"],
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
