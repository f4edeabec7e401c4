"""The linear ranker of a model file: coefficients, their covariance, what training scores were."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.design.slopes import slopes
from crank.design.spec import DesignSpec
from crank.errors import ModelFileError, OptionError
from crank.export.json.arrays import read_symmetric, read_vector, triangle, vector
from crank.export.json.schema import check_schema, ranker_schema
from crank.rankers.directions import signs_of
from crank.rankers.linear import LinearOptions, LinearRanker
from crank.rankers.penalty import PenaltyPath

_ROUNDING, _FLAT = 1e-9, 1e-8


def write(ranker: LinearRanker) -> dict[str, Any]:
    """Return a linear ranker as plain data."""
    stored: dict[str, Any] = {
        "link": ranker.options.link,
        "penalty": ranker.options.penalty,
        "l1_ratio": ranker.options.l1_ratio,
        "cv": ranker.options.cv,
        "random_state": ranker.options.random_state,
        "groups": ranker.n_groups,
        "coef": vector(ranker.coef),
        "vcov": triangle(ranker.vcov),
        "centre": vector(ranker.centre),
        "covariance": triangle(ranker.covariance),
        "reference": vector(ranker.reference),
        "share": vector(ranker.share),
    }
    if ranker.path is not None:
        stored["path"] = _write_path(ranker.path)
    if ranker.options.monotone:
        stored["monotone"] = dict(ranker.options.monotone)
    return stored


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
    coef = read_vector(stored["coef"])
    vcov = read_symmetric(stored["vcov"], "vcov")
    known = ~np.isnan(coef)
    options = _options(stored)
    _check_slopes(design, coef, options)
    unsure = np.zeros(p, dtype=bool) if options.l1_ratio else known
    if not np.array_equal(np.isnan(vcov), ~np.outer(unsure, unsure)):
        raise ModelFileError("ranker.vcov is not null exactly where ranker.coef is.")
    covariance = read_symmetric(stored["covariance"], "covariance")
    if (np.diagonal(vcov)[known] < 0.0).any() or not (np.diagonal(covariance) >= 0.0).all():
        raise ModelFileError("ranker.vcov or ranker.covariance has a negative variance.")
    reference, share = read_vector(stored["reference"]), read_vector(stored["share"])
    if len(reference) != len(share) or not (np.diff(reference) >= 0.0).all():
        raise ModelFileError("ranker.reference is not increasing, or not as long as ranker.share.")
    if not abs(share.sum() - 1.0) <= _ROUNDING:
        raise ModelFileError("ranker.share does not sum to 1.")
    return LinearRanker(
        options=options,
        coef=coef,
        vcov=vcov,
        centre=read_vector(stored["centre"]),
        covariance=covariance,
        reference=reference,
        share=share,
        n_groups=stored["groups"],
        path=_read_path(stored, options, coef),
    )


def _check_slopes(design: DesignSpec, coef: NDArray[np.float64], options: LinearOptions) -> None:
    """Refuse coefficients that break the promise of a monotone score."""
    try:
        asked = slopes(design, signs_of(options.monotone))
    except OptionError as cause:
        raise ModelFileError(f"ranker.monotone: {cause}") from cause
    if (asked.rows @ np.nan_to_num(coef) < asked.least - _FLAT).any():
        raise ModelFileError("ranker.coef is not monotone in the columns that ranker.monotone has.")


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
            stored.get("monotone"),
        )
    except OptionError as cause:
        raise ModelFileError(f"ranker: {cause}") from cause


def _write_path(path: PenaltyPath) -> dict[str, Any]:
    return {
        "penalty": vector(path.penalty),
        "coef": [vector(row) for row in path.coef],
        "loss": [vector(row) for row in path.loss],
        "kendall": vector(path.kendall),
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
    penalty = read_vector(found["penalty"])
    if not (np.diff(penalty) > 0.0).all():
        raise ModelFileError("ranker.path.penalty is not increasing.")
    return PenaltyPath(
        penalty,
        np.array([read_vector(row) for row in found["coef"]]),
        np.array([read_vector(row) for row in found["loss"]]),
        read_vector(found["kendall"]),
        found["step"],
        found["step_1se"],
    )
