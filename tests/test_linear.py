"""The linear ranker: equal to the regression of all pairs, invariant, readable, portable."""

import contextlib
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import crank
from crank import RankingLinear
from crank.cli import main
from crank.errors import CrankError, DataError, ModelFileError, OptionError
from crank.export.json.rules import difference
from crank.export.json.text import fingerprint
from crank.fitting import linear as fitting
from crank.fitting.linear import fit_linear, summarised
from crank.fitting.pairs import Pairs
from crank.kernels.links import LINKS
from crank.kernels.pair_sums import EveryPair, OnGrid
from crank.rankers.linear import LinearOptions, LinearRanker
from crank.ranks import rank
from tests.naive_pairs import naive_fit
from tests.narrowing import number
from tests.test_export_json_fuzz import damaged, forged
from tests.test_golden import BARE


def drawn(
    seed: int,
    n: int = 60,
    p: int = 3,
    ties: bool = False,
    weighted: bool = False,
    factor: bool = False,
) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * rng.uniform(0.1, 50.0, p) + rng.normal(size=p)
    if factor:
        levels = rng.integers(0, 3, n)
        X = np.column_stack([X, levels == 1, levels == 2]).astype(float)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    y = scaled @ rng.normal(size=X.shape[1]) * 0.7 + rng.logistic(size=n)
    w = rng.integers(1, 5, n).astype(float) if weighted else None
    return X, np.round(y) if ties else y, w


def fitted(
    X: np.ndarray,
    y: np.ndarray,
    w: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    **options: Any,
) -> LinearRanker:
    return fit_linear(X, rank(y, w), options=LinearOptions(**options), groups=groups)


def assert_same(
    ranker: LinearRanker,
    naive: tuple[np.ndarray, np.ndarray],
    *,
    se: float = 1e-6,
    relative: float = 1e-4,
) -> None:
    coef, vcov = naive
    errors = np.sqrt(np.diagonal(vcov))
    assert (np.abs(ranker.coef - coef) <= se * errors).all()
    np.testing.assert_allclose(ranker.vcov, vcov, rtol=relative, atol=relative * errors.min() ** 2)


@pytest.mark.parametrize("seed", range(50))
def test_it_is_the_regression_of_all_pairs(seed: int) -> None:
    X, y, w = drawn(seed, ties=seed % 2 == 1, weighted=seed % 3 == 1, factor=seed % 4 > 1)
    link = "probit" if seed % 5 == 0 else "logit"
    assert_same(fitted(X, y, w, link=link), naive_fit(X, y, w, link=link))


@pytest.mark.parametrize("seed", range(4))
def test_clusters_and_penalties_are_those_of_the_pairs(seed: int) -> None:
    X, y, w = drawn(seed, weighted=seed % 2 == 1, ties=seed > 1)
    groups = np.arange(len(y)) % 20
    clustered = naive_fit(X, y, w, groups=groups)
    assert_same(fitted(X, y, w, groups), clustered)
    shrunken = naive_fit(X, y, w, penalty=0.05, groups=groups)
    assert_same(fitted(X, y, w, groups, penalty=0.05), shrunken)
    assert (np.abs(shrunken[0]) < np.abs(clustered[0])).any()


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("scale", [0.3, 30.0])
def test_the_grid_is_as_good_as_all_pairs(
    link: str, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1500, 2))
    y = scale * X @ [1.0, -0.5] + rng.standard_t(2, size=1500)
    w = rng.uniform(0.2, 3.0, 1500)
    monkeypatch.setattr(fitting, "MOST_PAIRS", 10**7)
    exact = fitted(X, y, w, link=link)
    monkeypatch.setattr(fitting, "MOST_PAIRS", 0)
    on_grid = fitted(X, y, w, link=link)
    assert (np.abs(on_grid.coef - exact.coef) <= 1e-6 * exact.std_error).all()
    np.testing.assert_allclose(on_grid.vcov, exact.vcov, rtol=1e-6)


@pytest.mark.compiled
@pytest.mark.parametrize(("penalty", "ratio"), [(0.0, 0.0), (0.01, 0.0), (0.01, 0.5)])
@pytest.mark.parametrize("clusters", [None, 300])
def test_compiled_passes_are_as_good_as_all_pairs(
    penalty: float, ratio: float, clusters: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 4)) * [1.0, 5.0, 100.0, 0.01] + [0.0, 3.0, 1e4, 0.0]
    y = np.round(X[:, 0] + X[:, 1] / 5.0 + rng.logistic(size=1500), 1)
    w = rng.integers(1, 4, 1500).astype(float)
    groups = None if clusters is None else np.arange(1500) % clusters
    options = {"penalty": penalty, "l1_ratio": ratio}
    monkeypatch.setattr(fitting, "MOST_PAIRS", 10**7)
    exact = fitted(X, y, w, groups, **options)
    monkeypatch.setattr(fitting, "MOST_PAIRS", 0)
    monkeypatch.setattr(fitting, "LARGE", 1000)
    monkeypatch.setattr(fitting, "START", 400)
    monkeypatch.setattr(fitting, "CELLS", 1000)
    monkeypatch.setattr("crank.fitting.pairs.COMPILED_FROM", 1000)
    large = fitted(X, y, w, groups, **options)
    unit = exact.std_error if not ratio else 0.1 / X.std(axis=0)
    assert (np.abs(large.coef - exact.coef) <= 1e-6 * unit).all()
    np.testing.assert_allclose(large.vcov, exact.vcov, rtol=1e-5)
    at = np.linspace(-3.0, 3.0, 9)
    np.testing.assert_allclose(large.above_training(at), exact.above_training(at), atol=1e-4)


