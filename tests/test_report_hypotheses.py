"""Linear hypotheses, adjusted p-values, calibration and the quantile scale of linear models."""

from __future__ import annotations

import importlib.util
from typing import Literal

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

import crank
from crank.errors import DataError, MissingExtraError, OptionError
from crank.fitting.linear import fit_linear
from crank.kernels.links import LINKS
from crank.rankers.linear import LinearOptions
from crank.ranks import rank


@pytest.fixture(scope="module")
def model() -> crank.LinearModel:
    sample = crank.datasets.regression(200, p=5, noise=1.0, random_state=0).frame
    return crank.linear(sample.assign(c=1.0), "y ~ x1 + log(x2 + 1) + x3 + c", cv=None)


def test_one_equation_is_a_contrast(model: crank.LinearModel) -> None:
    b, V = model.ranker.coef[:3], model.vcov().to_numpy()[:3, :3]
    row = model.hypothesis("x1 = 2 * x3 + 1").iloc[0]
    L = np.array([1.0, 0.0, -2.0])
    assert row["estimate"] == pytest.approx(L @ b)
    assert row["std_error"] == pytest.approx(np.sqrt(L @ V @ L))
    assert row["t"] == pytest.approx((L @ b - 1.0) / np.sqrt(L @ V @ L))
    assert row["F"] == pytest.approx(row["t"] ** 2)
    assert row["df_error"] == 196
    assert row["pvalue"] == pytest.approx(2.0 * stats.t.sf(abs(row["t"]), 196))
    zero = model.hypothesis("x3 = 0").iloc[0]
    assert zero["pvalue"] == pytest.approx(
        model.coefficients().set_index("term").loc["x3", "pvalue"]
    )


def test_several_equations_are_tested_together(model: crank.LinearModel) -> None:
    row = model.hypothesis("x1 = 0, log(x2 + 1) = 0, x3 = 0").iloc[0]
    b, V = model.ranker.coef[:3], model.vcov().to_numpy()[:3, :3]
    assert (row["df"], row["df_error"]) == (3, 194)
    assert row["F"] == pytest.approx(b @ np.linalg.solve(V, b) * 194 / (196 * 3))
    assert row["pvalue"] == pytest.approx(stats.f.sf(row["F"], 3, 194))
    assert "estimate" not in row


def test_what_is_no_hypothesis_is_said(model: crank.LinearModel) -> None:
    with pytest.raises(OptionError, match=r"'x9 = 0' is not allowed.*Coefficients: x1, log"):
        model.hypothesis("x9 = 0")
    with pytest.raises(OptionError, match="equations depend on each other"):
        model.hypothesis("x1 = 0, 2 * x1 = 0")
    frame = crank.datasets.regression(60, p=5, random_state=0).frame
    lasso = crank.linear(frame, "y ~ .", penalty=0.05, l1_ratio=1.0)
    with pytest.raises(OptionError, match="terms of a lasso cannot be tested"):
        lasso.hypothesis("x1 = 0")
    with pytest.raises(OptionError, match="terms of a lasso cannot be tested"):
        lasso.adjusted()
    few = crank.linear(frame[:6], "y ~ .", penalty=0.1, cv=None)
    with pytest.raises(DataError, match="6 independent observations and 5 coefficients, too few"):
        few.hypothesis("x1 = 0")


def test_p_values_are_adjusted_for_their_number(model: crank.LinearModel) -> None:
    table = model.adjusted("bonferroni")
    assert np.isnan(table["adjusted"][3])  # the constant column has no coefficient
    p = table["pvalue"][:3]
    np.testing.assert_allclose(table["adjusted"][:3], np.minimum(3.0 * p, 1.0))
    assert (model.adjusted("bh")["adjusted"][:3] <= table["adjusted"][:3]).all()
    with pytest.raises(OptionError, match="method='hom' is not allowed"):
        model.adjusted("hom")


def test_without_statsmodels_the_extra_is_named(
    model: crank.LinearModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"crank-rank\[stats\]"):
        model.hypothesis("x1 = 0")


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_probabilities_are_calibrated_on_held_out_pairs(link: Literal["logit", "probit"]) -> None:
    """Among new pairs given a probability near q, a share near q is in that order.

    In one sample of 1,000 rows the shares of tenths spread by .007 to .019; eight are averaged.
    """
    off = np.zeros((8, 10))
    for seed in range(len(off)):
        rng = np.random.default_rng(seed)
        noise = rng.gumbel if link == "logit" else rng.normal
        X = rng.normal(size=(2000, 3))
        y = X @ [1.0, -0.5, 0.0] + noise(size=2000)
        fitted = fit_linear(X[:1000], rank(y[:1000]), options=LinearOptions(link))
        score, new = fitted.predict(X[1000:]), y[1000:]
        i, j = np.triu_indices(1000, 1)
        p, won = LINKS[link].probability(score[i] - score[j]), new[i] > new[j]
        tenth = np.minimum((10.0 * p).astype(np.intp), 9)
        off[seed] = np.bincount(tenth, won - p, minlength=10) / np.bincount(tenth, minlength=10)
    assert np.abs(off.mean(axis=0)).max() < 0.02


def test_every_ranker_is_drawn_on_the_quantile_scale(model: crank.LinearModel) -> None:
    frame = crank.datasets.regression(200, p=5, noise=1.0, random_state=0).frame.assign(c=1.0)
    ax = model.plot_score("x1", frame, type="quantile", ax=Figure().subplots())
    assert ax.get_ylabel().startswith("place of the score")
    average = np.asarray(ax.lines[-1].get_ydata(), dtype=float)
    assert (np.diff(average) >= 0.0).all()
    assert 0.0 < average.min() < 0.4 < 0.6 < average.max() < 1.0
    ax = model.plot_score("x1", frame, type="probability", ax=Figure().subplots())
    assert ax.get_ylabel().startswith("probability")
    with pytest.raises(OptionError, match=r"type='median' is not allowed\. Allowed: 'score'"):
        model.plot_score("x1", frame, type="median")
