import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from crank.errors import DataError, OptionError
from crank.metrics import compare, concordance, iauc, influence, kendall
from crank.metrics.profile import Weighting

FIGURES = [("kendall", "triple"), ("iauc", "triple"), ("iauc", "uniform")]

Y = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4])
S = np.array([2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4, 5, 9, 0, 4, 5, 2, 3, 5, 3])
T = np.array([1, 2, 3, 2, 4, 6, 1, 5, 5, 3, 2, 7, 6, 6, 8, 4, 3, 2, 5, 5])
W = np.array([1, 2, 1, 3, 0.5, 1, 2, 1, 1, 0.25, 1, 2, 3, 1, 1, 1, 2, 1, 0.75, 1])

# R's mtcars: mpg, wt, hp
MILES = (
    "21 21 22.8 21.4 18.7 18.1 14.3 24.4 22.8 19.2 17.8 16.4 17.3 15.2 10.4 10.4 14.7 32.4 30.4 \
33.9 21.5 15.5 15.2 13.3 19.2 27.3 26 30.4 15.8 19.7 15 21.4"
)
WEIGHT = (
    "2.62 2.875 2.32 3.215 3.44 3.46 3.57 3.19 3.15 3.44 3.44 4.07 3.73 3.78 5.25 5.424 5.345 2.2 \
1.615 1.835 2.465 3.52 3.435 3.84 3.845 1.935 2.14 1.513 3.17 2.77 3.57 2.78"
)
HORSES = (
    "110 110 93 110 175 105 245 62 95 123 123 180 180 180 205 215 230 66 52 65 97 150 150 245 175 \
66 91 113 264 175 335 109"
)
MPG, WT, HP = (np.array(column.split(), dtype=float) for column in (MILES, WEIGHT, HORSES))


small = st.integers(0, 6)


# R 4.2.2, survival 3.5-3, y, s, t, w as Y, S, T, W above:
#   f <- concordance(y ~ s); cat(sprintf("%.15g", c(coef(f), sqrt(vcov(f)))))
#   f <- concordance(y ~ s, weights = w); …
@pytest.mark.parametrize(
    ("s", "weights", "estimate", "se"),
    [
        (S, None, 0.574712643678161, 0.097946151313179),
        (T, None, 0.85632183908046, 0.0331877565033589),
        (S, W, 0.584691561790798, 0.138800917437246),
        (T, W, 0.84402723334021, 0.0331513694109986),
    ],
)
def test_kendall_is_survivals_concordance(
    s: np.ndarray, weights: None, estimate: float, se: float
) -> None:
    result = concordance(Y, s, metric="kendall", weights=weights)
    assert result.estimate == pytest.approx(estimate, rel=1e-14)
    assert result.se == pytest.approx(se, rel=1e-14)
    assert kendall(Y, s, weights=weights) == result.estimate


def test_kendall_influence_is_survivals_dfbeta() -> None:
    """The first five of R's ``concordance(y ~ s, influence = 1)$dfbeta``."""
    expected = [
        0.00749768793764037,
        -0.0364645263575109,
        -0.00485533095521205,
        -0.0450852160126833,
        -0.00442594794556745,
    ]
    assert influence(Y, S, metric="kendall")[:5].tolist() == pytest.approx(expected, rel=1e-13)


def test_covariance_is_survivals_without_and_with_weights() -> None:
    """R: ``sum(concordance(y ~ s, influence=1)$dfbeta * concordance(y ~ t, influence=1)$dfbeta)``.

    The first number is also the covariance in ``vcov(concordance(lm(y ~ s, d), lm(y ~ t, d),
    newdata = d))``; the second adds ``weights = w`` to both.
    """
    for weights, expected in ((None, 0.000154824786230126), (W, 0.00099777740052707)):
        u, v = (influence(Y, s, metric="kendall", weights=weights) for s in (S, T))
        assert u @ v == pytest.approx(expected, rel=1e-12)


