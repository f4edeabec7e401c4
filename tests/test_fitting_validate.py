"""Cross-validation: honest folds, exact held-out figures, sensible choices."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

import crank
from crank import metrics
from crank.criteria import get_criterion
from crank.errors import DataError
from crank.fitting import validate
from crank.fitting.choose import choose, choose_by_others, choose_step
from crank.fitting.estimate import Judged, pooled_estimate
from crank.fitting.folds import fold_count, grouped_folds, stratified_folds
from crank.fitting.grow import grow
from crank.fitting.tree import fit_tree
from crank.fitting.validate import fold_trees, heldout_figures, without_pairs
from crank.metrics.figures import KENDALL, get_figure
from crank.plugins.base import TrainingMatrix
from crank.plugins.stump import Stump
from crank.rankers.options import TreeOptions
from crank.rankers.pruning import weakest_links
from crank.rankers.validation import spread_over_folds
from crank.ranks import rank
from tests.narrowing import present


def grower(
    X: np.ndarray, criterion: Any = "kendall", depth: int = 4, min_leaf: int = 5, seen: Any = None
) -> Any:
    def grow_on(ranks: Any) -> Any:
        if seen is not None:
            seen.append(set(ranks.row.tolist()))
        return grow(
            TrainingMatrix(X, (0,) * X.shape[1]),
            ranks,
            Stump(),
            get_criterion(criterion),
            max_depth=depth,
            min_samples_leaf=min_leaf,
        )

    return grow_on


@pytest.fixture
def sample() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.round(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=300), 1)
    return X, y, rng.uniform(0.5, 2.0, 300)


def test_every_fold_spans_both_halves_of_y() -> None:
    fold = stratified_folds(rank(np.arange(1003.0)), 10, np.random.default_rng(0))
    sizes = np.bincount(fold)
    assert sizes.max() - sizes.min() <= 1
    for half in (fold[:501], fold[502:]):
        assert np.ptp(np.bincount(half)) <= 2


def test_values_that_many_rows_share_are_dealt_out_evenly() -> None:
    y = np.repeat([0.0, 1.0, 2.5, 7.0], [40, 20, 3, 15])
    fold = stratified_folds(rank(y), 5, np.random.default_rng(0))
    for value in (0.0, 1.0, 7.0):
        assert np.ptp(np.bincount(fold[y == value], minlength=5)) <= 2


def test_folds_do_not_part_the_nearest_neighbours() -> None:
    # the hardest pairs: without them every held-out figure would be too good
    rng = np.random.default_rng(0)
    ranks = rank(np.arange(60.0))
    together = [np.diff(stratified_folds(ranks, 5, rng)) == 0 for _ in range(400)]
    assert np.mean(together) == pytest.approx(11 / 59, abs=0.05)


def test_small_data_has_fewer_folds_that_can_be_judged(
    sample: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    X, y, _ = sample
    for n, folds in ((12, 2), (30, 3), (60, 6), (300, 10)):
        fitted = fit_tree(X[:n], rank(y[:n]), learner=Stump(), options=TreeOptions())
        assert present(fitted.validation).folds == len(present(fitted.validation).heldout) == folds
        for found in fitted.crossvalidated.values():
            assert found.ci_low < found.estimate < found.ci_high
    with pytest.raises(DataError, match="cross-validation needs at least 4 rows; got 3"):
        fit_tree(X[:3], rank(np.arange(3.0)), learner=Stump(), options=TreeOptions())


def test_twenty_rows_have_an_interval_and_no_point() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(20, 1))
    y = X[:, 0] + 0.3 * rng.normal(size=20)
    options = TreeOptions(criterion="kendall", min_samples_leaf=2)
    for found in fit_tree(X, rank(y), learner=Stump(), options=options).crossvalidated.values():
        assert found.se > 0.01
        assert found.ci_high - found.ci_low > 0.05


def test_rare_values_of_y_make_fewer_folds() -> None:
    assert fold_count(rank(np.repeat([0.0, 1.0], [193, 7])), 10) == 3
    assert fold_count(rank(np.arange(200.0)), 10) == 10


def test_folds_keep_groups_together_and_span_y() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 40, 400)
    ranks = rank(rng.normal(size=40)[labels] + 0.5 * rng.normal(size=400))
    of_position = labels[ranks.row]
    fold = grouped_folds(ranks, of_position, 5, np.random.default_rng(1))
    for group in range(40):
        assert len(set(fold[of_position == group].tolist())) == 1
    sizes = np.bincount(fold)
    assert sizes.max() - sizes.min() < 15
    means = [ranks.quantile[fold == k].mean() for k in range(5)]
    assert max(means) - min(means) < 0.12
    assert fold_count(ranks, 10, np.minimum(of_position, 5)) == 3


def test_folds_are_never_scored_on_rows_they_were_fitted_on(sample: Any) -> None:
    X, y, _ = sample
    seen: list[Any] = []
    fold = stratified_folds(rank(y), 5, np.random.default_rng(0))
    folds = list(fold_trees(rank(y), X, fold, grower(X, seen=seen), KENDALL))
    tested = [set(fold.test.row.tolist()) for fold in folds]
    assert len(seen) == len(tested) == 5
    for fitted, held_out in zip(seen, tested, strict=True):
        assert not fitted & held_out
        assert fitted | held_out == set(range(300))
    assert sum(map(len, tested)) == 300


def test_a_choice_on_few_rows_is_made_by_trees_that_have_not_seen_the_fold(sample: Any) -> None:
    X, y, _ = sample
    X, y = X[:90], y[:90]
    ranks = rank(y)
    seen: list[Any] = []
    fold = stratified_folds(rank(y), 3, np.random.default_rng(0))
    path = weakest_links(grower(X)(ranks), KENDALL)
    tables = without_pairs(ranks, X, fold, grower(X, seen=seen), path, ["oriented"])
    held = [ranks.row[fold == k].tolist() for k in range(3)]
    assert sorted(map(sorted, seen)) == sorted(map(sorted, held))  # one fold is left to fit on
    for k, table in enumerate(tables):
        judged = ~np.isnan(table["oriented"][:, 0])
        assert judged.tolist() == [j != k for j in range(3)]


@pytest.mark.no_cover
def test_labels_do_not_leak_into_the_held_out_figure() -> None:
    # y is noise, so a deep tree memorises it: any leak would lift the held-out figure off 1/2
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(600, 5)), rng.normal(size=600)
    options = TreeOptions(
        criterion="kendall", max_depth=12, min_samples_leaf=1, leaf_order="rank", cv_repeats=3
    )
    fitted = fit_tree(X, rank(y), learner=Stump(), options=options)
    memorised = replace(fitted.path.tree, leaf_order="rank").score(X)
    assert metrics.kendall(y, memorised) > 0.99
    assert abs(present(fitted.validation).estimate[0] - 0.5) < 0.03


@pytest.mark.no_cover
def test_the_figure_of_pure_noise_is_a_half_though_the_best_subtree_is_chosen() -> None:
    estimates, best = [], []
    options = TreeOptions(criterion="kendall", max_depth=3)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 5)), rng.normal(size=60)
        fitted = fit_tree(X, rank(y), learner=Stump(), options=options)
        estimates.append(fitted.crossvalidated["kendall"].estimate)
        best.append(present(fitted.validation).estimate[present(fitted.validation).step])
    chosen, honest = np.mean(best) - 0.5, np.mean(estimates) - 0.5
    assert chosen > 0.03
    assert abs(honest) < 0.5 * chosen


@pytest.mark.parametrize("metric", ["kendall", "iauc"])
@pytest.mark.parametrize("order", ["oriented", "rank"])
@pytest.mark.parametrize("weighted", [False, True])
def test_held_out_figures_equal_scoring_each_subtree(
    sample: Any, metric: str, order: Literal["oriented", "rank"], weighted: bool
) -> None:
    X, y, w = sample
    ranks = rank(y, w if weighted else None)
    fold = stratified_folds(rank(y), 3, np.random.default_rng(0))
    figure = metrics.kendall if metric == "kendall" else metrics.iauc
    for tree in fold_trees(ranks, X, fold, grower(X), get_figure(metric)):
        prices = tree.path.typical_alphas
        found = heldout_figures(tree, prices, [order])[order]
        rows = tree.test.row
        for k in range(len(prices)):
            subtree = replace(tree.path.subtree(k), leaf_order=order)
            weights = w[rows] if weighted else None
            expected = figure(y[rows], subtree.score(X[rows]), weights=weights)
            assert found[k] == pytest.approx(expected, abs=1e-12)


def test_the_best_step_and_the_one_standard_error_step() -> None:
    heldout = np.array([[0.70, 0.74, 0.73, 0.50], [0.72, 0.76, 0.75, 0.50]])
    assert choose_step(heldout) == (1, 2)
    flat = np.array([[0.6, 0.6, 0.5], [0.7, 0.7, 0.5]])
    assert choose_step(flat)[0] == 1


def test_folds_without_a_figure_do_not_divide_the_standard_error() -> None:
    heldout = np.array([[0.6], [0.8], [np.nan], [np.nan]])
    assert spread_over_folds(heldout, 1)[0] == pytest.approx(np.std([0.6, 0.8], ddof=1) / 2**0.5)
    assert np.isnan(spread_over_folds(heldout[1:], 1)[0])
    twice = np.tile(heldout[:2], (2, 1))
    assert spread_over_folds(twice, 2)[0] == pytest.approx(np.std(twice, ddof=1) / 2**0.5)


def test_an_order_that_is_ahead_by_rounding_is_not_ahead() -> None:
    oriented = np.array([[0.7, 0.6, 0.5], [0.72, 0.6, 0.5], [0.71, 0.6, 0.5]])
    for ahead, order in ((1e-15, "oriented"), (0.01, "rank")):
        assert choose({"oriented": oriented, "rank": oriented + ahead}).order == order


def test_each_order_is_judged_at_its_own_best_step() -> None:
    oriented = np.array([[0.7, 0.75, 0.5], [0.7, 0.75, 0.5], [0.7, 0.76, 0.5]])
    by_rank = np.array([[0.9, 0.75, 0.5], [0.9, 0.75, 0.5], [0.91, 0.76, 0.5]])
    found = choose({"oriented": oriented, "rank": by_rank})
    assert (found.order, found.step) == ("rank", 0)


def test_a_fold_has_no_part_in_the_choice_by_which_it_is_judged() -> None:
    table = np.array([[0.9, 0.5, 0.5], [0.5, 0.6, 0.5], [0.5, 0.6, 0.5]])
    assert choose({"oriented": table}).step == 0
    assert present(choose_by_others({"oriented": table}, 0)).step == 1
    assert present(choose_by_others({"oriented": table}, 1)).step == 0
    alone = np.array([[0.9, 0.5], [np.nan, np.nan]])
    assert choose_by_others({"oriented": alone}, 0) is None


def test_pruning_by_one_standard_error_is_at_least_as_strong(sample: Any) -> None:
    X, y, _ = sample
    sizes = {}
    for prune in (None, "cv", "1se"):
        options = TreeOptions(criterion="kendall", prune=prune)
        sizes[prune] = fit_tree(X, rank(y), learner=Stump(), options=options).tree.n_leaves
    assert sizes[None] > sizes["cv"] >= sizes["1se"] > 1


@pytest.fixture(scope="module")
def wave() -> Any:
    """Leaves of the left subtree belong below leaves of the right one."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, size=(2000, 1))
    return X, np.sin(9.0 * X[:, 0]) + 0.05 * rng.normal(size=2000)


