"""Trees on data in partitions: equal to local ones, whatever the partitions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crank
from crank.errors import DataError, FormulaError, OptionError
from crank.growing.tree import Tree
from crank.models.tree import TreeModel

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")


@pytest.fixture(autouse=True)
def in_this_process() -> Iterator[None]:
    with dask.config.set(scheduler="sync"):
        yield


def sample(n: int, seed: int, digits: int = 1) -> pd.DataFrame:
    """Rows with ties, gaps, categories and weights."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": rng.integers(0, 30, n).astype(float),
            "z": rng.normal(size=n).round(1),
            "g": rng.choice(list("abcdef"), n).astype(object),
            "h": rng.choice([f"L{k}" for k in range(300)], n),
            "whole": rng.choice([1.0, 2.0, 3.0, 0.0], n),
            "split": rng.choice([0.5, 0.3, 1.7], n),
        }
    )
    noise = rng.normal(size=n)
    frame["y"] = (frame.x / 10 + frame.z**2 + (frame.g == "b") + noise).round(digits)
    frame.loc[rng.random(n) < 0.1, "x"] = np.nan
    frame.loc[rng.random(n) < 0.1, "g"] = None
    frame.loc[rng.random(n) < 0.05, "y"] = np.nan
    return frame


def in_parts(frame: pd.DataFrame, parts: int, seed: int | None = None) -> Any:
    """The rows in partitions of different size, in another order if there is a seed."""
    if seed is not None:
        frame = frame.sample(frac=1.0, random_state=seed)
    cuts = np.linspace(0.0, 1.0, parts + 1) ** 2 * len(frame)
    pieces = [frame.iloc[int(a) : int(b)] for a, b in pairwise(cuts)]
    return dd.from_map(lambda k: pieces[k], list(range(parts)), meta=frame.iloc[:0])


def assert_same_tree(one: Tree, two: Tree) -> None:
    assert len(one.nodes) == len(two.nodes)
    for a, b in zip(one.nodes, two.nodes, strict=True):
        assert a[:3] == b[:3]
        assert a[8:11] == b[8:11]  # the split and the children
        np.testing.assert_allclose(a[3:8], b[3:8], rtol=1e-12)
        assert a.gains == pytest.approx(b.gains, rel=1e-9)
    assert one.totals == pytest.approx(two.totals, rel=1e-12)


@pytest.mark.parametrize("criterion", ["crank", "kendall", "iauc", "spearman"])
@pytest.mark.parametrize("weights", [None, "whole", "split"])
def test_tree_equals_the_local_one(criterion: str, weights: str | None) -> None:
    seed = len(criterion) + 10 * len(weights or "")
    frame = sample(300, seed, digits=seed % 3)
    formula = "y ~ x + z + g + h" if seed % 2 else "y ~ x + z + C(g)"
    options: dict[str, Any] = {
        "criterion": criterion,
        "weights": weights,
        "prune": None,
        "max_depth": 4,
    }
    local = crank.fit(frame, formula, **options)
    here = crank.fit(in_parts(frame, 4, seed), formula, **options)
    assert_same_tree(here.tree, local.tree)
    assert here.training.n == local.training.n
    assert here.training.n_dropped == local.training.n_dropped
    assert here.training.missing == local.training.missing
    for name, figure in local.training.figures.items():
        found = here.training.figures[name]
        assert found.estimate == pytest.approx(figure.estimate, rel=1e-9)
        assert found.se == pytest.approx(figure.se, rel=1e-4)
    first, second = (model.predict(frame, unknown="missing") for model in (here, local))
    np.testing.assert_array_equal(first, second)


def without_time(model: TreeModel) -> Any:
    stored = json.loads(model.to_json() or "")
    del stored["fingerprint"], stored["training"]["created"]
    return stored


