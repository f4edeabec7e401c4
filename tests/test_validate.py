"""Cross-validation: honest folds, exact held-out figures, sensible choices."""

from dataclasses import replace

import numpy as np
import pytest

from crank import metrics
from crank.criteria import get_criterion
from crank.errors import DataError
from crank.grow import grow
from crank.options import TreeOptions
from crank.plugins.base import TrainingMatrix
from crank.plugins.stump import Stump
from crank.procedure import fit_tree
from crank.ranks import rank
from crank.validate import choose_step, fold_trees, heldout_figures, stratified_folds


def grower(X, criterion="kendall", depth=4, min_leaf=5, seen=None):
    def grow_on(ranks):
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
def sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.round(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=300), 1)
    return X, y, rng.uniform(0.5, 2.0, 300)


def test_every_fold_spans_the_quantiles_of_y():
    fold = stratified_folds(1003, 10, np.random.default_rng(0))
    sizes = np.bincount(fold)
    assert sizes.max() - sizes.min() <= 1
    for k in range(10):
        gaps = np.diff(np.flatnonzero(fold == k))
        assert gaps.max() < 20


def test_folds_are_never_scored_on_rows_they_were_fitted_on(sample):
    X, y, _ = sample
    seen = []
    folds = list(
        fold_trees(
            rank(y),
            grower(X, seen=seen),
            "kendall",
            folds=5,
            repeats=2,
            rng=np.random.default_rng(0),
        )
    )
    tested = [set(fold.test.row.tolist()) for fold in folds]
    assert len(seen) == len(tested) == 10
    for fitted, held_out in zip(seen, tested, strict=True):
        assert not fitted & held_out
        assert fitted | held_out == set(range(300))
    for repeat in (tested[:5], tested[5:]):
        assert sum(map(len, repeat)) == 300
    assert tested[:5] != tested[5:]


def test_labels_do_not_leak_into_the_held_out_figure():
    # y is noise, so a deep tree memorises it: any leak would lift the held-out figure off 1/2
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(600, 5)), rng.normal(size=600)
    options = TreeOptions(
        criterion="kendall", max_depth=12, min_samples_leaf=1, leaf_order="rank", cv_repeats=3
    )
    fitted = fit_tree(X, rank(y), learner=Stump(), options=options)
    memorised = replace(fitted.path.tree, leaf_order="rank").score(X)
    assert metrics.kendall(y, memorised) > 0.99
    assert abs(fitted.validation.estimate[0] - 0.5) < 0.03


@pytest.mark.parametrize("metric", ["kendall", "iauc"])
@pytest.mark.parametrize("order", ["oriented", "rank"])
@pytest.mark.parametrize("weighted", [False, True])
def test_held_out_figures_equal_scoring_each_subtree(sample, metric, order, weighted):
    X, y, w = sample
    ranks = rank(y, w if weighted else None)
    folds = fold_trees(ranks, grower(X), metric, folds=3, repeats=1, rng=np.random.default_rng(0))
    figure = metrics.kendall if metric == "kendall" else metrics.iauc
    for fold in folds:
        prices = fold.path.typical_alphas
        found = heldout_figures(fold, X, prices, order)
        rows = fold.test.row
        for k in range(len(prices)):
            tree = replace(fold.path.subtree(k), leaf_order=order)
            weights = w[rows] if weighted else None
            expected = figure(y[rows], tree.score(X[rows]), weights=weights)
            assert found[k] == pytest.approx(expected, abs=1e-12)


def test_the_best_step_and_the_one_standard_error_step():
    heldout = np.array([[0.70, 0.74, 0.73, 0.50], [0.72, 0.76, 0.75, 0.50]])
    assert choose_step(heldout, folds=2) == (1, 2)
    flat = np.array([[0.6, 0.6, 0.5], [0.7, 0.7, 0.5]])
    assert choose_step(flat, folds=2)[0] == 1


def test_pruning_by_one_standard_error_is_at_least_as_strong(sample):
    X, y, _ = sample
    sizes = {}
    for prune in (None, "cv", "1se"):
        options = TreeOptions(criterion="kendall", prune=prune)
        sizes[prune] = fit_tree(X, rank(y), learner=Stump(), options=options).tree.n_leaves
    assert sizes[None] > sizes["cv"] >= sizes["1se"] > 1


def test_automatic_order_follows_the_folds():
    # a wave: leaves of the left subtree belong below leaves of the right one
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, size=(2000, 1))
    y = np.sin(9.0 * X[:, 0]) + 0.05 * rng.normal(size=2000)
    options = TreeOptions(criterion="kendall", max_depth=4)
    wave = fit_tree(X, rank(y), learner=Stump(), options=options)
    assert wave.tree.leaf_order == "rank"
    line = fit_tree(X, rank(X[:, 0] + rng.normal(size=2000)), learner=Stump(), options=options)
    assert line.tree.leaf_order == "oriented"
    fixed = fit_tree(X, rank(y), learner=Stump(), options=replace(options, leaf_order="oriented"))
    assert fixed.tree.leaf_order == "oriented"
    assert wave.crossvalidated["kendall"].estimate > fixed.crossvalidated["kendall"].estimate + 0.02


def test_without_cross_validation_only_spearman_orders_by_rank(sample):
    X, y, _ = sample
    for criterion, order in (("kendall", "oriented"), ("spearman", "rank")):
        options = TreeOptions(criterion=criterion, prune=None)
        assert fit_tree(X, rank(y), learner=Stump(), options=options).tree.leaf_order == order


def test_too_few_rows_for_the_folds_is_refused(sample):
    X, y, _ = sample
    with pytest.raises(DataError, match="10-fold cross-validation needs at least 20 rows; got 12"):
        fit_tree(X[:12], rank(y[:12]), learner=Stump(), options=TreeOptions())


def test_heavy_ties_that_leave_folds_without_triples_are_survived():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(np.arange(60) < 2, 2.0, (X[:, 0] > 0).astype(float))
    fitted = fit_tree(X, rank(y), learner=Stump(), options=TreeOptions(min_samples_leaf=2))
    assert np.isfinite(fitted.crossvalidated["iauc"].estimate)


def test_repeats_steady_the_estimate_without_shrinking_its_error(sample):
    X, y, _ = sample
    once = fit_tree(X, rank(y), learner=Stump(), options=TreeOptions(cv=5)).validation
    often = fit_tree(
        X, rank(y), learner=Stump(), options=TreeOptions(cv=5, cv_repeats=6)
    ).validation
    assert often.heldout.shape[0] == 30
    assert often.se[0] > 0.5 * once.se[0]
