import dataclasses
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from math import comb
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from crank import datasets
from crank.datasets import (
    exponential_family,
    no_optimal_rule,
    paper_sample,
    paper_toy,
    regression,
)
from crank.datasets.sample import Sample
from crank.errors import DataError, OptionError
from tests.narrowing import present

DRAWS = [paper_toy, regression, exponential_family, no_optimal_rule]


def naive_kendall(y: np.ndarray, s: np.ndarray) -> float:
    """Pairs of one order, ties in s one half, over pairs with distinct y."""
    sign_y = np.sign(np.subtract.outer(y, y))
    sign_s = np.sign(np.subtract.outer(s, s))
    return float(0.5 + (sign_y * sign_s).sum() / (2 * np.abs(sign_y).sum()))


def naive_iauc(y: np.ndarray, s: np.ndarray) -> float:
    """The pair form of the triple IAUC (theory §3); y without ties."""
    y, s = np.asarray(y), np.asarray(s)
    n, rank = len(y), np.argsort(np.argsort(y))
    between = np.abs(np.subtract.outer(rank, rank)) - 1
    agree = np.sign(np.subtract.outer(y, y)) * np.sign(np.subtract.outer(s, s))
    return float(0.5 + np.triu(between * agree, 1).sum() / (2 * comb(n, 3)))


def auc(positive: np.ndarray, negative: np.ndarray) -> float:
    return float(stats.mannwhitneyu(positive, negative).statistic / (len(positive) * len(negative)))


@pytest.mark.parametrize("draw", DRAWS)
def test_same_seed_gives_the_same_data_and_another_seed_other_data(
    draw: Callable[..., Any],
) -> None:
    first, again, other = (draw(50, random_state=seed) for seed in (3, 3, 4))
    pd.testing.assert_frame_equal(first.frame, again.frame, check_exact=True)
    assert not first.frame.equals(other.frame)
    np.testing.assert_equal(first.optimal, again.optimal)


@pytest.mark.parametrize("draw", DRAWS)
def test_a_generator_counts_as_its_seed_and_moves_on(draw: Callable[..., Any]) -> None:
    rng = np.random.default_rng(3)
    first, second = draw(20, random_state=rng), draw(20, random_state=rng)
    pd.testing.assert_frame_equal(first.frame, draw(20, random_state=3).frame, check_exact=True)
    assert not first.frame.equals(second.frame)
    assert not draw(20).frame.equals(draw(20).frame)
    np.testing.assert_equal(draw(20, random_state=np.int64(3)).frame.to_numpy(), first.frame)


@pytest.mark.parametrize(
    ("sample", "columns"),
    [
        (paper_toy(7, random_state=0), ["x"]),
        (regression(7, p=5, random_state=0), ["x1", "x2", "x3", "x4", "x5"]),
        (exponential_family(7, p=3, random_state=0), ["x1", "x2", "x3"]),
        (no_optimal_rule(7, random_state=0), ["x"]),
        (paper_toy(1, random_state=0), ["x"]),
    ],
)
def test_shapes_and_names(sample: Sample, columns: list[str]) -> None:
    n = len(sample.frame)
    assert sample.frame.columns.tolist() == [*columns, "y"]
    assert sample.X.columns.tolist() == columns
    assert sample.y.name == "y"
    assert set(sample.frame.dtypes) == {np.dtype(np.float64)}
    assert np.isfinite(sample.frame).all(axis=None)
    assert sample.optimal is None or sample.optimal.shape == (n,)
    assert sample.name in repr(sample)
    assert sample.description


def test_a_sample_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        paper_toy(5).name = "mine"  # type: ignore[misc]


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize(
    ("option", "value"),
    [
        *[("n", value) for value in (0, -1, 2.5, 10.0, "10", None, True)],
        *[("random_state", value) for value in (-1, 1.5, "seed", True, np.random.RandomState(1))],
    ],
)
def test_bad_size_or_seed_is_refused(
    draw: Callable[..., Any], option: str, value: int | np.random.RandomState
) -> None:
    with pytest.raises(OptionError, match=rf"^{option}=.* is not allowed\. Allowed: "):
        draw(**{"n": 10, option: value})


@pytest.mark.parametrize(
    ("draw", "option", "value"),
    [
        *[(regression, "p", value) for value in (4, 0, 5.0)],
        *[(regression, "noise", value) for value in (-0.1, np.inf, np.nan, "1", None, True)],
        *[(regression, "distribution", value) for value in ("norml", None)],
        *[(exponential_family, "p", value) for value in (1, "3")],
        *[(exponential_family, "strength", value) for value in (0, -1.0, np.inf, np.nan, "2")],
    ],
)
def test_bad_model_option_is_refused(
    draw: Callable[..., Any], option: str, value: int | str
) -> None:
    with pytest.raises(OptionError, match=rf"^{option}=.* is not allowed\. Allowed: "):
        draw(10, **{option: value})


