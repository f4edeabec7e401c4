"""Settings of LightGBM: none changes the loss in silence, none gives other scores than LightGBM."""

import threading
from typing import Any

import lightgbm
import numpy as np
import pytest

from crank.errors import OptionError
from crank.fitting import lightgbm_engine, lightgbm_settings
from crank.fitting.booster import fit_booster, ranker_of
from crank.fitting.lightgbm_engine import Engine
from crank.fitting.lightgbm_settings import FOREIGN, OWN, checked, settings
from crank.rankers.booster import BoosterOptions
from crank.ranks import rank

LEVELS = (0, 0, 0, 7)
Floats = np.ndarray[Any, np.dtype[np.float64]]


def sample(n: int = 500) -> tuple[Floats, Floats]:
    """Numbers, numbers that are often 0, levels, and gaps in each; y."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 4))
    X[:, 2] = np.maximum(0.0, X[:, 2])
    X[:, 3] = rng.integers(0, 7, n)
    y = X[:, 0] + np.abs(X[:, 1]) + 2.0 * (X[:, 2] == 0.0) + X[:, 3] % 3 + 0.3 * rng.normal(size=n)
    X[::9, 1] = X[::13, 3] = X[5::17, 2] = np.nan
    return X, y


@pytest.mark.parametrize("name", [name for names in FOREIGN.values() for name in names])
def test_what_belongs_elsewhere_is_refused(name: str) -> None:
    assert name not in OWN
    try:
        checked({name: 1})
    except OptionError as error:
        assert f"params names '{name}'" in str(error)  # noqa: PT017  older engines lack some names
    else:
        pytest.fail(f"{name} was taken")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"reg_sqrt": True}, "transform the labels"),
        ({"zero_as_missing": True}, "zeros"),
        ({"group_column": "0"}, "groups of rows"),
        ({"boost_from_average": True}, "crank sets itself"),
        ({"learning_rate": None}, "no value"),
        ({"eta": 0.1, "learning_rate": 0.2}, "twice"),
        ({"learning_rate": 0.0}, "learning_rate.*> .0.0"),
        ({"num_leaves": "many"}, "type int"),
        ({"max_bin_by_feature": [5]}, "max_bin_by_feature"),
        ({"data_sample_strategy": "goss", "bagging_freq": 1, "bagging_fraction": 0.5}, "GOSS"),
    ],
)
@pytest.mark.parametrize("loss", ["concordance", "y"])
def test_a_setting_that_cannot_be_is_an_error_of_options(
    params: dict[str, Any], message: str, loss: Any
) -> None:
    X, y = sample(60)
    options = BoosterOptions(loss=loss, rounds=3, params=params)
    with pytest.raises(OptionError, match=message):
        fit_booster(X, rank(y), options=options, levels=LEVELS)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"use_missing": False},
        {"use_quantized_grad": True, "quant_train_renew_leaf": True},
        {"extra_trees": True},
        {"data_sample_strategy": "goss"},
        {"bagging_fraction": 0.3},
        {"path_smooth": 5.0},
        {"max_cat_to_onehot": 20},
        {"learning_rate": 1.0},
        {"max_delta_step": 0.1},
        {"enable_bundle": False},
        {"monotone_constraints_method": "advanced"},
    ],
)
def test_scores_are_those_of_the_engine(params: dict[str, Any]) -> None:
    X, y = sample()
    options = BoosterOptions(params=params)
    training = Engine(X, LEVELS, options).training(rank(y))
    training.grow(40)
    new = X.copy()
    new[:40, 0], new[40:80, 0], new[80:120, 2], new[::7, 1], new[3::50, 3] = np.nan, 0, np.nan, 0, 9
    wanted = training.booster.predict(new, raw_score=True)
    found = ranker_of(training, options, LEVELS).predict(new)
    assert wanted.std() > 0.05
    np.testing.assert_allclose(found, wanted, atol=1e-4 * wanted.std())


@pytest.mark.parametrize(
    "params",
    [
        {"use_quantized_grad": True},
        {"use_quantized_grad": True, "quant_train_renew_leaf": True},
        {"data_sample_strategy": "goss"},
        {"extra_trees": True},
        {"feature_fraction_bynode": 0.5},
    ],
)
def test_threads_inside_a_booster_change_nothing(
    params: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lightgbm_settings, "SIDE_BY_SIDE", 0)
    X, y = sample(3000)
    one, two = (
        fit_booster(
            X,
            rank(y),
            options=BoosterOptions(rounds=10, params=params, n_jobs=n_jobs),
            levels=LEVELS,
        ).ranker.nodes
        for n_jobs in (1, 2)
    )
    assert np.array_equal(one.value, two.value)
    assert np.array_equal(one.threshold, two.threshold)


def test_lightgbm_says_nothing_in_threads_side_by_side(capfd: pytest.CaptureFixture[str]) -> None:
    X, y = sample(60)  # no split is left soon, of which LightGBM would warn
    options = BoosterOptions(max_rounds=30, n_jobs=2, params={"min_data_in_leaf": 20})
    fit_booster(X, rank(y), options=options, levels=LEVELS)
    assert capfd.readouterr().out == ""


def test_hushing_a_thread_leaves_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lightgbm_settings, "SIDE_BY_SIDE", 0)
    monkeypatch.setattr(lightgbm_engine, "_hushed", threading.local())
    X, y = sample(100)
    training = Engine(X, LEVELS, BoosterOptions(n_jobs=2)).training(rank(y))
    given: list[int] = []
    made = lightgbm.Dataset

    def spy(*args: Any, **kwargs: Any) -> Any:
        given.append(kwargs["params"]["num_threads"])
        return made(*args, **kwargs)

    monkeypatch.setattr(lightgbm, "Dataset", spy)
    training.grow(1)
    training.grow(1)
    assert given == [2]


def test_goss_leaves_out_the_bags_of_small_trees() -> None:
    chosen = settings(BoosterOptions(params={"data_sample_strategy": "goss"}), 500)
    assert (chosen["bagging_fraction"], chosen["bagging_freq"]) == (1.0, 0)
    assert settings(BoosterOptions(), 500)["bagging_fraction"] == 0.8


@pytest.mark.parametrize(
    "params",
    [
        {"use_quantized_grad": True, "quant_train_renew_leaf": True},
        {"path_smooth": 1.0},
        {"monotone_constraints_method": "advanced"},
        {"mc_method": "Advanced"},
    ],
)
def test_what_turns_where_it_must_not_does_not_go_with_monotone(params: dict[str, Any]) -> None:
    options = BoosterOptions(params=params)
    settings(options, 500)
    with pytest.raises(OptionError, match="monotone="):
        settings(options, 500, (1, 0))


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"monotone_constraints_method": "intermediate", "path_smooth": 0},
        {"use_quantized_grad": True, "quant_train_renew_leaf": False},
        {"data_sample_strategy": "goss"},
        {"extra_trees": True},
        {"learning_rate": 1.0},
        {"max_delta_step": 0.2},
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_what_goes_with_monotone_is_monotone(params: dict[str, Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, _ = sample(1500)
    y = X[:, 0] * (1.0 + rng.normal(size=1500)) + np.abs(X[:, 2]) + X[:, 0] * (X[:, 3] % 3)
    X, y = X[~np.isnan(y)], y[~np.isnan(y)]
    options = BoosterOptions(params=params, rounds=60)
    ranker = fit_booster(X, rank(y), options=options, levels=LEVELS, monotone=(1, 0, -1, 0)).ranker
    low = rng.normal(size=(10_000, 4))
    low[:, 3] = rng.integers(0, 7, 10_000)
    high = low + rng.exponential(size=(10_000, 4)) * (1.0, 0.0, -1.0, 0.0)
    assert (ranker.predict(high) >= ranker.predict(low)).all()
    assert (ranker.predict(high) > ranker.predict(low)).mean() > 0.2
