"""Trees as arrays: against scikit-learn, exact in double, missing values and the paper's sample."""

import json

import numpy as np
import pytest

from crank import metrics
from crank.criteria import get_criterion
from crank.datasets import paper_sample
from crank.errors import DataError
from crank.grow import grow
from crank.plugins.base import TrainingMatrix
from crank.plugins.tree import ClassificationTree
from crank.plugins.trees import TreesRule
from crank.ranks import rank
from crank.testing import check_learner


def sample(m=300, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3)).round(1)
    label = np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=m) > 1.0, 1.0, -1.0)
    label[:2] = 1.0, -1.0
    X[rng.random(X.shape) < missing] = np.nan
    return X, label, rng.uniform(0.2, 2.0, m)


def fit(learner, X, label, weight=None):
    weight = np.ones(len(X)) if weight is None else weight
    return learner.fit(X, label, weight, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    "learner",
    [ClassificationTree(), ClassificationTree(max_depth=1, criterion="entropy")],
)
def test_trees_keep_the_contract(learner):
    check_learner(learner)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_tree_decides_like_scikit_learns_on_ordinary_numbers(seed, missing):
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
def test_any_scale_gives_the_same_tree(scale):
    X, label, weight = sample()
    plain, scaled = (fit(ClassificationTree(), s * X, label, weight) for s in (1.0, scale))
    np.testing.assert_array_equal(plain.feature, scaled.feature)
    np.testing.assert_array_equal(plain.decision(X), scaled.decision(scale * X))


def test_neighbouring_doubles_are_told_apart_midway():
    x = 1e9 + np.arange(40) * 2.0**-20
    label = np.where(np.arange(40) < 17, -1.0, 1.0)
    rule = fit(ClassificationTree(), x[:, None], label)
    np.testing.assert_array_equal(np.sign(rule.decision(x[:, None])), label)
    inner = rule.low != np.arange(len(rule.low))
    assert rule.threshold[inner].tolist() == [(x[16] + x[17]) / 2]


def test_thresholds_lie_midway_between_the_rows_of_their_own_node():
    X, label, weight = sample(60)
    rule = fit(ClassificationTree(), X, label, weight)
    members = {0: np.arange(60)}
    for at in range(len(rule.low)):
        if rule.low[at] == at:
            continue
        rows = members[at]
        x = X[rows, rule.feature[at]]
        low = x <= rule.threshold[at]
        middle = x[low].max() / 2 + x[~low].min() / 2
        assert rule.threshold[at] == middle
        members[rule.low[at]], members[rule.high[at]] = rows[low], rows[~low]


def test_a_tied_leaf_goes_with_its_parent():
    x = np.array([[0.0], [0.0], [0.0], [1.0], [1.0]])
    label = np.array([-1.0, -1.0, -1.0, 1.0, -1.0])
    rule = fit(ClassificationTree(max_depth=1), x, label)
    np.testing.assert_allclose(rule.decision(x), [-1.0, -1.0, -1.0, -0.3, -0.3])


def test_credit_is_the_share_of_impurity_that_each_column_removed():
    from sklearn.tree import DecisionTreeClassifier

    X, label, weight = sample()
    peer = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, label, sample_weight=weight)
    credit = fit(ClassificationTree(), X, label, weight).credit()
    found = [credit.get(j, 0.0) for j in range(3)]
    np.testing.assert_allclose(found, peer.feature_importances_, rtol=1e-9)


def test_description_joins_boxes_and_covers_both_sides():
    x = np.arange(12.0)[:, None]
    label = np.where((x[:, 0] > 2) & (x[:, 0] < 8), 1.0, -1.0)
    rule = fit(ClassificationTree(), x, label)
    assert rule.describe(["x"]) == "2.5 < x ≤ 7.5"
    assert rule.describe_right(["x"]) == "x ≤ 2.5 or x > 7.5"


def test_no_cut_gives_none():
    label = np.resize([1.0, -1.0], 20)
    assert fit(ClassificationTree(), np.ones((20, 2)), label) is None
    X = np.arange(20.0)[:, None]
    assert fit(ClassificationTree(), X, label, np.where(label > 0, 1.0, 0.0)) is None


def test_the_papers_sample_reaches_the_announced_figures():
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


