"""RankingTree among scikit-learn's tools."""

import datetime
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import crank
from crank import RankingTree
from crank.datasets.sample import Sample
from crank.errors import DataError, OptionError
from tests.narrowing import present

CHECKS = [
    pytest.param(estimator, check, id=f"{estimator.criterion}-{check.func.__name__}-{at}")
    for criterion in ("crank", "spearman")
    for at, (estimator, check) in enumerate(
        estimator_checks_generator(RankingTree(criterion=criterion))
    )
]


@pytest.mark.no_cover
@pytest.mark.parametrize(("estimator", "check"), CHECKS)
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_scikit_learns_own_checks(estimator: crank.RankingTree, check: Callable[..., Any]) -> None:
    check(estimator)


@pytest.fixture
def sample() -> Sample:
    return crank.datasets.regression(300, 5, random_state=0)


def test_score_is_the_triple_iauc(sample: Sample) -> None:
    tree = RankingTree(max_depth=3).fit(sample.X, sample.y)
    expected = crank.metrics.iauc(sample.y, tree.predict(sample.X))
    assert tree.score(sample.X, sample.y) == expected > 0.7


def test_a_binary_response_scores_its_auc(sample: Sample) -> None:
    y = (sample.y > np.median(sample.y)).astype(int)
    tree = RankingTree(criterion="kendall", max_depth=3).fit(sample.X, y)
    from sklearn.metrics import roc_auc_score

    assert tree.score(sample.X, y) == pytest.approx(roc_auc_score(y, tree.predict(sample.X)))


def test_pipelines_searches_and_cross_validation_work(sample: Sample) -> None:
    pipe = make_pipeline(StandardScaler(), RankingTree(criterion="kendall"))
    search = GridSearchCV(
        pipe,
        {"rankingtree__max_depth": [1, 4], "rankingtree__learner": ["stump", "logistic"]},
        cv=3,
        scoring=crank.metrics.get_scorer("kendall"),
    )
    search.fit(sample.X, sample.y)
    assert search.best_params_["rankingtree__max_depth"] == 4
    scores = cross_val_score(RankingTree(), sample.X, sample.y, cv=3)
    assert scores.shape == (3,)
    assert (scores > 0.6).all()


def test_the_estimator_and_the_formula_give_the_same_tree(sample: Sample) -> None:
    formula = "y ~ " + " + ".join(str(c) for c in sample.frame if c != "y")
    model = crank.fit(sample.frame, formula, prune=None, min_samples_leaf=1)
    tree = RankingTree().fit(sample.X, sample.y)
    np.testing.assert_array_equal(tree.predict(sample.X), model.predict(sample.frame))


def test_pruning_and_leaf_order_are_options(sample: Sample) -> None:
    grown = RankingTree().fit(sample.X, sample.y)
    pruned = RankingTree(prune="1se", random_state=0).fit(sample.X, sample.y)
    assert pruned.tree_.n_leaves < grown.tree_.n_leaves
    assert pruned.validation_ is not None
    ranked = RankingTree(leaf_order="rank").fit(sample.X, sample.y)
    means = [ranked.tree_.nodes[i].quantile for i in ranked.tree_.leaves]
    assert means == sorted(means, reverse=True)


