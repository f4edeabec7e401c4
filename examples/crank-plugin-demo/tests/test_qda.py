"""The learner keeps crank's contract, and its cut is the textbook's."""

import numpy as np
import pytest
from crank_plugin_demo import Qda, QdaRule

from crank.errors import OptionError
from crank.plugins.logistic import Logistic
from crank.testing import check_learner


@pytest.mark.parametrize("covariance", ["auto", "full", "diagonal"])
def test_qda_keeps_the_contract(covariance):
    check_learner(Qda(covariance=covariance))


def two_clouds(n=400, seed=0):
    rng = np.random.default_rng(seed)
    label = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    wide = rng.normal(size=(n, 2)) @ np.array([[1.0, 0.3], [0.0, 0.7]]) + [1.0, 0.0]
    tight = 0.4 * rng.normal(size=(n, 2))
    return np.where(label[:, None] > 0, tight, wide), label, rng.uniform(0.5, 1.5, n)


def test_decision_is_the_difference_of_weighted_normal_log_densities():
    X, label, weight = two_clouds()
    rule = Qda(pool=0.0, shrink=0.0, covariance="full").fit(
        X, label, weight, rng=np.random.default_rng(0)
    )
    Z = (X - rule.centre) / rule.scale
    wanted = np.zeros(len(X))
    for sign in (1.0, -1.0):
        mass, part = weight[label == sign], Z[label == sign]
        mean = np.average(part, axis=0, weights=mass)
        spread = np.cov(part.T, aweights=mass, ddof=0)
        other = np.cov(Z[label == -sign].T, aweights=weight[label == -sign], ddof=0)
        share = mass.sum() / weight.sum()
        pool = 3.0 / (3.0 + mass.sum())
        spread = (1 - pool) * spread + pool * (share * spread + (1 - share) * other)
        spread += 1e-6 * np.eye(2)
        off = Z - mean
        wanted += sign * (
            np.log(mass.sum())
            - 0.5 * np.linalg.slogdet(spread)[1]
            - 0.5 * np.einsum("ij,ij->i", off @ np.linalg.inv(spread), off)
        )
    np.testing.assert_allclose(rule.decision(X), wanted, rtol=1e-9, atol=1e-9)


def test_a_tight_cloud_inside_a_wide_one_is_cut_out():
    X, label, weight = two_clouds()
    curved, straight = (
        np.mean(np.sign(kind.fit(X, label, weight, rng=None).decision(X)) == label)
        for kind in (Qda(), Logistic())
    )
    assert curved > straight + 0.05


def test_full_pooling_makes_the_cut_straight():
    X, label, weight = two_clouds()
    rule = Qda(pool=1.0).fit(X, label, weight, rng=np.random.default_rng(0))
    np.testing.assert_allclose(rule.curve, 0.0, atol=1e-12)


def test_missing_values_count_as_the_mean():
    X, label, weight = two_clouds()
    rule = Qda().fit(X, label, weight, rng=np.random.default_rng(0))
    gaps = np.array([[np.nan, 0.5]])
    np.testing.assert_array_equal(
        rule.decision(gaps), rule.decision(np.array([[rule.centre[0], 0.5]]))
    )


def test_many_columns_fall_back_to_a_diagonal():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 60))
    label = np.where(X[:, 0] > 0, 1.0, -1.0)
    rule = Qda().fit(X, label, np.ones(40), rng=rng)
    assert isinstance(rule, QdaRule)
    assert rule.curve.shape == (60,)


@pytest.mark.parametrize("params", [{"pool": 2.0}, {"shrink": -0.1}, {"covariance": "ful"}])
def test_bad_parameters_are_refused(params):
    with pytest.raises(OptionError, match="Allowed"):
        Qda(**params)
