"""Scoring with a fitted tree: one row, a hundred, a million."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import crank
from benchmarks import samples
from benchmarks.timing import Bar, Times, cores, race, ratio_table


def races(sizes: list[tuple[int, int, int]], train: int) -> Iterator[tuple[str, dict[str, Times]]]:
    """Race for each (rows, rounds, calls timed together)."""
    import lightgbm
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.tree import DecisionTreeRegressor

    X, y = samples.plain(train, 20)
    ours = crank.RankingTree(max_depth=6, min_samples_leaf=20, n_jobs=-1).fit(X, y)
    regressor = DecisionTreeRegressor(max_depth=6, min_samples_leaf=20).fit(X, y)
    boosting = HistGradientBoostingRegressor(
        max_iter=1, max_leaf_nodes=64, max_depth=6, early_stopping=False
    ).fit(X, y)
    settings = {"num_leaves": 64, "max_depth": 6, "verbose": -1, "num_threads": cores()}
    gbm = lightgbm.train(settings, lightgbm.Dataset(X, y), num_boost_round=1)
    for n, rounds, inner in sizes:
        Z, _ = samples.plain(n, 20, seed=1)
        tasks = {
            "crank": lambda Z=Z: ours.predict(Z),
            "crank, without input checks": lambda Z=Z: ours.tree_.score(Z),
            "DecisionTreeRegressor": lambda Z=Z: regressor.predict(Z),
            "HistGradientBoosting": lambda Z=Z: boosting.predict(Z),
            "LightGBM": lambda Z=Z: gbm.predict(Z),
        }
        yield f"{n:,}", race(tasks, rounds, inner)


def linear(train: int, n: int, rounds: int) -> Iterator[tuple[str, dict[str, Times]]]:
    """Race a tree of linear nodes against a plain loop over its nodes."""
    X, y = samples.plain(train, 20)
    model = crank.RankingTree("logistic", criterion="kendall", max_depth=5, min_samples_leaf=20)
    tree = model.fit(X, y).tree_
    for rows, inner in ((1, 200), (n, 1)):
        Z, _ = samples.plain(rows, 20, seed=1)

        def loop(Z: np.ndarray = Z) -> np.ndarray:
            leaf = np.empty(len(Z), dtype=int)
            todo = [(0, np.arange(len(Z)))]
            while todo:
                index, here = todo.pop()
                node = tree.nodes[index]
                if node.split is None:
                    leaf[here] = tree.leaf_of_node[index]
                    continue
                value = node.split.rule.decision(Z[here])
                left = node.split.sign * value > node.split.sign * node.split.cut
                todo += [(node.right, here[~left]), (node.left, here[left])]
            return tree.scores[leaf]

        assert (loop() == tree.score(Z)).all()
        tasks = {"crank": lambda Z=Z: tree.score(Z), "NumPy loop over nodes": loop}
        yield f"{rows:,}, {tree.n_leaves - 1} linear nodes", race(tasks, rounds, inner)


def report(small: bool) -> tuple[list[str], list[Bar]]:
    if small:
        sizes, lines = [(1, 1, 2), (100, 1, 2), (3_000, 1, 1)], (500, 200, 1)
    else:
        sizes, lines = [(1, 21, 200), (100, 21, 100), (1_000_000, 5, 1)], (20_000, 100_000, 7)
    stumps = dict(races(sizes, 500 if small else 50_000))
    nodes = dict(linear(*lines))
    one, many = nodes.values()
    bars = [
        Bar(
            "one row, depth-6 stumps, without input checks: µs",
            1e6 * float(np.median(stumps["1"]["crank, without input checks"].wall)),
            most=50,
        ),
        Bar(
            "one row, 31 linear nodes, without input checks: µs",
            1e6 * float(np.median(one["crank"].wall)),
            most=50,
        ),
        Bar(
            "100,000 rows, 31 linear nodes: times as fast as a NumPy loop over nodes",
            many["NumPy loop over nodes"].over(many["crank"])[0],
            least=1,
        ),
    ]
    text = [
        "## Prediction",
        "",
        "A tree of depth 6 on 20 columns. `predict` checks its input, as the peers' does; "
        "the line without checks is `Tree.score`, on one thread.",
        "",
        *ratio_table("rows", stumps.items()),
        "",
        "Trees whose nodes are linear rules, without input checks:",
        "",
        *ratio_table("rows", nodes.items()),
    ]
    return text, [] if small else bars