def test_missing_values_and_narrow_floats_pass(sample: Sample) -> None:
    X = sample.X.to_numpy(dtype=np.float32).copy()
    X[::7, 0] = np.nan
    tree = RankingTree(max_depth=4).fit(X, sample.y)
    assert np.isfinite(tree.predict(X)).all()


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("learner", ["stump", "tree"])
def test_plain_arrays_meet_the_same_checks_as_others(
    sample: Sample, odd: float, learner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fine = np.ascontiguousarray(sample.X), np.array(sample.y)
    X, y = (part.copy() for part in fine)
    good = RankingTree(learner, max_depth=2).fit(X, y)
    X[3, 1], y[4] = odd, odd

    def outcomes() -> Iterator[str]:
        for attempt in (
            lambda: good.predict(X),
            lambda: good.apply(X[:, :2]),
            lambda: good.predict(X[0]),
            lambda: good.predict(X[:0]),
            lambda: RankingTree(learner).fit(X, fine[1]),
            lambda: RankingTree(learner).fit(fine[0], y),
            lambda: RankingTree(learner).fit(fine[0], fine[1][:-1]),
            lambda: RankingTree(learner).fit(fine[0][:1], fine[1][:1]),
        ):
            try:
                yield np.asarray(attempt()).dtype.kind
            except ValueError as error:
                yield str(error)

    quickly = list(outcomes())
    monkeypatch.setattr("crank.estimators.base._usable", lambda *_, **__: False)
    assert quickly == list(outcomes())


def test_refitting_with_another_kind_of_input_forgets_the_first(sample: Sample) -> None:
    X = sample.X.to_numpy()
    tree = RankingTree(max_depth=2).fit(sample.X, sample.y)
    assert list(tree.feature_names_in_) == list(sample.X.columns)
    with pytest.warns(UserWarning, match="valid feature names"):
        tree.predict(X)
    tree.fit(X[:, :3], sample.y)
    assert tree.n_features_in_ == 3
    assert not hasattr(tree, "feature_names_in_")


def test_bad_parameters_are_refused_by_fit(sample: Sample) -> None:
    with pytest.raises(OptionError, match="max_depth=0"):
        RankingTree(max_depth=0).fit(sample.X, sample.y)
    with pytest.raises(DataError, match="constant"):
        RankingTree().fit(sample.X, np.ones(300))


def test_random_states_of_every_kind_are_taken(sample: Sample) -> None:
    def heldout(state: Any) -> list[list[float]]:
        tree = RankingTree(prune="cv", cv=3, random_state=state).fit(sample.X, sample.y)
        return list(present(tree.validation_).heldout.tolist())

    for kind in (int, np.int64, np.random.RandomState, np.random.default_rng):
        first, again, other = (heldout(kind(seed)) for seed in (3, 3, 4))
        assert first == again
        assert first != other
    assert heldout(np.int64(3)) == heldout(3)
    # a generator goes on from where it stands; None begins somewhere else each time
    for state in (np.random.RandomState(3), np.random.default_rng(3), None):
        assert heldout(state) != heldout(state)


def test_clones_and_frames_keep_their_names(sample: Sample) -> None:
    X = pd.DataFrame(sample.X.to_numpy(), columns=list("abcde"))
    tree = clone(RankingTree(learner_params={})).fit(X, sample.y)
    assert list(tree.feature_names_in_) == list("abcde")


@pytest.mark.parametrize("learner", ["stump", "logistic"])
def test_feature_importances_are_the_exact_shares_of_the_columns(
    sample: Sample, learner: str
) -> None:
    tree = RankingTree(learner, criterion="kendall", max_depth=3, leaf_order="oriented")
    shares = tree.fit(sample.X, sample.y).feature_importances_
    assert shares.shape == (5,)
    assert shares.sum() == pytest.approx(1)
    m = crank.fit(
        sample.frame, "y ~ .", learner=learner, criterion="kendall", max_depth=3, prune=None,
        min_samples_leaf=1, leaf_order="oriented",
    )  # fmt: skip
    expected = m.importance().set_index("term")["share"]
    np.testing.assert_allclose(shares, expected[list(m.design.names)])


def test_a_tree_without_splits_gives_no_column_importance() -> None:
    tree = RankingTree(min_samples_leaf=10).fit(np.arange(12.0)[:, None], np.arange(12.0))
    assert tree.feature_importances_.tolist() == [0.0]
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        RankingTree().feature_importances_  # noqa: B018  the property raises


@pytest.mark.parametrize("kind", ["frame", "array"])
def test_a_column_of_text_is_named_with_a_way_out(sample: Sample, kind: str) -> None:
    X = pd.DataFrame({"a": sample.y, "city": np.where(sample.y > 0, "Bonn", "Ulm")})
    given, where = (X, "column 'city'") if kind == "frame" else (X.to_numpy(), "column 1")
    with pytest.raises(DataError, match=rf"{where} holds text.*crank\.fit"):
        RankingTree().fit(given, sample.y)
    fitted = RankingTree(max_depth=2).fit(np.column_stack([sample.y, sample.y]), sample.y)
    with pytest.raises(DataError, match="column 1 holds text"):
        fitted.predict(X.to_numpy())


@pytest.mark.parametrize("make", [np.asarray, pd.Series, list])
def test_responses_that_are_missing_are_counted(sample: Sample, make: Any) -> None:
    y = np.where(np.arange(300) % 100 == 7, np.nan, sample.y)
    with pytest.raises(DataError, match="y contains NaN in 3 of 300 rows, the first is row 7") as e:
        RankingTree().fit(sample.X, make(y))
    assert "HistGradientBoosting" not in str(e.value)


def test_missing_predictors_are_refused_without_advice_to_go_elsewhere(sample: Sample) -> None:
    X = sample.X.copy()
    X.iloc[3, 0] = np.nan

    class Strict(crank.plugins.stump.Stump):
        takes_missing = False

    with pytest.raises(DataError, match="takes no missing values") as e:
        RankingTree(Strict()).fit(X, sample.y)
    assert "HistGradientBoosting" not in str(e.value)


def test_folds_of_an_estimator_keep_groups_together() -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(60, 2)), 4, axis=0)
    y = np.repeat(rng.normal(size=60), 4) + 1e-3 * rng.normal(size=240)  # X tells the group only
    tree = RankingTree(criterion="kendall", max_depth=10, prune="cv", random_state=0)
    torn = present(tree.fit(X, y).validation_).estimate[0]
    weight = np.where(np.arange(240) < 4, 0.0, 1.0)
    tree.fit(X, y, weight, groups=np.repeat(np.arange(60), 4))
    assert torn > 0.8
    assert present(tree.validation_).estimate[0] < 0.65
    assert tree.criterion_ == "kendall"


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (pd.date_range("2020-01-01", periods=300), "column 'when' holds dates"),
        ([datetime.date(2020, 1, 1)] * 300, "column 'when' holds dates"),
        (["a"] * 300, "column 'when' holds text"),
    ],
)
def test_columns_that_are_no_numbers_are_named(sample: Sample, column: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        RankingTree().fit(sample.X.assign(when=column), sample.y)


def test_a_response_of_text_is_called_one(sample: Sample) -> None:
    with pytest.raises(DataError, match="y holds text in row 0: 'a'"):
        RankingTree().fit(sample.X, np.repeat(["a", "b"], 150))


@pytest.mark.parametrize("gap", [None, pd.NA, pd.NaT, float("nan")])
def test_every_kind_of_missing_response_is_refused(sample: Sample, gap: Any) -> None:
    with pytest.raises(DataError, match="y contains NaN in 2 of 300 rows, the first is row 298"):
        RankingTree().fit(sample.X, [*sample.y[:298].tolist(), gap, gap])


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_whole_responses_that_are_one_float_keep_their_order(dtype: type) -> None:
    x = np.random.default_rng(0).permutation(64)
    y: Any = (x + 2**62).astype(dtype)
    tree = RankingTree(criterion="kendall").fit(x[:, None], y)
    plain = RankingTree(criterion="kendall").fit(x[:, None], x)
    np.testing.assert_array_equal(tree.predict(x[:, None]), plain.predict(x[:, None]))
    assert tree.score(x[:, None], y) == 1.0


@pytest.mark.parametrize("name", ["RankingTree", "RankingLinear", "RankingForest"])
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1, 2]] * 50, "column 'z' holds values of the type list. Give one value for each row"),
        ([timedelta(1)] * 50, r"column 'z' holds values of the type Timedelta. Convert it to a n"),
        ([1j] * 50, "Complex data not supported.*'z' holds values of the type complex. Use its"),
        ([date(2020, 1, 1)] * 50, "column 'z' holds dates. Count days since a fixed one"),
    ],
)
def test_columns_that_are_no_numbers_are_named_with_a_way_out(
    name: str, values: list[Any], message: str
) -> None:
    X = pd.DataFrame({"a": np.arange(50.0), "z": values})
    with pytest.raises(DataError, match=message) as e:
        getattr(crank, name)().fit(X, np.arange(50.0))
    assert "DType" not in str(e.value)


def test_responses_of_other_types_are_refused_in_our_words() -> None:
    y = np.empty(50, dtype=object)
    y[:] = [[k] for k in range(50)]
    with pytest.raises(DataError, match=r"y holds values of the type list\..*Give one value"):
        RankingTree().fit(np.eye(50), y)


def test_rankers_without_a_learner_advise_none_where_values_are_missing() -> None:
    X = np.column_stack([np.arange(50.0), np.full(50, np.nan)])
    with pytest.raises(DataError, match=r"RankingLinear takes no missing values\. Use an est"):
        crank.RankingLinear().fit(X, np.arange(50.0))
