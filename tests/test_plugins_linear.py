"""Linear rules: the solver against scikit-learn and brute force, standardising, the bias."""

import json
from typing import Any, Literal

import numpy as np
import pytest

import crank
from crank.errors import DataError, OptionError
from crank.plugins.base import TrainingMatrix
from crank.plugins.linear import LinearRule, place_bias
from crank.plugins.logistic import Logistic
from crank.plugins.newton import LOSSES, fit_linear
from crank.plugins.standardise import Standardiser
from crank.plugins.svm import SupportVector
from crank.testing import check_learner
from tests.narrowing import of, present


def sample(
    m: int, p: int, seed: int = 0, noise: float = 1.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(m, p))
    label = np.where(Z @ rng.normal(size=p) + noise * rng.normal(size=m) > 0.3, 1.0, -1.0)
    label[:2] = 1.0, -1.0
    return Z, label, rng.uniform(0.1, 2.0, m)


def fit(
    learner: Logistic | SupportVector,
    X: np.ndarray,
    label: np.ndarray,
    weight: np.ndarray | None = None,
    seed: int = 0,
) -> LinearRule:
    weight = np.ones(len(X)) if weight is None else weight
    return of(LinearRule, learner.fit(X, label, weight, rng=np.random.default_rng(seed)))


@pytest.mark.parametrize(
    "learner",
    [Logistic(), Logistic(C=100.0), SupportVector(kernel="linear")],
    ids=["logistic", "weak penalty", "linear svm"],
)
def test_linear_learners_keep_the_contract(learner: Any) -> None:
    check_learner(learner)


