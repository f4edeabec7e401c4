"""Weakest-link pruning: nested, exact, optimal."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from crank.criteria import get_criterion
from crank.fitting.grow import grow
from crank.growing.tree import Tree
from crank.metrics.figures import IAUC, KENDALL, get_figure
from crank.plugins.base import TrainingMatrix
from crank.plugins.stump import Stump
from crank.rankers.pruning import weakest_links
from crank.ranks import rank


def make_tree(
    seed: int = 0,
    n: int = 200,
    depth: int = 5,
    criterion: str = "kendall",
    weighted: bool = False,
    min_leaf: int = 5,
) -> tuple[Tree, np.ndarray, np.ndarray, np.ndarray | None]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.round(X[:, 0] + np.abs(X[:, 1]) + rng.normal(size=n), 1)
    weight = rng.uniform(0.5, 3.0, n) if weighted else None
    tree = grow(
        TrainingMatrix(X, (0,) * 4),
        rank(y, weight),
        Stump(),
        get_criterion(criterion),
        max_depth=depth,
        min_samples_leaf=min_leaf,
    )
    return tree, X, y, weight


def naive_figure(
    y: np.ndarray, s: np.ndarray, metric: str, weight: np.ndarray | None = None
) -> float:
    """Sum over all strictly ordered pairs or triples."""
    n = len(y)
    w = np.ones(n) if weight is None else weight
    above = y[None, :] > y[:, None]  # [i, k]: y_i < y_k
    pair = above * np.outer(w, w)
    if metric == "iauc":
        between = np.einsum("ij,j,jk->ik", above.astype(float), w, above.astype(float))
        pair = np.outer(w, w) * above * between
    good = (s[None, :] > s[:, None]) + 0.5 * (s[None, :] == s[:, None])
    return float((pair * good).sum() / pair.sum())


@pytest.mark.parametrize("metric", ["kendall", "iauc"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["crank", "kendall", "iauc", "spearman"])
def test_every_subtrees_training_figure_equals_reevaluation(
    metric: str, weighted: bool, criterion: str
) -> None:
    tree, X, y, weight = make_tree(criterion=criterion, weighted=weighted)
    path = weakest_links(tree, get_figure(metric))
    assert len(path.steps) > 3
    for k, step in enumerate(path.steps):
        subtree = path.subtree(k)
        assert subtree.n_leaves == step.n_leaves
        expected = naive_figure(y, subtree.score(X), metric, weight)
        assert step.figure == pytest.approx(expected, abs=1e-12)
        assert subtree.figure(get_figure(metric)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", ["kendall", "iauc"])
def test_pruning_path_is_nested_and_prices_increase(metric: str) -> None:
    tree, *_ = make_tree(seed=3)
    path = weakest_links(tree, get_figure(metric))
    cells = [{(n.depth, n.place) for n in path.subtree(k).nodes} for k in range(len(path.steps))]
    assert all(small < large for large, small in itertools.pairwise(cells))
    assert all(a < b for a, b in itertools.pairwise(path.alphas))
    assert path.alphas[0] == 0.0
    assert path.steps[-1].n_leaves == 1
    assert path.steps[-1].figure == pytest.approx(0.5, abs=1e-12)


def all_subtrees(tree: Tree, index: int = 0) -> Iterator[frozenset[int]]:
    """Every set of nodes at which the branch can be cut."""
    node = tree.nodes[index]
    yield frozenset([index])
    if not node.is_leaf:
        pairs = itertools.product(all_subtrees(tree, node.left), all_subtrees(tree, node.right))
        yield from (left | right for left, right in pairs)


def test_each_step_is_the_best_of_all_subtrees_at_its_price() -> None:
    tree, *_ = make_tree(seed=1, n=120, depth=3)
    path = weakest_links(tree, KENDALL)
    subtrees = [tree.collapse(set(cut)) for cut in all_subtrees(tree)]
    assert len(subtrees) > 20
    for k, price in enumerate(path.typical_alphas[:-1]):
        worth = [t.figure(KENDALL) - price * t.n_leaves for t in subtrees]
        mine = path.steps[k].figure - price * path.steps[k].n_leaves
        assert mine == pytest.approx(max(worth), abs=1e-12)


def test_steps_are_found_by_price_and_by_leaves() -> None:
    tree, *_ = make_tree(seed=2)
    path = weakest_links(tree, KENDALL)
    for k, step in enumerate(path.steps):
        assert path.step_at_alpha(step.alpha) == k
        assert path.step_with_leaves(step.n_leaves) == k
    assert path.step_at_alpha(np.inf) == len(path.steps) - 1
    assert path.step_with_leaves(10**6) == 0
    between = next(
        k for k, (a, b) in enumerate(itertools.pairwise(path.steps)) if a.n_leaves - b.n_leaves > 1
    )
    asked = path.steps[between].n_leaves - 1
    assert path.step_with_leaves(asked) == between + 1


def test_branches_without_gain_go_before_the_first_step() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 1)), rng.normal(size=60)
    tree = grow(
        TrainingMatrix(X, (0,)),
        rank(y),
        Stump(),
        get_criterion("crank"),
        max_depth=4,
        min_samples_leaf=1,
    )
    path = weakest_links(tree, KENDALL)
    first = path.subtree(0)
    for index, node in first.walk():
        if not node.is_leaf:
            branch = sum(n.gain(KENDALL) for _, n in first.walk(index))
            assert branch > 0


def test_a_tree_of_one_leaf_has_one_step() -> None:
    tree, *_ = make_tree()
    path = weakest_links(tree.collapse({0}), IAUC)
    assert [step.n_leaves for step in path.steps] == [1]


def test_pruning_never_changes_the_order_of_scores() -> None:
    tree, X, *_ = make_tree(seed=4)
    full = tree.score(X)
    path = weakest_links(tree, IAUC)
    for k in range(len(path.steps)):
        pruned = path.subtree(k).score(X)
        worse = full[:, None] < full[None, :]
        assert not (worse & (pruned[:, None] > pruned[None, :])).any()
