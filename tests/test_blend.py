"""Blends: members of several kinds, chosen on held-out rows; one score in Python, JSON and ONNX."""

import functools
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

import crank
from crank.api import blend_members, memory, recipes
from crank.cli import main
from crank.errors import DataError, ModelFileError, NotExportableError, OptionError
from crank.fitting.greedy import bench, nested_figures, select
from crank.metrics.figures import KENDALL
from crank.ranks import rank
from crank.records.blend import BlendRecord
from crank.serve import Scorer
from tests.narrowing import number

FORMULA = "y ~ x1 + x2 + g"
FAST = functools.partial(crank.fit, max_depth=2, prune=None)


def sample(n: int = 200, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x1": rng.normal(size=n), "x2": rng.normal(size=n)})
    frame["g"] = rng.choice(list("abcd"), n)
    frame["w"] = rng.integers(1, 4, n)
    frame["who"] = rng.integers(0, n // 4, n)
    step = frame["g"].map({"a": 0.0, "b": 1.0, "c": 0.5, "d": 2.0})
    frame["y"] = np.exp(frame["x1"] + np.abs(frame["x2"]) + step + 0.5 * rng.normal(size=n))
    return frame


@pytest.fixture(scope="module")
def model() -> crank.BlendModel:
    return crank.blend(sample(), FORMULA, members={"rank": None, "linear": None, "steps": FAST})


# -- choosing


def naive_select(scores: Any, ranks: Any, fold: Any, steps: int) -> Any:
    """Take the best member again and again, with every figure worked out anew."""
    y = ranks.y
    parts = [np.flatnonzero(fold == k) for k in range(fold.max() + 1)]
    standard = scores[:, ranks.row].copy()
    for at in parts:
        part = standard[:, at]
        standard[:, at] = (part - part.mean(1, keepdims=True)) / part.std(1, keepdims=True)
    counts, best, most = np.zeros(len(scores), int), None, -1.0
    for _ in range(steps):
        means = [
            np.mean(
                [crank.metrics.kendall(y[at], (counts + one) @ standard[:, at]) for at in parts]
            )
            for one in np.eye(len(scores), dtype=int)
        ]
        counts[int(np.argmax(means))] += 1
        if max(means) > most + 1e-12:
            best, most = counts.copy(), float(max(means))
    return best


def noisy(members: int = 4, n: int = 150) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(1)
    y = rng.normal(size=n)
    noise = rng.uniform(0.5, 2.0, members)[:, None] * rng.normal(size=(members, n))
    fold = rng.permutation(np.arange(n) % 5)
    return y + noise, rank(y), fold


def test_the_choice_is_that_of_the_naive_way() -> None:
    scores, ranks, fold = noisy()
    found, _ = bench(scores, ranks, fold, KENDALL)
    chosen = select(found, range(5))
    assert np.array_equal(chosen, naive_select(scores, ranks, fold, 16))
    each = [found.mean(range(5), one) for one in np.eye(4, dtype=np.int64)]
    assert found.mean(range(5), chosen) > max(each)


def test_the_scale_of_members_does_not_matter() -> None:
    scores, ranks, fold = noisy()
    found, spread = bench(scores, ranks, fold, KENDALL)
    other, wider = bench(scores * 7.0 - 3.0, ranks, fold, KENDALL)
    assert np.array_equal(select(found, range(5)), select(other, range(5)))
    np.testing.assert_allclose(wider, 7.0 * spread)


def test_the_crossvalidated_figure_is_nested() -> None:
    scores, ranks, fold = noisy(members=5)
    found, _ = bench(scores, ranks, fold, KENDALL)
    won = total = 0.0
    for k in range(5):
        counts = select(found, [other for other in range(5) if other != k])
        test = found.tests[k]
        won += test.pairs * crank.metrics.kendall(test.y, found.blended(k, counts))
        total += test.pairs
    nested = nested_figures(found, ranks, None)["kendall"].estimate
    assert nested == pytest.approx(won / total)


def test_large_folds_choose_by_a_sample_and_are_judged_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scores, ranks, fold = noisy(n=600)
    monkeypatch.setattr("crank.fitting.greedy.MOST_ROWS", 80)
    found, _ = bench(scores, ranks, fold, KENDALL)
    again, _ = bench(scores, ranks, fold, KENDALL)
    for k, (part, at) in enumerate(found.choosing):
        assert len(at) == len(part.y) == 80
        assert np.isin(at, found.positions[k]).all()
        assert np.array_equal(part.y, ranks.y[at])
        assert np.array_equal(at, again.choosing[k][1])
    figures = [
        crank.metrics.kendall(test.y, found.scores[1, at])
        for test, at in zip(found.tests, found.positions, strict=True)
    ]
    assert found.alone(1) == pytest.approx(np.mean(figures))
    assert select(found, range(5)).sum() > 0


def test_members_that_large_data_cannot_afford_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(recipes.BUDGETS, "quick", 0.2)
    found = crank.blend(sample(), FORMULA, effort="quick", cv=2)
    left = {one.name: one.because for one in found.left_out}
    assert "CPU seconds for so many values are too many for effort='quick'" in left["y"]
    assert {member.name for member in found.members} | set(left) == {"rank", "y", "linear"}
    assert "CPU seconds" not in left.get("rank", "") + left.get("linear", "")
    named = crank.blend(sample(), FORMULA, members=["rank"], cv=2)
    assert [member.name for member in named.members] == ["rank"]


def test_members_without_room_in_memory_are_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # 200 rows: a matrix of 3 columns, ten times, of doubles: 48,000 bytes
    monkeypatch.setattr(memory, "MEMORY", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "GROUP", tmp_path)
    assert memory.free() == np.inf
    (tmp_path / "meminfo").write_text("MemTotal: 99 kB\nMemAvailable:   45 kB\n")
    assert memory.free() == 45 * 1024
    found = crank.blend(sample(), FORMULA, members=["linear", "rank"], cv=2)
    left = {one.name: one.because for one in found.left_out}
    assert left == {"rank": "it needs about 4.47e-05 GB, and 4.29e-05 GB are free"}
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("990\n")
    assert memory.free() == 10
    with pytest.raises(DataError, match="it needs about"):
        crank.blend(sample(), FORMULA, members=["rank"], cv=2)
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.free() == 45 * 1024


def test_a_figure_chosen_among_noise_is_not_reported_as_skill() -> None:
    rng = np.random.default_rng(0)
    ranks = rank(rng.normal(size=120))
    scores, fold = rng.normal(size=(8, 120)), rng.permutation(np.arange(120) % 4)
    found, _ = bench(scores, ranks, fold, KENDALL)
    chosen = found.mean(range(4), select(found, range(4)))
    nested = nested_figures(found, ranks, None)["kendall"]
    assert nested.estimate < chosen - 0.02
    assert nested.ci_low < 0.5 < nested.ci_high


# -- the model


def test_the_score_is_the_weighted_sum_of_the_members(model: crank.BlendModel) -> None:
    new = sample(50, seed=1)
    parts = [member.coef * member.model.values(_table(new)) for member in model.members]
    np.testing.assert_allclose(model.predict(new), np.sum(parts, axis=0), rtol=1e-14)
    assert model.table()["weight"].sum() == pytest.approx(1.0)
    assert {variable.name for variable in model.variables} == {"x1", "x2", "g"}


def _table(frame: pd.DataFrame) -> Any:
    from crank.frames.table import Table

    return Table.read(frame)


def test_python_json_pickle_and_onnx_agree(model: crank.BlendModel, tmp_path: Path) -> None:
    new = sample(100, seed=2)
    wanted = model.predict(new)
    again = crank.from_json(model.to_json() or "")
    assert isinstance(again, crank.BlendModel)
    assert np.array_equal(again.predict(new), wanted)
    assert again.to_json() == model.to_json()
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(new), wanted)
    model.to_onnx(tmp_path / "m.onnx")
    found = Scorer(tmp_path / "m.onnx")(new)
    assert np.abs(found - wanted).max() <= 1e-12 * np.ptp(wanted)
    with pytest.raises(NotExportableError, match="form='columns'"):
        model.to_onnx(form="matrix")


def test_sums_of_trees_agree_bit_for_bit() -> None:
    frame = sample(120)
    frame.loc[::7, "x2"] = np.nan
    few = functools.partial(crank.forest, n_trees=20)
    m = crank.blend(frame, FORMULA, members={"rank": None, "concordance": None, "few": few}, cv=2)
    new = sample(300, seed=3)
    new.loc[4, "g"] = "unseen"
    wanted = m.predict(new, unknown="missing")
    assert len(m.members) > 1
    assert np.array_equal(Scorer(m.to_onnx())(new), wanted)
    backwards = BlendRecord.values(
        crank.BlendModel(**{**vars(m), "members": m.members[::-1]}), _table(new), unknown="missing"
    )
    assert np.array_equal(backwards, wanted)  # exact sums know no order


def test_what_people_read(model: crank.BlendModel) -> None:
    text = str(model.summary())
    assert "Members:" in text
    assert "d_tau, held out" in text
    assert "d_tau, cross-validated" in text
    assert "Blend: y ~ x1" in str(model)
    assert "BlendModel" in repr(model)
    assert model.importance()["share"].sum() == pytest.approx(1.0)
    assert model.glance()["n_members"].iloc[0] == len(model.members)
    with pytest.raises(OptionError, match="permutation_importance"):
        model.importance("iauc")
    test = sample(100, seed=4)
    assert number(model.evaluate(test).loc["kendall", "estimate"]) > 0.75
    assert set(model.permutation_importance(test)["variable"]) == {"x1", "x2", "g"}
    assert ".score" in model.augment(test)


def test_weights_groups_and_subsets_reach_the_members() -> None:
    frame = sample()
    frame.loc[0, "y"] = np.nan
    options: dict[str, Any] = {"members": ["linear", "tree"], "cv": 3, "weights": "w"}
    m = crank.blend(frame, "y ~ . - who", groups="who", subset="x1 > -1.5", **options)
    assert m.training.weighted
    assert m.training.n_groups == frame.loc[frame["x1"] > -1.5].iloc[1:]["who"].nunique()
    assert {variable.name for variable in m.variables} == {"x1", "x2", "g"}
    assert m.update(frame, subset="x1 > -1.5").to_json() == m.to_json()


def test_levels_that_a_fold_has_not_met_are_no_obstacle() -> None:
    frame = sample(80)
    frame.loc[0, "g"] = "rare"
    m = crank.blend(frame, FORMULA, members=["linear"], cv=4)
    assert m.table()["left_out"].tolist() == [""]


@pytest.mark.parametrize("values", [2, 3])
def test_few_values_of_y_make_a_blend_too(values: int) -> None:
    frame = sample(120)
    frame["y"] = pd.qcut(frame["y"], values, labels=False)
    m = crank.blend(frame, FORMULA, members=["linear", "tree"], metric="iauc", cv=3)
    assert m.training.crossvalidated["kendall"].estimate > 0.7
    assert m.metric == ("kendall" if values == 2 else "iauc")


def test_three_rows_ask_for_a_single_model() -> None:
    with pytest.raises(DataError, match=r"at least 4 rows; got 3\. Use a single model"):
        crank.blend(sample()[:3], FORMULA)


def test_a_blend_of_monotone_members_is_monotone_in_python_json_and_onnx() -> None:
    monotone = {"x1": "increasing", "x2": "decreasing"}
    frame = sample(400).assign(
        y=lambda f: f["x1"] - f["x2"] + np.sin(3.0 * f["x1"]) + 0.01 * f["w"]
    )
    members: dict[str, Any] = {
        "booster": functools.partial(crank.boost, monotone=monotone, rounds=40, trees="large"),
        "tree": functools.partial(crank.fit, monotone=monotone, prune=None),
        "linear": functools.partial(crank.linear, monotone=monotone),
    }
    found = crank.blend(frame, FORMULA, members=members)
    assert len(found.members) > 1
    rng = np.random.default_rng(0)
    pairs = sample(10_000, seed=9)
    larger = pairs.assign(x1=pairs["x1"] + rng.exponential(size=10_000))
    smaller = pairs.assign(x2=pairs["x2"] + rng.exponential(size=10_000))
    loaded = crank.from_json(found.to_json() or "")
    for score in (found.predict, loaded.predict, Scorer(found.to_onnx())):
        assert (score(larger) >= score(pairs)).all()
        assert (score(smaller) <= score(pairs)).all()
    assert (found.predict(larger) > found.predict(pairs)).mean() > 0.3


# -- what is left out, and why


def test_what_cannot_be_fitted_is_left_out_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(data: Any, formula: str, **given: Any) -> Any:
        raise ValueError("it broke")

    gone = recipes.Recipe("gone", "nowhere")
    monkeypatch.setattr(recipes, "LIBRARY", {**recipes.LIBRARY, "gone": gone})
    m = crank.blend(
        sample(), FORMULA, members={"linear": None, "broken": broken, "gone": None, "steps": FAST}
    )
    reasons = {out.name: out.because for out in m.left_out}
    assert reasons["broken"] == "failed: it broke"
    assert "no nowhere models" in reasons["gone"]
    assert "Left out:" in str(m.summary())
    with pytest.raises(DataError, match="it broke"):
        crank.blend(sample(), FORMULA, members={"broken": broken})
    with pytest.raises(DataError, match="gave a int"):
        crank.blend(sample(), FORMULA, members={"three": lambda *args, **more: 3})


def test_without_lightgbm_the_rest_is_blended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "find_spec", lambda name: None)
    m = crank.blend(sample(), FORMULA, members=["rank", "linear"])
    assert [member.name for member in m.members] == ["linear"]
    assert "crank-rank[lightgbm]" in m.left_out[0].because