def test_automatic_order_follows_the_folds(wave: Any) -> None:
    X, y = wave
    options = TreeOptions(criterion="kendall", max_depth=4)
    waved = fit_tree(X, rank(y), learner=Stump(), options=options)
    assert waved.tree.leaf_order == "rank"
    noise = np.random.default_rng(1).normal(size=2000)
    line = fit_tree(X, rank(X[:, 0] + noise), learner=Stump(), options=options)
    assert line.tree.leaf_order == "oriented"
    fixed = fit_tree(X, rank(y), learner=Stump(), options=replace(options, leaf_order="oriented"))
    assert fixed.tree.leaf_order == "oriented"
    ahead = waved.crossvalidated["kendall"].estimate - fixed.crossvalidated["kendall"].estimate
    assert ahead > 0.02


@pytest.mark.parametrize("order", ["auto", "rank"])
def test_the_pruning_table_describes_the_order_that_is_returned(
    wave: Any, order: Literal["auto", "oriented", "rank"]
) -> None:
    X, y = wave
    options = TreeOptions(criterion="kendall", max_depth=4, leaf_order=order)
    fitted = fit_tree(X, rank(y), learner=Stump(), options=options)
    path, found = fitted.path, fitted.validation
    for k, step in enumerate(path.steps):
        score = replace(path.subtree(k), leaf_order="rank").score(X)
        assert step.figure == pytest.approx(metrics.kendall(y, score), abs=1e-12)
        assert path.by_rank["iauc"][k] == pytest.approx(metrics.iauc(y, score), abs=1e-12)
    assert present(found).step == int(np.argmax(present(found).estimate))
    assert fitted.tree.n_leaves == path.steps[present(found).step].n_leaves
    assert present(found).estimate[present(found).step] == pytest.approx(
        path.steps[present(found).step].figure, abs=0.01
    )


