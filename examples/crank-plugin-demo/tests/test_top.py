"""The criterion keeps crank's contract, and its metric is the sum over pairs that it says."""

import numpy as np
import pytest
from crank_plugin_demo import TOP, top_concordance

import crank
from crank.testing import check_criterion


def naive(y, s, w):
    """The definition, pair by pair."""
    quantile = np.array([w[y < v].sum() + w[y <= v].sum() for v in y]) / (2.0 * w.sum())
    won = total = 0.0
    for i in range(len(y)):
        for j in range(len(y)):
            if y[i] > y[j]:
                pair = w[i] * w[j] * quantile[i] ** 4
                total += pair
                won += pair * (0.5 + 0.5 * np.sign(s[i] - s[j]))
    return won / total


def test_the_criterion_keeps_the_contract():
    report = check_criterion(TOP)
    assert report.ok
    assert "adds up" in report.passed


@pytest.mark.parametrize("decimals", [0, 6])
def test_the_metric_is_the_sum_over_pairs(decimals):
    rng = np.random.default_rng(3)
    y, s = np.round(rng.normal(size=(2, 60)), decimals)
    w = rng.integers(1, 5, 60) / 2.0
    assert top_concordance(y, s, w) == pytest.approx(naive(y, s, w), abs=1e-12)
    assert top_concordance(y, s) == pytest.approx(naive(y, s, np.ones(60)), abs=1e-12)
    assert top_concordance(y, y) == 1.0
    assert top_concordance(y, -y) == 0.0
    assert top_concordance(y, np.zeros(60)) == pytest.approx(0.5, abs=1e-12)


def test_trees_are_grown_by_name_saved_and_read():
    sample = crank.datasets.regression(400, p=5, random_state=0)
    kwargs = {"max_depth": 4, "prune": None, "leaf_order": "oriented"}
    m = crank.fit(sample.frame, "y ~ .", criterion="top", **kwargs)
    assert "weighted towards the top" in str(m.summary())
    again = crank.from_json(m.to_json())
    score = m.predict(sample.frame)
    np.testing.assert_array_equal(again.predict(sample.frame), score)
    assert 0.6 < top_concordance(sample.y, score) < 1.0


def test_forests_take_the_criterion_too():
    sample = crank.datasets.regression(150, p=5, random_state=0)
    m = crank.forest(sample.frame, "y ~ .", criterion="top", n_trees=5, random_state=0)
    assert crank.metrics.kendall(sample.y, m.predict(sample.frame)) > 0.6
