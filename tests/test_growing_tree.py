"""The tree as data: scores of the leaves, their order, routing, collapsing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crank.criteria import get_criterion
from crank.fitting.grow import grow
from crank.growing.tree import Tree
from crank.metrics.figures import KENDALL
from crank.plugins.base import TrainingMatrix
from crank.plugins.stump import Stump, StumpRule
from crank.ranks import rank
from tests.narrowing import of, present


def grown(
    seed: int = 0,
    n: int = 120,
    depth: int = 4,
    min_leaf: int = 3,
    levels: tuple[int, int, int] = (0, 0, 5),
) -> tuple[Tree, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, k, n).astype(float) if k else rng.normal(size=n) for k in levels]
    X = np.column_stack(columns)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0]) ** 2 + np.nan_to_num(X).sum(axis=1) + rng.normal(size=n)
    tree = grow(
        TrainingMatrix(X, levels),
        rank(y),
        Stump(),
        get_criterion("kendall"),
        max_depth=depth,
        min_samples_leaf=min_leaf,
    )
    return tree, X, y


def route(tree: Tree, row: np.ndarray) -> int:
    """Walk one row down, asking each rule by itself."""
    index = 0
    while tree.nodes[index].split is not None:
        node = tree.nodes[index]
        index = node.left if present(node.split).goes_left(row[None, :])[0] else node.right
    return index


def test_leaf_scores_subtract_a_power_of_two_at_each_right_turn() -> None:
    tree, X, _ = grown()
    for row in X[:40]:
        index, score = 0, 2.0**tree.depth
        while tree.nodes[index].split is not None:
            node = tree.nodes[index]
            if present(node.split).goes_left(row[None, :])[0]:
                index = node.left
            else:
                index = node.right
                score -= 2.0 ** (tree.depth - node.depth - 1)
        assert tree.score(row[None, :]) == [score]


def test_scores_fall_from_left_to_right_and_end_above_zero() -> None:
    for seed in range(5):
        tree, _, _ = grown(seed, depth=6)
        assert (np.diff(tree.scores) < 0).all()
        assert tree.scores[0] == 2.0**tree.depth
        assert tree.scores[-1] >= 1.0
        assert len(tree.scores) == tree.n_leaves == len(tree.leaves)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(0, 7))
def test_apply_routes_every_row_as_its_rules_say(seed: int, depth: int) -> None:
    tree, X, _ = grown(seed, 80, depth, 1)
    rng = np.random.default_rng(seed)
    new = X[rng.integers(0, 80, 150)] + rng.choice([0.0, 0.5, np.nan], (150, 3))
    expected = [tree.leaf_of_node[route(tree, row)] for row in new]
    for rows in (new, new.astype(np.float32), np.asfortranarray(new), new[:0], new[:1], new[:7]):
        want = [tree.leaf_of_node[route(tree, r)] for r in rows.astype(np.float64)]
        assert tree.apply(rows).tolist() == want
    assert tree.apply(new).tolist() == expected


def test_a_table_of_nodes_finds_the_leaves_that_the_rules_find() -> None:
    tree, X, _ = grown(8, 300, 7, 1)
    rng = np.random.default_rng(8)
    odd = [0.0, 0.5, np.nan, -9.0, 99.0, np.inf, -np.inf]
    new = X[rng.integers(0, 300, 2000)] + rng.choice(odd, (2000, 3))
    rules = [of(StumpRule, n.split.rule) for n in tree.nodes if n.split is not None]
    thresholds = [rule.threshold for rule in rules]
    on_them = np.array([t for t in thresholds if t is not None])[:, None].repeat(3, axis=1)
    new = np.vstack([new, on_them, np.nextafter(on_them, 9), np.nextafter(on_them, -9)])
    expected = [route(tree, row) for row in new]
    assert present(tree.routing).route(new).tolist() == expected
    assert (tree.apply(new) == tree.leaf_of_node[expected]).all()
    assert (tree._route(new) == expected).all()


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_blocks_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch, n_jobs: int) -> None:
    tree, X, _ = grown()
    leaf, score = tree.apply(X), tree.score(X)
    assert np.array_equal(score, tree.scores[leaf])
    monkeypatch.setattr("crank.growing.tree.BLOCK_ROWS", 7)
    assert np.array_equal(tree.apply(X, n_jobs), leaf)
    assert np.array_equal(tree.score(X, n_jobs), score)


def test_routing_refuses_what_it_could_not_read() -> None:
    tree, X, _ = grown(9)
    with pytest.raises(IndexError, match="X has 1"):
        tree.apply(X[:, :1])


def test_rank_order_sorts_the_same_leaves_by_mean_rank() -> None:
    tree, X, y = grown(3, depth=5)
    by_rank = Tree(tree.nodes, tree.depth, tree.totals, "rank")
    quantile = [tree.nodes[i].quantile for i in by_rank.leaves]
    assert quantile == sorted(quantile, reverse=True)
    assert sorted(by_rank.leaves) == sorted(tree.leaves)
    assert (by_rank.scores == tree.scores).all()
    means = [y[by_rank.apply(X) == leaf].mean() for leaf in range(tree.n_leaves)]
    ranks = rank(y).row.argsort()
    mean_ranks = [ranks[by_rank.apply(X) == leaf].mean() for leaf in range(tree.n_leaves)]
    assert mean_ranks == sorted(mean_ranks, reverse=True)
    assert means[0] > means[-1]


def test_collapse_merges_a_branch_into_one_leaf() -> None:
    tree, X, _ = grown(4)
    inner = [i for i, node in enumerate(tree.nodes) if node.split is not None]
    for at in inner:
        smaller = tree.collapse({at})
        below = {i for i, _ in tree.walk(at)}
        assert smaller.n_leaves == tree.n_leaves - sum(tree.nodes[i].is_leaf for i in below) + 1
        assert smaller.depth == tree.depth
        inside = np.isin([route(tree, row) for row in X], list(below))
        assert len(set(smaller.score(X)[inside])) == 1
        assert len(set(tree.score(X)[~inside])) == len(set(smaller.score(X)[~inside]))
        gone = sum(tree.nodes[i].gain(KENDALL) for i in below)
        kept = sum(node.gain(KENDALL) for node in smaller.nodes)
        assert kept == sum(node.gain(KENDALL) for node in tree.nodes) - gone


def test_pruning_keeps_the_scores_order() -> None:
    tree, X, _ = grown(5, depth=6)
    inner = [i for i, node in enumerate(tree.nodes) if node.split is not None]
    smaller = tree.collapse(set(inner[3:5]))
    before, after = tree.score(X), smaller.score(X)
    order = np.argsort(before)
    assert (np.diff(after[order]) >= 0).all()


def test_collapsing_the_root_leaves_one_leaf() -> None:
    tree, X, _ = grown(6)
    stump = tree.collapse({0})
    assert len(stump.nodes) == 1
    assert set(stump.score(X)) == {2.0**tree.depth}
    assert stump.figure(KENDALL) == 0.5


def test_nodes_carry_rparts_numbers() -> None:
    tree, _, _ = grown(7)
    for node in tree.nodes:
        if node.split is not None:
            assert tree.nodes[node.left].number == 2 * node.number
            assert tree.nodes[node.right].number == 2 * node.number + 1
    assert tree.nodes[0].number == 1
    with pytest.raises(AttributeError):
        tree.nodes[0].n = 3  # type: ignore[misc]
