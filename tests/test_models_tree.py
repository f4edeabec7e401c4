"""The fitted model: pruning by hand, tables, text, and what it says of single rows."""

import itertools
import re
from typing import Any, Literal

import numpy as np
import pandas as pd
import polars as pl
import pytest

import crank
from crank import metrics
from crank.errors import DataError, OptionError

FORMULA = "y ~ x1 + log(x2) + g"


@pytest.fixture
def model(toy: pd.DataFrame) -> crank.TreeModel:
    return crank.fit(toy, FORMULA, criterion="kendall", leaf_order="oriented")


def test_pruning_by_hand_gives_a_new_model_and_leaves_the_old_one(
    toy: pd.DataFrame, model: crank.TreeModel
) -> None:
    before = model.predict(toy)
    small = model.prune(n_leaves=4)
    assert small.tree.n_leaves <= 4 < model.tree.n_leaves
    np.testing.assert_array_equal(model.predict(toy), before)
    assert len(np.unique(small.predict(toy))) == small.tree.n_leaves
    assert "by hand to n_leaves = 4" in str(small.summary())


def test_pruning_reaches_every_step_and_back(model: crank.TreeModel) -> None:
    table = model.pruning_path()
    for alpha, n_leaves in zip(table["alpha"], table["n_leaves"], strict=True):
        assert model.prune(alpha=alpha).tree.n_leaves == n_leaves
        assert model.prune(n_leaves=n_leaves).tree.n_leaves == n_leaves
    grown = model.prune(n_leaves=1).prune(alpha=0.0)
    assert grown.tree.n_leaves == table["n_leaves"].max()


@pytest.mark.parametrize(
    "how", [{}, {"alpha": 0.1, "n_leaves": 3}, {"alpha": -1}, {"alpha": np.nan}, {"n_leaves": 0}]
)
def test_pruning_without_a_clear_wish_is_refused(
    model: crank.TreeModel, how: dict[str, Any]
) -> None:
    with pytest.raises(OptionError):
        model.prune(**how)


def test_the_pruning_table_reads_like_rparts(model: crank.TreeModel) -> None:
    table = model.pruning_path()
    assert list(table) == ["alpha", "n_leaves", "training", "heldout", "se", "chosen"]
    assert all(a > b for a, b in itertools.pairwise(table["n_leaves"]))
    assert (table["chosen"].str.contains("cv")).sum() == 1
    assert (table["chosen"].str.contains("1se")).sum() == 1
    chosen = table[table["chosen"].str.contains("cv")].iloc[0]
    assert chosen["n_leaves"] == model.tree.n_leaves
    assert chosen["heldout"] == table["heldout"].max()


@pytest.mark.parametrize("order", ["oriented", "rank"])
@pytest.mark.parametrize("prune", ["cv", None])
def test_figures_after_pruning_by_hand_are_those_of_the_model(
    toy: pd.DataFrame,
    order: Literal["auto", "oriented", "rank"],
    prune: Literal["cv", "1se"] | None,
) -> None:
    m = crank.fit(toy, FORMULA, criterion="kendall", leaf_order=order, prune=prune)
    table = m.pruning_path()
    for k, n_leaves in enumerate(table["n_leaves"]):
        small = m.prune(n_leaves=n_leaves)
        tau, iauc = (f(toy["y"], small.predict(toy)) for f in (metrics.kendall, metrics.iauc))
        assert table["training"][k] == pytest.approx(tau, abs=1e-12)
        shown = str(small.summary())
        assert "left to right)" not in shown
        assert re.search(rf"d_tau, training +{tau:.4g}\n", shown)
        assert small.importance("iauc")["importance"].sum() == pytest.approx(2 * iauc - 1)


