"""Forests on data in partitions: the trees of the local grower, whatever the partitions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crank
from crank.cluster.bags import Drawing
from crank.cluster.content import mixed, row_keys
from crank.criteria import get_criterion
from crank.errors import DataError, OptionError
from crank.fitting.bag_trees import column_trees
from crank.fitting.forest import OutOfBag, response_rungs, tree_seed
from crank.growing.matrix import TrainingMatrix
from crank.plugins.stump import Stump
from crank.rankers.forest import ForestOptions
from crank.rankers.votes import ColumnTrees
from crank.ranks import rank
from tests.narrowing import of

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")

FORMULA = "y ~ x + z + g"


@pytest.fixture(autouse=True)
def in_this_process() -> Iterator[None]:
    with dask.config.set(scheduler="sync"):
        yield


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 400
    rows = pd.DataFrame({"x": rng.integers(0, 40, n) / 4.0, "z": rng.normal(size=n).round(1)})
    rows["g"] = rng.choice(list("abcd"), n)
    rows["w"] = rng.choice([0.5, 1.0, 2.5], n)
    rows["y"] = (rows.x / 3 + rows.z**2 + (rows.g == "b") + rng.normal(size=n)).round(1)
    rows.loc[rng.random(n) < 0.1, "x"] = np.nan
    return rows


def in_parts(frame: pd.DataFrame, parts: int, seed: int | None = None) -> Any:
    if seed is not None:
        frame = frame.sample(frac=1.0, random_state=seed)
    cuts = np.linspace(0.0, 1.0, parts + 1) ** 2 * len(frame)
    pieces = [frame.iloc[int(a) : int(b)] for a, b in pairwise(cuts)]
    return dd.from_map(lambda k: pieces[k], list(range(parts)), meta=frame.iloc[:0])


def stored(model: Any) -> Any:
    found = json.loads(model.to_json())
    del found["fingerprint"], found["training"]["created"]
    return found


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"criterion": "crank", "weights": "w", "thresholds": "random", "bootstrap": False},
        {"monotone": {"z": "increasing"}, "max_samples": 0.5, "max_depth": 4},
    ],
)
def test_forest_does_not_depend_on_partitions(frame: pd.DataFrame, options: Any) -> None:
    models = [
        crank.forest(in_parts(frame, parts, seed), FORMULA, n_trees=6, **options)
        for parts, seed in ((1, None), (5, 3))
    ]
    assert stored(models[0]) == stored(models[1])
    assert models[0].ranker.oob["kendall"].estimate > 0.55


def test_trees_and_figures_are_those_of_the_local_grower(frame: pd.DataFrame) -> None:
    frame = frame.drop_duplicates(["x", "z", "g", "y"])
    here = crank.forest(in_parts(frame, 3, 1), FORMULA, n_trees=5)
    local = crank.forest(frame, FORMULA, n_trees=5)
    X, ranks = local.design.matrix(frame), rank(frame.y.to_numpy())
    levels = tuple(0 if names is None else len(names) for names in local.design.levels)
    options = ForestOptions(n_trees=5)
    key = row_keys(frame.y.to_numpy(), X)
    assert len(np.unique(key)) == len(key)
    make = column_trees(
        TrainingMatrix(X, levels, 1),
        ranks,
        response_rungs(ranks)[0],
        Stump(),
        get_criterion("spearman"),
        options,
    )(options)
    out, trees = OutOfBag(ranks), []
    for k in range(5):
        seed = tree_seed(options, k)
        draws = Drawing(1.0, True).draws(key, seed)[ranks.row]
        tree, votes = make(draws, seed, True)
        assert votes is not None
        trees.append(of(ColumnTrees, tree))
        out.add(draws, votes)
    found, expected = here.ranker.trees, ColumnTrees.joined(trees)
    assert isinstance(found, ColumnTrees)
    for name in ("column", "threshold", "low", "high", "missing_low", "value", "level_branch"):
        np.testing.assert_array_equal(getattr(found.nodes, name), getattr(expected.nodes, name))
    np.testing.assert_allclose(found.gain, expected.gain, rtol=1e-12)
    np.testing.assert_array_equal(found.drawn, expected.drawn)
    np.testing.assert_array_equal(here.ranker.rungs, local.ranker.rungs)
    figures, n_oob = out.figures(None)
    assert here.ranker.n_oob == n_oob
    for name, figure in figures.items():
        assert here.ranker.oob[name].estimate == pytest.approx(figure.estimate, rel=1e-9)
        assert here.ranker.oob[name].se == pytest.approx(figure.se, rel=0.02)
    assert (
        crank.from_json(here.to_json() or "").predict(frame).tolist()
        == here.predict(frame).tolist()
    )


def test_some_of_many_rows_are_judged(frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crank.cluster.forest.MOST_JUDGED", 200)
    monkeypatch.setattr("crank.cluster.forest.MOST_DRAWS", 100)
    models = [
        crank.forest(in_parts(frame, parts, seed), FORMULA, n_trees=4)
        for parts, seed in ((1, None), (3, 1))
    ]
    assert stored(models[0]) == stored(models[1])
    assert 150 < models[0].ranker.n_oob < 250
    trees = models[0].ranker.trees
    assert isinstance(trees, ColumnTrees)
    assert abs(trees.size[trees.nodes.roots].mean() - 100) < 20


def test_rows_of_the_same_content_are_drawn_apart() -> None:
    frame = pd.DataFrame({"x": np.repeat([0.0, 1.0], 100), "y": np.tile([0.0, 1.0], 100)})
    frame["y"] += frame.x
    models = [
        crank.forest(in_parts(frame, parts, seed), "y ~ x", n_trees=8)
        for parts, seed in ((1, None), (4, 2))
    ]
    assert stored(models[0]) == stored(models[1])
    assert models[0].ranker.n_oob > 180  # not whole contents, in or out together
    sizes = np.asarray(models[0].ranker.trees.size)[models[0].ranker.trees.nodes.roots]  # type: ignore[union-attr]
    assert len(set(sizes.tolist())) > 1
    assert abs(sizes.mean() - 200) < 20


def test_draws_are_poisson_and_differ_between_trees() -> None:
    key = mixed(np.arange(200_000, dtype=np.uint64))
    draws = Drawing(1.0, True).draws(key, 5)
    expected = np.exp(-1.0) / np.array([1.0, 1.0, 2.0, 6.0])
    found = np.bincount(draws, minlength=4)[:4] / len(key)
    np.testing.assert_allclose(found, expected, atol=0.004)
    other = Drawing(1.0, True).draws(key, 6)
    assert abs(np.corrcoef(draws, other)[0, 1]) < 0.01
    assert Drawing(0.25, False).draws(key, 5).mean() == pytest.approx(0.25, abs=0.004)


def test_what_a_forest_cannot_do_on_a_cluster_is_refused(frame: pd.DataFrame) -> None:
    parts = in_parts(frame, 2)
    with pytest.raises(OptionError, match=r"learner.*sample=100_000"):
        crank.forest(parts, FORMULA, learner="logistic")
    with pytest.raises(OptionError, match="groups= cannot be used"):
        crank.forest(parts, FORMULA, groups="g")
    with pytest.raises(OptionError, match=r"'mixed' is for data in one process.*sample=100_000"):
        crank.forest(parts, FORMULA, thresholds="mixed")
    many = frame.assign(g=[f"L{k % 300}" for k in range(len(frame))])
    with pytest.raises(OptionError, match=r"'g' has 300 levels; .* at most 255"):
        crank.forest(in_parts(many, 2), FORMULA)
    with pytest.raises(DataError, match="too small to be drawn on a cluster"):
        crank.forest(in_parts(frame.iloc[:20], 2), FORMULA)
    sampled = crank.forest(parts, FORMULA, n_trees=2, sample=100)
    assert sampled.training.n == 100