def test_compare_is_survivals_contrast_of_two_fits() -> None:
    """Repeat the contrast of two models of R's mtcars.

    cc <- concordance(lm(mpg ~ wt, mtcars), lm(mpg ~ hp, mtcars), newdata = mtcars)
    k <- c(1, -1); c(k %*% coef(cc), sqrt(k %*% vcov(cc) %*% k))
    """
    result = compare(MPG, -WT, -HP, metric="kendall")
    assert concordance(MPG, -WT, metric="kendall").estimate == pytest.approx(0.865030674846626)
    assert concordance(MPG, -HP, metric="kendall").estimate == pytest.approx(0.869120654396728)
    assert result.difference == pytest.approx(-0.00408997955010226, rel=1e-12)
    assert result.se == pytest.approx(0.0342198568361267, rel=1e-13)
    assert result.z == pytest.approx(-0.00408997955010226 / 0.0342198568361267, rel=1e-12)


@pytest.mark.parametrize("metric", ["kendall", "iauc"])
def test_influence_is_the_derivative_by_the_weight(metric: str) -> None:
    rng, figures = np.random.default_rng(0), {"kendall": kendall, "iauc": iauc}
    for digits in (0, 1, 9):
        s = rng.normal(size=40)
        y = (s + rng.normal(size=40)).round(digits)
        s = s.round(digits)
        for w in (np.ones(40), rng.random(40) + 0.1):
            u = influence(y, s, metric=metric, weights=w)
            assert u.sum() == pytest.approx(0.0, abs=1e-14)
            for i in range(0, 40, 7):
                up, down = w.copy(), w.copy()
                up[i], down[i] = w[i] * (1 + 1e-5), w[i] * (1 - 1e-5)
                change = figures[metric](y, s, weights=up) - figures[metric](y, s, weights=down)
                assert u[i] == pytest.approx(change / 2e-5, abs=1e-8)


def test_uniform_influence_is_what_leaving_a_row_out_takes_away() -> None:
    rng = np.random.default_rng(1)
    y, s = rng.normal(size=40), rng.normal(size=40).round(1)
    without = [iauc(np.delete(y, i), np.delete(s, i), weighting="uniform") for i in range(len(y))]
    expected = (1 - 1 / 38) * (iauc(y, s, weighting="uniform") - np.array(without))
    np.testing.assert_allclose(influence(y, s, weighting="uniform"), expected, rtol=0, atol=1e-14)