def test_missing_values_leave_out_members_that_take_none() -> None:
    frame = sample()
    frame.loc[:9, "x2"] = np.nan
    m = crank.blend(frame, FORMULA, members=["linear", "tree"])
    assert m.left_out[0].because == "it takes no missing values, and x2 lacks 10"


def test_a_time_limit_keeps_the_first_member(monkeypatch: pytest.MonkeyPatch) -> None:
    clock: Iterator[float] = iter(range(0, 10_000, 100))
    monkeypatch.setattr(vars(blend_members)["time"], "monotonic", lambda: float(next(clock)))
    m = crank.blend(sample(), FORMULA, members=["linear", "tree"], time_limit=50.0)
    assert [member.name for member in m.members] == ["linear"]
    assert "time was over" in m.left_out[0].because
    clock = iter([0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 12.0, 13.0, *range(14, 99)])
    monkeypatch.setattr(vars(blend_members)["time"], "monotonic", lambda: float(next(clock)))
    m = crank.blend(sample(), FORMULA, members=["linear", "tree"], time_limit=30.0)
    assert "would not be done in time" in m.left_out[0].because


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"effort": "huge"}, "effort='huge'"),
        ({"members": "rank"}, "members='rank'"),
        ({"members": ["ranks"]}, "Did you mean 'rank'"),
        ({"members": []}, "members="),
        ({"time_limit": -1}, "time_limit=-1"),
        ({"cv": 1}, "cv=1"),
        ({"metric": "auc"}, "metric='auc'"),
    ],
)
def test_wrong_options_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        crank.blend(sample(60), FORMULA, **wrong)


