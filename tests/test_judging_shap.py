"""Shapley values: exact, equal to LightGBM's, and their sum is the score."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import crank
from crank.kernels.descent import NodeTable
from crank.kernels.shapley import add_numpy, shapley_values
from crank.models.base import RankingModel
from crank.models.forest import ForestModel
from crank.rankers.votes import ColumnTrees

Floats = NDArray[np.float64]


def mean_of(nodes: NodeTable, cover: Floats, x: Floats, known: frozenset[int], at: int) -> float:
    """Follow the row where its column is known, both ways where it is not."""
    if not nodes.inner[at]:
        return float(nodes.value[at])
    low, high = int(nodes.low[at]), int(nodes.high[at])
    if int(nodes.column[at]) in known:
        child = low if nodes.goes_low(x[None], at)[0] else high
        return mean_of(nodes, cover, x, known, child)
    parts = [mean_of(nodes, cover, x, known, child) * cover[child] for child in (low, high)]
    return float(sum(parts) / cover[at])


def brute_force(nodes: NodeTable, cover: Floats, x: Floats) -> Floats:
    """Shapley's own sum over all sets of columns."""
    d = len(x)

    def worth(known: tuple[int, ...]) -> float:
        return sum(mean_of(nodes, cover, x, frozenset(known), r) for r in nodes.roots.tolist())

    found = np.zeros(d)
    for j in range(d):
        others = [k for k in range(d) if k != j]
        for s in range(d):
            weight = factorial(s) * factorial(d - 1 - s) / factorial(d)
            for known in combinations(others, s):
                found[j] += weight * (worth((*known, j)) - worth(known))
    return found


def sample(n: int = 150, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    frame["g"] = rng.choice(list("uvwxyz"), n)
    level = frame["g"].map(dict(zip("uvwxyz", range(6), strict=True)))
    frame["y"] = frame["a"] * frame["b"] + (level % 3) + 0.3 * rng.normal(size=n)
    frame.loc[::9, "b"] = np.nan
    return frame


@pytest.fixture(scope="module")
def forest() -> ForestModel:
    return crank.forest(sample(), "y ~ .", n_trees=4, max_depth=5, min_samples_leaf=3)


def table_of(forest: ForestModel) -> tuple[NodeTable, Floats]:
    assert isinstance(forest.ranker.trees, ColumnTrees)
    return forest.ranker.trees.nodes, forest.ranker.trees.size.astype(np.float64)


def test_values_are_shapleys_sum_over_all_sets(forest: ForestModel) -> None:
    X = forest.design_matrix(sample(6, seed=5)).astype(np.float64)
    nodes, cover = table_of(forest)
    values, base = shapley_values(nodes, cover, X)
    for x, found in zip(X, values, strict=True):
        assert np.allclose(found, brute_force(nodes, cover, x), rtol=1e-10, atol=1e-7)
    assert np.allclose(values.sum(axis=1) + base, nodes.sum(X), rtol=1e-12)


def test_compiled_values_are_the_numpy_ones(forest: ForestModel) -> None:
    pytest.importorskip("numba")
    X = np.array(forest.design_matrix(sample(400, seed=6)), dtype=np.float64)
    X[0] = np.nan
    nodes, cover = table_of(forest)
    fast, _ = shapley_values(nodes, cover, X)
    slow = np.zeros(X.shape)
    add_numpy(nodes, cover, X, slow)
    assert np.allclose(fast, slow, rtol=1e-10, atol=1e-8)


def test_a_node_without_training_rows_says_nothing() -> None:
    nodes = NodeTable(
        column=np.array([0, 0, 1, 0, 0]),
        threshold=np.array([0.5, 0, 0.5, 0, 0]),
        low=np.array([1, 1, 3, 3, 4]),
        high=np.array([2, 1, 4, 3, 4]),
        missing_low=np.zeros(5, dtype=bool),
        value=np.array([0.0, 1.0, 0.0, 5.0, 9.0]),
        roots=np.array([0]),
    )
    X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    values, base = shapley_values(nodes, np.array([4.0, 4.0, 0.0, 0.0, 0.0]), X)
    assert base == 1.0
    assert np.isfinite(values).all()
    assert values[0].tolist() == [0.0, 0.0]


def test_boosters_agree_with_lightgbm() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    from crank.plugins.lightgbm_trees import read_trees

    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 5))
    X[:, 4] = rng.integers(0, 8, 400)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 4] = np.where(np.isnan(X[:, 4]), 0, X[:, 4])
    y = np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) + X[:, 4] % 3 + 0.1 * rng.normal(size=400)
    data = lightgbm.Dataset(X, y, categorical_feature=[4])
    settings = {"verbose": -1, "num_leaves": 12, "min_data_in_leaf": 5, "num_threads": 1}
    booster = lightgbm.train(settings | {"bagging_fraction": 0.7, "bagging_freq": 1}, data, 25)
    nodes, _, cover = read_trees(booster, (0, 0, 0, 0, 8))
    values, base = shapley_values(nodes, cover.astype(float), X)
    theirs = booster.predict(X, pred_contrib=True)
    assert np.allclose(values, theirs[:, :-1], rtol=1e-8, atol=1e-9)
    assert np.allclose(base, theirs[:, -1], rtol=1e-8, atol=1e-9)


def models() -> list[tuple[str, RankingModel]]:
    frame = sample().dropna().reset_index(drop=True)
    found: list[tuple[str, RankingModel]] = [
        ("tree", crank.fit(frame, "y ~ .", criterion="kendall", prune=None, max_depth=4)),
        ("forest", crank.forest(frame, "y ~ a + b + g", n_trees=5)),
        ("linear", crank.linear(frame, "y ~ a + I(a * b) + C(g)")),
        ("additive", crank.additive(frame, "y ~ .", smoothing=1.0)),
    ]
    pytest.importorskip("lightgbm")
    found.append(("booster", crank.boost(frame, "y ~ .", rounds=12)))
    found.append(("blend", crank.blend(frame, "y ~ .", members=["linear", "y", "forest"], cv=2)))
    return found


def test_contributions_add_up_to_the_score_for_every_kind() -> None:
    new = sample(20, seed=8).dropna()
    for kind, model in models():
        table = model.shap(new)
        assert list(table.columns) == ["row", "term", "shap"], kind
        added = table.groupby("row")["shap"].sum().to_numpy()
        assert np.allclose(added, model.predict(new), rtol=1e-9, atol=1e-9), kind
        again = crank.from_json(model.to_json() or "").shap(new)
        assert np.allclose(again["shap"], table["shap"], rtol=1e-12), kind
        if kind == "linear":  # a factor is one term, however many columns code it
            assert table["term"].tolist()[:4] == ["(base)", "a", "I(a * b)", "C(g)"]


def test_what_has_no_exact_values_says_so() -> None:
    frame = sample().dropna()
    oblique = crank.fit(frame, "y ~ a + b", learner="logistic", prune=None, max_depth=2)
    with pytest.raises(crank.errors.OptionError, match="has no exact Shapley values"):
        oblique.shap(frame)
    pytest.importorskip("lightgbm")
    booster = crank.boost(frame, "y ~ a", rounds=3)
    old = replace(booster, ranker=replace(booster.ranker, cover=None))
    with pytest.raises(crank.errors.OptionError, match="an earlier version wrote it"):
        old.shap(frame)
    with pytest.raises(crank.errors.OptionError, match="unknown='nothing'"):
        booster.shap(frame, unknown="nothing")  # type: ignore[arg-type]
