"""Forests: bags, votes and out-of-bag figures by definition; every verb, file and front door."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.utils.estimator_checks import estimator_checks_generator

import crank
from crank import ForestModel, RankingForest
from crank.cli import main
from crank.criteria import get_criterion
from crank.errors import DataError, ModelFileError, OptionError
from crank.export.json.text import fingerprint
from crank.fitting import bag_trees
from crank.fitting import forest as fitting
from crank.fitting.forest import Bags, fit_forest, response_rungs
from crank.fitting.rule_trees import rule_trees
from crank.growing.matrix import TrainingMatrix
from crank.metrics.figures import IAUC
from crank.plugins.logistic import Logistic
from crank.plugins.stump import Stump
from crank.rankers.forest import ForestOptions, quantile_places
from crank.rankers.votes import GRID, ColumnTrees, RuleTrees
from crank.ranks import rank
from tests.narrowing import number, of, present


def sample(n: int = 160, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.normal(size=n).round(1),
            "g": rng.choice(["u", "v", "w", "x"], n),
            "k": rng.integers(0, 3, n),
        }
    )
    effect = frame["g"].map({"u": 0.0, "v": 1.0, "w": -1.0, "x": 0.3})
    frame["y"] = frame["a"] + frame["b"] + effect + 0.3 * rng.normal(size=n)
    frame.loc[::11, "a"] = np.nan
    frame.loc[::13, "g"] = None
    return frame


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return sample()


@pytest.fixture(scope="module")
def model(frame: pd.DataFrame) -> ForestModel:
    return crank.forest(frame, "y ~ a + b + g + k", n_trees=30, n_jobs=2)


def test_the_forest_does_not_depend_on_threads_nor_on_compiled_code(
    model: ForestModel, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = crank.forest(frame, "y ~ a + b + g + k", n_trees=30, n_jobs=1)
    monkeypatch.setattr(bag_trees, "COMPILED_FROM", 0)
    compiled = crank.forest(frame, "y ~ a + b + g + k", n_trees=30, n_jobs=3)
    for other in (alone, compiled):
        for kind in model.predictions:
            assert np.array_equal(other.predict(frame, kind), model.predict(frame, kind))
        assert other.oob == model.oob
        assert other.importance().equals(model.importance())


def test_the_score_is_the_sum_of_the_trees_votes(model: ForestModel, frame: pd.DataFrame) -> None:
    trees, X = model.ranker.trees, model.design_matrix(frame)
    assert isinstance(trees, ColumnTrees)
    naive = np.zeros(len(frame), dtype=np.int64)
    for k in range(len(trees)):
        naive += trees.tree(k).sum(X)
    assert np.array_equal(model.predict(frame), naive)
    assert np.array_equal(trees.nodes.value[trees.leaves(X)].sum(axis=1), naive)
    assert np.array_equal(model.predict(frame, "quantile"), naive / (GRID * 30))
    whole = trees.sums(np.tile(X, (400, 1)), n_jobs=2)  # in threads
    assert np.array_equal(whole, np.tile(naive, 400))


def test_out_of_bag_figures_by_definition(frame: pd.DataFrame) -> None:
    m = crank.forest(frame, "y ~ a + b", n_trees=15, random_state=3)
    X, y = m.design_matrix(frame), frame["y"].to_numpy()
    ranks = rank(y)
    bags = Bags(ranks, m.options, None)
    trees = m.ranker.trees
    assert isinstance(trees, ColumnTrees)
    votes, voters = np.zeros(len(y)), np.zeros(len(y))
    for k in range(15):
        draws, _ = bags.draw(k)
        assert draws.sum() == len(y)
        absent = ranks.row[draws == 0]
        votes[absent] += trees.tree(k).sum(X[absent])
        voters[absent] += 1
    known = voters > 0
    assert m.ranker.n_oob == known.sum()
    wanted = crank.metrics.concordance(y[known], (votes[known] / voters[known]), metric="kendall")
    found = m.oob["kendall"]
    assert found.estimate == pytest.approx(wanted.estimate, rel=1e-12)
    assert (found.se, found.ci_low) == pytest.approx((wanted.se, wanted.ci_low), rel=1e-9)
    assert 0.5 < found.estimate < 1.0


def test_out_of_bag_figures_of_noise_are_about_one_half() -> None:
    rng = np.random.default_rng(5)
    noise = pd.DataFrame({"x": rng.normal(size=200), "g": rng.integers(0, 90, 200).astype(str)})
    noise["y"] = rng.normal(size=200)
    m = crank.forest(noise, "y ~ x + g", n_trees=40)
    assert m.oob["kendall"].ci_low < 0.5 < m.oob["kendall"].ci_high + 0.03


def test_groups_are_drawn_whole(frame: pd.DataFrame) -> None:
    labels = np.arange(len(frame)) // 4
    ranks = rank(frame["y"].to_numpy())
    for options in (ForestOptions(), ForestOptions(bootstrap=False)):
        draws, _ = Bags(ranks, options, labels).draw(0)
        of_row = np.empty(len(labels), dtype=int)
        of_row[ranks.row] = draws
        assert (of_row.reshape(-1, 4) == of_row[::4, None]).all()
        assert of_row.sum() == 4 * round(40 * options.share)
    m = crank.forest(frame, "y ~ a + b", n_trees=10, groups=labels)
    assert m.training.n_groups == 40
    assert "groups" in str(m.summary())


def test_weights_count_like_repeated_rows_in_votes(frame: pd.DataFrame) -> None:
    options = ForestOptions(n_trees=1, bootstrap=False, max_samples=1.0, max_features=None)
    options = ForestOptions(**options.to_dict() | {"min_samples_leaf": 1, "max_depth": 3})
    X, y = frame[["b", "k"]].to_numpy(float), frame["y"].to_numpy()
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    again = np.repeat(np.arange(len(y)), weight)
    heavy = fit_forest(X, rank(y, weight.astype(float)), learner=Stump(), options=options)
    repeated = fit_forest(X[again], rank(y[again]), learner=Stump(), options=options)
    assert heavy.n_oob == 0
    assert heavy.oob == {}
    assert np.array_equal(heavy.trees.sums(X), repeated.trees.sums(X))


def test_monotone_forests_are_monotone(frame: pd.DataFrame) -> None:
    kinds: list[dict[str, Any]] = [
        {}, {"thresholds": "random"}, {"learner": "tree", "criterion": "kendall"},
    ]  # fmt: skip
    for options in kinds:
        m = crank.forest(
            frame.dropna(),
            "y ~ a + b + k",
            n_trees=8,
            monotone={"a": 1, "b": "decreasing"},
            **options,
        )
        rows = frame.dropna().head(25)
        for column, sign in (("a", 1), ("b", -1)):
            last = np.full(len(rows), -np.inf)
            for x in np.linspace(-3.0, 3.0, 25)[::sign]:
                now = m.predict(rows.assign(**{column: x}))
                assert (now >= last).all()
                last = now
        assert "monotone: a increasing, b decreasing" in str(m)


def test_gains_are_shared_out_and_sum_to_the_mean_tau_of_the_trees(
    model: ForestModel, frame: pd.DataFrame
) -> None:
    table = model.importance()
    assert table["share"].sum() == pytest.approx(1.0)
    trees = model.ranker.trees
    assert isinstance(trees, ColumnTrees)
    assert table["importance"].sum() == pytest.approx(trees.gain.sum() / 30)
    assert set(table["term"][:2]) == {"a", "b"}
    assert model.importance("kendall").equals(table)
    triples = model.importance("iauc")
    assert trees.gain_iauc is not None
    assert triples["importance"].sum() == pytest.approx(trees.gain_iauc.sum() / 30)
    assert triples["importance"].sum() > table["importance"].sum()
    with pytest.raises(OptionError, match="'kendall', 'iauc'"):
        model.importance("iauc_uniform")
    assert "2 IAUC" in model.plot_importance(metric="iauc", ax=Figure().subplots()).get_xlabel()


def test_forests_of_other_learners_share_out_iauc_too(frame: pd.DataFrame) -> None:
    m = crank.forest(frame, "y ~ a + b", n_trees=3, learner="logistic", max_depth=3)
    trees = m.ranker.trees
    assert isinstance(trees, RuleTrees)
    achieved = [2.0 * tree.figure(IAUC) - 1.0 for tree in trees.trees]
    assert m.importance("iauc")["importance"].sum() == pytest.approx(np.mean(achieved))


def test_an_older_file_has_no_gains_of_iauc(model: ForestModel) -> None:
    stored = json.loads(str(model.to_json()))
    del stored["ranker"]["gain_iauc"]
    del stored["training"]["scores"]
    stored["fingerprint"] = fingerprint(stored)
    older = of(ForestModel, crank.from_json(json.dumps(stored)))
    assert older.importance().equals(model.importance())
    assert older.score_profile is None
    with pytest.raises(OptionError, match="permutation_importance"):
        older.importance("iauc")
    assert "gain_iauc" not in json.loads(str(older.to_json()))["ranker"]


def test_scores_out_of_bag_are_profiled(frame: pd.DataFrame) -> None:
    m = crank.forest(frame, "y ~ a + b", n_trees=15)
    ranks = rank(frame["y"].to_numpy())
    out: dict[int, list[int]] = {}
    trees = of(ColumnTrees, m.ranker.trees)
    X = m.design.matrix(frame)
    for k in range(15):
        draws, _ = Bags(ranks, m.options, None).draw(k)
        votes = trees.tree(k).sum(X)
        for row in ranks.row[draws == 0]:
            out.setdefault(row, []).append(votes[row])
    profile = present(m.score_profile)
    scores = [15 * np.mean(votes) for votes in out.values()]
    assert profile.n == len(scores) == m.ranker.n_oob
    assert (profile.lowest, profile.highest) == pytest.approx((min(scores), max(scores)))
    counted = profile.count_numbers(np.array(scores) - 1e-6)
    assert counted[:-1].tolist() == list(profile.counts)
    whole = crank.forest(frame, "y ~ a", n_trees=2, bootstrap=False, max_samples=1.0)
    assert whole.score_profile is None


def test_calibration_draws_mean_votes_beside_positions(
    model: ForestModel, frame: pd.DataFrame
) -> None:
    ax = model.plot_calibration(frame, ax=Figure().subplots())
    points = np.asarray(ax.collections[-1].get_offsets())
    vote = pd.Series(model.predict(frame, "quantile"))
    tenth = ((vote.rank(ascending=False) - 0.5) / len(vote) * 10).astype(int)
    position = (frame["y"].reset_index(drop=True).rank() - 0.5) / len(frame)
    np.testing.assert_allclose(points[:, 0], vote.groupby(tenth).mean())
    np.testing.assert_allclose(points[:, 1], position.groupby(tenth).mean())


def test_quantiles_come_from_the_leaves_responses(model: ForestModel, frame: pd.DataFrame) -> None:
    found = model.quantiles(frame, [0.0, 0.25, 0.5, 0.75, 1.0])
    assert (np.diff(found, axis=1) >= 0.0).all()
    assert np.isin(found, frame["y"]).all()
    for k, kind in enumerate(("lower", "median", "upper")):
        assert np.array_equal(model.predict(frame, kind), found[:, k + 1])
    inside = (found[:, 0] <= frame["y"]) & (frame["y"] <= found[:, -1])
    assert inside.mean() > 0.9
    assert quantile_places([0.1, 0.9], 10).tolist() == [0, 8]
    with pytest.raises(OptionError, match="0 to 1"):
        model.quantiles(frame, [1.5])


def test_responses_are_thinned_out_evenly() -> None:
    y = np.random.default_rng(0).normal(size=5000)
    rung, rungs = response_rungs(rank(y))
    assert len(rungs) == 1024
    assert (np.diff(rungs) > 0).all()
    assert np.bincount(rung).max() <= 5
    place = np.searchsorted(np.sort(y), rungs)
    assert np.abs(place[rung] - np.arange(5000)).max() <= 5


def test_proximity_is_the_share_of_common_leaves(model: ForestModel, frame: pd.DataFrame) -> None:
    near = model.proximity(frame.head(20))
    leaves = model.ranker.trees.leaves(model.design_matrix(frame.head(20)))
    assert np.array_equal(np.diag(near), np.ones(20))
    assert near[2, 7] == np.mean(leaves[2] == leaves[7])
    assert np.array_equal(model.proximity(frame.head(20), frame.head(3)), near[:, :3])
    many = pd.concat([frame] * 80)
    with pytest.raises(DataError, match="fewer rows"):
        model.proximity(many)


def test_one_tree_reads_as_a_table_that_sends_rows_to_their_leaves(
    model: ForestModel, frame: pd.DataFrame
) -> None:
    table = model.tree(3)
    assert list(table.columns) == ["node", "depth", "rule", "n", "quantile", "leaf"]
    assert table["n"][0] == len(frame) == table.loc[table["leaf"], "n"].sum()
    assert table["rule"][0] == "all rows"
    assert model.tidy()["leaves"][3] == table["leaf"].sum()
    assert model.tidy()["depth"][3] == table["depth"].max()
    numbers = set(table["node"])
    inner = table.loc[~table["leaf"], "node"]
    assert all({2 * k, 2 * k + 1} <= numbers for k in inner)
    # left of a split is its higher side: the means of leaves say so at the root
    first = table[table["node"].map(lambda k: _side(k) == 0) & table["leaf"]]
    other = table[table["node"].map(lambda k: _side(k) == 1) & table["leaf"]]
    means = [np.average(part["quantile"], weights=part["n"]) for part in (first, other)]
    assert means[0] > means[1]
    with pytest.raises(OptionError, match="from 0 to 29"):
        model.tree(30)


def _side(number: int) -> int:
    return int(bin(number)[3]) if number > 1 else -1


def test_what_people_read(model: ForestModel, frame: pd.DataFrame) -> None:
    text = str(model.summary())
    for part in (
        "crank.forest(data",
        "d_tau, out of bag",
        "30 trees",
        "missing values: a 15, g 13",
        "3 of 4",
    ):
        assert part in text
    assert repr(model) == "<ForestModel 'y ~ a + b + g + k': 30 trees, n = 160>"
    assert "out-of-bag IAUC" in str(model)
    row = model.glance().iloc[0]
    assert row["oob_kendall"] == model.oob["kendall"].estimate
    assert row["n_leaves"] == model.tidy()["leaves"].sum()
    assert {".score", ".quantile", ".median"} <= set(model.augment(frame).columns)
    assert number(model.evaluate(frame).loc["kendall", "estimate"]) > 0.9
    other = crank.fit(frame, "y ~ a", prune=None)
    assert crank.compare(model, other, data=frame).tests["difference"][0] > 0.0
    assert len(model.permutation_importance(frame, repeats=1)) == 4
    assert model.plot_score("b", frame) is not None
    assert model.plot_importance() is not None
    none = crank.forest(frame, "y ~ a", n_trees=2, bootstrap=False, max_samples=1.0)
    assert "no rows were left out" in str(none.summary())
    assert np.isnan(none.glance()["oob_iauc"][0])


def test_update_and_pickle(model: ForestModel, frame: pd.DataFrame) -> None:
    smaller = model.update(frame, ". - k", n_trees=3)
    assert smaller.n_trees == 3
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(frame), model.predict(frame))
    assert again.oob == model.oob


@pytest.mark.parametrize("learner", ["stump", "tree", "logistic"])
def test_python_json_and_onnx_agree_bit_for_bit(
    learner: str, frame: pd.DataFrame, tmp_path: Path
) -> None:
    m = crank.forest(
        frame, "y ~ log(a + 9) + b + g", n_trees=5, learner=learner, max_depth=5, random_state=2
    )
    rows = pd.concat([frame, frame.assign(g="u")]).reset_index(drop=True)
    rows = rows if m.learner.takes_missing else rows.dropna()
    m.to_json(tmp_path / "m.json")
    again = crank.load(tmp_path / "m.json")
    assert type(again) is ForestModel
    scorer = crank.serve.Scorer(m.to_onnx(outputs=m.predictions))
    for kind in m.predictions:
        wanted = m.predict(rows, kind)
        assert np.array_equal(again.predict(rows, kind), wanted)
        if learner != "logistic":  # whose decisions are sums: equal up to rounding near a cut
            assert np.array_equal(scorer.predict(rows, kind), wanted)
            one = [scorer.predict(rows.iloc[[k]], kind)[0] for k in range(0, 60, 7)]
            assert np.array_equal(one, wanted[:60:7])
        else:
            assert np.mean(scorer.predict(rows, kind) == wanted) > 0.98
    assert again.tree(1).equals(m.tree(1))
    assert again.to_json() == m.to_json()


def test_many_trees_are_several_ensembles_with_one_exact_sum(frame: pd.DataFrame) -> None:
    import onnx

    m = crank.forest(frame.assign(y=-frame["y"]), "y ~ a + b", n_trees=420, max_depth=2)
    content = m.to_onnx(outputs=("score",))
    assert content is not None
    kinds = [node.op_type for node in onnx.load_from_string(content).graph.node]
    assert kinds.count("TreeEnsembleRegressor") >= 2
    scorer = crank.serve.Scorer(content)
    assert np.array_equal(scorer(frame), m.predict(frame))
    assert m.predict(frame).max() > 2**24  # beyond what single floats count exactly


def test_a_damaged_file_is_refused(model: ForestModel) -> None:
    stored = json.loads(str(model.to_json()))

    def broken(**changes: Any) -> str:
        ranker = stored["ranker"] | changes
        document = stored | {"ranker": ranker}
        return json.dumps(document | {"fingerprint": fingerprint(document)})

    nodes = stored["ranker"]["nodes"]
    assert crank.from_json(broken()).kind == "forest"
    for changes, message in (
        ({"nodes": nodes | {"value": [GRID + 1] * len(nodes["value"])}}, "votes"),
        ({"nodes": nodes | {"roots": nodes["roots"][:-1]}}, "tree after tree"),
        ({"drawn": [10**6] * len(nodes["value"])}, "drawn"),
        ({"gain": [0.0]}, "gain"),
        ({"trees": [{}]}, "trees"),
        ({"rungs": [2.0, 1.0]}, "increasing"),
        ({"options": stored["ranker"]["options"] | {"n_trees": 29}}, "30 trees"),
        ({"options": stored["ranker"]["options"] | {"max_features": "most"}}, "max_features"),
        ({"learner": stored["ranker"]["learner"] | {"name": "none"}}, "none"),
        ({"criterion": {"name": "none", "because": ""}}, "none"),
    ):
        with pytest.raises(ModelFileError, match=message):
            crank.from_json(broken(**changes))


def test_unseen_levels_follow_missing_values(model: ForestModel, frame: pd.DataFrame) -> None:
    strange = frame.head(9).assign(g="zebra")
    with pytest.raises(DataError, match="zebra"):
        model.predict(strange)
    gone = frame.head(9).assign(g=None)
    assert np.array_equal(model.predict(strange, unknown="missing"), model.predict(gone))


def test_factors_of_many_levels_are_grown_by_the_ordinary_grower() -> None:
    rng = np.random.default_rng(1)
    level = rng.integers(0, 300, 900)
    wide = pd.DataFrame({"g": [f"l{k:03d}" for k in level], "y": level + rng.normal(size=900)})
    m = crank.forest(wide, "y ~ g", n_trees=2, max_depth=3)
    assert not isinstance(m.ranker.trees, ColumnTrees)
    assert crank.metrics.kendall(wide["y"], m.predict(wide)) > 0.8


@pytest.mark.parametrize("y", ["two values", "two rows"])
def test_odd_responses(y: str) -> None:
    n = 2 if y == "two rows" else 40
    x = np.arange(float(n))
    data = {"x": x, "y": (x >= n // 2) * 1.0}
    m = crank.forest(data, "y ~ x", n_trees=7, min_samples_leaf=1)
    score = m.predict(data)
    assert np.isfinite(score).all()
    if y == "two values":
        assert score[-1] > score[0]
        assert set(m.oob) == {"kendall"}
    assert of(ForestModel, crank.from_json(m.to_json())).n_trees == 7
    assert np.array_equal(crank.serve.Scorer(m.to_onnx())(data), score)


def test_the_forest_is_invariant_to_increasing_transforms_of_y(frame: pd.DataFrame) -> None:
    one = crank.forest(frame, "y ~ a + b", n_trees=5)
    other = crank.forest(frame.assign(y=np.exp(frame["y"])), "y ~ a + b", n_trees=5)
    assert np.array_equal(one.predict(frame), other.predict(frame))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_trees": 0}, "n_trees"),
        ({"max_features": "all"}, "max_features='all'"),
        ({"max_features": 1.5}, "max_features=1.5"),
        ({"max_features": 0}, "max_features=0"),
        ({"max_samples": 0.0}, "max_samples"),
        ({"thresholds": "worst"}, "thresholds"),
        ({"thresholds": "random", "learner": "logistic"}, "for the learner 'stump'"),
        ({"bootstrap": "yes"}, "bootstrap"),
        ({"min_samples_leaf": 0}, "min_samples_leaf"),
        ({"monotone": ["a"]}, "monotone"),
        ({"monotone": {"a": "up"}}, "monotone"),
        ({"monotone": {"a": 1}, "learner": "lightgbm"}, "monotone"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_bad_options_are_refused(
    options: dict[str, Any], message: str, frame: pd.DataFrame
) -> None:
    with pytest.raises(OptionError, match=message):
        crank.forest(frame, "y ~ a", **options)


def test_columns_a_node() -> None:
    assert ForestOptions(max_features="sqrt").features_of(16) == 4
    assert ForestOptions(max_features=None).features_of(7) == 7
    assert ForestOptions(max_features=0.3).features_of(10) == 3
    assert ForestOptions(max_features=99).features_of(7) == 7
    assert ForestOptions().features_of(1) == 1


def test_an_interrupt_ends_the_work_and_says_how_far_it_came(
    frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown: list[int] = []
    draw = Bags.draw

    def interrupted(self: Bags, k: int) -> Any:
        if k == 3:
            raise KeyboardInterrupt
        grown.append(k)
        return draw(self, k)

    monkeypatch.setattr(fitting.Bags, "draw", interrupted)
    for n_jobs in (1, 2):
        with pytest.raises(KeyboardInterrupt, match="forest stopped after"):
            crank.forest(frame, "y ~ a", n_trees=200, n_jobs=n_jobs)
    assert len(grown) < 200


def test_the_command_line(
    frame: pd.DataFrame,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    frame.to_csv("d.csv", index=False)
    options = ["--model", "forest", "--n-trees", "6", "--max-features", "0.5", "--n-jobs", "1"]
    assert main(["fit", "d.csv", "y ~ a + b + g", "-o", "m.json", *options]) == 0
    shown = capsys.readouterr().out
    assert "n_trees=6, max_features=0.5" in shown
    assert "out of bag" in shown
    assert main(["score", "m.json", "d.csv", "-o", "s.csv"]) == 0
    wanted = crank.load("m.json").predict(frame)
    scores = pd.read_csv("s.csv", dtype=str).astype(float)
    assert np.array_equal(scores["score"], wanted)
    for wrong, kinds in ((["--prune", "cv"], "tree"), (["--link", "logit"], "linear")):
        assert main(["fit", "d.csv", "y ~ a", "-o", "n.json", *options, *wrong]) == 2
        assert f"{wrong[0]} belongs to --model {kinds}" in capsys.readouterr().err
    assert main(["fit", "d.csv", "y ~ a", "-o", "n.json", *options[:2], "--max-features", "x"]) == 2


BAGS = RankingForest(n_trees=3, n_jobs=1)
ALL_ROWS = RankingForest(n_trees=3, n_jobs=1, bootstrap=False, max_samples=1.0, min_samples_leaf=1)
# drawing a row of weight 2 is not drawing two rows, neither here nor in scikit-learn's forests
NOT_OF_BAGS = "check_sample_weight_equivalence_on_dense_data"
CHECKS = [
    pytest.param(estimator, check, id=f"{name}-{check.func.__name__}-{at}")
    for name, forest in (("bags", BAGS), ("all", ALL_ROWS))
    for at, (estimator, check) in enumerate(estimator_checks_generator(forest))
    if name == "all" or check.func.__name__ != NOT_OF_BAGS
]


@pytest.mark.no_cover
@pytest.mark.parametrize(("estimator", "check"), CHECKS)
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_estimator_and_the_formula_give_the_same_scores(frame: pd.DataFrame) -> None:
    known = frame[["a", "b", "y"]]
    X, y = known[["a", "b"]].to_numpy(), known["y"].to_numpy()
    estimator = RankingForest(n_trees=6, random_state=0, monotone={1: 1}, oob_score=True)
    estimator.fit(X, y, np.where(np.arange(len(y)) < 150, 1.0, 0.0), groups=np.arange(len(y)))
    m = crank.forest(
        known.head(150), "y ~ a + b", n_trees=6, monotone={"b": 1}, groups=np.arange(150)
    )
    assert np.array_equal(estimator.predict(X), m.predict(known))
    assert estimator.oob_kendall_ == m.oob["kendall"].estimate
    assert estimator.oob_score_ == estimator.oob_iauc_ == m.oob["iauc"].estimate
    assert estimator.feature_importances_.sum() == pytest.approx(1.0)
    assert estimator.apply(X).shape == (len(y), 6)


@pytest.mark.parametrize("options", [{"n_trees": 20, "learner": "logistic"}, {"n_trees": 200}])
def test_the_estimator_is_judged_out_of_bag_only_if_asked(
    frame: pd.DataFrame, options: dict[str, Any]
) -> None:
    known = frame[["a", "b", "y"]].dropna()
    X, y = known[["a", "b"]].to_numpy(), known["y"].to_numpy()
    judged = RankingForest(random_state=0, n_jobs=1, oob_score=True, **options).fit(X, y)
    plain = RankingForest(random_state=0, n_jobs=1, **options).fit(X, y)
    assert np.array_equal(plain.predict(X), judged.predict(X))
    assert plain.ranker_.choice == judged.ranker_.choice
    assert not plain.ranker_.oob
    assert 0.5 < judged.oob_score_ < judged.score(X, y)
    judged.set_params(oob_score=False).fit(X, y)
    assert not [name for name in vars(judged) if name.startswith("oob_") and name[-1] == "_"]
    with pytest.raises(OptionError, match="oob_score=1 is not allowed"):
        RankingForest(oob_score=1).fit(X, y)  # type: ignore[arg-type]  # on purpose
    two = RankingForest(5, random_state=0, oob_score=True).fit(X, y > 0)
    assert two.oob_score_ == two.oob_kendall_


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_features", [2, 3])
def test_trees_of_rules_do_not_depend_on_which_bag_comes_first(
    weighted: bool, max_features: int
) -> None:
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(200, 3))
    ranks = rank(X.sum(axis=1) + rng.normal(size=200), rng.uniform(0.5, 2.0, 200) * weighted + 1.0)
    bags = rng.multinomial(200, np.full(200, 1 / 200), size=2)

    def votes(order: tuple[int, ...]) -> dict[int, Any]:
        make = rule_trees(
            TrainingMatrix(X, (0,) * 3, 1),
            ranks,
            np.arange(200, dtype=np.int32),
            Logistic(),
            get_criterion("kendall"),
            ForestOptions(n_trees=2, max_features=max_features, max_depth=3),
        )
        return {k: make(bags[k], k, True)[1] for k in order}

    forwards, backwards = votes((0, 1)), votes((1, 0))
    for k in (0, 1):
        assert np.array_equal(forwards[k], backwards[k])


def test_responses_that_cannot_be_ranked_are_refused_as_by_trees(toy: pd.DataFrame) -> None:
    with pytest.raises(DataError, match="y is constant"):
        crank.forest(toy.assign(y=1.0), "y ~ x1", n_trees=2)
    binary = toy.assign(y=toy["y"] > 0)
    with pytest.raises(DataError, match="criterion='iauc' needs at least three distinct values"):
        crank.forest(binary, "y ~ x1", n_trees=2, criterion="iauc")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learner_params": 3}, "learner_params=3 is not allowed. Allowed: a mapping"),
        ({"context": 3}, "context=3 is not allowed. Allowed: a mapping of names to functions"),
    ],
)
def test_options_that_are_no_mapping_are_refused(
    toy: pd.DataFrame, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        crank.forest(toy, "y ~ x1", n_trees=2, **options)