@pytest.mark.parametrize("weights", [None, "split"])
def test_pruned_tree_does_not_depend_on_partitions(weights: str | None) -> None:
    frame = sample(400, 3, digits=2)
    frame["c"] = np.random.default_rng(0).normal(size=len(frame))  # more values than bins
    frame["y"] += frame.c / 7
    formula = "y ~ x + scale(c) + g + bs(z, df=4)"
    stored = []
    repeats = 2 if weights is None else 1
    for parts, seed in ((1, None), (5, 2)):
        model = crank.fit(
            in_parts(frame, parts, seed),
            formula,
            weights=weights,
            max_depth=2,
            cv=3,
            cv_repeats=repeats,
        )
        stored.append(without_time(model))
    assert stored[0] == stored[1]


def test_cuts_by_a_sample_do_not_depend_on_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crank.cluster.spread.SAMPLE", 400)
    monkeypatch.setattr("crank.cluster.spread.SAMPLE_Y", 700)
    monkeypatch.setattr("crank.cluster.spread.Y_LEVELS", 300)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(1500, 3)), columns=["y", "a", "b"])
    frame["y"] += frame.a * frame.b
    frame.loc[rng.random(1500) < 0.3, "b"] = np.nan
    models = [
        crank.fit(in_parts(frame, parts, seed), "y ~ a + abs(b)", max_depth=3, prune=None)
        for parts, seed in ((1, None), (6, 3))
    ]
    assert without_time(models[0]) == without_time(models[1])
    assert models[0].training.data == models[1].training.data
    split = models[0].tree.nodes[0].split
    assert split is not None
    profile = (models[0].training.columns or {})["a"]
    assert sum(profile.counts) == 400
    assert max(profile.counts) <= 60  # tenths of the sample
    assert profile.highest == frame.a.max()


def test_rows_of_the_same_content_are_dealt_out_to_all_folds() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.integers(0, 2, 600), "g": rng.choice(["a", "b"], 600)})
    frame["y"] = frame.x + (frame.g == "a") + rng.integers(0, 2, 600)
    models = [
        crank.fit(in_parts(frame, parts, seed), "y ~ x + g", cv=4)
        for parts, seed in ((1, None), (5, 1))
    ]
    assert without_time(models[0]) == without_time(models[1])
    validation = models[0].validation
    assert validation is not None
    assert np.isfinite(validation.heldout).all()
    local = crank.fit(frame, "y ~ x + g", cv=4)
    figures = models[0].training.crossvalidated, local.training.crossvalidated
    for name in ("kendall", "iauc"):
        assert figures[0][name].estimate == pytest.approx(figures[1][name].estimate, abs=0.02)
        assert figures[0][name].se == pytest.approx(figures[1][name].se, rel=0.3, abs=1e-9)
        assert figures[0][name].ci_low == pytest.approx(figures[1][name].ci_low, abs=0.02)


def test_model_is_an_ordinary_one() -> None:
    frame = sample(300, 5)
    model = crank.fit(in_parts(frame, 3), "y ~ x + z + g", max_depth=3, cv=3)
    assert "cross-validated" in str(model.summary())
    again = crank.from_json(model.to_json() or "")
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    assert model.to_onnx()
    assert model.prune(n_leaves=2).tree.n_leaves == 2


def test_columns_of_many_values_are_cut_at_quantiles() -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"x": rng.normal(size=4000), "y": rng.normal(size=4000)})
    frame["y"] += 3.0 * (frame.x > 0.7)
    here = crank.fit(in_parts(frame, 3), "y ~ x", prune=None, max_depth=1)
    local = crank.fit(frame, "y ~ x", prune=None, max_depth=1)
    one, two = (m.tree.nodes[0].split for m in (here, local))
    assert one is not None
    assert two is not None
    assert abs(one.rule.threshold - two.rule.threshold) < 0.02  # type: ignore[attr-defined]
    assert here.training.figures["kendall"].estimate == pytest.approx(
        local.training.figures["kendall"].estimate, abs=0.005
    )
    profile = (here.training.columns or {})["x"]
    assert sum(profile.counts) == 4000
    assert profile.lowest == frame.x.min()


