"""Coefficient tables of linear nodes, held against statsmodels."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import crank
from crank.errors import DataError, OptionError
from crank.plugins.logistic import Logistic
from crank.plugins.newton import fit_linear, robust_errors
from tests.narrowing import number, present


def test_estimates_and_robust_errors_agree_with_statsmodels() -> None:
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(400, 3))
    label = np.where(Z @ [1.0, -0.5, 0.0] + rng.logistic(size=400) > 0, 1.0, -1.0)
    weight = rng.uniform(0.2, 2.0, 400)
    how: dict[str, Any] = {"penalty": 1e-9, "loss": "logistic"}
    b, b0 = fit_linear(Z, label, weight, **how)
    errors = robust_errors(Z, label, weight, b, b0, **how)
    family = sm.families.Binomial()
    glm = sm.GLM(label > 0, sm.add_constant(Z), family=family, var_weights=weight)
    expected = glm.fit(cov_type="HC0")
    np.testing.assert_allclose(b, expected.params[1:], rtol=1e-6)
    np.testing.assert_allclose(errors, expected.bse[1:], rtol=1e-6)


def test_more_columns_than_rows_have_no_errors() -> None:
    rng = np.random.default_rng(0)
    Z, label = rng.normal(size=(5, 8)), np.array([1.0, 1.0, -1.0, -1.0, 1.0])
    b, b0 = fit_linear(Z, label, np.ones(5), penalty=1.0, loss="logistic")
    assert np.isnan(robust_errors(Z, label, np.ones(5), b, b0, penalty=1.0, loss="logistic")).all()


def test_the_table_has_a_line_for_each_node_and_term(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, "y ~ x1 + log(x2) + g", learner="logistic", max_depth=2, prune=None)
    table = m.coefficients()
    assert list(table)[:6] == ["node", "term", "estimate", "std_error", "z", "pvalue"]
    assert set(table["node"]) == {1, 2, 3}
    root = table[table["node"] == 1].set_index("term")
    assert root.index[0] == "(Intercept)"
    assert set(root.index) == {"(Intercept)", "x1", "log(x2)", "g[T.b]", "g[T.c]"}
    assert number(root.loc["x1", "pvalue"]) < 1e-6
    assert "Coefficients, standardised" in str(m.summary())


def test_both_scales_decide_as_the_node_does_with_the_sign_that_is_used(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, "y ~ x1 + x2", learner="logistic", max_depth=3, prune=None)
    first = m.nodes().set_index("node")
    for node, table in m.coefficients().groupby("node"):
        lines = table.set_index("term")
        sums = (
            lines.loc["(Intercept)", "original"]
            + toy[["x1", "x2"]] @ lines.loc[["x1", "x2"], "original"].to_numpy()
        )
        if node == 1:
            assert (sums > 0).sum() == first.loc[2, "n"]
        spread = lines.loc[["x1", "x2"], "estimate"] / lines.loc[["x1", "x2"], "original"]
        np.testing.assert_allclose(spread, toy[["x1", "x2"]].std(ddof=0), rtol=1e-9)
        reach = 1.959964 * lines["std_error"]
        np.testing.assert_allclose(lines["ci_high"], lines["estimate"] + reach, rtol=1e-6)
        np.testing.assert_allclose(lines["ci_low"], lines["estimate"] - reach, rtol=1e-6)
        inside = (lines["original_low"] < lines["original"]) & (
            lines["original"] < lines["original_high"]
        )
        assert inside[["x1", "x2"]].all()
    wide = m.coefficients(alpha=0.01)["ci_low"][1]
    assert wide < m.coefficients()["ci_low"][1]


def test_a_reversed_split_reverses_its_coefficients(toy: pd.DataFrame) -> None:
    from dataclasses import replace

    m = crank.fit(toy, "y ~ x1 + x2", learner="logistic", max_depth=1, prune=None)
    root = m.tree.nodes[0]
    turned = root._replace(split=replace(present(root.split), sign=-1, cut=0.5))
    tree = replace(m.tree, nodes=(turned, *m.tree.nodes[1:]))
    other = replace(m, ranker=replace(m.ranker, tree=tree)).coefficients()
    table = m.coefficients()
    np.testing.assert_array_equal(other["estimate"][1:], -table["estimate"][1:])
    assert other["original"][0] == pytest.approx(0.5 - table["original"][0])


@pytest.mark.parametrize("learner", ["stump", "tree"])
def test_other_learners_have_none_and_say_what_they_have(toy: pd.DataFrame, learner: str) -> None:
    m = crank.fit(toy, "y ~ x1 + x2", learner=learner, max_depth=2, prune=None)
    with pytest.raises(DataError, match=rf"learner '{learner}' does not .* importance\(\)"):
        m.coefficients()
    assert "Coefficients" not in str(m.summary())
    with pytest.raises(DataError, match="no split"):
        m.prune(n_leaves=1).coefficients()


def test_no_pvalue_is_zero() -> None:
    frame = crank.datasets.regression(4000, 5, noise=0.1, random_state=0).frame
    model = crank.fit(frame, "y ~ .", learner="logistic", max_depth=1, prune=None)
    table = model.coefficients()
    assert table["z"].abs().max() > 8.3
    assert (table["pvalue"].dropna() > 0.0).all()


@pytest.mark.parametrize("criterion", ["kendall", "crank"])
def test_a_node_as_statsmodels_fits_it(toy: pd.DataFrame, criterion: str) -> None:
    """Almost without a penalty the two are one regression."""
    frame = toy.assign(w=np.arange(240) % 3 + 1.0)
    m = crank.fit(
        frame,
        "y ~ x1 + log(x2) + g",
        learner=Logistic(C=1e8),
        max_depth=2,
        prune=None,
        criterion=criterion,
        weights="w",
    )
    for node in (1, 3):
        table = m.coefficients().query("node == @node").set_index("term")[1:]
        sign = present(next(n for n in m.tree.nodes if n.number == node).split).sign
        found = m.node_glm(frame, node, weights="w")
        slopes = sign * found.params[table.index]
        np.testing.assert_allclose(slopes, table["original"], rtol=1e-4)
        ratio = (table["original"] / table["estimate"]).abs()
        np.testing.assert_allclose(found.bse[table.index], table["std_error"] * ratio, rtol=1e-3)
    assert "Generalized Linear Model" in str(found.summary())


def test_a_node_without_a_regression_says_so(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, "y ~ x1 + x2", learner="logistic", max_depth=1, prune=None)
    with pytest.raises(OptionError, match=r"node=9 is not allowed.*nodes\(\)"):
        m.node_glm(toy, 9)
    with pytest.raises(DataError, match="node 2 is not split by a logistic"):
        m.node_glm(toy, 2)
    with pytest.raises(DataError, match="100 rows fall into node 1, which was split with 240"):
        m.node_glm(toy[:100], 1)
    stump = crank.fit(toy, "y ~ x1", max_depth=1, prune=None)
    with pytest.raises(DataError, match="the learner is 'stump'"):
        stump.node_glm(toy, 1)
    apart = toy.assign(y=toy["x1"])
    separated = crank.fit(
        apart, "y ~ x1", learner="logistic", criterion="kendall", max_depth=1, prune=None
    )
    with pytest.raises(DataError, match="separate the two sides of node 1"):
        separated.node_glm(apart, 1)