def test_rows_that_separate_among_some_are_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large sample starts from a few of its rows; they alone may be separated."""
    monkeypatch.setattr(fitting, "MOST_PAIRS", 0)
    monkeypatch.setattr(fitting, "LARGE", 100)
    monkeypatch.setattr(fitting, "START", 2)
    x = np.arange(200.0)
    y = np.where(x % 2 == 0, x, x - 2.5)
    assert 0.0 < fitted(x[:, None], y).coef[0] < np.inf


def test_the_grid_solves_the_equations_of_5000_rows() -> None:
    """One exact Newton step from the grid's solution moves nothing."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(5000, 2))
    y = np.round(X @ [1.0, 0.3] + rng.logistic(size=5000), 1)
    ranks, ranker = rank(y), fitted(X, y)
    Z = X[ranks.row] - X.mean(axis=0)
    soft, information = EveryPair(Z @ ranker.coef, np.ones(5000), LINKS["logit"]).information(Z)
    step = np.linalg.solve(information, Z.T @ ((ranks.below + ranks.upto) / 2.0 - soft))
    assert (np.abs(step) <= 1e-6 * ranker.std_error).all()


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_sums_on_a_grid_converge_with_the_fourth_power(link: str) -> None:
    rng = np.random.default_rng(5)
    score, w = rng.standard_t(3, size=400), rng.uniform(0.5, 2.0, 400)
    X = np.column_stack([score, rng.normal(size=400)])
    exact = EveryPair(score, w, LINKS[link])
    wanted = (*exact.information(X), *exact.row_sums(X))

    def worst(width: float) -> float:
        sums = OnGrid(score, w, LINKS[link], width)
        found = (*sums.information(X), *sums.row_sums(X))
        return float(max(np.abs(a - b).max() for a, b in zip(found, wanted, strict=True)))

    coarse, fine = worst(1 / 8), worst(1 / 32)
    assert fine < coarse / 100.0
    assert worst(1 / 256) < 1e-6
    same = OnGrid(np.zeros(400), w, LINKS[link], 1 / 8)
    np.testing.assert_allclose(same.information(X)[0], w.sum() / 2.0)


def test_what_the_largest_grid_cannot_hold_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = drawn(0, n=300)
    monkeypatch.setattr(fitting, "MOST_PAIRS", 0)
    monkeypatch.setattr("crank.kernels.pair_sums.MOST_BINS", 40)
    monkeypatch.setattr(fitting, "MOST_BINS", 40)
    with pytest.warns(UserWarning, match="exact to about .* standard errors only"):
        fitted(X, y)


def test_increasing_functions_of_y_change_no_bit() -> None:
    X, y, w = drawn(1, ties=True, weighted=True)
    first, second = fitted(X, y, w), fitted(X, np.exp(y / 3.0) - 7.0, w)
    np.testing.assert_array_equal(first.coef, second.coef)
    np.testing.assert_array_equal(first.vcov, second.vcov)
    np.testing.assert_allclose(fitted(X, -y, w).coef, -first.coef, rtol=1e-9)


@pytest.mark.parametrize("pairs", [0, 10**7], ids=["grid", "exact"])
@pytest.mark.parametrize("penalty", [0.0, 0.01])
def test_order_copies_and_scale_do_not_matter(
    pairs: int, penalty: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "MOST_PAIRS", pairs)
    X, y, w = drawn(2, n=200, weighted=True, ties=True)
    known = fitted(X, y, w, penalty=penalty)
    order = np.random.default_rng(0).permutation(200)
    close = {"rtol": 1e-10, "atol": 1e-10 * known.std_error.min()}
    shuffled = fitted(X[order], y[order], w[order], penalty=penalty)
    np.testing.assert_allclose(shuffled.coef, known.coef, **close)
    np.testing.assert_allclose(shuffled.vcov, known.vcov, rtol=1e-8)
    copies = np.repeat(np.arange(200), w.astype(int))
    repeated = fitted(X[copies], y[copies], groups=copies, penalty=penalty)
    np.testing.assert_allclose(repeated.coef, known.coef, **close)
    np.testing.assert_allclose(repeated.vcov, known.vcov, rtol=1e-6)
    doubled = fitted(np.vstack([X, X]), np.append(y, y), np.append(w, w), penalty=penalty)
    np.testing.assert_allclose(doubled.coef, known.coef, **close)
    np.testing.assert_array_equal(fitted(X, y, 7.5 * w, penalty=penalty).coef, known.coef)
    units = fitted(X * [1e-6, 1.0, 1e9] + [0.0, 1e6, 0.0], y, w, penalty=penalty)
    np.testing.assert_allclose(units.coef * [1e-6, 1.0, 1e9], known.coef, rtol=1e-6)


