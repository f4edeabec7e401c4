"""A toy figure: concordance of the pairs whose higher member is above the median."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crank.kernels.cuts import Layer
from crank.mass import LocalMass
from crank.metrics.figures import Figure
from crank.metrics.sample import Sample
from crank.ranks import Ranks


def _upper(below: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    return np.asarray(below >= 0.5 * total, dtype=np.float64)


def total(ranks: Ranks) -> float:
    return float((ranks.weight * ranks.below * _upper(ranks.below, ranks.total)).sum())


def node_scores(ranks: Ranks, layer: Layer, mass: LocalMass) -> NDArray[np.float64]:
    """Pairs in which the row is the higher member, less those in which it is the lower one."""
    upper = _upper(ranks.below[layer.position], ranks.total)
    scores = np.empty(len(layer.position))
    for start, end in zip(layer.bounds[:-1], layer.bounds[1:], strict=True):
        y = ranks.y[layer.position[start:end]]
        w, up = mass.weight[start:end], upper[start:end]
        above = (y[:, None] > y[None, :]) * w[None, :]
        scores[start:end] = w * (up * above.sum(axis=1) - ((y[:, None] < y) * w * up).sum(axis=1))
    return scores


def influences(sample: Sample) -> tuple[float, NDArray[np.float64]]:
    """Differentiate won / all by each row's weight, by brute force."""
    y, s, w = sample.y_rank, sample.score_rank, sample.weight
    higher = _upper(sample.below[y], float(w.sum()))[:, None] * (y[:, None] > y[None, :])
    won = higher * ((s[:, None] > s[None, :]) + 0.5 * (s[:, None] == s[None, :]))
    every, right = float(w @ higher @ w), float(w @ won @ w)
    rate = right / every
    part = (won + won.T) @ w - rate * ((higher + higher.T) @ w)
    return rate, np.asarray(w * part / every)


UPPER = Figure(
    name="upper",
    label="upper",
    text="upper",
    title="concordance in the upper half",
    gain_label="2 upper − 1",
    gain_text="2 upper - 1",
    metric="upper",
    members=2,
    total=total,
    rate=lambda sample: influences(sample)[0],
    influences=influences,
    node_scores=node_scores,
)
