"""LightGBM: its ensembles as arrays decide exactly as LightGBM predicts."""

import subprocess
import sys

import numpy as np
import pytest

from crank.errors import MissingExtraError
from crank.plugins.lightgbm import LightGBM, train, trees_rule
from crank.plugins.trees import TreesRule
from crank.testing import check_learner
from tests.narrowing import present


def sample(
    m: int, seed: int = 0, missing: float = 0.0, zeros: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 4))
    X[:, 3] = rng.integers(-2, 3, m)
    label = np.where(X[:, 0] + X[:, 1] ** 2 + 0.3 * X[:, 3] > 1.0, 1.0, -1.0)
    label[:2] = 1.0, -1.0
    X[rng.random(X.shape) < missing] = np.nan
    if zeros:
        X[rng.random(X.shape) < 0.3] = 0.0
    return X, label, rng.uniform(0.2, 2.0, m)


def fit(learner: LightGBM, X: np.ndarray, label: np.ndarray, weight: np.ndarray) -> TreesRule:
    return present(learner.fit(X, label, weight, rng=np.random.default_rng(0)))


@pytest.mark.no_cover
def test_lightgbm_keeps_the_contract() -> None:
    check_learner(LightGBM(n_estimators=20))


@pytest.mark.parametrize("m", [10, 60, 2000])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("zeros", [False, True])
def test_rule_equals_the_boosters_raw_score(m: int, missing: float, zeros: bool) -> None:
    X, label, weight = sample(m, missing=missing, zeros=zeros)
    learner = LightGBM()
    booster = train(X, label, weight, learner.settings(m), learner.n_estimators)
    rule = present(trees_rule(booster))
    new = sample(500, seed=1, missing=0.3, zeros=True)[0]
    tiny = new * 1e-36  # LightGBM takes such numbers for 0
    for batch in (X, new, tiny, np.full((2, 4), np.nan), np.zeros((1, 4))):
        np.testing.assert_allclose(
            rule.decision(batch), booster.predict(batch, raw_score=True), rtol=1e-12, atol=1e-12
        )


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_rule_equals_the_booster_on_odd_scales(scale: float) -> None:
    X, label, weight = sample(300, missing=0.1)
    X = scale * X
    booster = train(X, label, weight, LightGBM().settings(300), 50)
    np.testing.assert_allclose(
        present(trees_rule(booster)).decision(X),
        booster.predict(X, raw_score=True),
        rtol=1e-12,
        atol=1e-12,
    )


def test_values_at_thresholds_and_one_step_beside_them_go_the_same_way() -> None:
    X, label, weight = sample(400)
    booster = train(X, label, weight, LightGBM().settings(400), 30)
    rule = present(trees_rule(booster))
    inner = np.flatnonzero(rule.nodes.inner)
    at = np.zeros((len(inner), 4))
    at[np.arange(len(inner)), rule.nodes.column[inner]] = rule.nodes.threshold[inner]
    for batch in (at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf)):
        np.testing.assert_allclose(
            rule.decision(batch), booster.predict(batch, raw_score=True), rtol=1e-12, atol=1e-12
        )


def test_ten_rows_are_enough_to_cut() -> None:
    X, label, weight = sample(10)
    assert np.mean(np.sign(fit(LightGBM(), X, label, weight).decision(X)) == label) >= 0.9


def test_limits_follow_the_size_of_the_node() -> None:
    small, middle, large = (LightGBM().settings(m) for m in (10, 200, 10**6))
    assert [s["min_data_in_leaf"] for s in (small, middle, large)] == [1, 10, 20]
    assert [s["min_data_in_bin"] for s in (small, middle, large)] == [1, 2, 3]
    assert LightGBM(min_child_samples=7).settings(10)["min_data_in_leaf"] == 7


def test_threads_do_not_change_the_rule() -> None:
    X, label, weight = sample(300)
    one, two = (fit(LightGBM(n_threads=t, n_estimators=10), X, label, weight) for t in (1, 2))
    assert one.to_dict() == two.to_dict()


def test_credit_is_the_share_of_gain() -> None:
    X, label, weight = sample(500)
    booster = train(X, label, weight, LightGBM().settings(500), 20)
    gain = booster.feature_importance("gain")
    credit = present(trees_rule(booster)).credit()
    found = [credit.get(j, 0.0) for j in range(4)]
    np.testing.assert_allclose(found, gain / gain.sum(), rtol=1e-4)


def test_nothing_to_learn_gives_none() -> None:
    _, label, weight = sample(40)
    assert LightGBM().fit(np.ones((40, 2)), label, weight, rng=np.random.default_rng(0)) is None


def test_importing_the_learner_and_reading_rules_needs_no_lightgbm() -> None:
    code = (
        "import sys; sys.modules['lightgbm'] = None\n"
        "from crank.plugins.lightgbm import LightGBM\n"
        "rule = LightGBM.rule.from_dict({'feature': [0, 0, 0], 'threshold': [1.0, 0.0, 0.0],\n"
        "    'low': [1, 1, 2], 'high': [2, 1, 2], 'missing_low': [1, 0, 0],\n"
        "    'value': [0.0, -1.0, 1.0], 'roots': [0], 'share': [[0, 1.0]]})\n"
        "import numpy as np\n"
        "print(rule.decision(np.array([[1.0], [2.0], [np.nan]])).tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[-1.0, 1.0, -1.0]"


def test_fitting_without_lightgbm_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    X, label, weight = sample(20)
    with pytest.raises(MissingExtraError, match=r"crank-rank\[lightgbm\]"):
        fit(LightGBM(), X, label, weight)