def test_intervals_cover() -> None:
    """The truth is the coefficient itself: logistic noise between two rows, exponential gaps."""
    rng = np.random.default_rng(6)
    truth, hits = np.array([1.0, 0.3]), []
    for _ in range(200):
        X = rng.normal(size=(150, 2))
        y = X @ truth + rng.gumbel(size=150)  # differences of Gumbel noise are logistic
        found = fitted(X, y)
        reach = stats.t.ppf(0.975, 147) * 150 / 147
        hits.append(np.abs(found.coef - truth) <= reach * found.std_error)
    assert (np.mean(hits, axis=0) > 0.91).all()


def test_small_samples_have_wider_intervals_and_tiny_ones_none(toy: pd.DataFrame) -> None:
    """Groups count as rows do; the sandwich itself stays available."""
    frame = toy.assign(who=np.arange(240) % 12)
    m = crank.linear(frame, "y ~ x1 + x2", groups="who", cv=None)
    assert (m.n_units, m.error_df) == (12, 9)
    ratio = m.vcov().to_numpy() / m.vcov(corrected=False).to_numpy()
    np.testing.assert_allclose(ratio, (12 / 9) ** 2)
    reach = (m.coefficients()["ci_high"] - m.coefficients()["estimate"]).to_numpy()
    np.testing.assert_allclose(reach, stats.t.ppf(0.975, 9) * m.coefficients()["std_error"])
    assert "Student's t with 9 degrees of freedom" in str(m.summary())
    few = crank.linear(frame, "y ~ x1 + x2 + g + flag", groups=frame["who"] // 3, cv=None)
    assert few.coefficients()["estimate"].notna().all()
    assert few.coefficients()[["std_error", "t", "pvalue", "ci_low"]].isna().all(axis=None)
    assert few.anova()[["F", "pvalue"]].isna().all(axis=None)
    assert few.vcov(corrected=False).notna().all(axis=None)
    said = "no standard errors: 4 groups are too few for 5 degrees of freedom"
    assert said in str(few.summary())


def test_normal_errors_have_the_probit_link() -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(3000, 2))
    y = X @ [1.0, 0.3] + 2.0 * rng.normal(size=3000)
    found = fitted(X, y, link="probit")
    truth = np.array([1.0, 0.3]) / (2.0 * np.sqrt(2.0))
    assert (np.abs(found.coef - truth) < 3.0 * found.std_error).all()


# -- what cannot be estimated


def test_separation_is_named_with_its_columns() -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(60, 2))
    with pytest.raises(DataError, match=r"separation.*penalty=0\.001"):
        fitted(X, X @ [1.0, 2.0])
    with pytest.raises(DataError, match=r"^column 0: this column never"):
        fitted(X, np.exp(X[:, 0]))
    # one level of a factor holds all the largest responses
    top = rng.random(60) < 0.3
    frame = pd.DataFrame({"x": X[:, 0], "top": top, "y": X[:, 0] + rng.normal(size=60) + 99 * top})
    with pytest.raises(DataError, match=r"^top: this column never puts"):
        crank.linear(frame, "y ~ x + top")
    kept = crank.linear(frame, "y ~ x + top", penalty=0.001)
    assert kept.coefficients()["estimate"].gt(0).all()
    # ties within a level do not separate it
    assert np.isfinite(fitted(X, np.round(X[:, 0])).coef).all()