def test_every_effort_names_members_of_the_library() -> None:
    for names in recipes.EFFORTS.values():
        assert set(names) <= set(recipes.LIBRARY)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r["members"][0]["model"].__setitem__("formula", "y ~ z"), "fingerprint"),
        (lambda r: r["members"].clear(), "members"),
        (lambda r: r.__setitem__("metric", "auc"), "metric"),
        (lambda r: r["members"][0].__setitem__("weight", 0), "weight"),
    ],
)
def test_damaged_files_are_refused(change: Any, message: str, model: crank.BlendModel) -> None:
    from crank.export.json.text import fingerprint

    stored = json.loads(model.to_json() or "")
    change(stored["ranker"])
    stored["fingerprint"] = fingerprint(stored)
    with pytest.raises(ModelFileError, match=message):
        crank.from_json(json.dumps(stored))


def test_a_blend_in_a_blend_and_a_tree_without_design_are_refused(
    model: crank.BlendModel,
) -> None:
    from crank.export.json.text import fingerprint

    whole = json.loads(model.to_json() or "")
    nested = json.loads(model.to_json() or "")
    nested["ranker"]["members"][0]["model"] = whole
    nested["fingerprint"] = fingerprint(nested)
    with pytest.raises(ModelFileError, match="a blend has no blends"):
        crank.from_json(json.dumps(nested))
    member = whole["ranker"]["members"][0]["model"]
    del member["design"]
    member["fingerprint"] = fingerprint(member)
    with pytest.raises(ModelFileError, match="design is missing"):
        crank.from_json(json.dumps(member))


