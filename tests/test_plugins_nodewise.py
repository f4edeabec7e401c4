"""From decision values to oriented splits: signs, cuts, minimum sizes, broken plugins."""

from typing import Any

import numpy as np
import pytest

from crank.criteria import get_criterion
from crank.errors import PluginError
from crank.fitting.grow import grow
from crank.growing.tree import Tree
from crank.kernels.cuts import Objective
from crank.kernels.exact import best_cut
from crank.plugins.base import SplitLearner, SplitRule, TrainingMatrix
from crank.plugins.nodewise import in_order, orient
from crank.ranks import rank
from tests.narrowing import present


class Column(SplitRule):
    """Decide by the first column, shifted."""

    def __init__(
        self, shift: float = 0.0, shape: tuple[int] | None = None, bad: float | None = None
    ) -> None:
        self.shift, self.shape, self.bad = shift, shape, bad

    def decision(self, X: np.ndarray) -> np.ndarray:
        value = X[:, 0] + self.shift
        if self.bad is not None:
            value = np.where(X[:, 0] > 3, self.bad, value)
        return value if self.shape is None else np.resize(value, self.shape)

    def to_dict(self) -> Any:
        return {"shift": self.shift}

    @classmethod
    def from_dict(cls, d: Any) -> Any:
        return cls(d["shift"])


class Fixed(SplitLearner):
    """Return one rule for every node."""

    rule = Column

    def __init__(self, rule: Column | str | None) -> None:
        self.answer: Any = rule  # a text is no rule, and refused
        self.seen: list[tuple[Any, ...]] = []

    def fit(
        self, X: np.ndarray, label: np.ndarray, weight: np.ndarray, *, rng: np.random.Generator
    ) -> Any:
        self.seen.append((X, label, weight, rng))
        return self.answer


def tree_of(
    learner: Fixed,
    y: list[int] | np.ndarray,
    min_leaf: int = 1,
    depth: int = 1,
    criterion: str = "kendall",
    n_jobs: int = 1,
    X: np.ndarray | None = None,
) -> Tree:
    X = np.arange(float(len(y)))[:, None] if X is None else X
    return grow(
        TrainingMatrix(X, (0,), n_jobs),
        rank(np.asarray(y, dtype=float)),
        learner,
        get_criterion(criterion),
        max_depth=depth,
        min_samples_leaf=min_leaf,
    )


@pytest.mark.parametrize("m", [0, 1, 30, 60, 200])
def test_rows_are_put_in_order(m: int) -> None:
    rows = np.random.default_rng(m).permutation(200)[:m]
    sorted_rows, places = in_order(rows, 200)
    assert sorted_rows.tolist() == sorted(rows.tolist())
    assert rows[places].tolist() == sorted_rows.tolist()


def test_the_learners_own_zero_is_the_cut() -> None:
    tree = tree_of(Fixed(Column(-7.5)), np.arange(10))
    assert (present(tree.nodes[0].split).cut, present(tree.nodes[0].split).sign) == (0.0, 1)
    assert tree.nodes[tree.nodes[0].left].n == 2


def test_a_side_below_the_minimum_is_cut_anew() -> None:
    tree = tree_of(Fixed(Column(-7.5)), np.arange(10), min_leaf=3)
    split = tree.nodes[0].split
    assert present(split).cut == -3.0  # the best cut of kendall is in the middle, between 4 and 5
    assert tree.nodes[tree.nodes[0].left].n == 5


def test_values_of_zero_stay_on_the_learners_low_side_when_turned_round() -> None:
    y = -np.arange(10.0)
    tree = tree_of(Fixed(Column(-4.0)), y)
    split = tree.nodes[0].split
    assert present(split).sign == -1
    assert present(split).goes_left(np.arange(10.0)[:, None]).tolist() == [True] * 5 + [False] * 5


@pytest.mark.parametrize("objective", ["sum", "variance"])
def test_best_cut_agrees_with_trying_every_cut(objective: Objective) -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        value = rng.integers(0, 8, 15).astype(float)
        weight = rng.integers(1, 3, 15).astype(float)
        score = rng.normal(size=15)
        score -= weight * score.sum() / weight.sum()
        reached = []
        for t in np.unique(value)[1:]:
            low = value < t
            if min(low.sum(), 15 - low.sum()) < 3:
                continue
            part, mass = score[low].sum(), weight[low].sum()
            total = weight.sum()
            variance = part**2 * total / (mass * (total - mass))
            reached.append(2 * abs(part) if objective == "sum" else variance)
        found = best_cut(value, score, weight, objective, 3)
        assert (found is None) == (not reached)
        if found is not None:
            cut, sign = found
            high = sign * value > sign * cut
            part, mass = score[high].sum(), weight[high].sum()
            assert part > 0
            variance = part**2 * weight.sum() / (mass * (weight.sum() - mass))
            assert (2 * part if objective == "sum" else variance) == pytest.approx(max(reached))


def test_a_cut_that_does_not_improve_is_refused() -> None:
    value = np.array([1.0, -1.0, 1.0, -1.0])
    score = np.array([1.0, 1.0, -1.0, -1.0])
    assert orient(value, score, np.ones(4), "sum", 1) is None


def test_learners_see_labels_of_both_signs_and_weights_of_mean_one() -> None:
    learner = Fixed(Column(-5.0))
    tree_of(learner, [1, 2, 2, 3, 3, 3, 4, 4, 5, 6], depth=2)
    for X, label, weight, _ in learner.seen:
        assert set(label) == {-1.0, 1.0}
        assert weight.mean() == pytest.approx(1.0)
        assert (weight > 0).all()
        assert X.dtype == np.float64


def test_random_generators_depend_on_the_place_alone() -> None:
    draws = []
    for n_jobs in (1, 3):
        learner = Fixed(Column(-5.5))
        tree_of(learner, np.arange(12.0), depth=3, n_jobs=n_jobs)
        draws.append(sorted(float(rng.random()) for *_, rng in learner.seen))
    assert draws[0] == draws[1]
    assert len(set(draws[0])) == len(draws[0])


def test_a_learner_without_an_answer_ends_the_branch() -> None:
    assert tree_of(Fixed(None), np.arange(8.0), depth=3).n_leaves == 1


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("x > 3", "returned str from fit"),
        (Column(shape=(3,)), "decision values of shape"),
        (Column(bad=np.nan), "of them NaN"),
        (Column(bad=np.inf), "one finite value"),
    ],
)
def test_rules_that_break_the_contract_are_named(rule: str, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        tree_of(Fixed(rule), np.arange(8.0))