def test_a_misspelt_distribution_meets_a_suggestion() -> None:
    with pytest.raises(OptionError, match="Did you mean 'normal'"):
        regression(10, distribution="norml")  # type: ignore[arg-type]


def test_published_sample_is_the_recipe_of_theory_8_draw_by_draw() -> None:
    legacy = np.random.RandomState(4529)

    def one_point() -> float:
        u, v = legacy.random_sample(), legacy.random_sample()
        if u < 0.8:
            return 0.415 + 0.095 * v
        return 0.415 * v if u < 0.9 else 0.51 + 0.49 * v

    train = [one_point() for _ in range(100)]
    for _ in range(2000):
        legacy.random_sample()
    test = [one_point() for _ in range(2000)]
    published = paper_sample()
    assert published[0].X["x"].tolist() == train
    assert published[1].X["x"].tolist() == test


def test_first_values_of_the_published_sample() -> None:
    train, test = paper_sample()
    np.testing.assert_allclose(
        train.X["x"][:4], [0.46278394, 0.45140604, 0.41875041, 0.45471145], atol=5e-9
    )
    np.testing.assert_allclose(
        test.X["x"][:4], [0.45894732, 0.45560359, 0.05740982, 0.00755184], atol=5e-9
    )
    assert train.y.nunique() == 100
    assert test.y.nunique() == 2000


def test_cart_has_its_published_figures_on_the_published_sample() -> None:
    """Published, cut to two digits: MSE 7.4e-4, IAUC 0.61, Kendall 0.58."""
    from sklearn.tree import DecisionTreeRegressor

    train, test = paper_sample()
    cart = DecisionTreeRegressor(max_depth=3, random_state=0).fit(train.X, train.y)
    s, y = cart.predict(test.X), test.y.to_numpy()
    assert np.mean((s - y) ** 2) == pytest.approx(7.4e-4, abs=5e-6)
    assert naive_iauc(y, s) == pytest.approx(0.618, abs=5e-4)
    assert naive_kendall(y, s) == pytest.approx(0.581, abs=5e-4)


def test_the_toy_has_the_papers_polynomial_and_mixture() -> None:
    sample = paper_toy(20_000, random_state=1)
    x = sample.X["x"].to_numpy()
    # P expanded in z: z⁵ + 4.5 z⁴ + 6.5 z³ + 3 z²
    p = np.polynomial.Polynomial([0.0, 0.0, 3.0, 6.5, 4.5, 1.0])
    low, high = p(-12.5), p(12.5)
    np.testing.assert_allclose(sample.y, (p(25 * (x - 0.5)) - low) / (high - low), atol=1e-12)
    assert sample.y.between(0.0, 1.0).all()
    np.testing.assert_array_equal(sample.optimal, sample.y)
    shares = np.histogram(x, [0.0, 0.415, 0.51, 1.0])[0] / len(x)
    np.testing.assert_allclose(shares, [0.1, 0.8, 0.1], atol=0.01)
    middle = x[(x > 0.415) & (x < 0.51)]
    assert stats.kstest(middle, stats.uniform(0.415, 0.095).cdf).pvalue > 0.001
    wave = sample.y[(x > 0.415) & (x < 0.51)]
    assert wave.max() - wave.min() < 2e-6


@pytest.mark.parametrize(
    ("distribution", "cdf"), [("normal", stats.norm.cdf), ("student", stats.t(3).cdf)]
)
def test_regression_noise_has_its_distribution_and_ignores_x(
    distribution: Literal["normal", "student"], cdf: Callable[..., Any]
) -> None:
    sample = regression(5000, p=6, noise=2.0, distribution=distribution, random_state=1)
    error = (sample.y - present(sample.optimal)) / 2.0
    assert stats.kstest(error, cdf).pvalue > 0.001
    for other in [sample.optimal, *sample.X.to_numpy().T]:
        assert stats.kendalltau(error, other).pvalue > 0.001
        assert stats.kendalltau(error.abs(), other).pvalue > 0.001


def test_heavy_tails_keep_the_optimal_rule_without_a_monotone_likelihood_ratio() -> None:
    """P(Y > y | x) grows with m(x) for Student's errors; f(y′|x) / f(y|x) does not."""
    m = np.linspace(-10.0, 10.0, 201)
    for y in (-2.0, 0.0, 2.0):
        assert (np.diff(stats.t(3).sf(y - m)) > 0).all()
    ratio = stats.t(3).logpdf(1.0 - m) - stats.t(3).logpdf(0.0 - m)
    assert np.diff(ratio).min() < 0 < np.diff(ratio).max()
    normal = stats.norm.logpdf(1.0 - m) - stats.norm.logpdf(0.0 - m)
    assert (np.diff(normal) > 0).all()


