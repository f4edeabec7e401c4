"""LightGBM's own squared error on labels that move, against the same derivatives handed over."""

from typing import Any

import numpy as np
import pytest

from crank.fitting import lightgbm_engine
from crank.fitting.lightgbm_engine import Engine, Training, reads_labels_anew
from crank.fitting.losses import pair_loss
from crank.rankers.booster import BoosterOptions
from crank.ranks import rank

Floats = np.ndarray[Any, np.dtype[np.float64]]
ROUNDS = 23
LEVELS = (0, 0, 6)


def sample(n: int = 400) -> tuple[Floats, Floats, Floats]:
    """Two columns of numbers, one of them with gaps, one of levels; y; weights."""
    rng = np.random.default_rng(n)
    X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 6, n)])
    y = np.exp(X[:, 0] + X[:, 1] ** 2 * (X[:, 2] % 2) + 0.3 * rng.normal(size=n))
    X[::9, 1] = np.nan
    return X, y, rng.uniform(0.5, 2.0, n)


def grown(options: BoosterOptions, weighted: bool, monotone: tuple[int, ...]) -> Training:
    X, y, w = sample()
    held = np.arange(0, 400, 5)
    kept = np.setdiff1d(np.arange(400), held)
    ranks = rank(y, w if weighted else None)
    training = Engine(X, LEVELS, options, monotone).training(
        ranks.subset(np.isin(ranks.row, kept)), held
    )
    if not training.handed_over:
        # LightGBM sets "objective" again for a loss that is handed over, and draws columns anew
        training.booster.reset_parameter({"verbosity": -1})
    for step in (1, 5, ROUNDS - 6):
        training.grow(step)
    return training


def test_lightgbm_reads_labels_anew() -> None:
    assert reads_labels_anew()


@pytest.mark.parametrize("trees", ["small", "large"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("monotone", [(), (1, 0, 0)])
def test_both_ways_to_squared_error_grow_the_same_trees(
    trees: Any,
    weighted: bool,
    monotone: tuple[int, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = BoosterOptions(trees=trees, random_state=3)
    own = grown(options, weighted, monotone)
    monkeypatch.setattr(lightgbm_engine, "reads_labels_anew", lambda: False)
    handed = grown(options, weighted, monotone)
    assert (own.handed_over, handed.handed_over) == (False, True)
    assert own.rounds == handed.rounds == ROUNDS
    np.testing.assert_allclose(own.heldout(), handed.heldout(), rtol=1e-6, atol=1e-9)
    X, *_ = sample()
    leaves = own.booster.predict(X, pred_leaf=True)
    assert np.array_equal(leaves, handed.booster.predict(X, pred_leaf=True))
    assert leaves.max() > 2


def test_labels_are_newtons_steps_from_the_scores_that_they_began_with() -> None:
    X, y, _ = sample()
    ranks = rank(y)
    options = BoosterOptions(params={"learning_rate": 0.1})
    training = Engine(X, LEVELS, options).training(ranks)
    assert training.use == 2
    loss = pair_loss(ranks, options.kappa)
    score = np.zeros(len(y))
    for number in range(6):
        if number % 2 == 0:
            wanted = np.empty(len(y))
            wanted[ranks.row] = loss.newton(score[ranks.row])
        training.grow(1)
        np.testing.assert_allclose(training.data.get_label(), wanted, rtol=1e-6, atol=1e-6)
        score = training.booster.predict(X, raw_score=True)


@pytest.mark.parametrize(("rate", "use"), [(0.01, 5), (0.05, 5), (0.1, 2), (0.2, 1), (1.0, 1)])
def test_long_steps_ask_for_new_labels_soon(rate: float, use: int) -> None:
    X, y, _ = sample()
    engine = Engine(X, LEVELS, BoosterOptions(params={"learning_rate": rate}))
    assert engine.training(rank(y)).use == use


def test_labels_in_single_precision_do_no_harm_to_large_scores() -> None:
    y = sample()[1]
    score = 1e4 * np.random.default_rng(0).normal(size=len(y))
    label = pair_loss(rank(y), 10.0).newton(score)
    exact = label - score
    rounded = label.astype(np.float32).astype(np.float64) - score
    assert np.abs(rounded - exact).max() < 1e-5 * np.abs(exact).max()