def test_the_command_line_blends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = sample(120)
    frame.to_csv("d.csv", index=False)
    fit = ["fit", "d.csv", FORMULA, "-o", "m.json", "--model", "blend", "--cv", "3"]
    assert main([*fit, "--members", "linear", "tree"]) == 0
    assert "Members:" in capsys.readouterr().out
    assert main(["export", "m.json", "--onnx", "m.onnx"]) == 0
    assert main(["score", "m.onnx", "d.csv", "-o", "o.csv"]) == 0
    wanted = crank.load("m.json").predict(frame)
    np.testing.assert_allclose(pd.read_csv("o.csv")["score"], wanted, rtol=1e-12)


# -- scikit-learn

CHECKS = [
    pytest.param(estimator, check, id=f"{check.func.__name__}-{at}")
    for at, (estimator, check) in enumerate(
        estimator_checks_generator(crank.RankingBlend(members={"steps": FAST}, cv=2))
    )
]


@pytest.mark.no_cover
@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learn_accepts_the_estimator(estimator: Any, check: Any) -> None:
    if "sample_weight_equivalence" in check.func.__name__:
        pytest.skip("folds are dealt out by rows: weights are no rows")
    check(estimator)


def test_data_that_no_member_can_use_are_named_once(toy: pd.DataFrame) -> None:
    spoiled = toy.assign(x1=toy["x1"].where(toy.index > 0, np.inf))
    with pytest.raises(DataError, match=r"^column 'x1' holds infinite values in 1 row"):
        crank.blend(spoiled, "y ~ x1 + x2", members=["linear", "tree"])