def naive_uniform_influence(y: np.ndarray, s: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Add up, threshold by threshold, what each row does as a lower or higher member."""
    credit = np.where(s[:, None] < s[None, :], 1.0, np.where(s[:, None] == s[None, :], 0.5, 0.0))
    estimate, u = iauc(y, s, weighting="uniform", weights=w), np.zeros(len(y))
    for t in np.unique(y)[1:-1]:
        low, high, at = w * (y < t), w * (y > t), w * (y == t)
        won_low, won_high = credit @ high / high.sum(), low @ credit / low.sum()
        auc = low @ won_low / low.sum()
        u += at * (auc - estimate)
        for side, won in ((low, won_low), (high, won_high)):
            k = side.sum() ** 2 / (side @ side)
            if (side > 0).sum() == 1:
                u += at.sum() * np.where(side > 0, auc - estimate, 0.0)
            else:
                u += at.sum() * side / side.sum() * (won - auc) * k / (k - 1)
    inner = (y > y.min()) & (y < y.max())
    return np.asarray(u / w[inner].sum())


@given(st.lists(st.tuples(small, small, st.integers(1, 4)), min_size=3, max_size=20))
def test_uniform_influence_equals_the_naive_sum(data: list[tuple[int, int, int]]) -> None:
    y, s, w = map(np.array, zip(*data, strict=True))
    if len(set(y)) >= 3:
        got = influence(y, s, weighting="uniform", weights=w)
        np.testing.assert_allclose(got, naive_uniform_influence(y, s, w), rtol=0, atol=1e-12)


def naive_triple_influence(y: np.ndarray, s: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Share of each row in the concordant triples and in all triples (theory §7)."""
    n = len(y)
    part, whole = np.zeros(n), np.zeros(n)
    for i in range(n):
        for j in range(n):
            for k in range(n):
                if y[i] < y[j] < y[k]:
                    weight = w[i] * w[j] * w[k]
                    credit = 1.0 if s[i] < s[k] else 0.5 if s[i] == s[k] else 0.0
                    for row in (i, j, k):
                        part[row] += weight * credit
                        whole[row] += weight
    estimate = part.sum() / whole.sum()
    return np.asarray((part - estimate * whole) / (whole.sum() / 3))


@given(st.lists(st.tuples(small, small, st.integers(1, 4)), min_size=3, max_size=12))
def test_triple_influence_equals_the_naive_sum(data: list[tuple[int, int, int]]) -> None:
    y, s, w = map(np.array, zip(*data, strict=True))
    if len(set(y)) >= 3:
        expected = naive_triple_influence(y, s, w)
        np.testing.assert_allclose(influence(y, s, weights=w), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("metric", "weighting"), FIGURES)
def test_interval_is_symmetric_on_the_logit_scale(metric: str, weighting: Weighting) -> None:
    result = concordance(Y, T, metric=metric, weighting=weighting, alpha=0.1)
    low, centre, high = (
        math.log(p / (1 - p)) for p in (result.ci_low, result.estimate, result.ci_high)
    )
    assert centre - low == pytest.approx(high - centre)
    squares = influence(Y, T, metric=metric, weighting=weighting) ** 2
    df = 2 * squares.sum() ** 2 / (len(Y) * squares.var(ddof=1))
    reach = stats.t.ppf(0.95, df) * result.se / (result.estimate * (1 - result.estimate))
    assert high - centre == pytest.approx(reach)
    assert 0.0 <= result.ci_low < result.estimate < result.ci_high <= 1.0
    assert result.n == 20
    assert result.metric == metric
    assert result.weighting == (None if metric == "kendall" else weighting)
    wider = concordance(Y, T, metric=metric, weighting=weighting, alpha=0.01)
    assert wider.ci_low < result.ci_low
    assert wider.ci_high > result.ci_high


@pytest.mark.parametrize(("metric", "weighting"), FIGURES)
@pytest.mark.parametrize("weights", [None, np.linspace(0.1, 0.7, 30)])
def test_perfect_and_reversed_rankings_have_honest_intervals(
    metric: str, weighting: Weighting, weights: None
) -> None:
    y = np.arange(30)
    options: dict[str, Any] = {"metric": metric, "weighting": weighting, "weights": weights}
    perfect, reverse = concordance(y, y, **options), concordance(y, -y, **options)
    assert (perfect.estimate, perfect.ci_high) == (1.0, 1.0)
    assert (reverse.estimate, reverse.ci_low) == (0.0, 0.0)
    assert perfect.se == pytest.approx(0.0, abs=1e-14)
    # 15 disjoint pairs or 10 triples that all agree: p^15 or p^10 is at least α/2
    sets = 15 if metric == "kendall" else 10
    if weights is None:
        assert perfect.ci_low == pytest.approx(0.025 ** (1 / sets))
    assert 0.5 < perfect.ci_low < 0.9
    assert reverse.ci_high == pytest.approx(1.0 - perfect.ci_low)


def test_only_rows_of_different_response_make_evidence() -> None:
    y = np.r_[np.zeros(98), 1.0, 2.0]
    assert concordance(y, y, metric="kendall").ci_low == pytest.approx(0.025 ** (1 / 2))
    assert concordance(y, y).ci_low == pytest.approx(0.025)  # one triple


def test_the_smallest_samples_have_an_answer() -> None:
    for metric, n in (("kendall", 2), ("iauc", 3)):
        result = concordance(range(n), range(n), metric=metric)
        assert (result.estimate, result.ci_low, result.ci_high) == (1.0, 0.025, 1.0)


def test_a_constant_score_is_one_half_but_the_sample_may_have_missed_its_other_values() -> None:
    result = concordance(Y, np.zeros(20))
    assert (result.estimate, result.se) == pytest.approx((0.5, 0.0), abs=1e-15)
    assert 0.4 < result.ci_low < 0.45
    assert result.ci_high == pytest.approx(1.0 - result.ci_low)


@pytest.mark.parametrize(("metric", "weighting"), FIGURES)
def test_ties_that_leave_no_variance_leave_an_interval(metric: str, weighting: Weighting) -> None:
    result = concordance(range(100), np.arange(100) // 10, metric=metric, weighting=weighting)
    assert result.se < 0.002
    assert result.ci_low < result.estimate - 0.002
    assert result.ci_high > result.estimate + 0.0005
    variance = result.estimate * (1 - result.estimate) / 4950  # of independent pairs
    reach = math.sqrt(variance) / (result.estimate * (1 - result.estimate))
    found = math.log(result.ci_high / (1 - result.ci_high))
    found -= math.log(result.estimate / (1 - result.estimate))
    assert found >= 1.98 * reach


@pytest.mark.parametrize(("metric", "weighting"), FIGURES)
def test_a_score_against_itself_differs_by_nothing(metric: str, weighting: Weighting) -> None:
    for w in (None, W):
        for other in (S, np.exp(S)):
            result = compare(Y, S, other, metric=metric, weighting=weighting, weights=w)
            assert (result.difference, result.se, result.z, result.pvalue) == (0, 0, 0, 1)
            assert (result.ci_low, result.ci_high) == (0, 0)


@pytest.mark.parametrize(("metric", "weighting"), FIGURES)
def test_a_good_score_against_a_random_one_is_significant(
    metric: str, weighting: Weighting
) -> None:
    rng = np.random.default_rng(6)
    y = rng.normal(size=300)
    good, random = y + rng.normal(size=300), rng.normal(size=300)
    result = compare(y, good, random, metric=metric, weighting=weighting)
    assert result.pvalue < 1e-6
    assert 0.0 < result.ci_low < result.difference < result.ci_high <= 1.0
    swapped = compare(y, random, good, metric=metric, weighting=weighting)
    assert swapped.difference == -result.difference
    assert swapped.pvalue == result.pvalue
    alone = [concordance(y, s, metric=metric, weighting=weighting) for s in (good, random)]
    assert result.difference == alone[0].estimate - alone[1].estimate
    u, v = (influence(y, s, metric=metric, weighting=weighting) for s in (good, random))
    variance = alone[0].se ** 2 + alone[1].se ** 2 - 2 * u @ v
    assert result.se == pytest.approx(math.sqrt(variance))
    squares = (u - v) ** 2
    df = 2 * squares.sum() ** 2 / (300 * squares.var(ddof=1))
    assert result.pvalue == pytest.approx(2 * stats.t.sf(abs(result.z), min(df, 299)), rel=1e-6)


@pytest.mark.parametrize(("metric", "weighting"), FIGURES)
def test_no_sample_is_certain_of_a_difference(metric: str, weighting: Weighting) -> None:
    options: dict[str, Any] = {"metric": metric, "weighting": weighting}
    y = np.arange(10)
    for other in (-y, np.zeros(10)):
        result = compare(y, y, other, **options)
        assert result.pvalue == 2.0**-9  # swapping the scores of ten rows has 2¹⁰ outcomes
        assert result.ci_low < result.difference - 0.05
        assert compare(y, other, y, **options).z == -result.z < 0
    assert compare(y, np.zeros(10), np.ones(10), **options).pvalue == 1.0


def test_two_rows_prove_nothing() -> None:
    result = compare([1, 2], [1, 2], [2, 1], metric="kendall")
    assert (result.difference, result.pvalue) == pytest.approx((1.0, 0.5))
    assert result.ci_low <= -0.9


def test_scores_that_differ_where_nothing_is_counted_have_an_interval() -> None:
    y = np.arange(10)
    result = compare(y, y, np.r_[1, 0, y[2:]])  # no threshold lies between the two lowest
    assert (result.difference, result.pvalue) == (0.0, 1.0)
    assert result.ci_low < 0.0 < result.ci_high


def test_the_smallest_pvalues_are_not_zero() -> None:
    rng = np.random.default_rng(2)
    y = np.arange(5000.0)
    good, bad = y + rng.normal(size=5000), rng.normal(size=5000) - y
    result = compare(y, good, bad, metric="kendall")
    assert 0.0 < result.pvalue <= 1e-300
    assert "p < 1e-300" in str(result)
    moderate = compare(y, y + 1e4 * rng.normal(size=5000), rng.normal(size=5000), metric="kendall")
    assert moderate.z > 8.3
    assert 0.0 < moderate.pvalue < 1e-15


def test_few_rows_that_make_up_the_variance_leave_few_degrees_of_freedom() -> None:
    y = np.arange(50.0)
    s = y.copy()
    s[25] = -1.0  # one outlier is all the evidence of error
    noisy = y + 20 * np.random.default_rng(3).normal(size=50)
    for score, least, most in ((s, 3.0, 5.0), (noisy, 2.0, 2.2)):
        found = concordance(y, score)
        low, centre = (math.log(p / (1 - p)) for p in (found.ci_low, found.estimate))
        reach = (centre - low) * found.estimate * (1 - found.estimate) / found.se
        assert least < reach < most


GROUPS = np.arange(20) % 7


# R 4.2.2, survival 3.5-3, y, s, t, w as Y, S, T, W above, g <- rep(1:7, length.out = 20):
#   f <- concordance(y ~ s, cluster = g, weights = w); cat(sprintf("%.15g", sqrt(vcov(f))))
@pytest.mark.parametrize(
    ("s", "weights", "se"),
    [
        (S, None, 0.106974938054579),
        (S, W, 0.150717046231449),
        (T, None, 0.0338057796941912),
        (T, W, 0.0328235081857476),
    ],
)
def test_clustered_errors_are_survivals(s: np.ndarray, weights: None, se: float) -> None:
    result = concordance(Y, s, metric="kendall", weights=weights, groups=GROUPS)
    assert result.se == pytest.approx(se, rel=1e-13)
    assert result.estimate == kendall(Y, s, weights=weights)
    assert result.n_groups == 7
    assert "n 20 in 7 groups" in str(result)


def test_clustered_comparison_is_survivals_contrast_of_two_fits() -> None:
    """Repeat the contrast of two models of R's mtcars, clustered by carb.

    cc <- concordance(lm(mpg ~ wt, mtcars), lm(mpg ~ hp, mtcars), newdata = mtcars,
                      cluster = mtcars$carb)
    k <- c(1, -1); c(k %*% coef(cc), sqrt(k %*% vcov(cc) %*% k))
    """
    carb = np.array(list("44112142244333444121122421224682"))
    result = compare(MPG, -WT, -HP, metric="kendall", groups=carb)
    assert result.difference == pytest.approx(-0.00408997955010226, rel=1e-12)
    assert result.se == pytest.approx(0.0234695547048982, rel=1e-12)
    assert result.n_groups == 6


@pytest.mark.parametrize(("metric", "weighting"), FIGURES)
def test_groups_of_one_row_change_nothing_and_copies_of_a_row_count_once(
    metric: str, weighting: Weighting
) -> None:
    options: dict[str, Any] = {"metric": metric, "weighting": weighting}
    alone = concordance(Y, S, groups=[f"row {i}" for i in range(20)], **options)
    assert dataclasses.replace(alone, n_groups=None) == concordance(Y, S, **options)
    if weighting == "triple":
        y, s, rows = (np.tile(part, 3) for part in (Y, S, np.arange(20)))
        copied = concordance(y, s, groups=rows, **options)
        assert copied.se == pytest.approx(concordance(Y, S, **options).se, rel=1e-12)
        assert compare(y, s, np.tile(T, 3), groups=rows, **options).se == pytest.approx(
            compare(Y, S, T, **options).se, rel=1e-12
        )


def test_few_groups_have_wide_intervals() -> None:
    many = concordance(Y, S, metric="kendall", groups=GROUPS)
    few = concordance(Y, S, metric="kendall", groups=np.arange(20) % 2)
    logit = [math.log(p / (1 - p)) for p in (few.ci_low, few.ci_high)]
    reach = 2 * stats.t.ppf(0.975, 1) * few.se / (few.estimate * (1 - few.estimate))
    assert logit[1] - logit[0] >= 0.99 * reach
    assert few.ci_high - few.ci_low > many.ci_high - many.ci_low


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2], "one label for each row. Got shape \\(2,\\) for 20 rows"),
        ([None] + ["a"] * 10 + ["b"] * 9, "groups must not be missing. Got 1 missing of 20"),
        (np.where(np.arange(20) == 3, np.nan, 1.0), "the first at position 3"),
        (np.zeros(20), "one label in all 20 rows"),
    ],
)
def test_bad_groups_say_what_is_wrong(groups: list[int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        concordance(Y, S, groups=groups)
    with pytest.raises(DataError, match=message):
        compare(Y, S, T, groups=groups)


@pytest.mark.parametrize(("metric", "weighting"), FIGURES)
def test_results_do_not_depend_on_the_scale_of_weights_nor_on_transforms(
    metric: str, weighting: Weighting
) -> None:
    options: dict[str, Any] = {"metric": metric, "weighting": weighting}
    result = concordance(Y, S, weights=W, **options)
    assert concordance(np.exp(Y), S**3, weights=W, **options) == result
    scaled = concordance(Y, S, weights=W / 3, **options)
    for name in ("estimate", "se", "ci_low", "ci_high"):
        assert getattr(scaled, name) == pytest.approx(getattr(result, name), rel=1e-12)


def test_doubling_every_row_halves_the_variance() -> None:
    once = concordance(Y, S, metric="kendall")
    twice = concordance(np.tile(Y, 2), np.tile(S, 2), metric="kendall")
    assert twice.estimate == pytest.approx(once.estimate)
    assert twice.se == pytest.approx(once.se / math.sqrt(2))


def test_results_are_frozen_and_print_in_one_line() -> None:
    result = concordance(Y, T, weighting="uniform", alpha=0.1)
    assert str(result).startswith("IAUC (uniform) 0.")
    assert "90% CI [" in str(result)
    assert "n 20" in str(result)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.se = 0.0  # type: ignore[misc]
    assert "difference" in str(compare(Y, S, T, metric="kendall"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "tau"}, r"metric='tau' is not allowed. Allowed: 'kendall', 'iauc'"),
        ({"metric": "kendal"}, "Did you mean 'kendall'"),
        ({"weighting": "plain"}, "weighting='plain' is not allowed"),
        ({"alpha": 0.0}, r"^alpha=0\.0 is not allowed\. Allowed: a number between 0 and 1"),
        ({"alpha": 95}, "one minus the confidence level"),
        ({"alpha": "0.05"}, "alpha='0.05' is not allowed"),
        ({"alpha": math.nan}, "alpha=nan is not allowed"),
    ],
)
def test_bad_options_say_what_is_allowed(options: dict[str, Any], message: str) -> None:
    for call in (lambda: concordance(Y, S, **options), lambda: compare(Y, S, T, **options)):
        with pytest.raises(OptionError, match=message):
            call()
