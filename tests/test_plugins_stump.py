"""The stump against brute force over every threshold, subset of levels and missing side."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crank.criteria import criteria
from crank.errors import OptionError
from crank.growing.splitter import LayerTask
from crank.kernels.cuts import Layer, Objective
from crank.mass import LocalMass
from crank.plugins.base import TrainingMatrix
from crank.plugins.nodewise import bind
from crank.plugins.stump import Stump, StumpRule
from crank.ranks import rank
from tests.narrowing import of, present

CRITERIA = {criterion.name: criterion for criterion in criteria()}


def numeric_sides(x: Any) -> Iterator[Any]:
    """Every way to part a numeric column: a threshold, missing values on either side, or alone."""
    known, missing = ~np.isnan(x), np.isnan(x)
    for t in np.unique(x[known])[1:]:
        yield known & (x < t)
        yield (known & (x < t)) | missing
    yield missing


def category_sides(codes: Any) -> Iterator[Any]:
    """Every subset of the levels, missing values being one more level."""
    present = [codes == c for c in np.unique(codes[~np.isnan(codes)])] + [np.isnan(codes)]
    present = [p for p in present if p.any()]
    for size in range(1, len(present)):
        for subset in itertools.combinations(present, size):
            yield np.logical_or.reduce(subset)


def value(side: Any, score: Any, weight: Any, objective: Objective) -> Any:
    low, total = score[side].sum(), score.sum()
    if objective == "sum":
        return abs(2 * low - total)
    w, w_low = weight.sum(), weight[side].sum()
    return (low - total * w_low / w) ** 2 * w / (w_low * (w - w_low))


def brute_force(
    X: np.ndarray, levels: Any, score: Any, weight: Any, objective: Objective, min_leaf: int
) -> Any:
    """Largest value of the objective over all columns, 0 if nothing is allowed."""
    best = 0.0
    for j, n_levels in enumerate(levels):
        for side in (category_sides if n_levels else numeric_sides)(X[:, j]):
            if min(side.sum(), (~side).sum()) >= min_leaf:
                best = max(best, value(side, score, weight, objective))
    return best


def task_of(ranks: Any, criterion: Any, layer: Any, min_leaf: int) -> Any:
    score = criterion.scores(ranks, layer, LocalMass(ranks, layer))
    return LayerTask(layer, score, ranks, criterion.objective, min_leaf, np.random.default_rng)


def small_problem(seed: int, n: Any = 14, levels: Any = (0, 0, 4, 3), missing: Any = 0.2) -> Any:
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.integers(0, k, n) if k else np.round(rng.normal(size=n), 1 if j else 6)
            for j, k in enumerate(levels)
        ]
    ).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    y = rng.integers(0, 9, n).astype(float) if seed % 2 else rng.normal(size=n)
    return rng, X, y


@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(sorted(CRITERIA)),
    st.booleans(),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.2, 0.6]),
)
def test_stump_is_the_best_of_all_in_every_node_of_a_layer(
    seed: int, name: Any, weighted: bool, min_leaf: int, missing: float
) -> None:
    # several columns of numbers: exact also when the minimum leaf size binds
    levels = (0, 0, 0)
    check_level(seed, name, weighted, min_leaf, missing, levels)


@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(sorted(CRITERIA)),
    st.booleans(),
    st.integers(1, 7),
    st.sampled_from([0.0, 0.2, 0.6]),
)
def test_stump_finds_the_best_subset_of_levels(
    seed: int, name: Any, weighted: bool, min_leaf: int, missing: float
) -> None:
    check_level(seed, name, weighted, min_leaf, missing, (0, 4, 6))


def check_level(
    seed: int, name: Any, weighted: Any, min_leaf: int, missing: Any, levels: Any
) -> None:
    rng, X, y = small_problem(seed, 30, levels, missing)
    w = rng.integers(1, 5, len(y)) / 2.0 if weighted else None
    ranks = rank(y, w)
    position = np.arange(30, dtype=np.int32)
    first = rng.random(30) < 0.5
    parts = [p for p in (position[first], position[~first]) if len(set(ranks.y[p])) > 1]
    sizes = [len(p) for p in parts]
    turn = sizes[0] if len(parts) == 2 or first[parts[0][0]] else 0
    below = Layer(np.concatenate(parts), np.concatenate(([0], np.cumsum(sizes))), turn)
    root = Layer(position, np.array([0, 30]))
    # columns are compared without a discount, so that the largest gain is the best
    splitter = bind(Stump(discount_levels=False), TrainingMatrix(X, levels))
    for layer in (root, below):
        if len(set(ranks.y)) == 1:
            return
        task = task_of(ranks, CRITERIA[name], layer, min_leaf)
        found = splitter.split(task)
        for k, split in enumerate(found.splits):
            here = slice(layer.bounds[k], layer.bounds[k + 1])
            rows, score = ranks.row[layer.position[here]], task.score[here]
            weight = ranks.weight[layer.position[here]]
            best = brute_force(X[rows], levels, score, weight, task.objective, min_leaf)
            scale = np.abs(score).sum()
            floor = abs(score.sum()) if task.objective == "sum" else 0.0
            if split is None:
                slack = scale if task.objective == "sum" else scale**2 / weight.sum()
                assert best <= floor + 1e-9 * slack
                assert not found.left[here].any()
                continue
            left = split.goes_left(X, rows)
            assert (left == found.left[here]).all()
            assert min(left.sum(), (~left).sum()) >= min_leaf
            reached = value(left, score, weight, task.objective)
            assert reached == pytest.approx(best, rel=1e-9)
            assert best > floor
            # the high side goes left
            assert score[left].sum() * weight[~left].sum() > score[~left].sum() * weight[left].sum()


def test_a_minimum_leaf_size_leaves_the_best_subset_that_is_allowed() -> None:
    # sorted by mean score the levels have 4, 4, 2 and 1 rows: no prefix has 5 or 6 of the 11
    codes = np.repeat([0.0, 1.0, 2.0, 3.0], [4, 2, 4, 1])
    y = np.array([10.0, 9.0, 7.0, 8.0, 2.0, 1.0, 6.0, 4.0, 5.0, 3.0, 0.0])
    ranks = rank(y)
    layer = Layer(np.arange(11, dtype=np.int32), np.array([0, 11]))
    splitter = bind(Stump(discount_levels=False), TrainingMatrix(codes[:, None], (4,)))
    found = splitter.split(task_of(ranks, CRITERIA["kendall"], layer, 5))
    assert of(StumpRule, present(found.splits[0]).rule).levels == ((0, 3), (1, 2))


def test_subset_of_levels_respects_the_minimum_leaf_size() -> None:
    _, X, y = small_problem(3, 40, (6,), 0.1)
    ranks = rank(y)
    layer = Layer(np.arange(40, dtype=np.int32), np.array([0, 40]))
    for min_leaf in range(1, 21):
        splitter = bind(Stump(), TrainingMatrix(X, (6,)))
        found = splitter.split(task_of(ranks, CRITERIA["kendall"], layer, min_leaf))
        if found.splits[0] is not None:
            assert min_leaf <= found.left.sum() <= 40 - min_leaf


def fit(x: Any, score: Any, levels: Any = None) -> Any:
    X = np.asarray(x, dtype=float)[:, None]
    score = np.asarray(score, dtype=float)
    rng = np.random.default_rng(0)
    return Stump().fit(X, np.sign(score), np.abs(score), rng=rng, levels=levels)


def test_threshold_lies_midway_between_neighbouring_values() -> None:
    rule = fit([1, 2, 4, 8], [-1, -1, 1, 1])
    assert (rule.threshold, rule.above) == (3.0, True)
    rule = fit([1, 2, 4, 8], [1, 1, -1, -1])
    assert (rule.threshold, rule.above) == (3.0, False)


@pytest.mark.parametrize("low_is_left", [True, False])
@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1.0, np.nextafter(1.0, 2.0)),
        (5e-324, 1e-323),
        (-5e-324, 0.0),
        (-1.7e308, 1.7e308),
        (-np.inf, 3.0),
        (3.0, np.inf),
        (-np.inf, np.inf),
    ],
)
def test_neighbours_at_the_limits_of_doubles_are_told_apart(
    low: Any, high: Any, low_is_left: bool
) -> None:
    sign = -1.0 if low_is_left else 1.0
    rule = fit([low, low, high, high], [-sign, -sign, sign, sign])
    X = np.array([[low], [high]])
    assert np.isfinite(rule.threshold)
    assert (rule.decision(X) > 0).tolist() == [low_is_left, not low_is_left]
    assert np.isfinite(rule.decision(np.array([[np.inf], [-np.inf], [np.nan]]))).all()


def test_missing_values_go_to_the_better_side() -> None:
    rule = fit([1, 2, 3, 4, np.nan, np.nan], [-1, -1, 1, 1, 1, 1])
    assert rule.missing_left
    rule = fit([1, 2, 3, 4, np.nan, np.nan], [-1, -1, 1, 1, -1, -1])
    assert not rule.missing_left


def test_missing_against_the_rest_is_a_split() -> None:
    rule = fit([1, 2, np.nan, np.nan], [-1, -1, 1, 1])
    assert rule.threshold is None
    assert rule.missing_left
    assert rule.describe(["x"]) == "x is missing"
    rule = fit([1, 2, np.nan, np.nan], [1, 1, -1, -1])
    assert rule.describe(["x"]) == "x is not missing"


def test_missing_values_unseen_in_training_follow_the_majority() -> None:
    assert fit([1, 2, 3, 4, 5], [-1, 1, 1, 1, 1]).missing_left
    assert not fit([1, 2, 3, 4, 5], [-1, -1, -1, -1, 1]).missing_left


def test_levels_unseen_in_training_follow_the_missing_values() -> None:
    rule = fit([0, 0, 1, 1, 3, np.nan, np.nan], [1, 1, -1, -1, -1, 1, 1], levels=(5,))
    assert rule.levels == ((0,), (1, 3))
    unseen = np.array([[2.0], [4.0], [np.nan], [0.0], [1.0], [3.0]])
    assert (rule.decision(unseen) > 0).tolist() == [True, True, True, True, False, False]
    assert rule.describe(["g"], [["a", "b", "c", "d", "e"]]) == ("g in {a, c, e} or missing")


@pytest.mark.parametrize("x", [[1.0] * 4, [np.nan] * 4])
def test_columns_without_two_values_offer_no_split(x: int | list[float]) -> None:
    assert fit(x, [-1, 1, -1, 1]) is None


def test_the_first_of_equal_columns_wins() -> None:
    x = np.random.default_rng(0).normal(size=20)
    X = np.column_stack([np.zeros(20), x, x, 2 * x])
    rng = np.random.default_rng(0)
    assert present(Stump().fit(X, np.sign(x), np.ones(20), rng=rng)).column == 1


@pytest.mark.parametrize(
    "rule",
    [
        StumpRule(2, 0.1 + 0.2, above=False, missing_left=True),
        StumpRule(0, None, above=False, missing_left=True),
        StumpRule(1, levels=((0, 3), (1,)), missing_left=False),
    ],
)
def test_rules_survive_json(rule: Any) -> None:
    import json

    again = StumpRule.from_dict(json.loads(json.dumps(rule.to_dict())))
    assert again == rule
    assert rule.credit() == {rule.column: 1.0}


@pytest.mark.parametrize("criterion", sorted(CRITERIA))
def test_a_factor_of_many_levels_without_meaning_is_left_alone(criterion: str) -> None:
    chosen = {True: 0, False: 0}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.normal(size=400), rng.integers(0, 100, 400)])
        ranks = rank(X[:, 0] + 5.0 * rng.normal(size=400))
        layer = Layer(np.arange(400, dtype=np.int32), np.array([0, 400]))
        for discount in chosen:
            splitter = bind(Stump(discount), TrainingMatrix(X, (0, 100)))
            found = splitter.split(task_of(ranks, CRITERIA[criterion], layer, 5)).splits[0]
            chosen[discount] += found is not None and of(StumpRule, found.rule).column == 1
    assert chosen[False] > 15
    assert chosen[True] < 3


def test_a_factor_of_many_levels_with_meaning_is_still_found() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 100, 2000)
    X = np.column_stack([rng.normal(size=2000), codes])
    ranks = rank(rng.normal(size=100)[codes] + 0.5 * X[:, 0] + rng.normal(size=2000))
    layer = Layer(np.arange(2000, dtype=np.int32), np.array([0, 2000]))
    splitter = bind(Stump(), TrainingMatrix(X, (0, 100)))
    found = splitter.split(task_of(ranks, CRITERIA["kendall"], layer, 5)).splits[0]
    assert of(StumpRule, present(found).rule).column == 1


def test_settings_of_the_stump_are_checked() -> None:
    with pytest.raises(OptionError, match=r"discount_levels of Stump is 'no'. Allowed: True or"):
        Stump(discount_levels="no")  # type: ignore[arg-type]