def test_two_leaves_never_say_that_they_are_ordered_by_rank() -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(80, 3))
        ranks = rank(X[:, 0] + 2.0 * rng.normal(size=80))
        fitted = fit_tree(X, ranks, learner=Stump(), options=TreeOptions(max_depth=1))
        assert fitted.tree.leaf_order == "oriented"


def test_without_cross_validation_only_spearman_orders_by_rank(sample: Any) -> None:
    X, y, _ = sample
    for criterion, order in (("kendall", "oriented"), ("spearman", "rank")):
        options = TreeOptions(criterion=criterion, prune=None)
        assert fit_tree(X, rank(y), learner=Stump(), options=options).tree.leaf_order == order


def test_the_pooled_estimate_counts_pairs_within_folds(sample: Any) -> None:
    X, y, w = sample
    fold = stratified_folds(rank(y), 10, np.random.default_rng(0))
    trees = fold_trees(rank(y, w), X, fold, grower(X), KENDALL)
    judged = [Judged(tree.path.subtree(2).score(X[tree.test.row]), tree.test) for tree in trees]
    found = pooled_estimate([judged], len(X), KENDALL)
    won = total = 0.0
    for each in judged:
        rows, pairs = each.test.row, each.test.pairs
        won += pairs * metrics.kendall(y[rows], each.score, weights=w[rows])
        total += pairs
    assert present(found).estimate == pytest.approx(won / total)
    # a row counts once, however often the same folds are handed in
    assert pooled_estimate([judged, judged], len(X), KENDALL) == found


