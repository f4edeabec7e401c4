"""Soft ranks: the sum over all pairs, at any spread of the scores."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crank.kernels import soft_ranks as module
from crank.kernels.soft_ranks import soft_ranks

Floats = np.ndarray[Any, np.dtype[np.float64]]
THOUSANDTH = 1e-3


def naive(score: Floats, weight: Floats) -> tuple[Floats, Floats]:
    difference = np.clip(score[:, None] - score, -700.0, 700.0)
    above = 1.0 / (1.0 + np.exp(-difference))
    return above @ weight, (above * (1.0 - above)) @ weight


def shaped(shape: str, n: int) -> Floats:
    rng = np.random.default_rng(n)
    return {
        "normal": rng.normal(size=n),
        "uniform": rng.random(n),
        "cauchy": rng.standard_cauchy(n),
        "two values": np.where(np.arange(n) % 2, 1.3, 0.0),
        "one value": np.full(n, 0.7),
        "steps": np.arange(n) // 7 * 1.0,
    }[shape]


@pytest.mark.parametrize("spread", [1e-9, 1e-2, 1.0, 30.0, 3e3, 1e6, 1e12])
@pytest.mark.parametrize(
    "shape", ["normal", "uniform", "cauchy", "two values", "one value", "steps"]
)
def test_ranks_are_exact_to_a_thousandth_at_any_spread(shape: str, spread: float) -> None:
    for n in (1, 2, 40, 700):
        score, weight = shaped(shape, n) * spread, np.random.default_rng(1).uniform(0.5, 1.5, n)
        wanted, slopes = naive(score, weight)
        found, found_slopes = soft_ranks(score, weight)
        assert np.abs(found - wanted).max() < THOUSANDTH
        assert np.abs(found_slopes - slopes).max() < 2 * THOUSANDTH


@pytest.mark.compiled
@pytest.mark.parametrize("n", [30_000, 300_000])
def test_ranks_are_as_exact_on_many_rows(n: int) -> None:
    values = np.array([-0.31, 0.0, 1.1, 2.05, 9.7])
    at = np.arange(n) % len(values)
    counts = np.bincount(at).astype(float)
    wanted = 1.0 / (1.0 + np.exp(values - values[:, None])) @ counts
    found, _ = soft_ranks(values[at], np.ones(n))
    assert np.abs(found - wanted[at]).max() < THOUSANDTH


def test_compiled_passes_give_the_sums_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    score = np.random.default_rng(0).normal(size=module.COMPILED_FROM) * 3.0
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(score))
    compiled = soft_ranks(score, weight)
    monkeypatch.setattr(module, "COMPILED_FROM", len(score) + 1)
    for one, other in zip(compiled, soft_ranks(score, weight), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-9)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60))
def test_all_ranks_sum_to_half_the_pairs(scores: list[float]) -> None:
    found, _ = soft_ranks(np.array(scores), np.ones(len(scores)))
    assert found.sum() == pytest.approx(len(scores) ** 2 / 2.0, abs=THOUSANDTH * len(scores))
