"""The paper's experiment on its published sample and on fresh ones (depth 3, no pruning)."""

from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

import crank
from crank import metrics
from crank.datasets.sample import Sample

OPTIONS: dict[str, Any] = {
    "max_depth": 3,
    "min_samples_leaf": 1,
    "prune": None,
    "leaf_order": "oriented",
}


@pytest.fixture(scope="module")
def samples() -> tuple[Sample, Sample]:
    return crank.datasets.paper_sample()


def test_cart_fits_well_and_ranks_badly(samples: tuple[Sample, Sample]) -> None:
    train, test = samples
    cart = DecisionTreeRegressor(max_depth=3, random_state=0).fit(train.X, train.y)
    score = cart.predict(test.X)
    assert metrics.iauc(test.y, score) == pytest.approx(0.618, abs=0.002)
    assert metrics.kendall(test.y, score) == pytest.approx(0.581, abs=0.002)
    assert np.mean((test.y - score) ** 2) == pytest.approx(7.4e-4, abs=1e-5)


@pytest.mark.parametrize(
    ("criterion", "iauc", "kendall"), [("iauc", 0.942, 0.853), ("kendall", 0.938, 0.851)]
)
def test_stumps_rank_well(
    samples: tuple[Sample, Sample], criterion: str, iauc: float, kendall: float
) -> None:
    train, test = samples
    model = crank.fit(train.frame, "y ~ x", criterion=criterion, **OPTIONS)
    score = model.predict(test.frame)
    assert metrics.iauc(test.y, score) == pytest.approx(iauc, abs=0.002)
    assert metrics.kendall(test.y, score) == pytest.approx(kendall, abs=0.002)


def test_a_learner_that_cuts_a_node_several_times_ranks_better(
    samples: tuple[Sample, Sample],
) -> None:
    train, test = samples
    model = crank.fit(train.frame, "y ~ x", criterion="kendall", learner="tree", **OPTIONS)
    score = model.predict(test.frame)
    assert metrics.iauc(test.y, score) >= 0.98
    assert metrics.kendall(test.y, score) >= 0.92


def test_the_picture_holds_over_a_hundred_samples() -> None:
    ranked, regressed = [], []
    for seed in range(100):
        train = crank.datasets.paper_toy(100, random_state=seed)
        test = crank.datasets.paper_toy(2000, random_state=10_000 + seed)
        tree = crank.RankingTree(criterion="kendall", max_depth=3).fit(train.X, train.y)
        cart = DecisionTreeRegressor(max_depth=3, random_state=0).fit(train.X, train.y)
        ranked.append(tree.score(test.X, test.y))
        regressed.append(metrics.iauc(test.y, cart.predict(test.X)))
    assert np.mean(ranked) >= 0.935
    assert np.mean(regressed) <= 0.63
