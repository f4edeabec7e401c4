from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from crank.datasets import exponential_family, regression
from crank.errors import OptionError
from crank.metrics import auc_profile, compare, iauc
from crank.metrics.profile import Weighting

small = st.integers(0, 6)
rows = st.lists(st.tuples(small, small, st.integers(0, 4)), min_size=3, max_size=14)


def columns(data: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """y, s and weights with at least three distinct y's of positive weight, or None."""
    y, s, w = map(np.array, zip(*data, strict=True))
    return (y, s, w) if len(set(y[w > 0])) >= 3 else None


def credit(low: np.int64, high: np.int64) -> float:
    return 1.0 if low < high else 0.5 if low == high else 0.0


def naive_triples(y: np.ndarray, s: np.ndarray, w: np.ndarray) -> float:
    """All triples of rows with y < y' < y'', by the definition."""
    n, concordant, triples = len(y), 0.0, 0.0
    for i in range(n):
        for j in range(n):
            for k in range(n):
                if y[i] < y[j] < y[k]:
                    weight = w[i] * w[j] * w[k]
                    triples += weight
                    concordant += weight * credit(s[i], s[k])
    return concordant / triples


def naive_auc(y: np.ndarray, s: np.ndarray, w: np.ndarray, threshold: np.int64) -> float:
    pairs = [(i, k) for i in range(len(y)) for k in range(len(y)) if y[i] < threshold < y[k]]
    weight = np.array([w[i] * w[k] for i, k in pairs])
    return float(weight @ [credit(s[i], s[k]) for i, k in pairs] / weight.sum())


def naive_uniform(y: np.ndarray, s: np.ndarray, w: np.ndarray) -> float:
    """The mean AUC when the threshold is drawn from the rows, extremes left out."""
    kept = [j for j in range(len(y)) if w[j] and min(y[w > 0]) < y[j] < max(y[w > 0])]
    auc = [naive_auc(y, s, w, y[j]) for j in kept]
    return float(w[kept] @ auc / w[kept].sum())


@given(rows)
def test_both_iaucs_equal_the_naive_sums_with_ties_and_weights(
    data: list[tuple[int, int, int]],
) -> None:
    if (read := columns(data)) is not None:
        y, s, w = read
        assert iauc(y, s, weights=w) == pytest.approx(naive_triples(y, s, w), abs=1e-14)
        uniform = iauc(y, s, weighting="uniform", weights=w)
        assert uniform == pytest.approx(naive_uniform(y, s, w), abs=1e-14)


@given(rows)
def test_both_iaucs_are_means_of_the_profile(data: list[tuple[int, int, int]]) -> None:
    if (read := columns(data)) is not None:
        y, s, w = read
        profile = auc_profile(y, s, weights=w)
        inner = sorted(set(y[w > 0]))[1:-1]
        assert profile.threshold.tolist() == inner
        for t, auc in zip(profile.threshold, profile.auc, strict=True):
            assert auc == pytest.approx(naive_auc(y, s, w, t), abs=1e-14)
        assert profile.triple.sum() == pytest.approx(1.0, abs=1e-14)
        assert profile.uniform.sum() == pytest.approx(1.0, abs=1e-14)
        assert profile.triple @ profile.auc == pytest.approx(iauc(y, s, weights=w), abs=1e-14)
        uniform = iauc(y, s, weighting="uniform", weights=w)
        assert profile.uniform @ profile.auc == pytest.approx(uniform, abs=1e-14)


@pytest.mark.parametrize("n", [3, 4, 10, 500])
@pytest.mark.parametrize("digits", [0, 1, 9])
def test_triple_iauc_is_spearman_less_kendall(n: int, digits: int) -> None:
    """½ + ((n+1)ρ − 3τ_a) / (2(n−2)), y without ties, midranks for ties in s (theory §3)."""
    rng = np.random.default_rng(n)
    s = rng.normal(size=n)
    y = s + rng.normal(size=n)
    s = s.round(digits)
    ranks = [stats.rankdata(v) - (n + 1) / 2 for v in (y, s)]
    rho = 12 * ranks[0] @ ranks[1] / (n * (n**2 - 1))
    signs = [np.sign(np.subtract.outer(v, v)) for v in (y, s)]
    tau = (signs[0] * signs[1]).sum() / (n * (n - 1))
    assert iauc(y, s) == pytest.approx(0.5 + ((n + 1) * rho - 3 * tau) / (2 * (n - 2)), abs=1e-13)


@pytest.mark.parametrize("weighting", ["triple", "uniform"])
def test_reversed_scores_0_perfect_1_constant_one_half(weighting: Weighting) -> None:
    rng = np.random.default_rng(1)
    for y in (rng.normal(size=101), rng.integers(0, 5, 101)):
        for w in (None, rng.random(101), 1e-3 + 1e6 * rng.random(101) ** 9):
            options: dict[str, Any] = {"weighting": weighting, "weights": w}
            assert iauc(y, -y, **options) == 0.0
            assert iauc(y, y, **options) == 1.0
            assert iauc(y, np.zeros(101), **options) == pytest.approx(0.5, abs=1e-14)


@given(rows)
def test_increasing_transforms_change_no_bit_and_reversal_mirrors(
    data: list[tuple[int, int, int]],
) -> None:
    if (read := columns(data)) is not None:
        y, s, w = read
        for weighting in ("triple", "uniform"):
            value = iauc(y, s, weighting=weighting, weights=w)
            moved = iauc(np.exp(y / 2.0), s**3 - 9.0, weighting=weighting, weights=w)
            assert moved == value
            mirrored = iauc(y, -s, weighting=weighting, weights=w)
            assert mirrored == pytest.approx(1.0 - value, abs=1e-14)


@given(rows)
def test_a_weight_is_a_number_of_copies(data: list[tuple[int, int, int]]) -> None:
    if (read := columns(data)) is not None:
        y, s, w = read
        once, copied = auc_profile(y, s, weights=w), auc_profile(np.repeat(y, w), np.repeat(s, w))
        for name in ("threshold", "auc", "triple", "uniform", "quantile"):
            np.testing.assert_allclose(getattr(once, name), getattr(copied, name), atol=1e-14)


def test_profile_is_exact_where_heavy_rows_hide_light_ones() -> None:
    """Differences of sums of 2⁹⁰ must leave the pairs of weight 1 intact."""
    rng = np.random.default_rng(8)
    n = 40
    y, s = rng.permutation(n), rng.integers(0, 12, n)
    w = np.where(rng.random(n) < 0.3, rng.integers(2**38, 2**44, n), rng.integers(1, 4, n))
    profile = auc_profile(y, s, weights=w)
    heavy = [int(v) for v in w]
    for t, auc in zip(profile.threshold, profile.auc, strict=True):
        pairs = [(i, k) for i in range(n) for k in range(n) if y[i] < t < y[k]]
        won = sum(heavy[i] * heavy[k] * int(2 * credit(s[i], s[k])) for i, k in pairs)
        every = sum(2 * heavy[i] * heavy[k] for i, k in pairs)
        assert auc == pytest.approx(float(Fraction(won, every)), rel=1e-15)


def test_profile_as_a_frame() -> None:
    frame = auc_profile([1, 2, 2, 3, 4], [1, 2, 3, 2, 5]).to_frame()
    assert frame.columns.tolist() == ["threshold", "quantile", "auc", "triple", "uniform"]
    assert frame["threshold"].tolist() == [2, 3]
    assert frame["quantile"].tolist() == [0.4, 0.7]
    assert frame["uniform"].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert frame["triple"].tolist() == pytest.approx([4 / 7, 3 / 7])


def test_unknown_weighting_names_the_allowed_ones() -> None:
    with pytest.raises(
        OptionError, match=r"^weighting='uniforme' .*'triple', 'uniform'\. Did you mean"
    ):
        iauc([1, 2, 3], [1, 2, 3], weighting="uniforme")  # type: ignore[arg-type]


@pytest.mark.parametrize("draw", [regression, exponential_family])
@pytest.mark.parametrize("weighting", ["triple", "uniform"])
def test_no_score_beats_the_optimal_one_beyond_sampling_error(
    draw: Callable[..., Any], weighting: Weighting
) -> None:
    sample = draw(2000, random_state=3)
    rng = np.random.default_rng(0)
    others = [sample.X[name].to_numpy() for name in sample.X]
    others += [-other for other in others]
    others += [sample.optimal + scale * rng.normal(size=2000) for scale in (0.1, 1.0)]
    others += [np.abs(sample.optimal), sample.optimal.round(0)]
    for other in others:
        result = compare(sample.y, other, sample.optimal, weighting=weighting)
        assert result.difference <= 3.0 * result.se