def random_trees(n_trees=7, depth=5, columns=4, seed=0):
    """Random trees whose leaves lie at different depths."""
    rng = np.random.default_rng(seed)
    nodes, roots = [], []
    for _ in range(n_trees):
        roots.append(len(nodes))
        nodes.append(None)
        waiting = [(roots[-1], 0)]
        for at, level in waiting:  # the list grows while it is read
            if level == depth or rng.random() < 0.2:
                nodes[at] = (0, 0.0, at, at, 0, rng.normal())
                continue
            low = len(nodes)
            nodes += [None, None]
            waiting += [(low, level + 1), (low + 1, level + 1)]
            split = round(rng.normal(), 1)
            nodes[at] = (int(rng.integers(columns)), split, low, low + 1, int(rng.integers(2)), 0.0)
    feature, threshold, low, high, missing, value = (list(c) for c in zip(*nodes, strict=True))
    return TreesRule.from_dict(
        {
            "kind": "trees",
            "feature": feature,
            "threshold": threshold,
            "low": low,
            "high": high,
            "missing_low": missing,
            "value": value,
            "roots": roots,
            "share": [],
        }
    )


def naive_decision(rule, x):
    total = 0.0
    for root in rule.roots:
        node = root
        while rule.low[node] != node:
            value = x[rule.feature[node]]
            low = rule.missing_low[node] if np.isnan(value) else value <= rule.threshold[node]
            node = rule.low[node] if low else rule.high[node]
        total += rule.value[node]
    return total


@pytest.mark.parametrize("seed", range(3))
def test_descent_in_numpy_and_compiled_equal_a_plain_loop_bit_for_bit(seed):
    rule = random_trees(seed=seed)
    X = np.random.default_rng(seed).normal(size=(200, 4)).round(1)
    X[np.random.default_rng(9).random(X.shape) < 0.1] = np.nan
    wanted = np.array([naive_decision(rule, x) for x in X])
    rows = np.arange(200)
    np.testing.assert_array_equal(rule.descend(X, rows), wanted)
    np.testing.assert_array_equal(rule.decision(X), wanted)
    np.testing.assert_array_equal([rule.decision(X[i : i + 1])[0] for i in rows], wanted)
    np.testing.assert_array_equal(rule.decision_at(X, rows[::-3]), wanted[::-3])
    for layout in (X, np.asfortranarray(X)):
        np.testing.assert_array_equal(rule.descend_compiled(layout, rows), wanted)
    narrow = X.astype(np.float32)
    np.testing.assert_array_equal(
        rule.descend_compiled(narrow, rows[::-3]), rule.descend(narrow, rows[::-3])
    )


def test_large_batches_take_the_compiled_way_and_small_ones_do_not(monkeypatch):
    from crank.plugins import trees

    rule = random_trees()
    X = np.random.default_rng(0).normal(size=(100, 4))
    wanted = rule.decision(X)
    ways = []
    monkeypatch.setattr(trees, "numba_works", lambda: ways.append("compiled") or True)
    np.testing.assert_array_equal(rule.decision(X), wanted)
    assert not ways
    for size in ("COMPILED_STEPS", "COMPILED_STEPS_LOADED"):
        monkeypatch.setattr(trees, size, 100)
    np.testing.assert_array_equal(rule.decision(X), wanted)
    assert ways
    ways.clear()
    np.testing.assert_array_equal(rule.decision(X[:10]), wanted[:10])
    assert not ways


def test_without_numba_numpy_serves(monkeypatch):
    from crank.plugins import trees

    rule = random_trees()
    X = np.random.default_rng(0).normal(size=(100, 4))
    wanted = rule.decision(X)
    for size in ("COMPILED_STEPS", "COMPILED_STEPS_LOADED"):
        monkeypatch.setattr(trees, size, 100)
    monkeypatch.setattr(trees, "numba_works", lambda: False)
    np.testing.assert_array_equal(rule.decision(X), wanted)


def test_depth_is_that_of_the_deepest_leaf():
    assert random_trees(depth=0).depth == 0
    X, label, weight = sample()
    assert fit(ClassificationTree(max_depth=2), X, label, weight).depth == 2


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
def test_damaged_trees_are_refused(field, value):
    x = np.arange(6.0)[:, None]
    rule = fit(ClassificationTree(), x, np.sign(x[:, 0] - 2.5))
    stored = json.loads(json.dumps(rule.to_dict()))
    assert TreesRule.from_dict(stored).to_dict() == stored
    with pytest.raises(DataError, match="stored rule"):
        TreesRule.from_dict(stored | {field: value})


def test_a_node_with_two_parents_is_refused():
    stored = {
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
