"""Trees as arrays: against scikit-learn, exact in double, missing values and the paper's sample."""

import json
from typing import Any

import numpy as np
import pytest

from crank import metrics
from crank.criteria import get_criterion
from crank.datasets import paper_sample
from crank.errors import DataError
from crank.fitting.grow import grow
from crank.plugins.base import TrainingMatrix
from crank.plugins.tree import ClassificationTree
from crank.plugins.trees import TreesRule
from crank.ranks import rank
from crank.testing import check_learner
from tests.narrowing import present


def sample(
    m: int = 300, seed: int = 0, missing: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3)).round(1)
    label = np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=m) > 1.0, 1.0, -1.0)
    label[:2] = 1.0, -1.0
    X[rng.random(X.shape) < missing] = np.nan
    return X, label, rng.uniform(0.2, 2.0, m)


def fit(
    learner: ClassificationTree, X: np.ndarray, label: np.ndarray, weight: np.ndarray | None = None
) -> TreesRule:
    weight = np.ones(len(X)) if weight is None else weight
    return present(learner.fit(X, label, weight, rng=np.random.default_rng(0)))


@pytest.mark.parametrize(
    "learner",
    [ClassificationTree(), ClassificationTree(max_depth=1, criterion="entropy")],
)
def test_trees_keep_the_contract(learner: ClassificationTree) -> None:
    check_learner(learner)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_tree_decides_like_scikit_learns_on_ordinary_numbers(seed: int, missing: float) -> None:
    from sklearn.tree import DecisionTreeClassifier

    X, label, weight = sample(seed=seed, missing=missing)
    peer = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, label, sample_weight=weight)
    rule = fit(ClassificationTree(), X, label, weight)
    lean = 2.0 * peer.predict_proba(X)[:, 1] - 1.0
    np.testing.assert_allclose(rule.decision(X), lean, atol=1e-9)
    unseen = X.copy()
    unseen[::2, seed % 3] = np.nan
    lean = 2.0 * peer.predict_proba(unseen)[:, 1] - 1.0
    np.testing.assert_allclose(rule.decision(unseen), lean, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e300])
def test_any_scale_gives_the_same_tree(scale: float) -> None:
    X, label, weight = sample()
    plain, scaled = (fit(ClassificationTree(), s * X, label, weight) for s in (1.0, scale))
    np.testing.assert_array_equal(plain.nodes.column, scaled.nodes.column)
    np.testing.assert_array_equal(plain.decision(X), scaled.decision(scale * X))


def test_neighbouring_doubles_are_told_apart_midway() -> None:
    x = 1e9 + np.arange(40) * 2.0**-20
    label = np.where(np.arange(40) < 17, -1.0, 1.0)
    rule = fit(ClassificationTree(), x[:, None], label)
    np.testing.assert_array_equal(np.sign(rule.decision(x[:, None])), label)
    nodes = rule.nodes
    assert nodes.threshold[nodes.inner].tolist() == [(x[16] + x[17]) / 2]


def test_thresholds_lie_midway_between_the_rows_of_their_own_node() -> None:
    X, label, weight = sample(60)
    rule = fit(ClassificationTree(), X, label, weight)
    nodes = rule.nodes
    members = {0: np.arange(60)}
    for at in np.flatnonzero(nodes.inner).tolist():
        rows = members[at]
        x = X[rows, nodes.column[at]]
        low = x <= nodes.threshold[at]
        middle = x[low].max() / 2 + x[~low].min() / 2
        assert nodes.threshold[at] == middle
        members[int(nodes.low[at])], members[int(nodes.high[at])] = rows[low], rows[~low]


def test_a_tied_leaf_goes_with_its_parent() -> None:
    x = np.array([[0.0], [0.0], [0.0], [1.0], [1.0]])
    label = np.array([-1.0, -1.0, -1.0, 1.0, -1.0])
    rule = fit(ClassificationTree(max_depth=1), x, label)
    np.testing.assert_allclose(rule.decision(x), [-1.0, -1.0, -1.0, -0.3, -0.3])


