import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from crank.metrics import kendall

small = st.integers(0, 6)
rows = st.lists(st.tuples(small, small, st.integers(0, 4)), min_size=2, max_size=25)


def naive(y: np.ndarray, s: np.ndarray, w: np.ndarray) -> float:
    """The weighted sum over all ordered pairs, by the definition."""
    concordant = pairs = 0.0
    for i in range(len(y)):
        for k in range(len(y)):
            if y[i] < y[k]:
                pairs += w[i] * w[k]
                concordant += w[i] * w[k] * (1.0 if s[i] < s[k] else 0.5 if s[i] == s[k] else 0.0)
    return concordant / pairs


@given(rows)
def test_equals_the_naive_sum_with_ties_and_weights(data: list[tuple[int, int, int]]) -> None:
    y, s, w = map(np.array, zip(*data, strict=True))
    if len(set(y[w > 0])) < 2:
        return
    assert kendall(y, s, weights=w) == pytest.approx(naive(y, s, w), abs=1e-14)


def test_equals_scipy_when_nothing_ties() -> None:
    rng = np.random.default_rng(0)
    s = rng.normal(size=500)
    y = s + rng.normal(size=500)
    assert kendall(y, s) == pytest.approx((1 + stats.kendalltau(y, s).statistic) / 2, abs=1e-15)


def test_reversed_scores_0_perfect_1_constant_one_half() -> None:
    y = np.random.default_rng(1).normal(size=101)
    for w in (None, np.random.default_rng(2).random(101)):
        assert kendall(y, -y, weights=w) == 0.0
        assert kendall(y, y, weights=w) == 1.0
        assert kendall(y, np.zeros(101), weights=w) == 0.5


def test_random_scores_are_near_one_half() -> None:
    rng = np.random.default_rng(3)
    assert kendall(rng.normal(size=4000), rng.normal(size=4000)) == pytest.approx(0.5, abs=0.02)


def test_binary_y_gives_the_auc() -> None:
    rng = np.random.default_rng(4)
    y, s = rng.integers(0, 2, 80), rng.normal(size=80).round(1)
    u = stats.mannwhitneyu(s[y == 1], s[y == 0]).statistic
    assert kendall(y, s) == pytest.approx(u / ((y == 1).sum() * (y == 0).sum()), abs=1e-15)


@given(rows)
def test_increasing_transforms_change_no_bit_and_reversal_mirrors(
    data: list[tuple[int, int, int]],
) -> None:
    y, s, w = map(np.array, zip(*data, strict=True))
    if len(set(y[w > 0])) < 2:
        return
    value = kendall(y, s, weights=w)
    assert kendall(np.exp(y / 2.0), 3.0 * s**3 - 7.0, weights=w) == value
    assert kendall(y, -s, weights=w) == pytest.approx(1.0 - value, abs=1e-14)


@given(rows)
def test_a_weight_is_a_number_of_copies(data: list[tuple[int, int, int]]) -> None:
    y, s, w = map(np.array, zip(*data, strict=True))
    if len(set(y[w > 0])) < 2:
        return
    assert kendall(y, s, weights=w) == kendall(np.repeat(y, w), np.repeat(s, w))


def test_weights_count_by_their_proportions_alone() -> None:
    rng = np.random.default_rng(5)
    y, s, w = rng.normal(size=50), rng.normal(size=50), rng.integers(1, 5, 50)
    for factor in (0.1, 7.0, 2.0**-30, 1e30):
        got = kendall(y, s, weights=w * factor)
        assert got == pytest.approx(kendall(y, s, weights=w), abs=1e-14)
    assert kendall(y, s, weights=np.full(50, 0.1)) == kendall(y, s)
