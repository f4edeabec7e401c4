"""Coefficient tables of linear nodes, held against statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm

import crank
from crank.plugins.newton import fit_linear, robust_errors


def test_estimates_and_robust_errors_agree_with_statsmodels():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(400, 3))
    label = np.where(Z @ [1.0, -0.5, 0.0] + rng.logistic(size=400) > 0, 1.0, -1.0)
    weight = rng.uniform(0.2, 2.0, 400)
    how = {"penalty": 1e-9, "loss": "logistic"}
    b, b0 = fit_linear(Z, label, weight, **how)
    errors = robust_errors(Z, label, weight, b, b0, **how)
    family = sm.families.Binomial()
    glm = sm.GLM(label > 0, sm.add_constant(Z), family=family, var_weights=weight)
    expected = glm.fit(cov_type="HC0")
    np.testing.assert_allclose(b, expected.params[1:], rtol=1e-6)
    np.testing.assert_allclose(errors, expected.bse[1:], rtol=1e-6)


def test_more_columns_than_rows_have_no_errors():
    rng = np.random.default_rng(0)
    Z, label = rng.normal(size=(5, 8)), np.array([1.0, 1.0, -1.0, -1.0, 1.0])
    b, b0 = fit_linear(Z, label, np.ones(5), penalty=1.0, loss="logistic")
    assert np.isnan(robust_errors(Z, label, np.ones(5), b, b0, penalty=1.0, loss="logistic")).all()


def test_the_table_has_a_line_for_each_node_and_term(toy):
    m = crank.fit(toy, "y ~ x1 + log(x2) + g", learner="logistic", max_depth=2, prune=None)
    table = m.coefficients()
    assert list(table) == ["node", "term", "estimate", "std_error", "z", "pvalue"]
    assert set(table["node"]) == {1, 2, 3}
    root = table[table["node"] == 1].set_index("term")
    assert set(root.index) == {"x1", "log(x2)", "g[T.b]", "g[T.c]"}
    assert root.loc["x1", "pvalue"] < 1e-6
    assert "Coefficients, standardised" in str(m.summary())


@pytest.mark.parametrize("learner", ["stump", "tree"])
def test_other_learners_have_none(toy, learner):
    m = crank.fit(toy, "y ~ x1 + x2", learner=learner, max_depth=2, prune=None)
    assert m.coefficients().empty
    assert "Coefficients" not in str(m.summary())