def test_subset_and_weights_and_na_action() -> None:
    frame = sample(300, 7)
    options: dict[str, Any] = {"prune": None, "max_depth": 3, "subset": "x < 20 & h != 'L3'"}
    local = crank.fit(frame, "y ~ x + z", **options)
    assert_same_tree(crank.fit(in_parts(frame, 3), "y ~ x + z", **options).tree, local.tree)
    with pytest.raises(DataError, match=r"partition [0-2] of 3.*'y' is missing in \d+ of"):
        crank.fit(in_parts(frame, 3), "y ~ x", na_action="raise")
    with pytest.raises(FormulaError, match="mean of all rows"):
        crank.fit(in_parts(frame, 3), "y ~ x", subset="center(x) > 0")
    with pytest.raises(OptionError, match="weights of a Dask data frame must be a column's name"):
        crank.fit(in_parts(frame, 3), "y ~ x", weights=np.ones(300))
    with pytest.raises(OptionError, match="groups= cannot be used"):
        crank.fit(in_parts(frame, 3), "y ~ x", groups="g")
    with pytest.raises(OptionError, match="workers do not know your functions"):
        crank.fit(in_parts(frame, 3), "y ~ f(x)", context={"f": np.sin})


def test_other_learners_are_fitted_on_a_sample() -> None:
    frame = sample(300, 8).dropna()
    with pytest.raises(OptionError, match=r"cannot be fitted on a Dask data frame.*sample="):
        crank.fit(in_parts(frame, 3), "y ~ x + z", learner="logistic")
    options: dict[str, Any] = {"learner": "logistic", "prune": None, "max_depth": 2}
    one = crank.fit(in_parts(frame, 3, 1), "y ~ x + z", sample=100, **options)
    two = crank.fit(in_parts(frame, 2), "y ~ x + z", sample=100, **options)
    assert one.training.n == 100
    assert one.training.data == two.training.data
    with pytest.raises(OptionError, match="sample= is for Dask data frames"):
        crank.fit(frame, "y ~ x", sample=10)


@pytest.mark.parametrize("name", ["additive", "boost", "blend"])
def test_other_rankers_ask_for_a_sample(name: str) -> None:
    parts = in_parts(sample(300, 8).dropna(), 3)
    with pytest.raises(OptionError, match=rf"crank\.{name} cannot be fitted.*sample=100_000"):
        getattr(crank, name)(parts, "y ~ x + z")


def test_a_linear_ranker_of_a_sample() -> None:
    frame = sample(300, 8).dropna()
    model = crank.linear(in_parts(frame, 3), "y ~ x + z", sample=120)
    assert model.training.n == 120
    assert "sample=120" in str(model.call)


def test_monotone_and_interactions_of_categories() -> None:
    frame = sample(400, 9)
    options: dict[str, Any] = {"prune": None, "max_depth": 3, "monotone": {"z": "increasing"}}
    local = crank.fit(frame, "y ~ z + g:h + x", **options)
    here = crank.fit(in_parts(frame, 4, 2), "y ~ z + g:h + x", **options)
    assert_same_tree(here.tree, local.tree)


def test_odd_partitions_are_fitted_or_refused() -> None:
    frame = sample(200, 10)
    pieces = [frame.iloc[:0], frame.iloc[:150].copy(), frame.iloc[150:].copy(), frame.iloc[:0]]
    pieces[2]["g"] = "only here"
    pieces[1]["x"] = pieces[1].z.astype("float32")
    pieces[2]["x"] = 1
    whole = pd.concat(pieces[1:3])
    meta = frame.iloc[:0]

    def parts() -> Any:
        return dd.from_map(lambda k: pieces[k], list(range(4)), meta=meta)

    local = crank.fit(whole, "y ~ x + g", prune=None, max_depth=3)
    assert_same_tree(crank.fit(parts(), "y ~ x + g", prune=None, max_depth=3).tree, local.tree)
    pieces[2]["x"] = "text"
    message = (
        r"'x' holds number \(float32\) in partition 1 of 4 .* and category .* in partition 2 of"
    )
    with pytest.raises(DataError, match=message):
        crank.fit(parts(), "y ~ x + g")
    pieces[1]["x"] = pieces[2]["x"] = np.nan
    here = crank.fit(parts(), "y ~ x + z", prune=None, max_depth=2)
    local = crank.fit(pd.concat(pieces[1:3]), "y ~ x + z", prune=None, max_depth=2)
    assert_same_tree(here.tree, local.tree)
    pieces[1]["y"] = pieces[2]["y"] = np.nan
    with pytest.raises(DataError, match="'y' is missing in all 200 rows"):
        crank.fit(parts(), "y ~ z")
    pieces[1]["y"] = pieces[2]["y"] = 1.0
    with pytest.raises(DataError, match="y is constant"):
        crank.fit(parts(), "y ~ z")


