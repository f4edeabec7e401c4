"""One tree of a forest: compiled and NumPy agree bit for bit, and both with the ordinary grower."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from crank.criteria import get_criterion
from crank.fitting.bag_trees import CRITERIA, grow_compiled, node_scorer
from crank.fitting.grow import grow
from crank.fitting.tree_votes import non_increasing, votes_by_bins, votes_by_values, votes_of
from crank.growing.matrix import TrainingMatrix
from crank.kernels.bags import Bag, BagTree, Growth
from crank.kernels.forest import grow_bag
from crank.kernels.forest_bins import ForestBins, bin_columns
from crank.kernels.random_stream import Stream
from crank.kernels.threads import Threads
from crank.metrics.figures import IAUC, KENDALL
from crank.metrics.node_scores import IAUC_ROUNDING
from crank.plugins.stump import Stump, StumpRule
from crank.rankers.votes import GRID
from crank.ranks import Ranks, rank
from tests.narrowing import of, present

LEVELS = (0, 0, 0, 7)


def sample(
    n: int = 240, seed: int = 0, digits: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Numbers of few and of many values, categories, missing values, ties in y."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 1] = rng.integers(0, 6, n)
    X[:, 3] = rng.integers(0, 7, n)
    y = X[:, 0] + 0.5 * X[:, 1] + (X[:, 3] % 3) + 0.5 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.round(y, digits)


def growth(name: str, **changes: Any) -> Growth:
    criterion = get_criterion(name)
    settings: dict[str, Any] = {
        "criterion": CRITERIA[name],
        "scores": node_scorer(criterion),
        "variance": criterion.objective == "variance",
        "at_random": False,
        "max_depth": 8,
        "min_leaf": 2,
        "max_features": 4,
        "direction": np.zeros(4, dtype=np.intp),
        "rounding": IAUC_ROUNDING,
    }
    return Growth(**(settings | changes))


def bagged(
    X: NDArray[np.float64], y: NDArray[np.float64], seed: int, weight: bool = False
) -> tuple[ForestBins, Bag, NDArray[np.float64], Ranks]:
    rng = np.random.default_rng(seed)
    n = len(y)
    ranks = rank(y)
    draws = np.bincount(rng.integers(n, size=n), minlength=n).astype(np.int32)
    case = rng.random(n) + 0.1 if weight else None
    bins = bin_columns(X, LEVELS, ranks.row, Threads(1))
    return bins, Bag(draws, case, ranks.group), GRID * ranks.quantile, ranks


def assert_same(a: BagTree, b: BagTree) -> None:
    for name in (
        "column",
        "cut",
        "children",
        "span",
        "drawn",
        "size",
        "mass",
        "mean",
        "position",
        "rank",
    ):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert np.allclose(a.gain, b.gain, rtol=1e-12)
    assert np.allclose(a.gain_iauc, b.gain_iauc, rtol=1e-9, atol=1e-9)


@pytest.mark.compiled
@pytest.mark.parametrize("weight", [False, True])
@pytest.mark.parametrize("name", ["spearman", "kendall", "crank", "iauc"])
def test_compiled_tree_is_the_numpy_tree(name: str, weight: bool) -> None:
    X, y = sample()
    tried: list[dict[str, Any]] = [
        {},
        {"max_features": 2},
        {"at_random": True, "max_features": 3, "min_leaf": 5},
        {"direction": np.array([1, -1, 0, 0]), "max_depth": 4},
    ]
    for seed, changes in enumerate(tried):
        bins, bag, vote, _ = bagged(X, y, seed, weight)
        settings = growth(name, **changes)
        fast = grow_compiled(bins, bag, settings, vote, 17 + seed)
        slow = grow_bag(bins, bag, settings, vote, 17 + seed)
        assert len(fast.column) > 10
        assert_same(fast, slow)


@pytest.mark.parametrize("max_features", [4, 3])
def test_sums_that_siblings_share_grow_the_numpy_tree(max_features: int) -> None:
    X, y = sample(3000, digits=2)
    bins, bag, vote, _ = bagged(X, y, 1)
    for changes in ({}, {"at_random": True}, {"direction": np.array([1, -1, 0, 0])}):
        settings = growth("spearman", max_features=max_features, max_depth=7, **changes)
        assert settings.shares_sums
        fast = grow_compiled(bins, bag, settings, vote, 3)
        assert_same(fast, grow_bag(bins, bag, settings, vote, 3))
        assert np.count_nonzero(fast.column >= 0) > 60


@pytest.mark.parametrize("name", ["spearman", "kendall"])
def test_columns_counted_several_at_a_time_grow_the_numpy_tree(name: str) -> None:
    rng = np.random.default_rng(5)
    X = rng.integers(0, 40, size=(600, 17)).astype(np.float64)
    X[:, 4:] = 1.0  # no cut: often more columns are drawn than were asked for
    ranks = rank(X[:, 0] - X[:, 1] + 9.0 * rng.normal(size=600))
    draws = np.bincount(rng.integers(600, size=600), minlength=600).astype(np.int32)
    bins = bin_columns(X, (0,) * 17, ranks.row, Threads(1))
    bag, vote = Bag(draws, None, ranks.group), GRID * ranks.quantile
    for tried in (1, 2, 3, 4, 5, 6, 7):
        for at_random in (False, True):
            settings = growth(
                name,
                max_features=tried,
                at_random=at_random,
                direction=np.zeros(17, dtype=np.intp),
            )
            fast = grow_compiled(bins, bag, settings, vote, tried)
            assert_same(fast, grow_bag(bins, bag, settings, vote, tried))
            assert len(set(fast.column.tolist()) - {-1}) > 2


@pytest.mark.parametrize("n", [1, 2, 9, 15, 16, 40, 1631, 5000])
def test_rows_without_ties_are_counted_as_in_numpy(n: int) -> None:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3))
    ranks = rank(X[:, 0] * X[:, 1] + rng.normal(size=n))
    draws = np.bincount(rng.integers(n, size=n), minlength=n).astype(np.int32)
    draws[n // 2] += 1000
    bins = bin_columns(X, (0,) * 3, ranks.row, Threads(1))
    bag, vote = Bag(draws, None, ranks.group), GRID * ranks.quantile
    assert not bag.tied
    for name in ("spearman", "kendall"):
        settings = growth(name, max_features=3, direction=np.zeros(3, dtype=np.intp))
        fast = grow_compiled(bins, bag, settings, vote, 3)
        slow = grow_bag(bins, bag, settings, vote, 3)
        assert_same(fast, slow)
        assert np.array_equal(fast.gain, slow.gain)


def test_a_forest_without_room_for_sums_counts_anew() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(900, 1500))  # room for two nodes
    ranks = rank(X[:, 7] + X[:, 300] + 0.3 * rng.normal(size=900))
    draws = np.bincount(rng.integers(900, size=900), minlength=900).astype(np.int32)
    bins = bin_columns(X, (0,) * 1500, ranks.row, Threads(1))
    bag, vote = Bag(draws, None, ranks.group), GRID * ranks.quantile
    none = np.zeros(1500, dtype=np.intp)
    settings = growth("spearman", max_features=1500, max_depth=3, direction=none)
    assert_same(grow_compiled(bins, bag, settings, vote, 3), grow_bag(bins, bag, settings, vote, 3))


@pytest.mark.parametrize("name", ["spearman", "kendall", "crank", "iauc"])
def test_a_bag_is_the_ordinary_tree_with_its_draws_as_weights(name: str) -> None:
    rng = np.random.default_rng(1)
    X, y = sample(seed=3)
    X, levels = X[:, :3], (0, 0, 0)
    ranks = rank(y)
    draws = np.bincount(rng.integers(len(y), size=len(y)), minlength=len(y)).astype(np.int32)
    bins = bin_columns(X, levels, ranks.row, Threads(1))
    bag = Bag(draws, None, ranks.group)
    settings = growth(name, max_features=3, min_leaf=1, direction=np.zeros(3, np.intp))
    mine = grow_bag(bins, bag, settings, GRID * ranks.quantile, 5)
    rows = ranks.row[draws > 0]
    own = rank(y[rows], draws[draws > 0].astype(float))
    theirs = grow(
        TrainingMatrix(X[rows], levels),
        own,
        Stump(),
        get_criterion(name),
        max_depth=8,
        min_samples_leaf=1,
    )
    inner = [node for node in theirs.nodes if node.split is not None]
    assert len(inner) == np.count_nonzero(mine.column >= 0) > 20
    # the same tests, in whatever order the nodes were born
    assert sorted(of(StumpRule, present(node.split).rule).column for node in inner) == sorted(
        mine.column[mine.column >= 0].tolist()
    )
    for figure, found in ((KENDALL, mine.gain), (IAUC, mine.gain_iauc)):
        gains = sorted(node.gain(figure) for node in inner)
        assert np.allclose(gains, sorted(found[mine.column >= 0]), rtol=1e-9)
    trees = votes_of(mine, bag, bins, np.zeros(len(y), np.int32), False)
    cells = trees.leaves(X[rows])[:, 0]
    leaf = theirs.apply(X[rows])
    assert len(set(zip(cells.tolist(), leaf.tolist(), strict=True))) == len(set(leaf.tolist()))


def test_votes_are_the_mean_ranks_of_the_leaves_and_gains_add_up_to_tau() -> None:
    X, y = sample(seed=5)
    bins, bag, vote, ranks = bagged(X, y, 5)
    tree = grow_bag(bins, bag, growth("kendall"), vote, 3)
    trees = votes_of(tree, bag, bins, np.arange(len(y), dtype=np.int32), False)
    node = trees.leaves(X[ranks.row])[:, 0]
    pairs = concordant = 0.0
    order = {k: place for place, k in enumerate(_left_to_right(tree))}
    for k in np.unique(node[bag.draws > 0]):
        inside = (node == k) & (bag.draws > 0)
        mean = np.average(vote[inside], weights=bag.draws[inside])
        assert trees.nodes.value[k] == np.rint(mean)
        assert trees.size[k] == bag.draws[inside].sum()
        assert inside[trees.drawn[k]]  # a row of the leaf
    rows = np.flatnonzero(bag.draws)
    for i in rows:
        for j in rows:
            if bag.group[i] < bag.group[j]:
                weight = float(bag.draws[i] * bag.draws[j])
                pairs += weight
                a, b = order[int(node[i])], order[int(node[j])]
                concordant += weight * np.sign(a - b)
    assert trees.credits(4).sum() == pytest.approx(concordant / pairs, rel=1e-12)


@pytest.mark.parametrize("weight", [False, True])
@pytest.mark.parametrize("digits", [0, 6])
def test_gains_in_iauc_add_up_to_the_triples_of_the_bag(digits: int, weight: bool) -> None:
    X, y = sample(60, seed=6, digits=digits)
    bins, bag, vote, ranks = bagged(X, y, 6, weight)
    for name in ("spearman", "kendall", "iauc"):
        tree = grow_compiled(bins, bag, growth(name, max_depth=4), vote, 3)
        trees = votes_of(tree, bag, bins, np.arange(len(y), dtype=np.int32), False)
        order = {k: place for place, k in enumerate(_left_to_right(tree))}
        place = np.array([order[int(k)] for k in trees.leaves(X[ranks.row])[:, 0]])
        triples = concordant = 0.0
        rows, w = np.flatnonzero(bag.draws).tolist(), bag.weight
        for i, j, k in product(rows, repeat=3):
            if bag.group[i] < bag.group[j] < bag.group[k]:
                triples += w[i] * w[j] * w[k]
                concordant += w[i] * w[j] * w[k] * np.sign(place[i] - place[k])
        assert bag.triples == pytest.approx(triples, rel=1e-9)
        assert trees.credits(4, IAUC).sum() == pytest.approx(concordant / triples, rel=1e-9)


def _left_to_right(tree: BagTree) -> list[int]:
    leaf = np.flatnonzero(tree.column < 0)
    return [int(k) for k in leaf[np.argsort(tree.span[leaf, 0])]]


def test_training_rows_go_where_their_bins_went() -> None:
    X, y = sample(n=400, seed=7, digits=3)
    X[5, 0], X[6, 0] = np.inf, -np.inf
    bins, bag, vote, ranks = bagged(X, y, 7)
    for at_random in (False, True):
        tree = grow_bag(bins, bag, growth("spearman", at_random=at_random), vote, 1)
        trees = votes_of(tree, bag, bins, np.zeros(len(y), np.int32), False)
        found = trees.leaves(X[ranks.row])[:, 0]
        for k in np.flatnonzero(tree.column < 0):
            inside = tree.position[tree.span[k, 0] : tree.span[k, 1]]
            assert (found[inside] == k).all()


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_out_of_bag_go_by_their_bins_where_their_values_go(dtype: type) -> None:
    X, y = sample(n=600, seed=9, digits=3)
    X[5:25, 0], X[30:34, 0] = np.inf, -np.inf
    X[:, 2] = np.where(X[:, 2] > 0.5, np.inf, X[:, 2])
    X = X.astype(dtype)
    between = 0
    for seed in range(4):
        bins, bag, vote, ranks = bagged(X, y, seed)
        bag.draws[X[ranks.row, 3] == seed] = 0  # the bag lacks a level
        settings = growth("spearman", at_random=seed == 3, max_depth=12, min_leaf=1)
        tree = grow_compiled(bins, Bag(bag.draws, None, bag.group), settings, vote, seed)
        trees = votes_of(tree, bag, bins, np.zeros(len(y), np.int32), False)
        for place in (X, np.asfortranarray(X)):
            fast = votes_by_bins(tree, trees.nodes, bins, place, ranks.row, bag.draws)
            slow = votes_by_values(trees, place, ranks.row, bag.draws)
            assert np.array_equal(fast, slow)
        assert (fast[bag.draws > 0] == 0).all()
        low, high = tree.cut[tree.column >= 0, :2].T
        between += int(np.count_nonzero(high > low + 1))
    assert between > 20  # cuts across bins that the bag lacks, where values decide


def test_a_bag_without_rows_left_out_votes_for_none() -> None:
    X, y = sample(n=300)
    bins, bag, vote, ranks = bagged(X, y, 0)
    full = Bag(np.ones(300, dtype=np.int32), None, bag.group)
    tree = grow_compiled(bins, full, growth("spearman"), vote, 1)
    trees = votes_of(tree, full, bins, np.zeros(len(y), np.int32), False)
    assert not votes_by_bins(tree, trees.nodes, bins, X, ranks.row, full.draws).any()
    assert not votes_by_values(trees, X, ranks.row, full.draws).any()


@pytest.mark.parametrize("weight", [False, True])
@pytest.mark.parametrize("digits", [1, 9])
def test_a_bag_counts_its_pairs(digits: int, weight: bool) -> None:
    X, y = sample(n=80, digits=digits)
    bag = bagged(X, y, 2, weight)[1]
    above = bag.group[:, None] > bag.group[None, :]
    assert bag.pairs == pytest.approx(float(bag.weight @ above @ bag.weight), rel=1e-12)
    assert np.allclose(bag.below, above @ bag.weight)
    assert np.allclose(bag.upto, bag.total - above.T @ bag.weight)
    assert bag.size == bag.draws.sum()
    assert bag.tied == (digits == 1)


def test_bins_hold_what_their_ranges_say() -> None:
    rng = np.random.default_rng(2)
    X = np.column_stack((rng.normal(size=3000), rng.integers(0, 9, 3000), np.full(3000, np.nan)))
    X[::7, 0] = np.nan
    row = rng.permutation(3000)
    found = bin_columns(X, (0, 9, 0), row, Threads(2))
    assert found.n_bins.tolist() == [255, 9, 0]
    for dtype in (np.float64, np.float32):
        narrow = X.astype(dtype)
        slow = bin_columns(narrow, (0, 9, 0), row, Threads(1))
        fast = bin_columns(narrow, (0, 9, 0), row, Threads(2), compiled=True)
        assert np.array_equal(slow.bins, fast.bins)
    code = found.bins[0]
    known = code != 255
    assert np.array_equal(known, ~np.isnan(X[row, 0]))
    inside = X[row, 0][known], code[known]
    assert (found.smallest[0][inside[1]] <= inside[0]).all()
    assert (inside[0] <= found.largest[0][inside[1]]).all()
    assert (found.bins[2] == 255).all()
    assert np.array_equal(found.bins[1], X[row, 1])


def test_isotonic_votes_are_the_nearest_that_never_increase() -> None:
    from sklearn.isotonic import IsotonicRegression

    rng = np.random.default_rng(4)
    mean, mass = rng.normal(size=60), rng.random(60) + 0.1
    line = IsotonicRegression(increasing=False).fit(np.arange(60), mean, sample_weight=mass)
    wanted = line.predict(np.arange(60))
    assert np.allclose(non_increasing(mean, mass), wanted)


def test_random_streams_are_even() -> None:
    drawn = np.bincount([Stream(key).below(7) for key in range(7000)], minlength=7)
    assert len(drawn) == 7
    assert np.abs(drawn - 1000).max() < 150