def friedman(x: np.ndarray) -> np.ndarray:
    return np.asarray(
        10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + x[:, 3:5] @ [10, 5]
    )


def test_regression_mean_is_the_function_that_scikit_learn_calls_friedman1() -> None:
    from sklearn.datasets import make_friedman1

    x, y = make_friedman1(n_samples=100, n_features=7, noise=0.0, random_state=2)
    np.testing.assert_allclose(friedman(x), y)
    sample = regression(20_000, p=7, random_state=2)
    np.testing.assert_allclose(present(sample.optimal), friedman(sample.X.to_numpy()))
    assert np.std(present(sample.optimal)) == pytest.approx(5.0, abs=0.2)


def log_density(x: np.ndarray, y: float, strength: float) -> np.ndarray:
    """Of the distribution that exponential_family promises for x given y."""
    kappa = strength * y
    odd = stats.norm.logpdf(x[:, 0::2], loc=kappa)
    even = stats.norm.logpdf(x[:, 1::2], scale=1 / np.sqrt(1 + kappa))
    return np.asarray(odd.sum(axis=1) + even.sum(axis=1))


def test_exponential_family_draws_from_the_distribution_it_promises() -> None:
    sample = exponential_family(5000, p=4, strength=3.0, random_state=1)
    x, y = sample.X.to_numpy(), sample.y.to_numpy()
    assert stats.kstest(y, "uniform").pvalue > 0.001
    white = np.column_stack([x[:, 0::2] - 3 * y[:, None], x[:, 1::2] * np.sqrt(1 + 3 * y[:, None])])
    for column in white.T:
        assert stats.kstest(column, "norm").pvalue > 0.001
        assert stats.kendalltau(column, y).pvalue > 0.001
        assert stats.kendalltau(np.abs(column), y).pvalue > 0.001
    assert np.abs(np.corrcoef(white.T) - np.eye(4)).max() < 0.05


@pytest.mark.parametrize("p", [2, 3, 4])
def test_exponential_family_is_one_with_a_monotone_likelihood_ratio(p: int) -> None:
    """log f(x|y) − log f(x) is κ(y)·T(x) − ψ(y): linear in T, with slope κ(y)."""
    strength = 3.0
    axis = np.linspace(-3.0, 3.0, 7)
    x = np.stack(np.meshgrid(*[axis] * p), axis=-1).reshape(-1, p)
    t = x[:, 0::2].sum(axis=1) - (x[:, 1::2] ** 2).sum(axis=1) / 2
    thresholds = np.linspace(0.0, 1.0, 6)
    base = log_density(x, 0.0, strength)
    odd, even = (p + 1) // 2, p // 2
    for y in thresholds:
        kappa = strength * y
        psi = odd * kappa**2 / 2 - even * np.log1p(kappa) / 2
        np.testing.assert_allclose(log_density(x, y, strength) - base, kappa * t - psi, atol=1e-10)
    in_order = np.argsort(t)
    for lower, upper in pairwise(thresholds):
        ratio = log_density(x, upper, strength) - log_density(x, lower, strength)
        assert (np.diff(ratio[in_order]) > -1e-10).all()
        assert np.corrcoef(ratio, t)[0, 1] == pytest.approx(1.0)


def test_exponential_family_optimal_score_is_t() -> None:
    sample = exponential_family(50, p=5, random_state=1)
    x = sample.X.to_numpy()
    t = x[:, 0] + x[:, 2] + x[:, 4] - (x[:, 1] ** 2 + x[:, 3] ** 2) / 2
    np.testing.assert_allclose(present(sample.optimal), t, rtol=1e-12, atol=1e-12)


def test_counter_example_has_no_monotone_likelihood_ratio_in_any_score() -> None:
    """Two pairs of thresholds order the same points in exactly opposite ways."""
    x = np.linspace(-2.0, 3.0, 101)

    def ratio(lower: float, upper: float) -> np.ndarray:
        def logpdf(y: float) -> np.ndarray:
            return np.asarray(stats.norm.logpdf(x, abs(2 * y - 1), abs(2 * y - 1)))

        return np.asarray(logpdf(upper) - logpdf(lower))

    high, low = ratio(0.6, 0.9), ratio(0.1, 0.4)
    assert np.ptp(high) > 1
    np.testing.assert_allclose(high, -low, atol=1e-8)
    # nor is one ratio monotone in x itself
    assert np.diff(high).min() < 0 < np.diff(high).max()