@pytest.mark.parametrize("order", ["oriented", "rank"])
def test_importance_sums_to_the_trees_tau_and_iauc(
    toy: pd.DataFrame, order: Literal["auto", "oriented", "rank"]
) -> None:
    m = crank.fit(toy, FORMULA, criterion="kendall", leaf_order=order)
    score = m.predict(toy)
    tau = 2 * crank.metrics.kendall(toy["y"], score) - 1
    assert m.importance("kendall")["importance"].sum() == pytest.approx(tau)
    iauc = 2 * crank.metrics.iauc(toy["y"], score) - 1
    assert m.importance("iauc")["importance"].sum() == pytest.approx(iauc)
    more = {"(order of the leaves)"} if order == "rank" else set()
    assert set(m.importance()["term"]) == {"x1", "log(x2)", "g"} | more
    assert m.importance()["share"].sum() == pytest.approx(1)


@pytest.mark.parametrize("learner", ["logistic", "tree"])
def test_importance_sums_for_learners_that_use_several_columns(
    toy: pd.DataFrame, learner: str
) -> None:
    m = crank.fit(toy, FORMULA, learner=learner, prune=None, max_depth=3, leaf_order="oriented")
    tau = 2 * crank.metrics.kendall(toy["y"], m.predict(toy)) - 1
    assert m.importance("kendall")["importance"].sum() == pytest.approx(tau)
    assert set(m.importance()["term"]) == {"x1", "log(x2)", "g"}


def test_rules_select_the_rows_of_their_leaves(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, "y ~ x1 + x2", criterion="kendall")
    leaf = m.predict(toy, "leaf")
    for place, rule in zip(m.tidy()["leaf"], m.tidy()["rule"], strict=True):
        np.testing.assert_array_equal(toy.eval(rule), leaf == place)


def test_rules_leave_out_what_a_later_condition_covers(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, "y ~ x1", criterion="kendall", prune=None)
    for rule in m.tidy()["rule"]:
        assert rule.count("x1 >") <= 1
        assert rule.count("x1 <") <= 1


def test_nodes_and_print_agree(model: crank.TreeModel) -> None:
    nodes = model.nodes()
    assert len(nodes) == len(model.tree.nodes)
    printed = [line for line in str(model).splitlines() if line.strip()[0:1].isdigit()]
    assert [int(line.split(")")[0]) for line in printed] == nodes["node"].tolist()
    assert sum(line.endswith("*") for line in printed) == model.tree.n_leaves
    assert nodes["n"].iloc[0] == model.training.n
    by_number = nodes.set_index("node")
    for number in by_number.index[~by_number["is_leaf"]]:
        children = by_number.loc[[2 * number, 2 * number + 1], "n"]
        assert children.sum() == by_number.loc[number, "n"]


def test_glance_is_one_row_with_both_kinds_of_figures(model: crank.TreeModel) -> None:
    row = model.glance()
    assert row.shape[0] == 1
    assert row["n_leaves"].item() == model.tree.n_leaves
    assert row["cv_kendall"].item() < row["kendall"].item()
    assert (row[["iauc_se", "kendall_se", "cv_iauc_se", "cv_kendall_se"]] > 0).all(axis=None)


def test_the_path_of_a_row_ends_at_its_score(toy: pd.DataFrame, model: crank.TreeModel) -> None:
    for at in (0, 17, 101):
        row = toy.iloc[[at]]
        path = model.path(row)
        assert path["best"].iloc[-1] == path["worst"].iloc[-1] == model.predict(row)[0]
        assert (np.diff(path["best"]) <= 0).all()
        assert (np.diff(path["worst"]) >= 0).all()
        pd.testing.assert_frame_equal(path, model.path(row.iloc[0].to_dict()))
    with pytest.raises(DataError, match="path explains one row; got 2"):
        model.path(toy.head(2))