@pytest.mark.parametrize(("m", "p"), [(30, 2), (400, 10), (40, 60), (25_000, 3)])
def test_logistic_solution_is_scikit_learns(m: int, p: int) -> None:
    from sklearn.linear_model import LogisticRegression

    Z, label, weight = sample(m, p)
    b, b0 = fit_linear(Z, label, weight, penalty=0.5, loss="logistic")
    peer = LogisticRegression(C=2.0, solver="newton-cholesky", tol=1e-10, max_iter=500)
    peer.fit(Z, label, sample_weight=weight)
    np.testing.assert_allclose(b, peer.coef_[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(b0, peer.intercept_[0], rtol=1e-5, atol=1e-5)


def test_squared_hinge_solution_is_scikit_learns() -> None:
    from sklearn.svm import LinearSVC

    Z, label, weight = sample(300, 5)
    b, b0 = fit_linear(Z, label, weight, penalty=0.5, loss="squared_hinge")
    # liblinear penalises the intercept too, unless it is scaled out of the way
    peer = LinearSVC(C=2.0, dual=False, tol=1e-10, intercept_scaling=1e4, max_iter=100_000)
    peer.fit(Z, label, sample_weight=weight)
    np.testing.assert_allclose(b, peer.coef_[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(b0, peer.intercept_[0], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize(("m", "p", "noise"), [(10, 3, 1.0), (200, 4, 0.0), (30, 100, 1.0)])
def test_solution_is_a_minimum(
    loss: Literal["logistic", "squared_hinge"], m: int, p: int, noise: float
) -> None:
    Z, label, weight = sample(m, p, noise=noise)

    def objective(b: np.ndarray, b0: float) -> float:
        return float(weight @ LOSSES[loss].value(label * (Z @ b + b0)) + 0.5 * b @ b)

    b, b0 = fit_linear(Z, label, weight, penalty=1.0, loss=loss)
    least = objective(b, b0)
    rng = np.random.default_rng(1)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(20):
            step = size * rng.normal(size=p)
            assert objective(b + step, b0 + size * rng.normal()) > least - 1e-9 * abs(least)


def test_warm_start_does_not_change_the_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    from crank.plugins import newton

    Z, label, weight = sample(2000, 3)
    cold = fit_linear(Z, label, weight, penalty=1.0, loss="logistic")
    monkeypatch.setattr(newton, "WARM_ROWS", 100)
    warm = fit_linear(Z, label, weight, penalty=1.0, loss="logistic")
    np.testing.assert_allclose(np.append(*warm), np.append(*cold), rtol=1e-8)


def test_separated_labels_have_a_finite_solution() -> None:
    X = np.linspace(-1.0, 1.0, 1000)[:, None]
    label = np.where(X[:, 0] > 0.1, 1.0, -1.0)
    for learner in (Logistic(C=1e6), SupportVector(kernel="linear", C=1e6)):
        rule = fit(learner, X, label)
        np.testing.assert_array_equal(np.sign(rule.decision(X)), label)


def test_standardiser_ignores_missing_values_and_keeps_constant_columns() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 2.0, size=(20_000, 4))
    X[rng.random(X.shape) < 0.3] = np.nan
    X[:, 2] = 0.1
    X[:, 3] = np.nan
    found = Standardiser.of(X)
    np.testing.assert_allclose(found.centre[:2], np.nanmean(X[:, :2], axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.scale[:2], np.nanstd(X[:, :2], axis=0), rtol=1e-12)
    assert (found.centre[2], found.scale[2]) == (0.1, 1.0)
    assert (found.centre[3], found.scale[3]) == (0.0, 1.0)
    Z = found.apply(X)
    np.testing.assert_array_equal(Z[np.isnan(X)], 0.0)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1.0, 1e12, 1e300])
def test_standardiser_works_on_any_scale(scale: float) -> None:
    x = np.array([[1.0], [2.0], [4.0], [np.nan]]) * scale
    Z = Standardiser.of(x).apply(x)
    np.testing.assert_allclose(Z[:3].mean(), 0.0, atol=1e-12)
    np.testing.assert_allclose(Z[:3].std(), 1.0, rtol=1e-12)


def test_an_outlier_does_not_spoil_the_standard_deviation() -> None:
    x = np.random.default_rng(0).normal(size=(10_000, 1))
    x[17] = 1e9
    np.testing.assert_allclose(Standardiser.of(x).scale, x.std(axis=0), rtol=1e-9)


def test_scale_of_the_columns_does_not_matter() -> None:
    X, label, weight = sample(200, 3)
    factors = np.array([1e-9, 1.0, 1e9])
    plain = fit(Logistic(), X, label, weight)
    scaled = fit(Logistic(), X * factors + factors, label, weight)
    np.testing.assert_allclose(scaled.coef, plain.coef, rtol=1e-6)
    np.testing.assert_array_equal(scaled.decision(X * factors + factors) > 0, plain.decision(X) > 0)


def test_prepared_learners_keep_the_scale_of_the_whole_matrix() -> None:
    X, label, weight = sample(200, 3)
    data = TrainingMatrix(X, (0, 0, 0))
    ready = Logistic().prepare(data)
    Z = ready.gather(np.arange(50))
    rule = of(LinearRule, ready.fit(Z, label[:50], weight[:50], np.random.default_rng(0)))
    np.testing.assert_array_equal(rule.centre, Standardiser.of(X).centre)
    np.testing.assert_allclose(ready.decide(rule, Z), rule.decision(X[:50]), atol=1e-14)
    assert Logistic().prepare(data).standardiser is ready.standardiser


@pytest.mark.parametrize("learner", [Logistic(), SupportVector(kernel="linear"), SupportVector()])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_are_standardised_while_they_are_gathered(
    learner: Any, order: Literal["C", "F"]
) -> None:
    X, label, weight = sample(20_000, 4)
    X[::7, 1], X[:, 3] = np.nan, 1.0
    ready = learner.prepare(TrainingMatrix(np.asarray(X, order=order), (0,) * 4))
    standardised = ready.standardiser.apply(X)
    assert np.isfinite(standardised).all()
    for rows in (np.arange(len(X)), np.arange(0, len(X), 2)):
        Z = ready.gather(rows)
        np.testing.assert_array_equal(Z, standardised[rows])
        rule = ready.fit(Z, label[rows], weight[rows], np.random.default_rng(0))
        np.testing.assert_allclose(ready.decide(rule, Z), rule.decision(X[rows]), atol=1e-11)


def test_a_missing_value_contributes_nothing() -> None:
    X, label, weight = sample(200, 3)
    rule = fit(Logistic(), X, label, weight)
    gap, at_centre = X.copy(), X.copy()
    gap[:, 1], at_centre[:, 1] = np.nan, rule.centre[1]
    np.testing.assert_allclose(rule.decision(gap), rule.decision(at_centre), rtol=1e-12)


def test_infinite_values_decide_by_their_coefficients() -> None:
    unit = Standardiser(np.zeros(2), np.ones(2))
    rule = present(LinearRule.of(unit, np.array([2.0, -1.0]), 0.5))
    X = np.array([[np.inf, 0.0], [-np.inf, 5.0], [np.inf, np.inf], [np.nan, np.inf]])
    value = rule.decision(X)
    assert np.isfinite(value).all()
    assert (value > 0).tolist() == [True, False, True, False]


def test_decisions_do_not_depend_on_blocks_or_on_row_selection() -> None:
    X, label, weight = sample(20_000, 4)
    rule = fit(Logistic(), X, label, weight)
    naive = ((X - rule.centre) / rule.scale) @ rule.coef + rule.bias
    np.testing.assert_allclose(rule.decision(X), naive, rtol=1e-10, atol=1e-12)
    rows = np.random.default_rng(0).integers(0, len(X), 9000)
    np.testing.assert_allclose(rule.decision_at(X, rows), naive[rows], rtol=1e-10, atol=1e-12)
    narrow = rule.decision(X.astype(np.float32))
    assert narrow.dtype == np.float64
    np.testing.assert_allclose(narrow, naive, atol=1e-4)


@pytest.mark.parametrize("odd", [0.0, np.nan, np.inf, -np.inf, 1e308])
def test_one_row_is_decided_as_among_others(odd: float) -> None:
    X, label, weight = sample(200, 6)
    rule = fit(Logistic(), X, label, weight)
    X[0, 1] = odd
    alone = np.concatenate([rule.decision(row[None]) for row in X])
    np.testing.assert_allclose(alone, rule.decision(X), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("learner", [Logistic(), SupportVector(kernel="linear"), SupportVector()])
@pytest.mark.parametrize("seed", range(5))
def test_zero_lies_midway_between_the_neighbouring_training_values(learner: Any, seed: int) -> None:
    X, label, weight = sample(60, 2, seed)
    rng = np.random.default_rng(0)
    value = present(learner.fit(X, label, weight, rng=rng)).decision(X)
    np.testing.assert_allclose(value[value > 0].min(), -value[value < 0].max(), rtol=1e-9)


def test_placing_the_bias_never_moves_a_row() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        value = rng.normal(size=8).round(rng.integers(0, 3)) * 10.0 ** rng.integers(-12, 12)
        bias = -rng.choice(value) * rng.choice([1.0, 0.5])
        moved = place_bias(value, bias)
        np.testing.assert_array_equal(value + moved > 0, value + bias > 0)
    one, next_up = 1.0, np.nextafter(1.0, 2.0)
    assert place_bias(np.array([one, next_up]), -one) == -one
    assert place_bias(np.array([1.0, 2.0]), 5.0) == 5.0


def test_columns_without_a_say_are_left_out() -> None:
    X, label, weight = sample(100, 3)
    X[:, 1] = 7.0
    rule = fit(Logistic(), X, label, weight)
    assert rule.columns.tolist() == [0, 2]
    assert set(rule.credit()) == {0, 2}
    changed = X.copy()
    changed[:, 1] = -1e6
    np.testing.assert_array_equal(rule.decision(changed), rule.decision(X))


def test_nothing_to_learn_gives_none() -> None:
    _, label, _ = sample(20, 2)
    for learner in (Logistic(), SupportVector(kernel="linear"), SupportVector()):
        assert (
            learner.fit(np.ones((20, 2)), label, np.ones(20), rng=np.random.default_rng(0)) is None
        )


def test_credit_is_the_share_of_standardised_coefficients() -> None:
    unit = Standardiser(np.zeros(3), np.ones(3))
    rule = present(LinearRule.of(unit, np.array([3.0, 0.0, -1.0]), 0.0))
    assert rule.credit() == {0: 0.75, 2: 0.25}
    means = "[missing: a as 0, c as 0]"
    assert rule.describe(["a", "b", "c"]) == f"3 a - 1 c > 0 {means}"
    assert rule.describe_right(["a", "b", "c"]) == f"3 a - 1 c <= 0 {means}"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("columns", [-1, 0]),
        ("columns", [0.5, 1]),
        ("columns", "ab"),
        ("coef", [1.0]),
        ("coef", [1.0, None]),
        ("coef", [1.0, float("nan")]),
        ("coef", [[1.0], [2.0]]),
        ("coef", [[1.0], 2.0]),
        ("coef", [True, False]),
        ("scale", [0.0, 1.0]),
        ("bias", "much"),
        ("bias", [1.0]),
        ("bias", 10**400),
    ],
)
def test_damaged_rules_are_refused(field: str, value: list[int]) -> None:
    X, label, weight = sample(40, 2)
    stored = json.loads(json.dumps(fit(Logistic(), X, label, weight).to_dict()))
    LinearRule.from_dict(stored)
    with pytest.raises(DataError, match=f"'{field}' of a stored rule|lacks"):
        LinearRule.from_dict(stored | {field: value})
    del stored[field]
    with pytest.raises(DataError, match="lacks the field"):
        LinearRule.from_dict(stored)


@pytest.mark.parametrize("learner", ["logistic", "svm"])
def test_factors_of_thousands_of_levels_are_refused_before_any_work(
    learner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from crank.design.spec import DesignSpec

    rng = np.random.default_rng(0)
    data = {"g": [f"l{i}" for i in rng.integers(0, 5000, 20_000)], "y": rng.normal(size=20_000)}
    monkeypatch.setattr(DesignSpec, "matrix", None)  # calling it would be the work
    message = r"49\d\d columns for 20000 rows are too many .* about 2000 columns. Join rare levels"
    with pytest.raises(OptionError, match=message):
        crank.fit(data, "y ~ g", learner=learner)


def test_wide_matrices_of_few_rows_are_no_burden() -> None:
    Logistic().check_size(100, 50_000)
    Logistic().check_size(50_000_000, 200)
