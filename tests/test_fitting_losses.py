"""The losses of boosters against sums over all pairs."""

from typing import Any

import numpy as np
import pytest

from crank.fitting.losses import labels_of, pair_loss
from crank.rankers.booster import BoosterOptions
from crank.ranks import rank

Floats = np.ndarray[Any, np.dtype[np.float64]]


def naive_loss(score: Floats, t: Floats, weight: Floats) -> float:
    """Sum the logistic losses of all pairs, targets σ(t_i − t_j), over the number of rows."""
    target = 1.0 / (1.0 + np.exp(-np.clip(t[:, None] - t, -700.0, 700.0)))
    difference = score[:, None] - score
    each = target * np.logaddexp(0.0, -difference) + (1.0 - target) * np.logaddexp(0.0, difference)
    return float((np.triu(each, 1) * np.outer(weight, weight)).sum() / len(score))


@pytest.mark.parametrize("kappa", [0.5, 10.0, np.inf])
@pytest.mark.parametrize("weighted", [False, True])
def test_newtons_step_is_that_of_the_sum_over_pairs(kappa: float, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    n = 60
    y = rng.integers(0, 25, n).astype(float)  # with ties
    ranks = rank(y, rng.uniform(0.5, 2.0, n) if weighted else None)
    loss = pair_loss(ranks, kappa)
    w = loss.weight
    t = ranks.y * 1e6 if np.isinf(kappa) else kappa * ranks.quantile
    score = rng.normal(size=n)
    step = 1e-4
    first, second = np.empty((2, n))
    for i in range(n):
        move = step * (np.arange(n) == i)
        a, b = naive_loss(score + move, t, w), naive_loss(score - move, t, w)
        first[i] = (a - b) / (2.0 * step)
        # a row's pair with itself, σ'(0), is part of the sum
        second[i] = (a + b - 2.0 * naive_loss(score, t, w)) / step**2 + w[i] ** 2 / 4.0 / n
    wanted = score - first / w / (second.sum() / w.sum())
    np.testing.assert_allclose(loss.newton(score), wanted, atol=2e-3)


def test_weights_are_rows_repeated() -> None:
    y, times = np.array([3.0, 1.0, 2.0, 5.0]), np.array([1, 3, 2, 2])
    score = np.array([0.3, -1.0, 0.8, 0.1])
    weighted, repeated = rank(y, times.astype(float)), rank(np.repeat(y, times))
    of_repeated = np.repeat(np.arange(4), times)[repeated.row]
    for kappa in (5.0, np.inf):
        once = np.empty(4)
        once[weighted.row] = pair_loss(weighted, kappa).newton(score[weighted.row])
        often = pair_loss(repeated, kappa).newton(score[of_repeated])
        np.testing.assert_allclose(often, once[of_repeated], atol=3e-3)


def test_scores_far_apart_still_move_finitely() -> None:
    ranks = rank(np.arange(40.0))
    score = 1e6 * np.arange(40.0)[::-1]
    moved = pair_loss(ranks, 10.0).newton(score) - score
    assert np.isfinite(moved).all()
    assert moved[0] < 0.0 < moved[-1]


def test_soft_targets_ignore_increasing_transforms_of_y() -> None:
    y = np.random.default_rng(0).normal(size=50)
    one, other = pair_loss(rank(y), 10.0), pair_loss(rank(np.exp(3.0 * y)), 10.0)
    assert np.array_equal(one.target, other.target)


@pytest.mark.parametrize("loss", ["rank", "y"])
def test_labels_have_mean_0_and_variance_1(loss: Any) -> None:
    y = np.array([1e300, -2e300, 5e299, 0.0])
    w = np.array([1.0, 2.0, 1.0, 3.0])
    label = labels_of(rank(y, w), BoosterOptions(loss=loss))
    share = rank(y, w).weight / 7.0
    assert share @ label == pytest.approx(0.0, abs=1e-12)
    assert share @ label**2 == pytest.approx(1.0)