def test_augment_keeps_the_kind_of_frame_and_its_index(
    toy: pd.DataFrame, model: crank.TreeModel
) -> None:
    shuffled = toy.sample(frac=1, random_state=0)
    out = model.augment(shuffled)
    assert out.index.equals(shuffled.index)
    added = [".score", ".leaf", ".quantile", ".median", ".lower", ".upper"]
    assert list(out)[-6:] == added
    np.testing.assert_array_equal(out[".score"], model.predict(shuffled))
    other = model.augment(pl.DataFrame(toy.to_dict(orient="list")))
    assert isinstance(other, pl.DataFrame)
    np.testing.assert_array_equal(other[".leaf"].to_numpy(), model.predict(toy, "leaf"))
    with pytest.raises(DataError, match="augment adds columns"):
        model.augment({"x1": [0.0], "x2": [1.0], "g": ["a"]})


def test_evaluate_is_the_metrics_on_new_rows(toy: pd.DataFrame, model: crank.TreeModel) -> None:
    table = model.evaluate(toy)
    expected = crank.metrics.concordance(toy["y"], model.predict(toy), metric="kendall")
    assert table.loc["kendall", "estimate"] == expected.estimate
    assert table.loc["kendall", "se"] == expected.se
    assert list(table.index) == ["kendall", "iauc", "iauc_uniform"]
    gaps = toy.assign(y=toy["y"].where(toy.index > 40), w=1.0)
    assert model.evaluate(gaps, weights="w").loc["iauc", "n"] == 199
    with pytest.raises(DataError, match="missing in all 240 rows"):
        model.evaluate(toy.assign(y=np.nan))
    with pytest.raises(DataError, match="'y'"):
        model.evaluate(toy.drop(columns="y"))


def test_quartiles_of_the_leaf_are_predictions(toy: pd.DataFrame, model: crank.TreeModel) -> None:
    leaf = model.predict(toy, "leaf")
    table = model.tidy()
    for type, column in (("lower", "y_lower"), ("upper", "y_upper")):
        np.testing.assert_array_equal(model.predict(toy, type), table[column][leaf])
    inside = (toy["y"] >= model.predict(toy, "lower")) & (toy["y"] <= model.predict(toy, "upper"))
    assert 0.4 < inside.mean() < 0.75


def test_models_cannot_be_changed(model: crank.TreeModel) -> None:
    with pytest.raises(AttributeError):
        model.tree = None  # type: ignore[misc, assignment]


def test_repr_is_one_line(model: crank.TreeModel) -> None:
    assert repr(model).startswith("<TreeModel 'y ~ x1 + log(x2) + g'")
    assert "\n" not in repr(model)


@pytest.mark.parametrize("order", ["oriented", "rank"])
def test_a_model_pruned_by_hand_glances_at_its_own_training_figures(
    toy: pd.DataFrame, order: Literal["oriented", "rank"]
) -> None:
    pruned = crank.fit(toy, "y ~ x1 + x2", leaf_order=order, prune=None).prune(n_leaves=4)
    row = pruned.glance().iloc[0]
    score = pruned.predict(toy)
    assert row["kendall"] == pytest.approx(crank.metrics.kendall(toy["y"], score), abs=1e-12)
    assert row["iauc"] == pytest.approx(crank.metrics.iauc(toy["y"], score), abs=1e-12)
    assert np.isnan(row["kendall_se"])


@pytest.mark.parametrize("order", ["oriented", "rank"])
def test_the_pruning_table_of_an_unpruned_tree_begins_with_it(
    order: Literal["oriented", "rank"],
) -> None:
    """Branches that gain nothing are on no path; the model has them all the same."""
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(rng.normal(size=(110, 3)), columns=["a", "b", "c"])
    frame["y"] = rng.normal(size=110)
    m = crank.fit(frame, "y ~ a + b + c", criterion="crank", leaf_order=order, prune=None)
    assert m.pruning.steps[0].n_leaves < m.tree.n_leaves, "the sample shows nothing"
    table = m.pruning_path()
    first = table.iloc[0]
    assert first["n_leaves"] == len(m.tidy())
    assert np.isnan(first["alpha"])
    own = crank.metrics.iauc(frame["y"], m.predict(frame))
    assert first["training"] == pytest.approx(own, abs=1e-12)
    assert table["n_leaves"].is_monotonic_decreasing