def test_folds_of_two_rows_have_a_variance() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1))
    y = X[:, 0] + rng.normal(size=40)
    ranks = rank(y)
    tree = grower(X, min_leaf=1)(ranks)
    folds = [ranks.subset(np.isin(np.arange(40), (k, 39 - k))) for k in range(20)]
    judged = [Judged(tree.score(X[test.row]), test) for test in folds]
    found = pooled_estimate([judged], 40, KENDALL)
    assert present(found).se > np.sqrt(present(found).estimate * (1 - present(found).estimate) / 20)


def test_errors_of_rows_that_come_in_groups_are_clustered() -> None:
    rng = np.random.default_rng(3)
    X = np.repeat(rng.normal(size=(80, 2)), 4, axis=0)
    y = X[:, 0] + np.repeat(rng.normal(size=80), 4) + 1e-3 * rng.normal(size=320)
    data = {"a": X[:, 0], "b": X[:, 1], "y": y, "id": np.repeat(np.arange(80), 4)}
    plain = crank.fit(data, "y ~ a + b", criterion="kendall")
    grouped = crank.fit(data, "y ~ .", criterion="kendall", groups="id")
    assert {variable.name for variable in grouped.variables} == {"a", "b"}
    assert grouped.training.n_groups == 80
    assert "80 groups" in str(grouped.summary())
    for name in ("kendall", "iauc"):
        score = grouped.predict(data)
        expected = metrics.concordance(y, score, metric=name, groups=data["id"])
        assert grouped.training.figures[name].se == pytest.approx(expected.se)
        whole, torn = grouped.training.crossvalidated[name], plain.training.crossvalidated[name]
        assert whole.se > torn.se
        assert whole.estimate < torn.estimate  # a copy among the training rows gives y away