def test_credit_is_the_share_of_impurity_that_each_column_removed() -> None:
    from sklearn.tree import DecisionTreeClassifier

    X, label, weight = sample()
    peer = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, label, sample_weight=weight)
    credit = fit(ClassificationTree(), X, label, weight).credit()
    found = [credit.get(j, 0.0) for j in range(3)]
    np.testing.assert_allclose(found, peer.feature_importances_, rtol=1e-9)


def test_description_joins_boxes_and_covers_both_sides() -> None:
    x = np.arange(12.0)[:, None]
    label = np.where((x[:, 0] > 2) & (x[:, 0] < 8), 1.0, -1.0)
    rule = fit(ClassificationTree(), x, label)
    assert rule.describe(["x"]) == "2.5 < x <= 7.5 or missing"
    assert rule.describe_right(["x"]) == "x <= 2.5 or x > 7.5"


def test_no_cut_gives_none() -> None:
    label = np.resize([1.0, -1.0], 20)
    assert (
        ClassificationTree().fit(np.ones((20, 2)), label, np.ones(20), rng=np.random.default_rng(0))
        is None
    )


def test_the_papers_sample_reaches_the_announced_figures() -> None:
    train, test = paper_sample()
    tree = grow(
        TrainingMatrix(train.X.to_numpy(dtype=float), (0,)),
        rank(np.asarray(train.y)),
        ClassificationTree(),
        get_criterion("kendall"),
        max_depth=3,
        min_samples_leaf=1,
    )
    score = tree.score(test.X.to_numpy(dtype=float))
    assert tree.depth == 3
    assert metrics.iauc(test.y, score) >= 0.98
    assert metrics.kendall(test.y, score) >= 0.92


def test_max_depth_is_that_of_the_deepest_leaf() -> None:
    X, label, weight = sample()
    rule = fit(ClassificationTree(max_depth=2), X, label, weight)
    assert rule.nodes.depths.tolist() == [2]


def test_decisions_of_some_rows_are_those_of_all() -> None:
    X, label, weight = sample(missing=0.1)
    rule = fit(ClassificationTree(), X, label, weight)
    rows = np.arange(300)[::-3]
    np.testing.assert_array_equal(rule.decision_at(X, rows), rule.decision(X)[rows])
    np.testing.assert_array_equal(rule.decision_at(X, rows[:2]), rule.decision(X)[rows[:2]])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("low", [0, 1, 2]),  # the root would be a leaf on one side only
        ("low", [2, 1, 0]),  # a cycle
        ("high", [9, 1, 2]),
        ("low", [-1, 1, 2]),
        ("feature", [-3, 0, 0]),
        ("feature", [0.5, 0, 0]),
        ("threshold", [float("inf"), 0.0, 0.0]),
        ("missing_low", [2, 0, 0]),
        ("roots", []),
        ("roots", [3]),
        ("value", [0.0, 1.0]),
    ],
)
def test_damaged_trees_are_refused(field: str, value: list[int]) -> None:
    x = np.arange(6.0)[:, None]
    rule = fit(ClassificationTree(), x, np.sign(x[:, 0] - 2.5))
    stored = json.loads(json.dumps(rule.to_dict()))
    assert TreesRule.from_dict(stored).to_dict() == stored
    with pytest.raises(DataError, match="stored rule"):
        TreesRule.from_dict(stored | {field: value})


def test_a_node_with_two_parents_is_refused() -> None:
    stored: dict[str, Any] = {
        "feature": [0, 0, 0, 0],
        "threshold": [0.0, 1.0, 0.0, 0.0],
        "low": [1, 2, 2, 3],
        "high": [2, 3, 2, 3],
        "missing_low": [0, 0, 0, 0],
        "value": [0.0, 0.0, 1.0, -1.0],
        "roots": [0],
        "share": [[0, 1.0]],
    }
    with pytest.raises(DataError, match="form no trees"):
        TreesRule.from_dict(stored)
    stored["high"][0] = 3
    with pytest.raises(DataError, match="form no trees"):
        TreesRule.from_dict(stored)