def test_large_samples_separate_too() -> None:
    x = np.arange(3000.0)
    with pytest.raises(DataError, match="separation"):
        fitted(x[:, None], np.sqrt(x))
    assert 0.0 < fitted(x[:, None], x // 7).coef[0] < np.inf  # ties are told apart wrongly
    top = (x % 3 == 0).astype(float)
    noise = np.random.default_rng(0).normal(size=3000)
    with pytest.raises(DataError, match="column 1: this column"):
        fitted(np.column_stack([noise, top]), noise / 3.0 + top * 50.0 + np.sin(x))


def test_strong_signals_are_no_separation() -> None:
    rng = np.random.default_rng(9)
    x = rng.normal(size=400)
    y = x + 1e-3 * rng.normal(size=400)
    found = fitted(x[:, None], y)
    assert 300.0 < found.coef[0] < 3000.0
    assert found.coef[0] > 5.0 * found.std_error[0]


def test_redundant_and_constant_columns_are_left_out_as_in_r() -> None:
    # R: coef(lm(y ~ x1 + x2 + x3 + x4)) is NA for x2 and x3
    rng = np.random.default_rng(10)
    frame = pd.DataFrame({"x1": rng.normal(size=80), "x4": rng.normal(size=80)})
    frame = frame.assign(x2=3.0 - 2.0 * frame["x1"], x3=5.0)
    frame["y"] = frame["x1"] + frame["x4"] + rng.normal(size=80)
    m = crank.linear(frame, "y ~ x1 + x2 + x3 + x4")
    assert m.aliased == ("x2", "x3")
    assert m.coefficients()["estimate"].isna().tolist() == [False, True, True, False]
    assert "not estimated (constant, or a combination of others): x2, x3" in str(m.summary())
    assert "NA" in str(m)
    small = crank.linear(frame, "y ~ x1 + x4")
    np.testing.assert_allclose(m.predict(frame), small.predict(frame), rtol=1e-10)
    assert m.vcov().isna().sum().sum() == 12
    # a penalty shares the effect out
    shared = crank.linear(frame, "y ~ x1 + x2 + x3 + x4", penalty=1e-6)
    assert shared.aliased == ("x3",)
    np.testing.assert_allclose(shared.predict(frame), m.predict(frame), rtol=1e-3, atol=1e-3)
    # more columns than rows, but of low rank
    few = frame[:6].assign(**{f"z{k}": k * frame["x1"][:6] for k in range(9)})
    few["y"] = [1.0, 3.0, 2.0, 2.0, 1.0, 3.0]
    assert crank.linear(few, "y ~ .").ranker.estimated.sum() == 2
    nothing = crank.linear(frame, "y ~ x3")
    assert (nothing.predict(frame) == 0.0).all()
    assert nothing.predict(frame, "probability").tolist() == [0.5] * 80
    assert nothing.evaluate(frame).loc["kendall", "estimate"] == 0.5
    assert np.isnan(nothing.anova()["pvalue"][0])


@pytest.mark.parametrize("unit", [1e99, 1e-99])
def test_wide_and_narrow_columns_are_fitted_as_far_as_variances_go(
    toy: pd.DataFrame, unit: float, tmp_path: Path
) -> None:
    m = crank.linear(toy, "y ~ x1 + x2")
    other = crank.linear(toy.assign(x1=toy["x1"] * unit), "y ~ x1 + x2")
    np.testing.assert_allclose(other.ranker.coef * [unit, 1.0], m.ranker.coef, rtol=1e-9)
    other.to_json(tmp_path / "m.json")
    assert str(crank.load(tmp_path / "m.json").summary()) == str(other.summary())
    further = toy.assign(x1=toy["x1"] * unit * unit)
    with pytest.raises(DataError, match=r"'x1' spreads over .*Allowed: 1e-100 to 1e\+100"):
        crank.linear(further, "y ~ x1 + x2")
    with pytest.raises(DataError, match=r"'x1' spreads over"):
        crank.linear(further, "y ~ x1 + x2", penalty="cv")
    with pytest.raises(DataError, match=r"'x1' spreads over"):
        crank.RankingLinear().fit(further[["x1", "x2"]], toy["y"])


def test_messages_say_what_and_what_to_do(toy: pd.DataFrame) -> None:
    with pytest.raises(DataError, match=r"y is constant \(1 in 240 rows\)"):
        crank.linear(toy.assign(y=1.0), "y ~ x1")
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(5, 6)), columns=list("abcdey"))
    with pytest.raises(DataError, match=r"5 columns vary over 5 rows.*penalty=0\.01"):
        crank.linear(wide, "y ~ .")
    assert len(crank.linear(wide, "y ~ .", penalty=0.01).coefficients()) == 5
    names = [f"{k:04d}" for k in range(3100)]
    with pytest.raises(OptionError, match=r"3099 columns are too many.*Allowed: 3000\. Join rare"):
        crank.linear({"y": np.arange(3100.0), "name": names}, "y ~ name")
    with pytest.raises(OptionError, match=r"link='cloglog' is not allowed\. Allowed: 'logit'"):
        crank.linear(toy, "y ~ x1", link="cloglog")  # type: ignore[arg-type]
    wrong: list[Any] = [-1.0, "auto", None, np.nan]
    for penalty in wrong:
        with pytest.raises(OptionError, match=r"penalty=.* Allowed: a number from 0 up"):
            crank.linear(toy, "y ~ x1", penalty=penalty)
    with pytest.raises(DataError, match="groups column 'nobody' is not in the data"):
        crank.linear(toy, "y ~ x1", groups="nobody")
    with pytest.raises(DataError, match="groups has one label"):
        crank.linear(toy.assign(one=1), "y ~ x1", groups="one")
    m = crank.linear(toy, "y ~ x1 + g")
    with pytest.raises(OptionError, match="reference= is for type='probability'"):
        m.predict(toy, reference=toy.iloc[[0]])
    with pytest.raises(DataError, match="reference has 240 rows"):
        m.predict(toy, "probability", reference=toy)
    with pytest.raises(OptionError, match="permutation_importance takes a metric"):
        m.importance("iauc")
    with pytest.raises(DataError, match="'x1' is missing in 1 of 1 rows, and a linear ranker"):
        m.predict({"x1": [np.nan], "g": ["a"]})


