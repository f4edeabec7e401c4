"""Pipelines of scalers and imputers in front of a classifier, taken into its rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.plugins.base import FloatArray
from crank.plugins.trees import TreesRule

Floats = NDArray[np.float64]
SCALERS = {"StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"}


def split_pipeline(estimator: Any) -> tuple[list[Any], Any]:
    """Return the steps before a classifier, and the classifier; None if a step is not affine.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> split_pipeline(make_pipeline(StandardScaler(), "passthrough", LogisticRegression()))
    ([StandardScaler()], LogisticRegression())
    """
    from sklearn.pipeline import Pipeline

    if not isinstance(estimator, Pipeline):
        return [], estimator
    steps: list[Any] = []
    for _, step in estimator.steps:
        inner, last = split_pipeline(step)
        steps += [*inner, last]
    *before, last = [step for step in steps if step is not None and step != "passthrough"]
    return (before, last) if all(map(_is_affine, before)) else ([], None)


def _is_affine(step: Any) -> bool:
    name = type(step).__name__
    if name == "SimpleImputer":
        kept = np.asarray(step.statistics_)
        return not step.add_indicator and kept.dtype.kind == "f" and not np.isnan(kept).any()
    return name in SCALERS and not getattr(step, "clip", False)


def affine(steps: Sequence[Any], p: int) -> tuple[Floats, Floats, Floats]:
    """Compose fitted steps: slope and offset of each column, and what a missing value counts as.

    The last is in the units of the data, NaN where no imputer takes care of missing values.
    """
    slope, offset, fill = np.ones(p), np.zeros(p), np.full(p, np.nan)
    for step in steps:
        if type(step).__name__ == "SimpleImputer":
            given = (np.asarray(step.statistics_, dtype=np.float64) - offset) / slope
            fill = np.where(np.isnan(fill), given, fill)
            continue
        a, b = _line(step, p)
        slope, offset = slope * a, offset * a + b
    return slope, offset, fill


def _line(step: Any, p: int) -> tuple[Floats, Floats]:
    """Return slope and offset of a scaler."""
    one = np.ones(p)
    name = type(step).__name__
    if name == "MinMaxScaler":
        return one * step.scale_, one * step.min_
    scale = one if step.scale_ is None else one * step.scale_
    centre = {
        "StandardScaler": ("mean_", "with_mean"),
        "RobustScaler": ("center_", "with_centering"),
    }
    attribute, flag = centre.get(name, ("", ""))
    middle = getattr(step, attribute, None) if attribute and getattr(step, flag) else None
    return one / scale, -(one / scale) * (0.0 if middle is None else middle)


def transformed(steps: Sequence[Any], X: FloatArray) -> FloatArray:
    """Apply fitted steps as they are."""
    found: Any = X
    for step in steps:
        found = step.transform(found)
    return np.asarray(found)


def before_scaling(rule: TreesRule, steps: Sequence[Any]) -> TreesRule:
    """Move the thresholds of trees to the other side of scalers, exactly.

    Scalers increase, so the largest double that stays at or below a threshold is found by
    halving the doubles; what the steps make of a missing value says where it goes.
    """
    nodes = rule.nodes
    inner = np.flatnonzero(nodes.inner)
    column, wanted = nodes.column[inner], nodes.threshold[inner]
    p = len(transformed(steps, np.zeros((1, _width(steps))))[0])
    each = np.arange(len(inner))

    def below(x: Floats) -> NDArray[np.bool_]:
        rows = np.zeros((len(x), p))
        rows[each, column] = x
        with np.errstate(over="ignore"):
            return np.asarray(transformed(steps, rows)[each, column] <= wanted)

    largest = float(np.finfo(np.float64).max) / 4.0
    low, high = np.full(len(inner), _ordered(-largest)), np.full(len(inner), _ordered(largest))
    while (low < high).any():
        middle = (low >> 1) + (high >> 1) + ((low & 1) + (high & 1) + 1 >> 1)  # rounded up
        holds = below(_double(middle))
        low, high = np.where(holds, middle, low), np.where(holds, high, middle - 1)
    threshold, missing = nodes.threshold.copy(), nodes.missing_low.copy()
    threshold[inner] = _double(low)
    fill = affine(steps, p)[2][column]
    missing[inner] = np.where(np.isnan(fill), missing[inner], below(np.nan_to_num(fill)))
    return replace(rule, nodes=replace(nodes, threshold=threshold, missing_low=missing))


def _width(steps: Sequence[Any]) -> int:
    return int(steps[0].n_features_in_)


def _ordered(value: float) -> int:
    """Return the number of a double among all, in their order."""
    bits = int(np.float64(value).view(np.int64))
    return bits if bits >= 0 else -(bits & 0x7FFFFFFFFFFFFFFF)


def _double(number: NDArray[np.int64]) -> Floats:
    """Return the double of each number; the inverse of `_ordered`."""
    size = np.abs(number).astype(np.int64).view(np.float64)
    return np.where(number < 0, -size, size)
