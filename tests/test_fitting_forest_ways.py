"""The choice of how a forest grows: by hand, at its limits, in what people read and in files."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crank
from crank import ForestModel, RankingForest
from crank.errors import DataError, ModelFileError, OptionError
from crank.export.json.text import fingerprint
from crank.fitting.forest_ways import (
    FEWEST_TREES,
    GRAINS,
    MOST_ROWS,
    PILOT,
    best_of,
    ways_to_grow,
)
from crank.rankers.forest import AUTO_FEATURES, ForestOptions, ForestRanker, auto_leaf
from crank.rankers.votes import ColumnTrees
from crank.rankers.ways import Choice, Way
from tests.narrowing import of, present

FORMULA = "y ~ a + b + g + k"


def sample(n: int = 120, noise: float = 0.3, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.normal(size=n).round(1),
            "g": rng.choice(["u", "v", "w", "x"], n),
            "k": rng.integers(0, 3, n),
            "w": rng.integers(1, 5, n) / 2.0,
            "c": rng.integers(0, max(2, n // 3), n),
        }
    )
    effect = frame["g"].map({"u": 0.0, "v": 1.0, "w": -1.0, "x": 0.3})
    frame["y"] = frame["a"] + frame["b"] + effect + noise * rng.normal(size=n)
    frame.loc[::11, "a"] = np.nan
    frame.loc[::13, "g"] = None
    return frame


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return sample()


@pytest.fixture(scope="module")
def model(frame: pd.DataFrame) -> ForestModel:
    return crank.forest(frame, FORMULA, n_trees=FEWEST_TREES, n_jobs=2)


def given(way: Way) -> dict[str, Any]:
    names = ("thresholds", "min_samples_leaf", "max_features")
    return {name: getattr(way, name) for name in names}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weights": "w", "random_state": 4},
        {"groups": "c", "criterion": "kendall"},
        {"monotone": {"b": "increasing"}, "thresholds": "random"},
        {"max_features": 2, "bootstrap": False, "thresholds": "best"},
        {"min_samples_leaf": 3, "max_depth": 4},
    ],
)
@pytest.mark.parametrize("noise", [0.1, 3.0])
def test_the_choice_is_that_of_fitting_every_way_by_hand(
    options: dict[str, Any], noise: float
) -> None:
    data = sample(noise=noise)
    m = crank.forest(data, FORMULA, n_trees=FEWEST_TREES, **options)
    choice = present(m.ranker.choice)
    assert choice.trees == PILOT
    assert len(choice.ways) > 1
    figures = []
    for way in choice.ways:
        few = crank.forest(data, FORMULA, n_trees=PILOT, **options | given(way))
        assert present(few.ranker.choice).trees == 0
        figures.append(few.oob["kendall"].estimate)
        assert way.kendall == pytest.approx(figures[-1], rel=1e-12)
    assert choice.taken == int(np.argmax(figures))
    by_hand = crank.forest(data, FORMULA, n_trees=FEWEST_TREES, **options | given(choice.way))
    assert np.array_equal(m.predict(data), by_hand.predict(data))
    assert m.oob == by_hand.oob
    assert m.importance().equals(by_hand.importance())


def test_noise_wants_larger_leaves() -> None:
    leaf = [
        present(
            crank.forest(sample(400, noise), FORMULA, n_trees=FEWEST_TREES).ranker.choice
        ).way.min_samples_leaf
        for noise in (0.05, 5.0)
    ]
    assert leaf[0] <= 2
    assert leaf[1] == max(draws for draws, _ in GRAINS)


def test_the_choice_does_not_depend_on_threads(model: ForestModel, frame: pd.DataFrame) -> None:
    alone = crank.forest(frame, FORMULA, n_trees=FEWEST_TREES, n_jobs=1)
    assert alone.ranker.choice == model.ranker.choice
    assert np.array_equal(alone.predict(frame), model.predict(frame))
    assert alone.oob == model.oob


def test_the_scale_of_weights_does_not_matter(frame: pd.DataFrame) -> None:
    one, other = (
        crank.forest(frame, FORMULA, n_trees=FEWEST_TREES, weights=scale * frame["w"])
        for scale in (1.0, 1024.0)
    )
    assert one.ranker.choice == other.ranker.choice
    assert np.array_equal(one.predict(frame), other.predict(frame))


def test_mixed_trees_take_turns(frame: pd.DataFrame) -> None:
    trees = {
        kind: of(
            ColumnTrees,
            crank.forest(
                frame, FORMULA, n_trees=5, thresholds=kind, min_samples_leaf=2
            ).ranker.trees,
        )
        for kind in ("mixed", "best", "random")
    }
    for k in range(5):
        same = trees["random" if k % 2 else "best"].tree(k)
        found = trees["mixed"].tree(k)
        assert np.array_equal(found.column, same.column)
        assert np.array_equal(found.threshold, same.threshold)
        assert np.array_equal(found.value, same.value)


def test_what_is_given_is_not_chosen() -> None:
    def ways(n: int = 300, d: int = 8, stumps: bool = True, **options: Any) -> list[Way]:
        return ways_to_grow(ForestOptions(**options), n, d, stumps=stumps)

    assert [(way.min_samples_leaf, way.max_features) for way in ways()] == list(GRAINS)
    assert {way.thresholds for way in ways()} == {"mixed"}
    assert {way.thresholds for way in ways(thresholds="random")} == {"random"}
    assert {way.min_samples_leaf for way in ways(min_samples_leaf=7)} == {7}
    assert [way.max_features for way in ways(min_samples_leaf=7)] == [AUTO_FEATURES, None, 0.45]
    assert [way.min_samples_leaf for way in ways(max_features="sqrt")] == [2, 1, 5, 12]
    assert ways(min_samples_leaf=7, d=1) == [Way("mixed", 7, AUTO_FEATURES)]
    assert ways(min_samples_leaf=7, max_features=None) == [Way("mixed", 7, None)]
    usual = Way("mixed", 2, AUTO_FEATURES)
    assert ways(n_trees=FEWEST_TREES - 1) == [usual]
    assert ways(bootstrap=False, max_samples=1.0) == [usual]
    assert ways(MOST_ROWS - 1)[0] == usual
    assert ways(MOST_ROWS) == [Way("best", 5, AUTO_FEATURES)]
    assert ways(stumps=False) == [Way("best", 2, AUTO_FEATURES)]
    assert auto_leaf(MOST_ROWS - 1) == GRAINS[0][0]


def test_the_first_way_is_taken_if_none_is_better() -> None:
    nothing = float("nan")
    assert best_of([nothing, nothing]) == 0
    assert best_of([nothing, 0.3]) == 1
    assert best_of([0.5, 0.5, 0.4]) == 0


@pytest.mark.parametrize("n", range(1, 11))
def test_very_few_rows(n: int) -> None:
    rows = sample(n).assign(y=np.arange(n) % 4)
    if n < 2:
        with pytest.raises(DataError, match="at least two"):
            crank.forest(rows, "y ~ b", n_trees=FEWEST_TREES)
        return
    m = crank.forest(rows, "y ~ b + k", n_trees=FEWEST_TREES)
    assert m.n_trees == FEWEST_TREES
    assert len(m.choices()) > 1
    assert m.choices()["chosen"].sum() == 1


def test_bags_that_leave_no_row_out_give_no_reason_to_choose(frame: pd.DataFrame) -> None:
    # 0.999 of 120 rows are all of them
    estimator = RankingForest(
        n_trees=FEWEST_TREES, bootstrap=False, max_samples=0.999, random_state=0
    )
    estimator.fit(frame[["b", "k"]].to_numpy(), frame["y"])
    choice = present(estimator.ranker_.choice)
    assert len(choice.ways) > 1
    assert choice.taken == 0
    assert np.isnan([present(way.kendall) for way in choice.ways]).all()


def test_other_learners_grow_as_ever(frame: pd.DataFrame) -> None:
    m = crank.forest(frame.dropna(), "y ~ a + b", n_trees=2, learner="logistic", max_depth=2)
    assert m.choices()["thresholds"].tolist() == ["best"]
    with pytest.raises(OptionError, match="thresholds='mixed' is for the learner 'stump'"):
        crank.forest(frame, "y ~ a", learner="logistic", thresholds="mixed")


def test_members_of_blends_try_nothing() -> None:
    data = crank.datasets.regression(90, p=5, random_state=0).frame
    m = crank.blend(data, "y ~ .", members=["forest", "extra-forest"], cv=2)
    wanted = {"forest": Way("best", 2, 0.6), "extra-forest": Way("random", 2, 0.6)}
    assert m.members  # one may have got no weight
    for member in m.members:
        grown = of(ForestRanker, member.model.ranker)
        assert repr(grown.choice) == repr(Choice((wanted[member.name],)))  # NaN is not NaN


def test_the_choice_is_read(model: ForestModel) -> None:
    table, choice = model.choices(), present(model.ranker.choice)
    assert table["oob_kendall"].tolist() == [way.kendall for way in choice.ways]
    assert table["chosen"].to_numpy().argmax() == choice.taken
    assert table["max_features"].tolist() == [3, 4, 2, 2]
    text = str(model.summary())
    assert "chosen of 4 ways by d_tau out of bag, 50 trees each" in text
    assert "thresholds the best and drawn at random in turns" in text
    assert f"at least {choice.way.min_samples_leaf} draws a leaf" in text
    row = model.glance().iloc[0]
    assert row["thresholds"] == "mixed"
    assert row["min_samples_leaf"] == choice.way.min_samples_leaf


def test_the_choice_is_kept_in_files(model: ForestModel) -> None:
    stored = json.loads(str(model.to_json()))

    def changed(**changes: Any) -> str:
        ranker = {k: v for k, v in (stored["ranker"] | changes).items() if v is not None}
        document = stored | {"ranker": ranker}
        return json.dumps(document | {"fingerprint": fingerprint(document)})

    again = crank.from_json(changed())
    assert isinstance(again, ForestModel)
    assert again.ranker.choice == model.ranker.choice
    assert again.choices().equals(model.choices())
    options = stored["ranker"]["options"] | {"thresholds": "best"}
    older = crank.from_json(changed(choice=None, options=options))
    assert isinstance(older, ForestModel)
    assert older.ranker.choice is None
    only = older.choices().iloc[0]
    assert (only["thresholds"], only["min_samples_leaf"], only["max_features"]) == ("best", 2, 3)
    assert "at least 2 draws a leaf" in str(older.summary())
    kept = stored["ranker"]["choice"]
    for choice, message in (
        (kept | {"taken": 4}, "4 of 4 ways"),
        (kept | {"ways": [kept["ways"][0] | {"max_features": "most"}]}, "max_features"),
        (kept | {"ways": []}, "ways"),
    ):
        with pytest.raises(ModelFileError, match=message):
            crank.from_json(changed(choice=choice))