def test_fits_that_do_not_settle_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = drawn(0)
    monkeypatch.setattr(fitting, "MOST_STEPS", 2)
    with pytest.raises(DataError, match=r"do not settle in 2 steps.*penalty="):
        fitted(X, y)
    monkeypatch.undo()
    for broken in (np.zeros((3, 3)), -np.eye(3), np.full((3, 3), np.nan)):
        monkeypatch.setattr(Pairs, "newton", lambda *_, J=broken: (np.ones(3), J))
        with pytest.raises(DataError, match="do not settle in 1 steps"):
            fitted(X, y)


# -- the model


@pytest.fixture
def model(toy: pd.DataFrame) -> crank.LinearModel:
    return crank.linear(toy, "y ~ x1 + log(x2) + g + flag")


def test_a_formula_makes_the_columns(model: crank.LinearModel, toy: pd.DataFrame) -> None:
    X = np.column_stack(
        [toy["x1"], np.log(toy["x2"]), toy["g"] == "b", toy["g"] == "c", toy["flag"]]
    ).astype(float)
    coef, vcov = naive_fit(X, toy["y"].to_numpy())
    table = model.coefficients()
    assert table["term"].tolist() == ["x1", "log(x2)", "g[T.b]", "g[T.c]", "flag"]
    np.testing.assert_allclose(table["estimate"], coef, rtol=1e-8)
    np.testing.assert_allclose(model.vcov(corrected=False), vcov, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(model.vcov(), vcov * (240 / 234) ** 2, rtol=1e-6, atol=1e-12)
    errors = np.sqrt(np.diagonal(vcov)) * 240 / 234
    np.testing.assert_allclose(table["std_error"], errors, rtol=1e-8)
    np.testing.assert_allclose(table["t"], coef / errors, rtol=1e-8)
    np.testing.assert_allclose(table["pvalue"], 2.0 * stats.t.sf(abs(table["t"]), 234), rtol=1e-7)
    np.testing.assert_allclose(table["ci_high"], coef + stats.t.ppf(0.975, 234) * errors, rtol=1e-7)
    np.testing.assert_allclose(table["odds_low"], np.exp(table["ci_low"]))
    score = model.predict(toy)
    np.testing.assert_allclose(score, (X - X.mean(axis=0)) @ coef, rtol=1e-7, atol=1e-9)
    pd.testing.assert_frame_equal(model.tidy(), table)
    assert (model.coefficients(alpha=0.01)["ci_low"] < table["ci_low"]).all()


def test_rows_with_missing_values_are_dropped_and_counted(toy: pd.DataFrame) -> None:
    gaps = toy.copy()
    gaps.loc[:4, "x1"] = np.nan
    gaps.loc[5:9, "g"] = None
    gaps.loc[10, "y"] = np.nan
    m = crank.linear(gaps, "y ~ x1 + g")
    assert (m.training.n, m.training.n_dropped) == (229, 11)
    assert "n = 229, 11 dropped" in str(m.summary())
    whole = crank.linear(toy[11:], "y ~ x1 + g")
    np.testing.assert_array_equal(m.ranker.coef, whole.ranker.coef)
    with pytest.raises(DataError, match="'x1' is missing in 5 of 239 rows"):
        crank.linear(gaps.drop(index=10), "y ~ x1 + g", na_action="raise")


def test_weights_subsets_and_groups_follow_the_rows(toy: pd.DataFrame) -> None:
    frame = toy.assign(w=np.arange(240) % 4, who=np.arange(240) // 4)
    frame.loc[3, "x1"] = np.nan
    m = crank.linear(frame, "y ~ . - g - flag", weights="w", groups="who", subset="x2 < 3")
    used = frame[(frame["x2"] < 3) & (frame["w"] > 0) & frame["x1"].notna()]
    assert list(m.design.names) == ["x1", "x2"]  # neither weights nor groups are predictors
    assert m.ranker.n_groups == used["who"].nunique()
    coef, vcov = naive_fit(
        used[["x1", "x2"]].to_numpy(), used["y"].to_numpy(), used["w"], groups=used["who"]
    )
    np.testing.assert_allclose(m.ranker.coef, coef, rtol=1e-8)
    np.testing.assert_allclose(m.ranker.vcov, vcov, rtol=1e-6)
    assert f"clustered by {m.ranker.n_groups} groups" in str(m.summary())
    single = crank.linear(frame, "y ~ x1 + x2", weights="w", subset="x2 < 3")
    np.testing.assert_array_equal(single.ranker.coef, m.ranker.coef)
    assert (single.ranker.vcov != m.ranker.vcov).any()


def test_the_summary_reads_like_that_of_a_glm(model: crank.LinearModel, toy: pd.DataFrame) -> None:
    text = str(model.summary())
    assert "crank.linear(data, 'y ~ x1 + log(x2) + g + flag')" in text
    assert "estimate  std.error" in text
    assert "exp(estimate): odds that, of two rows alike but for one unit" in text
    assert "Terms (Wald tests):" in text
    assert "training" in text
    assert "Standard deviation of the term's part" in text
    assert "<table" in model.summary().to_html()
    shrunken = crank.linear(toy, "y ~ x1", link="probit", penalty=0.1)
    text = str(shrunken.summary())
    assert "P(above): probability" in text
    assert "penalty=0.1" in text
    assert "shrinks estimates" in text
    assert "Terms" not in text
    assert repr(shrunken) == "<LinearModel 'y ~ x1': 1 coefficient, probit, penalty 0.1, n = 240>"
    row = shrunken.glance().iloc[0]
    assert (row["link"], row["penalty"], row["n_coefficients"]) == ("probit", 0.1, 1)
    assert 0.5 < row["kendall"] < 1.0
    assert row["iauc_se"] > 0.0


def test_terms_are_tested_by_walds_statistic(model: crank.LinearModel, toy: pd.DataFrame) -> None:
    tests = model.anova().set_index("term")
    assert tests["df"].to_dict() == {"x1": 1, "log(x2)": 1, "g": 2, "flag": 1}
    z = model.coefficients().set_index("term")
    np.testing.assert_allclose(number(tests.loc["x1", "F"]), number(z.loc["x1", "t"]) ** 2)
    np.testing.assert_allclose(number(tests.loc["flag", "pvalue"]), number(z.loc["flag", "pvalue"]))
    columns = ["g[T.b]", "g[T.c]"]
    b, V = z.loc[columns, "estimate"], model.vcov().loc[columns, columns]
    assert tests["df_error"].to_dict() == {"x1": 234, "log(x2)": 234, "g": 233, "flag": 234}
    F = b @ np.linalg.inv(V) @ b * 233 / (234 * 2)
    np.testing.assert_allclose(number(tests.loc["g", "F"]), F)
    np.testing.assert_allclose(number(tests.loc["g", "pvalue"]), stats.f.sf(F, 2, 233))
    small = crank.linear(toy, "y ~ x1 + log(x2)")
    for result in (model.anova(small), small.anova(model)):
        assert result["term"].tolist() == ["g + flag"]
        assert result["df"].tolist() == [3]
        assert result["pvalue"][0] < 1e-6
    with pytest.raises(DataError, match="not nested"):
        model.anova(crank.linear(toy, "y ~ x2"))
    with pytest.raises(DataError, match="not fitted to the same rows"):
        model.anova(crank.linear(toy[:100], "y ~ x1"))
    with pytest.raises(DataError, match="got a TreeModel"):
        model.anova(crank.fit(toy, "y ~ x1", prune=None))  # type: ignore[arg-type]


def test_probabilities_are_those_of_pairs(model: crank.LinearModel, toy: pd.DataFrame) -> None:
    score = model.predict(toy)
    one = model.predict(toy, "probability", reference=toy.iloc[[7]])
    np.testing.assert_allclose(one, 1.0 / (1.0 + np.exp(score[7] - score)))
    row = toy[["x1", "x2", "g", "flag"]].iloc[7].to_dict()
    np.testing.assert_array_equal(model.predict(toy, "probability", reference=row), one)
    any_row = model.predict(toy, "probability")
    every = (1.0 / (1.0 + np.exp(score[None, :] - score[:, None]))).mean(axis=1)
    np.testing.assert_allclose(any_row, every, atol=1e-12)
    assert any_row.mean() == pytest.approx(0.5)


def test_256_scores_stand_for_many() -> None:
    rng = np.random.default_rng(11)
    score, w = rng.standard_t(3, size=20_000), rng.uniform(0.1, 3.0, 20_000)
    reference, share = summarised(score, w)
    assert 128 < len(reference) == len(share) <= 256
    assert share.sum() == pytest.approx(1.0)
    assert (np.diff(reference) > 0.0).all()
    at = np.linspace(-8.0, 8.0, 50)
    for link in LINKS.values():
        few = link.probability(at[:, None] - reference) @ share
        all_of_them = link.probability(at[:, None] - score) @ (w / w.sum())
        np.testing.assert_allclose(few, all_of_them, atol=2e-4)


def test_importance_is_the_spread_of_a_terms_part(
    model: crank.LinearModel, toy: pd.DataFrame
) -> None:
    table = model.importance().set_index("term")["importance"]
    z = model.coefficients().set_index("term")["estimate"]
    assert table["x1"] == pytest.approx(abs(z["x1"]) * toy["x1"].std(ddof=0))
    part = z["g[T.b]"] * (toy["g"] == "b") + z["g[T.c]"] * (toy["g"] == "c")
    assert table["g"] == pytest.approx(part.std(ddof=0))
    assert model.importance()["share"].sum() == pytest.approx(1.0)
    assert model.plot_importance() is not None
    assert model.plot_score("x1", toy) is not None


def test_it_is_judged_like_any_model(model: crank.LinearModel, toy: pd.DataFrame) -> None:
    found = model.evaluate(toy)
    assert found.loc["kendall", "estimate"] == model.training.figures["kendall"].estimate
    assert found.loc["kendall", "se"] == pytest.approx(model.training.figures["kendall"].se)
    tree = crank.fit(toy, "y ~ x1 + x2 + g", max_depth=2, prune=None)
    result = crank.compare({"linear": model, "tree": tree}, data=toy, metric="kendall")
    assert result.estimates["model"][0] == "linear"
    shuffled = model.permutation_importance(toy, repeats=2)
    assert shuffled["variable"].tolist()[0] == "x1"
    added = model.augment(toy)
    np.testing.assert_array_equal(added[".score"], model.predict(toy))
    np.testing.assert_array_equal(added[".probability"], model.predict(toy, "probability"))


def test_one_row_scores_as_among_many(model: crank.LinearModel, toy: pd.DataFrame) -> None:
    together = model.predict(toy)
    alone = np.concatenate([model.predict(toy.iloc[[k]]) for k in range(20)])
    np.testing.assert_array_equal(alone, together[:20])


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_files_bring_the_model_back(toy: pd.DataFrame, link: Literal["logit", "probit"]) -> None:
    constant = toy.assign(k=1.0, who=np.arange(240) // 3)
    m = crank.linear(constant, "y ~ x1 + k + g", link=link, groups="who", weights="x2")
    text = m.to_json()
    again = crank.from_json(text)
    assert type(again) is crank.LinearModel
    assert again.to_json() == text
    assert str(again.summary()) == str(m.summary())
    for other in (again, pickle.loads(pickle.dumps(m))):
        for type_ in m.predictions:
            np.testing.assert_array_equal(
                other.predict(constant, type_), m.predict(constant, type_)
            )
        pd.testing.assert_frame_equal(other.anova(), m.anova())
    scorer = crank.serve.Scorer(m.to_onnx())
    for type_ in m.predictions:
        np.testing.assert_allclose(
            scorer.predict(constant, type_), m.predict(constant, type_), rtol=1e-12, atol=1e-12
        )
    assert scorer.metadata["link"] == link
    matrix = crank.serve.Scorer(m.to_onnx(form="matrix", outputs=["probability"]))
    np.testing.assert_allclose(
        matrix.predict(m.design_matrix(constant), "probability"),
        m.predict(constant, "probability"),
        rtol=1e-12,
    )


def test_a_graph_without_coefficients_still_scores(toy: pd.DataFrame) -> None:
    m = crank.linear(toy.assign(k=1.0), "y ~ k")
    scores = crank.serve.Scorer(m.to_onnx())(toy.assign(k=1.0))
    np.testing.assert_array_equal(scores, np.zeros(240))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda r: r["coef"].pop(), "coef has 4 entries; the design has 5"),
        (lambda r: r["coef"].__setitem__(0, None), "vcov is not null exactly where"),
        (lambda r: r["vcov"][1].pop(), r"vcov\[1\] has 1 entries. Allowed: 2"),
        (lambda r: r["vcov"][1].__setitem__(1, -1.0), "negative variance"),
        (lambda r: r["share"].pop(), "not as long"),
        (lambda r: r["share"].__setitem__(0, 0.5), "does not sum to 1"),
        (lambda r: r["reference"].reverse(), "not increasing"),
        (lambda r: r.__setitem__("link", "cauchit"), "ranker.link is 'cauchit'"),
        (lambda r: r.__setitem__("penalty", -1), "ranker.penalty is -1"),
        (lambda r: r.pop("centre"), "ranker.centre is missing"),
    ],
)
def test_damaged_files_are_refused(
    model: crank.LinearModel, change: Callable[..., Any], says: str
) -> None:
    stored = json.loads(model.to_json())
    change(stored["ranker"])
    stored["fingerprint"] = fingerprint(stored)
    with pytest.raises(ModelFileError, match=says):
        crank.from_json(json.dumps(stored))


