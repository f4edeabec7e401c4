"""Means, spreads and redundant columns of a design in partitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.cluster.engine import Cluster
from crank.cluster.formula import Learned
from crank.cluster.rows import read_rows
from crank.cluster.spread import design_of
from crank.cluster.tally import FloatArray
from crank.cluster.units import Units
from crank.fitting.columns import ROUNDING, check_spreads, clearly_independent, independent


@dataclass(frozen=True)
class Standard:
    """How columns are standardised; see `crank.fitting.columns.Columns`."""

    kept: NDArray[np.intp]
    centre: FloatArray
    scale: FloatArray
    covariance: FloatArray

    def applied(self, X: NDArray[Any]) -> FloatArray:
        """Centre and scale the columns that are kept."""
        kept = np.asarray(X[:, self.kept], dtype=np.float64)
        return np.ascontiguousarray((kept - self.centre[self.kept]) / self.scale)


@dataclass(frozen=True)
class Moments:
    """Weight, weighted sums of columns and of their products, ends of columns."""

    weight: float
    sums: FloatArray
    products: FloatArray
    low: FloatArray
    high: FloatArray

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.weight + other.weight,
            self.sums + other.sums,
            self.products + other.products,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )


def moments(
    frame: Any, learned: Learned, units: Units, centre: FloatArray, size: FloatArray
) -> Moments:
    """Sum one partition, in units of ``size`` from ``centre``."""
    rows = read_rows(frame, learned.asked)
    _, X = design_of(rows, learned)
    whole = units.whole(rows.weight)
    weight = np.ones(len(X)) if whole is None else whole * units.scale
    part = (np.asarray(X, dtype=np.float64) - centre) / size
    none = not len(part)
    p = len(centre)
    return Moments(
        float(weight.sum()),
        np.asarray(weight @ part),
        np.asarray((part * weight[:, None]).T @ part),
        np.full(p, np.inf) if none else part.min(axis=0),
        np.full(p, -np.inf) if none else part.max(axis=0),
    )


def learn_columns(
    cluster: Cluster, learned: Learned, units: Units, *, all_varying: bool
) -> Standard:
    """Learn how to standardise a design, in two passes: products need centres."""
    p = len(learned.design.names)
    zero, one = np.zeros(p), np.ones(p)
    first: Moments = cluster.sum(moments, learned, units, zero, one)
    check_spreads(first.low, first.high, learned.design.names)
    centre = first.sums / first.weight
    size = np.maximum(np.maximum(np.abs(first.low), np.abs(first.high)), np.finfo(float).tiny)
    found: Moments = cluster.sum(moments, learned, units, centre, size)
    mean = found.sums / found.weight
    products = found.products / found.weight - np.outer(mean, mean)
    sd = np.sqrt(np.maximum(np.diagonal(products), 0.0))
    varies = (first.high > first.low) & (sd > ROUNDING * np.abs(centre / size))
    scale = np.where(varies, sd, 1.0)
    correlation = np.where(np.outer(varies, varies), products / np.outer(scale, scale), 0.0)
    kept = np.flatnonzero(varies)
    among = correlation[np.ix_(kept, kept)]
    if not all_varying and not clearly_independent(among, learned.survey.used):
        kept = kept[independent(_root(among, learned.survey.used), np.ones(1))]
    return Standard(
        kept,
        centre + mean * size,
        (scale * size)[kept],
        correlation * np.outer(scale * size, scale * size),
    )


def _root(correlation: FloatArray, rows: int) -> FloatArray:
    """Find a few rows whose columns have these products; rows of zeros stand for all others."""
    value, vector = np.linalg.eigh(correlation)
    root = np.sqrt(np.maximum(value, 0.0))[:, None] * vector.T
    more = max(min(rows, len(root) + 2) - len(root), 0)
    return np.vstack((root, np.zeros((more, len(root)))))
