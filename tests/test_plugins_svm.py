"""Support vectors: the rule against scikit-learn's machine, and the sample of big nodes."""

import json
from typing import Any

import numpy as np
import pytest

from crank.errors import DataError
from crank.plugins.linear import LinearRule
from crank.plugins.rbf import RbfRule, kernel, slope_share
from crank.plugins.sampling import systematic_counts
from crank.plugins.svm import SupportVector
from crank.testing import check_learner
from tests.narrowing import of


def rings(m: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    label = np.where(X[:, 0] ** 2 + X[:, 1] ** 2 > 1.4, 1.0, -1.0)
    label[:2] = 1.0, -1.0
    return X, label, rng.uniform(0.2, 1.8, m)


def fit(
    learner: SupportVector, X: np.ndarray, label: np.ndarray, weight: np.ndarray, seed: int = 0
) -> LinearRule | RbfRule:
    rule = learner.fit(X, label, weight, rng=np.random.default_rng(seed))
    assert isinstance(rule, LinearRule | RbfRule)
    return rule


@pytest.mark.no_cover
@pytest.mark.parametrize("learner", [SupportVector(), SupportVector(C=20.0, gamma=0.5)])
def test_kernel_machines_keep_the_contract(learner: Any) -> None:
    check_learner(learner)


def test_rule_decides_like_scikit_learns_machine_up_to_the_bias() -> None:
    from sklearn.svm import SVC

    X, label, weight = rings(300)
    rule = fit(SupportVector(C=3.0), X, label, weight)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    share = weight / weight.sum()
    gamma = 1.0 / (share @ (Z - share @ Z) ** 2).sum()
    peer = SVC(C=3.0, gamma=gamma).fit(Z, label, sample_weight=300.0 * share)
    shift = rule.decision(X) - peer.decision_function(Z)
    np.testing.assert_allclose(shift, shift[0], atol=1e-9)
    np.testing.assert_array_equal(rule.decision(X) > 0, peer.decision_function(Z) > 0)


def test_kernel_is_the_gaussian_of_exact_distances() -> None:
    rng = np.random.default_rng(0)
    Z, vectors = rng.normal(size=(50, 4)), rng.normal(size=(20, 4))
    naive = np.exp(-0.3 * ((Z[:, None] - vectors) ** 2).sum(axis=2))
    np.testing.assert_allclose(kernel(Z, vectors, 0.3), naive, rtol=1e-12)


def test_slopes_are_those_of_the_decision_function() -> None:
    rng = np.random.default_rng(0)
    vectors, dual = rng.normal(size=(30, 3)), rng.normal(size=30)
    step = 1e-6
    slope = np.zeros(3)
    for j in range(3):
        up, down = vectors.copy(), vectors.copy()
        up[:, j] += step
        down[:, j] -= step
        rise = (kernel(up, vectors, 0.4) - kernel(down, vectors, 0.4)) @ dual
        slope[j] = np.abs(rise / (2 * step)).mean()
    np.testing.assert_allclose(slope_share(vectors, dual, 0.4), slope / slope.sum(), rtol=1e-6)


def test_columns_that_matter_earn_the_credit() -> None:
    X, label, weight = rings(400)
    credit = fit(SupportVector(), X, label, weight).credit()
    assert credit[0] + credit[1] > 0.75


def test_a_column_that_is_constant_in_the_node_has_no_say() -> None:
    X, label, weight = rings(200)
    X = np.column_stack([X[:, :1], np.full(200, 4.0), X[:, 1:]])
    rule = fit(SupportVector(), X, label, weight)
    assert rule.columns.tolist() == [0, 2, 3]
    changed = X.copy()
    changed[:, 1] = 1e9
    np.testing.assert_array_equal(rule.decision(changed), rule.decision(X))


def test_big_nodes_are_sampled_repeatably_and_well() -> None:
    X, label, weight = rings(3000)
    learner = SupportVector(max_rows=400)
    first, again, other = (fit(learner, X, label, weight, seed).decision(X) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.mean(np.sign(first) == label) > 0.93
    assert len(of(RbfRule, fit(learner, X, label, weight)).dual) <= 400


def test_decisions_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    from crank.plugins import rbf

    X, label, weight = rings(300)
    rule = fit(SupportVector(), X, label, weight)
    whole = rule.decision(X)
    monkeypatch.setattr(rbf, "BLOCK_VALUES", 1)
    np.testing.assert_allclose(rule.decision(X), whole, rtol=1e-10, atol=1e-12)
    rows = np.array([5, 2, 2, 250])
    np.testing.assert_allclose(rule.decision_at(X, rows), whole[rows], rtol=1e-10, atol=1e-12)


def test_far_away_rows_have_the_bias_for_a_decision() -> None:
    X, label, weight = rings(100)
    rule = fit(SupportVector(), X, label, weight)
    far = np.array([[np.inf, 0.0, 0.0], [1e300, -1e300, np.nan]])
    np.testing.assert_array_equal(rule.decision(far), rule.bias)


def test_linear_and_kernel_rules_are_read_by_the_same_class() -> None:
    X, label, weight = rings(100)
    for kind in ("linear", "rbf"):
        rule = fit(SupportVector(kernel=kind), X, label, weight)
        again = SupportVector.rule.from_dict(json.loads(json.dumps(rule.to_dict())))
        assert type(again) is type(rule)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("vectors", [[1.0, 2.0]]),
        ("vectors", []),
        ("gamma", -1.0),
        ("dual", ["a"]),
        ("scale", [0.0, 1.0, 1.0]),
        ("shift", [1.0]),
        ("kind", None),
    ],
)
def test_damaged_rules_are_refused(field: str, value: list[list[float]]) -> None:
    X, label, weight = rings(30)
    stored = fit(SupportVector(), X, label, weight).to_dict()
    damaged = {k: v for k, v in stored.items() if k != "kind"} if field == "kind" else stored
    if field != "kind":
        damaged = stored | {field: value}
    with pytest.raises(DataError, match="stored rule"):
        RbfRule.from_dict(damaged)


@pytest.mark.parametrize("seed", range(5))
def test_a_systematic_sample_is_within_one_of_its_expectation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    label = np.where(rng.random(500) < 0.3, 1.0, -1.0)
    weight = rng.exponential(size=500)
    counts = systematic_counts(label, weight, 200, rng)
    expected = 200 * weight / weight.sum()
    assert (np.abs(counts - expected) < 1.0 + 1e-9).all()
    assert abs(counts.sum() - 200) <= 1
    share = counts[label > 0].sum() - expected[label > 0].sum()
    assert abs(share) <= 1.0 + 1e-9


def test_equal_weights_draw_every_row_once() -> None:
    label = np.resize([1.0, -1.0], 50)
    counts = systematic_counts(label, np.full(50, 0.3), 50, np.random.default_rng(0))
    np.testing.assert_array_equal(counts, 1)


def test_a_sample_keeps_both_labels() -> None:
    label = np.where(np.arange(1000) == 3, 1.0, -1.0)
    counts = systematic_counts(label, np.ones(1000), 10, np.random.default_rng(0))
    assert counts[3] == 1