@pytest.mark.parametrize("nothing", [None, np.nan])
def test_conditions_on_columns_that_hold_nothing_in_a_partition(nothing: Any) -> None:
    frame = sample(300, 12).assign(ok=lambda rows: rows.z > -1.0)
    pieces = [frame.iloc[:0], frame.iloc[:150].assign(h=nothing, ok=nothing), frame.iloc[150:]]
    parts = dd.from_map(lambda k: pieces[k], list(range(3)), meta=frame.iloc[:0])
    # or pandas 2 makes numbers of the booleans
    frame = pd.concat([piece.astype({"ok": object}) for piece in pieces])
    for condition in ("h != 'L3' | x < 20", "ok | z > 0", "!ok | h %in% c('L1', 'L2') | x > 3"):
        options: dict[str, Any] = {"prune": None, "max_depth": 3, "subset": condition}
        local = crank.fit(frame, "y ~ x + z", **options)
        here = crank.fit(parts, "y ~ x + z", **options)
        assert here.training.n == local.training.n
        assert_same_tree(here.tree, local.tree)


def test_texts_are_read_as_dates() -> None:
    frame = sample(300, 13)
    day = pd.Series(pd.date_range("2020-01-01", periods=300), frame.index)
    frame["day"] = day.dt.strftime("%Y-%m-%d").where(frame.z > -1.5)
    frame["y"] += 2.0 * (day > pd.Timestamp("2020-04-01"))
    frame["ok"] = frame.x > 20
    pieces = [frame.iloc[:0], frame.iloc[:150].assign(day=None), frame.iloc[150:].assign(ok=None)]
    parts = dd.from_map(lambda k: pieces[k], list(range(3)), meta=frame.iloc[:0])
    for subset in (None, "as.Date(day) > '2020-07-01' | x > 0", "as.Date(day) < '2020-08-01' | ok"):
        options: dict[str, Any] = {"prune": None, "max_depth": 3, "subset": subset}
        local = crank.fit(pd.concat(pieces), "y ~ as.Date(day) + x", **options)
        here = crank.fit(parts, "y ~ as.Date(day) + x", **options)
        assert here.training.n == local.training.n
        assert_same_tree(here.tree, local.tree)


def test_ordered_levels_that_differ_are_refused() -> None:
    frame = sample(100, 11)
    kinds = [pd.CategoricalDtype(["a", "b"], True), pd.CategoricalDtype(["b", "a"], True)]
    frame["g"] = frame.g.where(frame.g.isin(["a", "b"]))
    pieces = [frame.assign(g=frame.g.astype(kind)) for kind in kinds]
    parts = dd.from_map(lambda k: pieces[k], [0, 1], meta=pieces[0].iloc[:0])
    with pytest.raises(DataError, match=r"'g' differ: a, b in partition 0 of 2 .* b, a in"):
        crank.fit(parts, "y ~ g")
    pieces[1] = pieces[0]
    model = crank.fit(parts, "y ~ g + x", prune=None, max_depth=2)
    local = crank.fit(pd.concat(pieces), "y ~ g + x", prune=None, max_depth=2)
    assert_same_tree(model.tree, local.tree)