def test_the_schema_is_one_and_holds(model: crank.LinearModel) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    from crank.export.json.schema import file_schema

    jsonschema.Draft202012Validator(file_schema("linear")).validate(json.loads(model.to_json()))


@pytest.mark.no_cover
def test_forged_files_are_refused_or_mean_what_they_say(
    model: crank.LinearModel, toy: pd.DataFrame
) -> None:
    document, good = json.loads(model.to_json()), model.to_json()
    columns = {name: toy[name].to_numpy()[:10] for name in ("x1", "x2", "g", "flag")}
    rng = np.random.default_rng(0)
    for _ in range(300):
        with contextlib.suppress(ModelFileError):
            assert crank.from_json(damaged(good.encode(), rng)).to_json() == good
        forgery = forged(document, rng)
        try:
            back = crank.from_json(json.dumps(forgery))
        except ModelFileError:
            continue
        del forgery["fingerprint"], forgery["crank_version"]
        forgery.pop("inputs", None)  # for whoever calls the model; made anew from what is read
        assert difference(forgery, json.loads(back.to_json()), "file") is None
        with np.errstate(all="ignore"):
            assert str(back)
            assert str(back.summary())
            try:
                assert back.predict(columns).shape == (10,)
            except CrankError:
                continue


def test_scoring_a_stored_model_needs_numpy_alone(
    model: crank.LinearModel, toy: pd.DataFrame, tmp_path: Path
) -> None:
    model.to_json(tmp_path / "m.json")
    rows = toy[["x1", "x2", "g", "flag"]].head(20)
    (tmp_path / "rows.json").write_text(json.dumps(rows.to_dict("list")))
    command = [sys.executable, "-c", BARE, str(tmp_path / "rows.json"), str(tmp_path / "m.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    scores, loaded = done.stdout.splitlines()
    assert json.loads(scores) == model.predict(rows).tolist()
    assert loaded == "[]"


# -- the command line


def test_the_command_line_fits_scores_and_exports(
    toy: pd.DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    toy.round(6).assign(who=np.arange(240) // 3).to_csv("d.csv", index=False)
    frame = pd.read_csv("d.csv")
    options = ["--model", "linear", "--link", "probit", "--penalty", "0.01", "--groups", "who"]
    assert main(["fit", "d.csv", "y ~ x1 + g", "-o", "m.json", *options]) == 0
    call = "crank.linear(data, 'y ~ x1 + g', link='probit', penalty=0.01, groups='who')"
    assert call in capsys.readouterr().out
    m = crank.linear(frame, "y ~ x1 + g", link="probit", penalty=0.01, groups="who")
    assert crank.load("m.json").to_json() == m.to_json()
    assert main(["score", "m.json", "d.csv", "-o", "s.csv", "--type", "probability"]) == 0
    scores = pd.read_csv("s.csv", dtype=str).astype(float)
    np.testing.assert_array_equal(scores["probability"], m.predict(frame, "probability"))
    assert main(["evaluate", "m.json", "d.csv"]) == 0
    assert main(["export", "m.json", "--onnx", "m.onnx"]) == 0
    assert main(["score", "m.onnx", "d.csv", "-o", "o.csv"]) == 0
    np.testing.assert_allclose(pd.read_csv("o.csv")["score"], m.predict(frame), rtol=1e-12)
    capsys.readouterr()
    for wrong in (["--criterion", "iauc"], ["--param", "C=1"], ["--n-jobs", "2"]):
        assert main(["fit", "d.csv", "y ~ x1", "-o", "n.json", "--model", "linear", *wrong]) == 2
        assert f"{wrong[0]} belongs to --model tree" in capsys.readouterr().err
    assert main(["fit", "d.csv", "y ~ x1", "-o", "n.json", "--penalty", "1"]) == 2
    assert "--penalty belongs to --model linear" in capsys.readouterr().err


# -- scikit-learn

CHECKS = [
    pytest.param(estimator, check, id=f"{check.func.__name__}-{at}")
    for at, (estimator, check) in enumerate(estimator_checks_generator(RankingLinear()))
]


@pytest.mark.no_cover
@pytest.mark.parametrize(("estimator", "check"), CHECKS)
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_scikit_learns_own_checks(
    estimator: crank.RankingLinear, check: Callable[..., Any]
) -> None:
    check(estimator)


def test_the_estimator_and_the_formula_give_the_same_scores() -> None:
    sample = crank.datasets.regression(200, 5, noise=1.0, random_state=0)
    m = crank.linear(sample.frame, "y ~ x1 + x2 + x3 + x4 + x5", penalty=0.02)
    estimator = RankingLinear(penalty=0.02).fit(sample.X, sample.y)
    np.testing.assert_array_equal(estimator.predict(sample.X), m.predict(sample.frame))
    np.testing.assert_array_equal(estimator.coef_, m.ranker.coef)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), clone(estimator)),
        {"rankinglinear__penalty": [1e-3, 10.0], "rankinglinear__link": ["logit", "probit"]},
        cv=3,
    ).fit(sample.X, sample.y)
    assert search.best_params_["rankinglinear__penalty"] == 1e-3
    with pytest.raises(DataError, match="x1: this column"):
        RankingLinear(penalty=0.0).fit(sample.X, sample.X["x1"])


def test_missing_values_are_met_with_a_ranker_that_takes_them(toy: pd.DataFrame) -> None:
    m = crank.linear(toy, "y ~ x1", cv=None)
    with pytest.raises(DataError, match=r"a linear ranker takes no missing values.*crank\.forest"):
        m.predict(toy.assign(x1=np.nan))
    with pytest.raises(DataError, match=r"missing in all 240 rows: nothing to fit\. Leave it out"):
        crank.linear(toy.assign(x1=np.nan), "y ~ x1 + x2")
