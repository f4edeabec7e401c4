from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import crank.kernels.roc as numpy_kernel
from crank.kernels import compiled_roc
from crank.kernels.order import dense_ranks
from crank.kernels.roc import RocFamily, even_parts, mean_roc_on_grid, mean_roc_vertices

KERNELS = {"numpy": mean_roc_on_grid, "compiled": compiled_roc.mean_roc_on_grid}


def family(y: np.ndarray, score: np.ndarray, weight: np.ndarray | None = None) -> RocFamily:
    """The ROC curves at all thresholds of y, with shares that have nothing regular."""
    weight = np.ones(len(y), dtype=np.int64) if weight is None else weight
    rank, rows = dense_ranks(y)[0], np.argsort(y, kind="stable")
    mass = np.bincount(rank, weight)
    below = np.cumsum(mass) - mass
    usable = (below > 0) & (below + mass < mass.sum())
    share = np.where(usable, np.random.default_rng(0).random(len(mass)), 0.0)
    edges = np.append(0, np.cumsum(np.bincount(rank)))
    group = dense_ranks(-score)[0]
    return RocFamily(group[rows], weight[rows], edges, share / share.sum())


def exact_mean_roc(curves: RocFamily, alpha: Fraction) -> float:
    """The mean ROC curve at a rational α, by the definition."""
    total = 0.0
    for t in np.flatnonzero(curves.share):
        low, high = curves.edges[t], curves.edges[t + 1]
        count = int(curves.group.max()) + 1
        negative, positive = (
            np.bincount(curves.group[rows], curves.weight[rows], count).astype(int).tolist()
            for rows in (slice(0, low), slice(high, None))
        )
        x = alpha * sum(negative)
        value, before, g = Fraction(0), 0, 0
        while g < count and before + negative[g] <= x:
            value, before, g = value + positive[g], before + negative[g], g + 1
        if g < count:
            value += positive[g] * (x - before) / negative[g]
        total += curves.share[t] * float(value / sum(positive))
    return total


def cases() -> Iterator[RocFamily]:
    rng = np.random.default_rng(5)
    for digits_y in (0, 1, 9):
        for digits_s in (0, 1, 9):
            for weighted in (False, True):
                score = rng.normal(size=50)
                y = score + rng.normal(size=50)
                weight = rng.integers(0, 4, 50) if weighted else None
                yield family(y.round(digits_y), score.round(digits_s), weight)
    score = rng.normal(size=50)
    yield family(-np.abs(score), score)
    yield family(np.array([1.0, 2.0, 3.0]), np.zeros(3))


@pytest.mark.parametrize("m", [1, 2, 7, 30])
def test_grid_equals_exact_rationals(m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for curves in cases():
        expected = [exact_mean_roc(curves, Fraction(j, m)) for j in range(m + 1)]
        for block_rows in (1, 7, 96):
            monkeypatch.setattr(numpy_kernel, "BLOCK_ROWS", block_rows)
            got = mean_roc_on_grid(curves, m)
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-13)
        got = compiled_roc.mean_roc_on_grid(curves, m)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-13)


def adversarial(name: str, n: int) -> RocFamily:
    """Orders of the data on which pointers would have to travel far."""
    rng = np.random.default_rng(1)
    score = rng.permutation(n).astype(float)
    if name == "u-shaped":
        return family(-np.abs(score - n / 2), score)
    if name == "reversed":
        return family(-score, score)
    if name == "one tied y":
        return family(np.where(score < n / 2, score, n), rng.permutation(score))
    # heavy rows on both sides of many light ones, leaving in turns
    y, weight, k = score.copy(), np.ones(n, dtype=np.int64), n // 4
    score = np.arange(n, dtype=float)
    y[:k], y[-k:], y[k:-k] = n + 2 * np.arange(k), n + 1 + 2 * np.arange(k), np.arange(n - 2 * k)
    weight[:k] = weight[-k:] = n
    return family(y, score, weight)


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["u-shaped", "reversed", "one tied y", "swinging weights"])
def test_both_kernels_agree_on_adversarial_orders(name: str) -> None:
    curves = adversarial(name, 2000)
    expected = mean_roc_on_grid(curves, 50)
    np.testing.assert_allclose(compiled_roc.mean_roc_on_grid(curves, 50), expected, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_weights_near_the_largest_total_do_not_overflow(kernel: Any) -> None:
    rng = np.random.default_rng(2)
    y, score = rng.permutation(60), rng.integers(0, 20, 60)
    curves = family(y, score, np.full(60, 2**46))
    expected = KERNELS[kernel](family(y, score), 40)
    np.testing.assert_allclose(KERNELS[kernel](curves, 40), expected, rtol=0, atol=1e-14)


def test_vertices_and_grid_are_the_same_curve() -> None:
    for curves in cases():
        alpha, value = mean_roc_vertices(curves)
        assert (alpha[0], value[0], alpha[-1]) == (0.0, 0.0, 1.0)
        assert value[-1] == pytest.approx(1.0, abs=1e-14)
        for j, expected in enumerate(mean_roc_on_grid(curves, 16)):
            # of two points at the same α, the upper one
            place = np.searchsorted(alpha, j / 16, side="right") - 1
            got = value[place] if alpha[place] == j / 16 else np.interp(j / 16, alpha, value)
            assert got == pytest.approx(expected, abs=1e-13)


def test_even_parts_are_exact_where_the_product_would_overflow() -> None:
    whole, m = 2**53 - 1, 2**20
    integer, fraction = even_parts(np.array([whole]), m)
    for j in (0, 1, 12345, m - 1, m):
        exact = Fraction(whole * j, m)
        assert integer[0, j] == int(exact)
        assert fraction[0, j] == float(exact - int(exact))
