"""Trees do not depend on how many nodes are fitted side by side."""

from typing import Any

import numpy as np
import pytest

from crank.criteria import get_criterion
from crank.fitting.grow import grow
from crank.plugins.base import TrainingMatrix
from crank.plugins.registry import get_learner
from crank.ranks import rank
from tests.narrowing import present


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("logistic", {}),
        ("svm", {"max_rows": 60}),
        ("svm", {"kernel": "linear"}),
        ("tree", {}),
        ("lightgbm", {"n_estimators": 10}),
    ],
)
def test_any_number_of_jobs_grows_the_same_tree(name: str, params: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2 + rng.normal(size=400)
    one, two = (
        grow(
            TrainingMatrix(X, (0, 0, 0), n_jobs),
            rank(y),
            get_learner(name, params),
            get_criterion("iauc"),
            max_depth=3,
            min_samples_leaf=10,
            seed=lambda: 1,
        )
        for n_jobs in (1, 2)
    )
    assert one.n_leaves > 4
    np.testing.assert_array_equal(one.apply(X), two.apply(X))
    for first, second in zip(one.nodes, two.nodes, strict=True):
        if first.split is not None:
            assert present(first.split).rule.to_dict() == present(second.split).rule.to_dict()
