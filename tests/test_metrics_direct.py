"""Weights many decades apart: exact fractions are the oracle."""

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crank.errors import DataError
from crank.metrics import auc_profile, concordance, direct, iauc, influence, iroc_curve, kendall
from crank.metrics.sample import read_sample

rows = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 3), st.floats(-30, 0)), min_size=3, max_size=12
)


def credit(low: np.int64, high: np.int64) -> Fraction:
    return Fraction(1) if low < high else Fraction(1, 2) if low == high else Fraction(0)


def total(terms: Iterable[Fraction]) -> Fraction:
    return sum(terms, Fraction(0))


def exact_sums(
    y: np.ndarray, s: np.ndarray, w: np.ndarray
) -> tuple[Fraction, Fraction, list[tuple[Fraction, Fraction, Fraction]]]:
    """Concordant and all pairs, then concordant and all pairs around each inner value of y."""
    m, n = [Fraction(float(x)) for x in w], range(len(y))
    pairs = [(i, k) for i in n for k in n if y[i] < y[k]]
    part = total(m[i] * m[k] * credit(s[i], s[k]) for i, k in pairs)
    whole = total(m[i] * m[k] for i, k in pairs)
    profile = []
    for t in sorted(set(y))[1:-1]:
        around = [(i, k) for i, k in pairs if y[i] < t < y[k]]
        won = total(m[i] * m[k] * credit(s[i], s[k]) for i, k in around)
        everything = total(m[i] * m[k] for i, k in around)
        profile.append((won, everything, total(m[j] for j in n if y[j] == t)))
    return part, whole, profile


@settings(max_examples=50)
@given(rows)
@example([(0, 0, 0.0), (1, 0, -15.0), (2, 0, 0.0), (3, 1, -6.0)])
def test_figures_keep_their_digits(data: list[tuple[int, int, float]]) -> None:
    y, s, power = map(np.array, zip(*data, strict=True))
    w = 10.0**power
    if len(set(y)) < 3:
        return
    part, whole, profile = exact_sums(y, s, w)
    assert kendall(y, s, weights=w) == pytest.approx(float(part / whole), abs=1e-9)
    auc = auc_profile(y, s, weights=w).auc
    assert auc.tolist() == pytest.approx([float(a / b) for a, b, _ in profile], abs=1e-9)
    triple = sum(a * m for a, _, m in profile) / sum(b * m for _, b, m in profile)
    assert iauc(y, s, weights=w) == pytest.approx(float(triple), abs=1e-9)
    uniform = sum(a / b * m for a, b, m in profile) / sum(m for _, _, m in profile)
    found = iauc(y, s, weights=w, weighting="uniform")
    assert found == pytest.approx(float(uniform), abs=1e-9)


@settings(max_examples=25)
@given(rows)
def test_influences_are_derivatives_however_small_the_weight(
    data: list[tuple[int, int, float]],
) -> None:
    y, s, power = map(np.array, zip(*data, strict=True))
    w = 10.0**power
    if len(set(y)) < 3:
        return
    for metric in ("kendall", "iauc"):
        found = influence(y, s, metric=metric, weights=w)
        for i in range(len(y)):
            changed = w.copy()
            changed[i] *= 2.0  # the figure is a ratio of two linear functions of one weight
            ratios = []
            for weights in (w, changed):
                part, whole, profile = exact_sums(y, s, weights)
                if metric == "iauc":
                    part = total(a * m for a, _, m in profile)
                    whole = total(b * m for _, b, m in profile)
                ratios.append((part, whole))
            (a0, b0), (a1, b1) = ratios
            derivative = ((a1 - a0) - a0 / b0 * (b1 - b0)) / b0
            assert found[i] == pytest.approx(float(derivative), abs=1e-9)


