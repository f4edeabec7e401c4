"""One order for all thresholds: found wanting where there is none, and only there."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.container import ErrorbarContainer

import crank
from crank.datasets.sample import Sample
from crank.errors import DataError, OptionError, UnknownLearnerError
from crank.judging.diagnose import crossfit
from crank.plugins.stump import Stump
from crank.ranks import rank
from tests.narrowing import of, present

DOCS = Path(__file__).parents[1] / "docs"


def fitted(sample: Sample, **options: Any) -> crank.TreeModel:
    return crank.fit(sample.frame, "y ~ .", **{"criterion": "kendall", "prune": None, **options})


@pytest.mark.parametrize("seed", range(3))
def test_says_so_where_no_order_serves(seed: int) -> None:
    sample = crank.datasets.no_optimal_rule(600, random_state=seed)
    found = fitted(sample).diagnose(sample.frame)
    assert not found.one_order_serves
    assert found.verdict.startswith("No single order serves all thresholds")
    conflicts = found.table["quantile"][found.table["conflict"]]
    assert conflicts.min() < 0.3 < 0.7 < conflicts.max()


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: crank.datasets.regression(400, random_state=seed),
        lambda seed: crank.datasets.regression(400, p=5, noise=0.0, random_state=seed),
        lambda seed: crank.datasets.exponential_family(400, random_state=seed),
        lambda seed: crank.datasets.paper_toy(400, random_state=seed),
    ],
    ids=["regression", "noiseless", "exponential_family", "paper_toy"],
)
def test_stays_silent_where_one_order_serves(draw: Callable[..., Any], seed: int) -> None:
    sample = draw(seed)
    found = fitted(sample).diagnose(sample.frame)
    assert found.one_order_serves
    assert found.verdict.startswith("No conflict found")


def test_finds_a_spread_that_depends_on_x() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(1500, 2))
    frame = pd.DataFrame({"mean": x[:, 0], "spread": x[:, 1]})
    frame["y"] = x[:, 0] + np.exp(0.6 * x[:, 1]) * rng.normal(size=1500)
    found = crank.fit(frame, "y ~ .", criterion="kendall", max_depth=4, prune=None).diagnose(frame)
    conflict = dict(zip(found.table["quantile"].round(2), found.table["conflict"], strict=True))
    assert conflict[0.1]
    assert conflict[0.9]
    assert not conflict[0.5]


def test_nothing_is_judged_on_rows_it_was_fitted_on() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 6)), columns=list("abcdey"))
    m = crank.fit(frame, "y ~ .", max_depth=9, min_samples_leaf=1, leaf_order="rank", prune=None)
    # in sample this tree ranks pure noise far better than chance
    assert crank.metrics.kendall(frame["y"], m.predict(frame)) > 0.7
    table = m.diagnose(frame).table
    figures = table[["auc_model", "auc_one_order", "auc_dedicated"]].to_numpy()
    assert abs(figures - 0.5).max() < 0.15
    assert abs(figures.mean() - 0.5) < 0.06


def test_scores_are_means_over_the_leaves_of_all_trees(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, "y ~ x1 + g", max_depth=3, prune=None)
    task = crossfit.read_task(m, toy)
    test = np.arange(len(toy)) % 4 == 0
    z = (task.y > np.median(task.y)).astype(float)
    trees = [task.anew(test)[0], task.tree(z, ~test)]
    one, dedicated = crossfit._scores(task, trees, z[np.newaxis], test)
    position = (toy["y"].rank().to_numpy() - 0.5) / len(toy)
    for value, score in ((position, one), (z, dedicated[0])):
        expected = np.zeros(test.sum())
        for tree in trees:
            leaf = tree.apply(task.X)
            for k in np.unique(leaf[test]):
                inside = value[(leaf == k) & ~test]
                mean = (inside.sum() + value[~test].mean()) / (len(inside) + 1)
                expected[leaf[test] == k] += mean
        np.testing.assert_allclose(score, expected)


def test_table_holds_fold_means_and_paired_errors() -> None:
    sample = crank.datasets.no_optimal_rule(300, random_state=1)
    found = fitted(sample).diagnose(sample.frame, thresholds=[0.3, 0.7], cv=3)
    table = found.table
    np.testing.assert_allclose(table["gain"], table["auc_dedicated"] - table["auc_one_order"])
    np.testing.assert_allclose(table["gain_model"], table["auc_dedicated"] - table["auc_model"])
    np.testing.assert_allclose(table["finer"], table["auc_one_order"] - table["auc_model"])
    assert (table["se"] > 0).all()
    assert table["quantile"].round(2).tolist() == [0.3, 0.7]
    below = [(sample.frame["y"] < t).mean() for t in table["threshold"]]
    np.testing.assert_allclose(below, table["quantile"])


def test_pvalues_need_a_gain_over_both_orders_beyond_the_margin() -> None:
    sample = crank.datasets.no_optimal_rule(600, random_state=0)
    m = fitted(sample)
    strict, lax = (m.diagnose(sample.frame, margin=margin) for margin in (0.01, 0.49))
    assert lax.one_order_serves
    assert (lax.table["pvalue"] >= strict.table["pvalue"]).all()
    row = strict.table.iloc[0]
    z = (min(row["gain"], row["gain_model"]) - 0.01) / max(row["se"], row["se_model"])
    assert z > 1.6


def test_an_increasing_transform_of_y_changes_nothing() -> None:
    sample = crank.datasets.regression(300, p=5, random_state=2).frame
    first = crank.fit(sample, "y ~ .", prune=None).diagnose(sample, cv=3).table
    other = sample.assign(y=np.exp(sample["y"] / 5))
    second = crank.fit(other, "y ~ .", prune=None).diagnose(other, cv=3).table
    pd.testing.assert_frame_equal(first.drop(columns="threshold"), second.drop(columns="threshold"))


def test_seeds_decide_and_equal_weights_change_nothing() -> None:
    sample = crank.datasets.regression(300, p=5, random_state=2).frame.assign(w=3.0)
    m = crank.fit(sample, "y ~ . - w", prune=None)
    plain = m.diagnose(sample, cv=3)
    pd.testing.assert_frame_equal(m.diagnose(sample, cv=3).table, plain.table)
    assert not m.diagnose(sample, cv=3, random_state=1).table.equals(plain.table)
    weighted = m.diagnose(sample, cv=3, weights="w").table
    pd.testing.assert_frame_equal(weighted, plain.table)


def test_ties_in_y_keep_thresholds_between_values(toy: pd.DataFrame) -> None:
    frame = toy.assign(y=np.clip(toy["y"].round(), -2, 2))
    m = crank.fit(frame, "y ~ x1 + x2 + g", prune=None)
    table = m.diagnose(frame, cv=3).table
    assert table["threshold"].is_unique
    assert not set(table["threshold"]) & set(frame["y"])
    assert table[["auc_model", "auc_dedicated"]].notna().all().all()


def test_rows_that_cannot_be_used_are_left_out(toy: pd.DataFrame) -> None:
    frame = toy.copy()
    frame.loc[:9, "y"] = np.nan
    frame.loc[10:19, "x1"] = np.nan
    m = crank.fit(frame, "y ~ x1 + x2", max_depth=3, prune=None)
    assert m.diagnose(frame, cv=3).n == len(toy) - 10
    learner = replace(m.learner, takes_missing=False)
    choosy = replace(m, ranker=replace(m.ranker, learner=learner))
    assert choosy.diagnose(frame, cv=3).n == len(toy) - 20


def test_a_learner_of_the_users_own_can_be_given(toy: pd.DataFrame) -> None:
    class Mine(Stump):
        """Not installed under any name."""

    m = crank.fit(toy, "y ~ x1 + x2", learner=Mine(), max_depth=2, prune=None)
    with pytest.raises(UnknownLearnerError):
        m.diagnose(toy, cv=3)
    stump = crank.fit(toy, "y ~ x1 + x2", max_depth=2, prune=None).diagnose(toy, cv=3)
    pd.testing.assert_frame_equal(m.diagnose(toy, cv=3, learner=Mine()).table, stump.table)


def test_a_coarse_model_is_told_so_without_alarm() -> None:
    sample = crank.datasets.regression(1000, p=5, random_state=0)
    found = fitted(sample, max_depth=1).diagnose(sample.frame)
    assert found.one_order_serves
    assert "averaging several trees ranks better" in found.verdict


def test_a_root_alone_ranks_by_chance() -> None:
    sample = crank.datasets.no_optimal_rule(300, random_state=0)
    found = fitted(sample).prune(n_leaves=1).diagnose(sample.frame)
    assert (found.table["auc_model"] == 0.5).all()


def test_defaults_move_inward_when_rows_are_few_and_requests_do_not(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, "y ~ x1", prune=None)
    table = m.diagnose(toy[:100], cv=5).table
    assert table["quantile"].min() >= 0.25
    with pytest.raises(DataError, match=r"0\.1 quantile of y has too few rows"):
        m.diagnose(toy[:100], thresholds=[0.1])
    with pytest.raises(DataError, match="no threshold of y has enough rows"):
        m.diagnose(toy[:30])


def test_wrong_options_are_named(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, "y ~ x1", max_depth=2, prune=None)
    with pytest.raises(OptionError, match=r"threshold 1\.5"):
        m.diagnose(toy, thresholds=[1.5])
    with pytest.raises(OptionError, match="margin=-1"):
        m.diagnose(toy, margin=-1)
    with pytest.raises(OptionError, match="cv=1"):
        m.diagnose(toy, cv=1)
    with pytest.raises(DataError, match="none of the 240 rows"):
        m.diagnose(toy.assign(y=np.nan))
    binary = toy.assign(y=(toy["y"] > 0).astype(float))
    with pytest.raises(OptionError, match="at least one"):
        crank.fit(binary, "y ~ x1", max_depth=2, prune=None).diagnose(binary, thresholds=[])


def test_cuts_lie_between_distinct_values() -> None:
    ranks = rank(np.repeat([1.0, 2.0, 3.0, 4.0], 20))
    cuts = crossfit.find_cuts(ranks, (0.2, 0.3, 0.5, 0.8), cv=2, strict=False)
    assert [(c.quantile, c.threshold, c.below) for c in cuts] == [
        (0.25, 1.5, 1.0),
        (0.5, 2.5, 2.0),
        (0.75, 3.5, 3.0),
    ]


def test_plot_shows_the_curves_and_marks_conflicts() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    sample = crank.datasets.no_optimal_rule(600, random_state=0)
    found = fitted(sample).diagnose(sample.frame)
    ax = Figure().subplots()
    assert found.plot(ax=ax) is ax
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), found.profile["auc_model"])
    bars = [of(ErrorbarContainer, c) for c in ax.containers]
    marks = {c.get_label(): len(np.asarray(present(c.lines[0]).get_xdata())) for c in bars}
    conflicts = int(found.table["conflict"].sum())
    assert marks["… and in conflict"] == conflicts
    assert marks["made for the threshold"] == len(found.table) - conflicts


def test_text_holds_question_table_and_verdict() -> None:
    sample = crank.datasets.no_optimal_rule(600, random_state=0)
    found = fitted(sample).diagnose(sample.frame)
    text = str(found)
    assert text.startswith("Does one order of y serve all thresholds? n = 600, 5 folds")
    assert " ".join(text.split()).endswith(found.verdict)
    assert repr(found) == text


def test_one_threshold_is_drawn_as_points(toy: pd.DataFrame) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    binary = toy.assign(y=(toy["y"] > 0.3) * 1)
    found = crank.fit(binary, "y ~ x1 + x2", max_depth=2, prune=None).diagnose(binary, cv=3)
    ax = found.plot(ax=Figure().subplots())
    assert [line.get_marker() for line in ax.lines[:2]] == ["o", "s"]


@pytest.mark.parametrize(
    ("kind", "options"),
    [("linear", {"cv": None}), ("forest", {"n_trees": 20}), ("boost", {"rounds": 20})],
)
def test_other_rankers_are_fitted_again_in_each_fold(kind: str, options: dict[str, Any]) -> None:
    conflicting = crank.datasets.no_optimal_rule(600, random_state=0).frame
    m = getattr(crank, kind)(conflicting, "y ~ x", **options)
    assert not m.diagnose(conflicting).one_order_serves
    ordered = crank.datasets.regression(400, p=5, noise=1.0, random_state=1).frame
    found = getattr(crank, kind)(ordered, "y ~ .", **options).diagnose(ordered, cv=3)
    assert found.one_order_serves
    assert found.verdict.startswith("No conflict found")
    assert (found.table["auc_model"] > 0.75).all()


def test_a_linear_ranker_too_stiff_for_the_data_is_told_so() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1.0, 1.0, size=600)
    frame = pd.DataFrame({"x": x, "y": np.abs(x) + 0.1 * rng.normal(size=600)})
    frame.loc[:9, "y"] = np.nan
    found = crank.linear(frame, "y ~ x", cv=None).diagnose(frame, weights=np.ones(600))
    assert found.n == 590
    assert found.one_order_serves
    assert "curves, interactions or an ensemble" in found.verdict
    with pytest.raises(OptionError, match="a linear ranker has none"):
        crank.linear(frame, "y ~ x", cv=None).diagnose(frame, learner=Stump())


def test_a_fold_with_one_row_on_a_side_is_judged(toy: pd.DataFrame) -> None:
    m = crank.fit(toy.round(6), "y ~ x1 + x2 + g", max_depth=3, cv=3)
    assert np.isfinite(m.diagnose(toy.round(6)).table["se"]).all()


def noisy(n: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=n), "g": rng.choice(["a", "b"], n)})
    frame["y"] = frame["x"] + (frame["g"] == "a") + rng.normal(size=n)
    return frame


def test_weights_and_new_columns_are_no_predictors_of_the_fits_anew() -> None:
    frame = noisy()
    tells = frame.assign(w=1.0 + frame["y"] - frame["y"].min())
    m = crank.linear(tells, "y ~ .", weights="w", cv=None)
    found = m.diagnose(tells, weights="w")
    equal = crank.linear(tells, "y ~ x + g", weights="w", cv=None).diagnose(tells, weights="w")
    pd.testing.assert_frame_equal(found.table, equal.table)
    assert (found.table["auc_model"] < 0.95).all()


def test_rows_that_a_ranker_cannot_score_are_left_out() -> None:
    frame = noisy()
    frame.loc[:4, "x"] = np.nan
    lacking = crank.linear(frame, "y ~ x + g", cv=None)
    assert lacking.diagnose(frame).n == 235
    assert crank.additive(frame, "y ~ x + g", cv=None).diagnose(frame).n == 235
    frame.loc[5, "g"] = "new"
    assert lacking.diagnose(frame, unknown="missing").n == 234
    with pytest.raises(DataError, match="values that the model does not know: 'new'"):
        lacking.diagnose(frame)


def test_a_level_that_one_fold_alone_has_is_no_error() -> None:
    frame = noisy()
    frame.loc[5, "g"] = "rare"
    for kind, options in (("linear", {"penalty": 0.001}), ("boost", {"rounds": 5})):
        m = getattr(crank, kind)(frame, "y ~ x + g", **options)
        assert np.isfinite(m.diagnose(frame).table["auc_model"]).all()


def test_functions_of_the_user_serve_again_and_lost_groups_are_named() -> None:
    frame = noisy()
    m = crank.linear(frame, "f(y) ~ f(x) + g", context={"f": np.cbrt}, cv=None)
    assert m.diagnose(frame, cv=2).n == 240
    m = crank.linear(frame, "y ~ x + g", groups=np.arange(240) // 2, cv=None)
    with pytest.raises(OptionError, match=r"groups was given as <array of 240>.*name of a column"):
        m.diagnose(frame)


def test_a_binary_response_is_told_that_it_has_one_threshold() -> None:
    frame = noisy()
    frame["y"] = frame["y"] > 0
    found = crank.fit(frame, "y ~ x + g", prune=None).diagnose(frame)
    assert found.one_order_serves
    assert found.verdict.startswith("y has two values here, and so one threshold")
    assert "confidence" not in found.verdict


@pytest.mark.parametrize(
    ("kind", "options", "wrong"),
    [
        ("forest", {"n_trees": 1, "min_samples_leaf": 250}, "interactions or an ensemble"),
        ("boost", {"rounds": 1}, "interactions or an ensemble"),
        ("additive", {"pairs": 0}, "curves"),
    ],
)
def test_remedies_fit_the_kind_of_model(kind: str, options: dict[str, Any], wrong: str) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(600, 2)), columns=["a", "b"])
    frame["y"] = np.sign(frame["a"] * frame["b"]) + 0.2 * rng.normal(size=600)
    found = getattr(crank, kind)(frame, "y ~ a + b", **options).diagnose(frame)
    assert "should help" in found.verdict
    assert wrong not in found.verdict


def test_a_conflict_names_the_response_and_no_criterion_where_there_is_none() -> None:
    frame = crank.datasets.no_optimal_rule(600, random_state=0).frame.rename(columns={"y": "due"})
    verdict = crank.forest(frame, "due ~ x", n_trees=20).diagnose(frame).verdict
    assert "with due > t as the response." in verdict
    assert "criterion" not in verdict


def test_few_rows_and_constant_responses_are_told_apart() -> None:
    frame = noisy()
    m = crank.fit(frame, "y ~ x", prune=None)
    with pytest.raises(DataError, match="at least 25 rows above and as many below, and there are "):
        m.diagnose(frame[:20])
    with pytest.raises(DataError, match="y has one value in all 240 rows"):
        m.diagnose(frame.assign(y=1.0))
    with pytest.raises(OptionError, match=r"thresholds=0.5 is not allowed. Allowed: a list"):
        m.diagnose(frame, thresholds=0.5)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="threshold 'a' is not allowed"):
        m.diagnose(frame, thresholds=["a"])  # type: ignore[list-item]


def test_thresholds_far_from_zero_are_printed_with_the_digits_that_tell_them_apart() -> None:
    frame = noisy()
    frame["y"] = pd.Timestamp("2020-01-01") + pd.to_timedelta((30 * frame["y"]).round(), "D")
    found = crank.fit(frame, "y ~ x", prune=None).diagnose(frame)
    printed = [line.split()[1] for line in str(found).splitlines()[3:8]]
    assert [float(text) for text in printed] == found.table["threshold"].tolist()
