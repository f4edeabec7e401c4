"""What a factor gains by chance, against shuffled scores."""

from typing import Any

import numpy as np
import pytest

from crank.kernels.categories import CategoryColumn
from crank.kernels.chance import MEAN_SIZE, chance_gain
from crank.kernels.cuts import Layer, Objective, ScoredLayer


def mean_gain(code: Any, levels: Any, objective: Objective, rounds: Any = 400) -> Any:
    rng = np.random.default_rng(0)
    n = len(code)
    score = np.arange(n) - (n - 1) / 2.0
    whole = Layer(np.arange(n, dtype=np.int32), np.array([0, n], dtype=np.intp))
    column = CategoryColumn(code, levels, discount=False)
    gains = []
    for _ in range(rounds):
        layer = ScoredLayer.of(whole, rng.permutation(score), None, objective, 1)
        gains.append(column.search(layer).best[0])
    return np.mean(gains), layer


@pytest.mark.parametrize("levels", [10, 40, 100])
@pytest.mark.parametrize("objective", ["sum", "variance"])
def test_shuffled_scores_gain_what_chance_says(objective: Objective, levels: int) -> None:
    rng = np.random.default_rng(1)
    code = rng.integers(0, levels, 600)
    gain, layer = mean_gain(code, levels, objective)
    expected = chance_gain(np.bincount(code)[None, :], layer.noise, objective)[0]
    two = layer.noise[0] * (MEAN_SIZE * np.sqrt(600) if objective == "sum" else 1.0)
    assert gain == pytest.approx(expected + two, rel=0.2)


def test_two_levels_are_never_discounted() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        count = rng.integers(1, 100, (1, 2))
        for objective in ("sum", "variance"):
            assert chance_gain(count, np.ones(1), objective)[0] == 0.0