@pytest.mark.parametrize("few", [1, 8, 1000])
@pytest.mark.parametrize("digits", [0, 1, 9])
def test_halving_and_pair_by_pair_agree_with_whole_weights(
    monkeypatch: pytest.MonkeyPatch, few: int, digits: int
) -> None:
    monkeypatch.setattr(direct, "FEW_ROWS", few)
    rng = np.random.default_rng(0)
    s = rng.normal(size=150)
    y, s = (s + rng.normal(size=150)).round(digits), s.round(digits)
    sample = read_sample(y, s, rng.integers(1, 9, 150), distinct=3, purpose="iauc")
    each = sample.mass / sample.mass.sum()
    found = direct.direct_sums(sample.y_rank, sample.score_rank, sample.weight, each, 2.0 * each)
    np.testing.assert_allclose(found.below, sample.won_below, rtol=1e-12)
    np.testing.assert_allclose(found.above, sample.won_above, rtol=1e-12)
    rank, w = sample.y_rank, sample.weight
    upto = np.cumsum(each)
    gap = (upto - each)[rank][None, :] - upto[rank][:, None]
    h = (s[:, None] < s) + 0.5 * (s[:, None] == s)
    h *= rank[:, None] < rank
    np.testing.assert_allclose(found.lower, (h * gap) @ w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.higher, 2.0 * (w @ (h * gap)), rtol=1e-9, atol=1e-12)
    for t in range(len(each)):
        naive = (w * (rank < t)) @ h @ (w * (rank > t))
        assert found.around[t] == pytest.approx(naive, rel=1e-12)


def test_a_row_that_outweighs_all_others_does_not_drown_them() -> None:
    assert kendall([1, 0, 2], [1, 0, 0], weights=[1, 1e-16, 3e-16]) == pytest.approx(0.25)
    rng = np.random.default_rng(1)
    y, s = rng.normal(size=400), rng.normal(size=400)
    w = np.full(400, 1e-30)
    w[y.argsort()[200]] = 1.0  # the rest is compared with one row
    found = concordance(y, s, metric="kendall", weights=w)
    heavy = w == 1.0
    alone = np.sign(y - y[heavy]) * np.sign(s - s[heavy])
    assert found.estimate == pytest.approx((1 + alone[~heavy].mean()) / 2, rel=1e-12)
    assert np.isfinite([found.se, found.ci_low, found.ci_high]).all()


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e290])
def test_the_scale_of_wide_weights_does_not_matter(scale: float) -> None:
    rng = np.random.default_rng(2)
    y, s, w = rng.normal(size=60), rng.normal(size=60), 10.0 ** rng.uniform(-8, 8, 60)
    for weighting in ("triple", "uniform"):
        expected = concordance(y, s, weights=w, weighting=weighting)
        found = concordance(y, s, weights=w * scale, weighting=weighting)
        for part in ("estimate", "se", "ci_low", "ci_high"):
            assert getattr(found, part) == pytest.approx(getattr(expected, part), rel=1e-9)


def test_the_widest_weights_have_finite_figures() -> None:
    y, s = np.arange(6.0), np.array([0.0, 2, 1, 3, 5, 4])
    w = [1e300, 1e-300, 1e280, 1e-5, 1e230, 1e-200]
    for weighting in ("triple", "uniform"):
        found = concordance(y, s, weights=w, weighting=weighting)
        assert np.isfinite([found.estimate, found.se, found.ci_low, found.ci_high]).all()
    curve = iroc_curve(y, s, weights=w)
    assert np.isfinite(curve.iroc).all()


@pytest.mark.parametrize("metric", ["kendall", "iauc"])
def test_weights_that_would_give_a_wrong_figure_are_refused(metric: str) -> None:
    y, s = np.arange(5.0), np.array([0.0, 2, 1, 4, 3])
    few = 1 if metric == "kendall" else 2
    w = np.array([1.0] * few + [1e-120, 1e-150, 1e-200, 1e-130])[:5]
    with pytest.raises(DataError, match=f"weights lie too far apart: all but {few} of the values"):
        concordance(y, s, metric=metric, weights=w)
    w[few] = 1e-80  # one more, and what lies below has no say
    concordance(y, s, metric=metric, weights=w)
