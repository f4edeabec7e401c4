"""Case weights in fits: what they may and may not change."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crank
from crank.criteria import tied_pairs
from crank.errors import DataError
from crank.fitting.folds import few_rows
from crank.plugins.registry import get_learner
from crank.ranks import rank

LEARNERS = ["stump", "logistic", "svm", "tree", "lightgbm"]
CRITERIA = ["crank", "kendall", "iauc", "spearman"]


@pytest.fixture(scope="module")
def data() -> Any:
    frame = crank.datasets.regression(120, 5, noise=1.0, random_state=3).frame
    frame["g"] = pd.Categorical(np.array(["a", "b", "c"])[np.arange(120) % 3])
    return frame, np.random.default_rng(4).integers(1, 5, 120).astype(float)


def fitted(frame: Any, **options: Any) -> Any:
    return crank.fit(frame, "y ~ .", **{"max_depth": 3, "prune": None, **options})


@pytest.mark.parametrize("scale", [1e-200, 1e-120, 1e-30, 1e30, 1e120, 1e200])
@pytest.mark.parametrize("learner", LEARNERS)
def test_the_scale_of_weights_changes_no_fit(data: Any, learner: str, scale: float) -> None:
    frame, w = data
    one, two = (fitted(frame, learner=learner, weights=v) for v in (w, w * scale))
    assert one.tree.n_leaves == two.tree.n_leaves > 1
    assert one.predict(frame).tolist() == two.predict(frame).tolist()
    figures = [
        [getattr(m.training.figures[name], part) for name in ("iauc", "kendall")]
        for m in (one, two)
        for part in ("estimate", "se")
    ]
    assert figures[0] == pytest.approx(figures[2], rel=1e-9)
    assert figures[1] == pytest.approx(figures[3], rel=1e-9)
    np.testing.assert_array_equal(one.predict(frame, "median"), two.predict(frame, "median"))
    assert one.importance()["importance"].tolist() == pytest.approx(
        two.importance()["importance"].tolist(), abs=1e-9
    )


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("prune", [None, "cv"])
def test_the_scale_of_weights_changes_no_criterion_and_no_pruning(
    data: Any, criterion: str, prune: str | None
) -> None:
    frame, w = data
    options = {"criterion": criterion, "prune": prune, "cv": 4}
    models = [fitted(frame, weights=v, **options) for v in (w, w * 1e-200, w * 1e200)]
    for model in models[1:]:
        assert model.predict(frame).tolist() == models[0].predict(frame).tolist()


def test_rankingtree_takes_weights_of_any_scale(data: Any) -> None:
    frame, w = data
    X, y = frame[["x1", "x2", "x3", "x4", "x5"]].to_numpy(), frame["y"].to_numpy()
    trees = [crank.RankingTree(max_depth=3).fit(X, y, v) for v in (w, w * 1e-200, w * 1e200)]
    for tree in trees[1:]:
        assert tree.predict(X).tolist() == trees[0].predict(X).tolist()


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("weight", [1.0, 0.3, 7.0, 1e-200])
def test_equal_weights_are_no_weights_to_the_last_bit(
    data: Any, learner: str, weight: float
) -> None:
    frame, _ = data
    with_weights = fitted(frame, learner=learner, weights=np.full(120, weight))
    without = fitted(frame, learner=learner)
    if weight == 1.0:
        # calls differ, and the fingerprint of the data covers weights
        one, two = (
            replace(m, call=None, training=replace(m.training, data=None))
            for m in (with_weights, without)
        )
        assert one.to_json() == two.to_json()
    same = with_weights.nodes().drop(columns="weight")
    pd.testing.assert_frame_equal(same, without.nodes().drop(columns="weight"), check_exact=True)
    assert with_weights.nodes()["weight"].tolist() == pytest.approx(
        (weight * without.nodes()["weight"]).tolist()
    )


def test_weights_that_lie_far_apart_still_give_a_tree(data: Any) -> None:
    frame, _ = data
    extreme = 10.0 ** np.linspace(-290, 290, 120)[np.random.default_rng(0).permutation(120)]
    for criterion in CRITERIA:
        model = fitted(frame, weights=extreme, criterion=criterion)
        assert np.isfinite(model.predict(frame)).all()


def test_ranks_write_weights_in_units() -> None:
    y = np.array([3.0, 1.0, 2.0])
    for scale in (1.0, 1 / 3, 1e-200, 1e200):
        found = rank(y, np.array([2.0, 4.0, 6.0]) * scale)
        assert found.weight.tolist() == [2.0, 3.0, 1.0]
        assert found.unit == 2.0 * scale
    fractions = np.array([0.3, 0.5, 0.4])
    assert rank(y, fractions).weight.tolist() == [0.5, 0.4, 0.3]
    tiny = rank(y, fractions * 2.0**-600)
    assert (tiny.weight * tiny.unit).tolist() == [x * 2.0**-600 for x in (0.5, 0.4, 0.3)]
    assert 0.5 <= tiny.weight.max() < 1.0
    assert rank(y, np.array([1e300, 1e-300, 1.0])).triples > 0.0
    assert rank(y, np.full(3, 0.1)).unweighted


@pytest.mark.parametrize("learner", ["stump", "tree", "logistic", "svm"])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_whole_weights_are_as_if_rows_were_repeated(
    data: Any, learner: str, criterion: str
) -> None:
    frame, w = data
    # leaves may have one row: `min_samples_leaf` counts rows, not weight
    options = {"learner": get_learner(learner), "criterion": criterion, "min_samples_leaf": 1}
    repeated = frame.loc[np.repeat(frame.index, w.astype(int))].reset_index(drop=True)
    one, two = fitted(frame, weights=w, **options), fitted(repeated, **options)
    assert one.predict(frame).tolist() == two.predict(frame).tolist()
    for name in ("iauc", "kendall"):
        found, expected = one.training.figures[name], two.training.figures[name]
        assert found.estimate == pytest.approx(expected.estimate, rel=1e-9)


def test_a_column_of_weights_may_be_a_predictor_if_it_is_named(toy: pd.DataFrame) -> None:
    """As in R; only the dot leaves it out."""
    named = crank.fit(toy, "y ~ x1 + x2", weights="x2", prune=None)
    by_array = crank.fit(toy, "y ~ x1 + x2", weights=toy["x2"], prune=None)
    np.testing.assert_array_equal(named.predict(toy), by_array.predict(toy))
    assert "x2" not in crank.fit(toy, "y ~ .", weights="x2", prune=None).design.names


def test_weights_that_are_no_numbers_are_refused_as_weights(toy: pd.DataFrame) -> None:
    with pytest.raises(DataError, match=r"weights column 'g' has dtype .*, which is not"):
        crank.fit(toy, "y ~ x1", weights="g")


def test_weights_whose_sum_is_no_float_are_refused(toy: pd.DataFrame) -> None:
    with pytest.raises(DataError, match=r"more than a float can hold, 1.8e\+308"):
        crank.fit(toy, "y ~ x1", weights=np.full(len(toy), 1.7e308))


def test_an_estimators_weights_must_have_the_index_of_its_rows(toy: pd.DataFrame) -> None:
    weight = pd.Series(1.0, index=toy.index[::-1])
    with pytest.raises(DataError, match="sample_weight has another index than X"):
        crank.RankingTree().fit(toy[["x1"]], toy["y"], weight)


def test_whether_rows_are_few_does_not_hang_on_rounding() -> None:
    rng = np.random.default_rng(3)
    y, w = rng.normal(size=200), rng.random(200) + 0.1
    for scale in (1.0, 1e-200, 1e200, 1 / 3):
        ranks = rank(y, w * scale)
        assert tied_pairs(ranks) == 0.0
        assert not few_rows(ranks)


@pytest.mark.parametrize("kind", ["fit", "linear", "forest", "additive"])
def test_rows_of_weight_zero_are_counted_apart_whatever_they_lack(
    toy: pd.DataFrame, kind: str
) -> None:
    data = toy.assign(w=1.0)
    data.loc[:19, "w"] = 0.0
    data.loc[15:24, "y"] = np.nan
    options = {"n_trees": 3} if kind == "forest" else {}
    m = getattr(crank, kind)(data, "y ~ x1", weights="w", **options)
    assert (m.training.n, m.training.n_dropped, m.training.n_zero_weight) == (215, 5, 20)
    words = "n = 215, 5 dropped (missing values), 20 left out (weight 0), unweighted"
    assert words in str(m.summary())
    assert crank.from_json(m.to_json()).training == m.training


def test_what_rows_of_weight_zero_lack_is_nobodys_concern(toy: pd.DataFrame) -> None:
    data = toy.assign(w=1.0)
    data.loc[:19, ["w", "y"]] = 0.0, np.nan
    m = crank.fit(data, "y ~ x1", weights="w", na_action="raise", prune=None)
    assert "n = 220, 20 left out (weight 0)" in str(m)
    data.loc[20, "y"] = np.nan
    with pytest.raises(DataError, match="column 'y' is missing in 1 of 220 rows, the first is row"):
        crank.fit(data, "y ~ x1", weights="w", na_action="raise")
    with pytest.raises(DataError, match=r"0 dropped for missing values, 240 of weight 0"):
        crank.fit(data, "y ~ x1", weights=np.zeros(240))