def test_counter_example_reverses_the_order_of_the_posteriors() -> None:
    """P(Y > y | x) ranks two points one way at y = 0.8 and the other way at y = 0.2."""
    y = (np.arange(20_000) + 0.5) / 20_000

    def exceeds(threshold: float, x: float) -> float:
        density = stats.norm.pdf(x, np.abs(2 * y - 1), np.abs(2 * y - 1))
        return float(density[y > threshold].sum() / density.sum())

    assert exceeds(0.8, 1.0) > exceeds(0.8, 0.1) + 0.05
    assert exceeds(0.2, 1.0) < exceeds(0.2, 0.1) - 0.05
    assert exceeds(0.5, 1.0) == pytest.approx(0.5)


def test_counter_example_draws_its_distribution_and_defeats_every_score() -> None:
    sample = no_optimal_rule(4000, random_state=1)
    x, y = sample.X["x"].to_numpy(), sample.y.to_numpy()
    spread = np.abs(2 * y - 1)
    assert stats.kstest(y, "uniform").pvalue > 0.001
    assert stats.kstest((x - spread) / spread, "norm").pvalue > 0.001
    for score in (x, np.abs(x), np.cos(4 * x), x**2 - x):
        # under the null of no association the standard error of d_τ is about 1/(3√n)
        assert abs(naive_kendall(y, score) - 0.5) < 4 / (3 * np.sqrt(len(y)))
    assert auc(x[y > 0.8], x[y < 0.8]) > 0.6
    assert auc(x[y > 0.2], x[y < 0.2]) < 0.4


def alternatives(
    sample: Sample, train: Sample, rng: np.random.Generator
) -> Iterator[tuple[str, np.ndarray]]:
    """Scores that a user might try: each feature, least squares, a forest, the optimum blurred."""
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.linear_model import LinearRegression

    for name, column in sample.X.items():
        yield str(name), column.to_numpy()
    yield "least squares", LinearRegression().fit(train.X, train.y).predict(sample.X)
    forest = RandomForestRegressor(20, random_state=0).fit(train.X, train.y)
    yield "forest", forest.predict(sample.X)
    best = present(sample.optimal)
    blur = rng.standard_normal(len(sample.y)) * np.std(best)
    yield "blurred", best + 0.3 * blur
    yield "rounded", np.round(best)
    yield "random", rng.random(len(sample.y))


@pytest.mark.parametrize(
    "draw",
    [
        lambda n, seed: regression(n, p=6, noise=3.0, random_state=seed),
        lambda n, seed: regression(n, p=6, noise=3.0, distribution="student", random_state=seed),
        lambda n, seed: exponential_family(n, p=4, random_state=seed),
    ],
    ids=["regression", "regression with heavy tails", "exponential family"],
)
def test_no_score_beats_the_optimal_one(draw: Callable[..., Any]) -> None:
    train, rng = draw(400, 99), np.random.default_rng(0)
    lead: dict[str, list[list[float]]] = {}
    for seed in range(8):
        sample = draw(300, seed)
        y = sample.y.to_numpy()
        best = [naive_iauc(y, present(sample.optimal)), naive_kendall(y, present(sample.optimal))]
        for name, score in alternatives(sample, train, rng):
            found = [naive_iauc(y, score), naive_kendall(y, score)]
            lead.setdefault(name, []).append(np.subtract(found, best).tolist())
    for name, rows in lead.items():
        excess = np.array(rows)
        error = excess.std(axis=0, ddof=1) / np.sqrt(len(excess))
        assert (excess.mean(axis=0) <= 3 * error).all(), name
    assert np.mean(lead["random"]) < -0.1


def test_optimal_figures_come_from_the_metrics() -> None:
    sample = regression(60, noise=2.0, random_state=1)
    y = sample.y.to_numpy()
    assert sample.kendall_star() == pytest.approx(
        naive_kendall(y, present(sample.optimal)), abs=1e-12
    )
    assert sample.iauc_star() == pytest.approx(naive_iauc(y, present(sample.optimal)), abs=1e-12)
    assert sample.iauc_star(weighting="uniform") != sample.iauc_star()


def test_without_an_optimal_rule_the_optimal_figures_are_refused() -> None:
    sample = no_optimal_rule(10, random_state=1)
    for figure in (sample.iauc_star, sample.kendall_star):
        with pytest.raises(DataError, match="no optimal scoring rule"):
            figure()


def test_importing_datasets_stays_light() -> None:
    heavy = (
        "sklearn",
        "scipy.stats",
        "matplotlib",
        "numba",
        "statsmodels",
        "dask",
        "crank.metrics",
    )
    code = f"import sys, crank.datasets; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_are_sorted_and_documented() -> None:
    assert datasets.__all__ == sorted(datasets.__all__)
    assert all(getattr(datasets, name).__doc__ for name in datasets.__all__)
