"""The best allowed subset of levels against all subsets there are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crank.kernels import subsets
from crank.kernels.cuts import Objective
from crank.kernels.subsets import best_allowed


def brute_force(
    score: np.ndarray, count: np.ndarray, weight: np.ndarray, min_leaf: int, objective: Objective
) -> float:
    best = 0.0
    total, mass = score.sum(), weight.sum()
    for number in range(2 ** len(score)):
        side = (number >> np.arange(len(score)) & 1).astype(bool)
        high = score[side].sum()
        if min(count[side].sum(), count[~side].sum()) < min_leaf or 2 * high <= total:
            continue
        w = weight[side].sum()
        gain = 2 * high - total if objective == "sum" else high**2 * mass / (w * (mass - w))
        best = max(best, gain)
    return best


def levels_of(
    seed: int, k: int, objective: Objective, weighted: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    rng = np.random.default_rng(seed)
    count = rng.integers(1, 9, k)
    rows = np.repeat(np.arange(k), count)
    w = rng.uniform(0.2, 3.0, len(rows)) if weighted else np.ones(len(rows))
    score = rng.normal(size=len(rows)) + (rng.normal() if objective == "sum" else 0.0)
    if objective == "variance":
        score -= (w * score).sum() / w.sum()
    sums, weight = np.bincount(rows, w * score), np.bincount(rows, w)
    return sums, count, weight, int(rng.integers(1, max(len(rows) // 2, 1) + 1))


@settings(max_examples=150)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 9),
    st.sampled_from(["sum", "variance"]),
    st.booleans(),
)
def test_the_subset_is_the_best_of_all_that_are_allowed(
    seed: int, k: int, objective: Objective, weighted: bool
) -> None:
    score, count, weight, min_leaf = levels_of(seed, k, objective, weighted)
    best = brute_force(score, count, weight, min_leaf, objective)
    gain, chosen = best_allowed(score, count, weight, min_leaf, objective)
    assert gain == pytest.approx(best, rel=1e-9, abs=1e-9)
    if gain > 0.0:
        assert min_leaf <= count[chosen].sum() <= count.sum() - min_leaf


def test_sums_are_exact_for_any_number_of_levels() -> None:
    # against a table of the best sum for every number of rows
    rng = np.random.default_rng(1)
    for k in (20, 60):
        count = rng.integers(1, 30, k)
        score = rng.integers(-40, 30, k).astype(float)
        n = int(count.sum())
        table = np.full(n + 1, -np.inf)
        table[0] = 0.0
        for a, c in zip(score, count, strict=True):
            table[c:] = np.maximum(table[c:], table[:-c] + a)
        for min_leaf in (1, 7, n // 3, n // 2):
            best = table[min_leaf : n - min_leaf + 1].max()
            gain, chosen = best_allowed(score, count, count.astype(float), min_leaf, "sum")
            assert gain == max(2 * best - score.sum(), 0.0)
            assert gain == max(2 * score[chosen].sum() - score.sum(), 0.0)


def test_the_variance_of_many_levels_is_nearly_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subsets, "FEW_LEVELS", 0)
    short = []
    for seed in range(200):
        score, count, weight, min_leaf = levels_of(seed, 9, "variance", bool(seed % 2))
        best = brute_force(score, count, weight, min_leaf, "variance")
        gain, _ = best_allowed(score, count, weight, min_leaf, "variance")
        assert gain <= best + 1e-9
        short.append(1.0 - gain / best if best else 0.0)
    assert np.mean(np.array(short) > 1e-9) < 0.03
    assert max(short) < 0.1


def test_nothing_is_chosen_where_nothing_is_allowed() -> None:
    gain, chosen = best_allowed(np.array([3.0, -3.0]), np.array([9, 1]), np.ones(2), 2, "sum")
    assert gain == 0.0
    assert not chosen.any()