def test_heavy_ties_that_leave_folds_without_triples_are_survived() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(np.arange(60) < 2, 2.0, (X[:, 0] > 0).astype(float))
    options = TreeOptions(criterion="crank", min_samples_leaf=2)
    fitted = fit_tree(X, rank(y), learner=Stump(), options=options)
    assert np.isfinite(present(fitted.validation).estimate).all()
    assert all(np.isfinite(found.estimate) for found in fitted.crossvalidated.values())


def test_a_figure_that_cannot_be_had_is_said_in_words() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    y = np.where(np.arange(40) < 1, 2.0, (x + 0.3 * rng.normal(size=40) > 0).astype(float))
    m = crank.fit({"x": x, "y": y}, "y ~ x", criterion="crank", cv=2)
    assert "iauc" in m.training.figures
    assert "iauc" not in m.training.crossvalidated
    assert "IAUC has no cross-validated figure: the rows are too few" in str(m.summary())
    assert "d_tau, cross-validated" in str(m.summary())


def test_folds_that_cannot_split_say_nothing_of_a_model_that_does() -> None:
    """Five positives are a leaf, the two or three that a fold leaves are not always."""
    x = np.arange(30.0)
    data = {"x": x, "y": (x >= 25.0).astype(float)}
    m = crank.fit(data, "y ~ x", criterion="crank")
    assert m.tree.n_leaves == 2
    assert not m.training.crossvalidated
    assert "d_tau has no cross-validated figure: the rows are too few" in str(m.summary())
    assert crank.fit(data, "y ~ x").training.crossvalidated["kendall"].estimate > 0.8


def test_ties_make_rows_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A binary y of 200 rows is judged like a continuous one of fewer."""
    rng = np.random.default_rng(1)
    X, judged = rng.normal(size=(200, 2)), list[Any]()

    def counted(*given: Any) -> Any:
        judged.append(given)
        return without_pairs(*given)

    monkeypatch.setattr(validate, "without_pairs", counted)
    continuous = fit_tree(X, rank(X[:, 0]), learner=Stump(), options=TreeOptions())
    binary = fit_tree(X, rank(X[:, 0] > 1.0), learner=Stump(), options=TreeOptions())
    assert present(continuous.validation).folds == 10
    assert present(binary.validation).folds == 6
    assert len(judged) == 1


def test_repeats_steady_the_estimate_without_shrinking_its_error(sample: Any) -> None:
    X, y, _ = sample
    once = fit_tree(X, rank(y), learner=Stump(), options=TreeOptions(cv=5))
    often = fit_tree(X, rank(y), learner=Stump(), options=TreeOptions(cv=5, cv_repeats=6))
    assert present(often.validation).heldout.shape[0] == 30
    assert present(often.validation).se[0] > 0.5 * present(once.validation).se[0]
    assert often.crossvalidated["iauc"].se > 0.6 * once.crossvalidated["iauc"].se


def test_what_two_rounds_disagree_about_is_part_of_the_variance() -> None:
    rng = np.random.default_rng(3)
    y = rng.normal(size=40)
    test = rank(y)
    scores = [test.y + 0.3 * rng.normal(size=40), test.y + 3.0 * rng.normal(size=40)]
    rounds = [[Judged(score, test)] for score in scores]
    found = present(pooled_estimate(rounds, 40, KENDALL))
    figures, influences = zip(*(KENDALL.influence(test.y, s, None) for s in scores), strict=True)
    gap = figures[0] - figures[1]
    assert found.estimate == pytest.approx(np.mean(figures))
    variance = (np.mean(influences, axis=0) ** 2).sum() + (gap / 2.0) ** 2
    assert found.se == pytest.approx(np.sqrt(variance))
    again = present(pooled_estimate([rounds[0], rounds[0]], 40, KENDALL))
    alone = present(pooled_estimate(rounds[:1], 40, KENDALL))
    assert again == alone
