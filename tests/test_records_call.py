"""The call of a model: printed, stored, and repeated by `update`."""

import json

import numpy as np
import pandas as pd
import pytest

import crank
from crank.errors import OptionError
from crank.formula.update import updated
from crank.plugins.logistic import Logistic
from crank.plugins.sklearn import SklearnLearner
from crank.plugins.stump import Stump
from tests.narrowing import present


def called(m: crank.TreeModel) -> str:
    return str(m.summary()).splitlines()[1].strip()


def test_arguments_that_differ_from_their_defaults_are_shown_and_no_others(
    toy: pd.DataFrame,
) -> None:
    assert called(crank.fit(toy, "y ~ x1")) == "crank.fit(data, 'y ~ x1')"
    m = crank.fit(
        toy.assign(w=1.0), "y ~ x1", weights="w", cv=5, random_state=3, leaf_order="rank",
        na_action="raise", n_jobs=2, cv_repeats=2, min_samples_leaf=7,
    )  # fmt: skip
    assert called(m) == (
        "crank.fit(data, 'y ~ x1', min_samples_leaf=7, leaf_order='rank', cv=5, cv_repeats=2, "
        "weights='w', na_action='raise', random_state=3, n_jobs=2)"
    )


def test_arrays_are_shown_by_their_length(toy: pd.DataFrame) -> None:
    m = crank.fit(
        toy, "y ~ x1", prune=None, weights=np.ones(240), subset=toy["x1"] > 0, max_depth=1
    )
    assert called(m) == (
        "crank.fit(data, 'y ~ x1', max_depth=1, prune=None, weights=<array of 240>, "
        "subset=<array of 240>)"
    )


@pytest.mark.parametrize("how", ["instance", "name"])
def test_the_learners_own_parameters_are_kept_in_the_call_and_in_the_file(
    toy: pd.DataFrame, how: str
) -> None:
    given = (
        {"learner": Logistic(C=0.01)}
        if how == "instance"
        else {"learner": "logistic", "learner_params": {"C": 0.01}}
    )
    m = crank.fit(toy, "y ~ x1 + x2", prune=None, max_depth=2, **given)
    expected = (
        "crank.fit(data, 'y ~ x1 + x2', learner='logistic', learner_params={'C': 0.01}, "
        "max_depth=2, prune=None)"
    )
    assert called(m) == expected
    assert m.learner.params == {"C": 0.01}
    assert json.loads(m.to_json())["ranker"]["learner"]["params"] == {"C": 0.01}
    back = crank.TreeModel.from_json(m.to_json())
    assert back.call == m.call
    assert called(back) == expected
    again = eval(expected, {"crank": crank, "data": toy})
    np.testing.assert_array_equal(again.predict(toy), m.predict(toy))


def test_learners_that_are_not_installed_are_shown(toy: pd.DataFrame) -> None:
    class Own(Stump):
        def __init__(self, width: int = 1) -> None:
            self.width = width

    m = crank.fit(toy, "y ~ x1", learner=Own(width=3), max_depth=1, prune=None)
    assert "learner=Own(width=3)," in called(m)
    with pytest.raises(OptionError, match=r"learner was given as Own\(width=3\)"):
        m.update(toy)
    assert m.update(toy, learner="stump").learner.name == "stump"


def test_a_classifier_is_shown_as_it_shows_itself(toy: pd.DataFrame) -> None:
    from sklearn.tree import DecisionTreeClassifier

    learner = SklearnLearner(DecisionTreeClassifier(max_depth=2))
    m = crank.fit(toy, "y ~ x1", learner=learner, max_depth=1, prune=None)
    assert "DecisionTreeClassifier(max_depth=2)" in called(m)
    assert called(crank.TreeModel.from_json(m.to_json())) == called(m)


def test_a_drawn_seed_is_kept(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, "y ~ x1", random_state=None, cv=3, max_depth=2)
    seed = present(m.call).arguments["random_state"]
    assert m.options.random_state == seed > 0
    assert crank.fit(toy, "y ~ x1", random_state=None, cv=3, max_depth=1).call != m.call


def test_functions_of_the_user_are_named(toy: pd.DataFrame) -> None:
    def half(x: np.ndarray) -> np.ndarray:
        return x / 2

    m = crank.fit(toy, "y ~ half(x1)", context={"half": half}, max_depth=1, prune=None)
    assert called(m).endswith("context={'half': half})")


def test_pruning_by_hand_is_part_of_the_call(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, "y ~ x1", prune=None)
    small = m.prune(n_leaves=4).prune(n_leaves=3)
    assert called(small) == "crank.fit(data, 'y ~ x1', prune=None).prune(n_leaves=3)"
    assert crank.TreeModel.from_json(small.to_json()).call == small.call
    np.testing.assert_array_equal(
        eval(called(small), {"crank": crank, "data": toy}).predict(toy), small.predict(toy)
    )


def test_files_without_a_call_tell_what_they_know(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, "y ~ x1", cv=4, max_depth=2)
    import dataclasses

    old = crank.TreeModel.from_json(dataclasses.replace(m, call=None).to_json())
    assert old.call is None
    assert called(old) == "crank.fit(data, 'y ~ x1', learner='stump', max_depth=2, cv=4)"
    np.testing.assert_array_equal(old.update(toy).predict(toy), m.predict(toy))


def test_missing_values_are_counted_for_each_predictor(toy: pd.DataFrame) -> None:
    frame = toy.assign(
        x1=toy["x1"].mask(toy.index < 12),
        g=toy["g"].mask(toy.index < 40),
        y=toy["y"].mask(toy.index > 235),
    )
    m = crank.fit(frame, "y ~ x1 + x2 + g", prune=None, max_depth=2)
    assert m.training.missing == {"x1": 12, "x2": 0, "g": 40}
    text = str(m.summary())
    assert "missing values: g 40, x1 12\n" in text
    assert "4 dropped" in text
    assert crank.TreeModel.from_json(m.to_json()).training == m.training
    assert "missing values" not in str(crank.fit(toy, "y ~ x1", prune=None).summary())


def test_update_uses_the_stored_call_with_some_arguments_changed(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, "y ~ x1 + x2", criterion="kendall", prune=None, max_depth=3)
    other = m.update(toy, ". ~ . - x2 + g", max_depth=2)
    direct = crank.fit(toy, "y ~ x1 + g", criterion="kendall", prune=None, max_depth=2)
    np.testing.assert_array_equal(other.predict(toy), direct.predict(toy))
    assert other.formula == "y ~ (x1 + x2) - x2 + g"
    assert m.tree.n_leaves == 8
    loaded = crank.TreeModel.from_json(m.to_json())
    np.testing.assert_array_equal(loaded.update(toy).predict(toy), m.predict(toy))


def test_update_to_another_learner_drops_the_settings_of_the_old_one(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, "y ~ x1", learner=Logistic(C=0.1), prune=None, max_depth=2)
    assert m.update(toy, learner="stump").learner.params == {}
    assert m.update(toy, learner_params={"C": 2.0}).learner.params == {"C": 2.0}


def test_update_asks_for_arrays_that_the_model_does_not_keep(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, "y ~ x1", weights=np.ones(240), prune=None)
    with pytest.raises(OptionError, match=r"weights was given as <array of 240>.*weights=None"):
        m.update(toy)
    assert not m.update(toy, weights=None).training.weighted
    assert m.update(toy, weights=np.arange(1, 241)).training.weighted


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("y ~ x", ". ~ .", "y ~ x"),
        ("y ~ x + z", "log(.) ~ .", "log(y) ~ x + z"),
        ("y ~ x + z", ". ~ . * w", "y ~ (x + z) * w"),
        ("y ~ . - b", ". + c.d + 0.5", "y ~ (. - b) + c.d + 0.5"),
        ("`a ~ b` ~ `c.d`", ". ~ . + `e . f`", "`a ~ b` ~ `c.d` + `e . f`"),
        ("y ~ x", "z ~ w", "z ~ w"),
    ],
)
def test_dots_are_the_old_sides(old: str, new: str, expected: str) -> None:
    assert updated(old, new) == expected


@pytest.mark.parametrize(
    ("kind", "options", "shown"),
    [
        ("additive", {"pairs": [("x1", "x2")]}, "pairs=[['x1', 'x2']]"),
        ("additive", {"pairs": (("x1", "x2"),)}, "pairs=[['x1', 'x2']]"),
        ("additive", {"pairs": []}, "pairs=[]"),
        ("boost", {"rounds": 3, "interaction": (("x1",), ["x2"])}, "interaction=[['x1'], ['x2']]"),
        ("boost", {"rounds": 3, "interaction": []}, "interaction=[]"),
    ],
)
def test_names_in_pairs_and_sets_are_kept_so_that_the_printed_call_gives_the_model_again(
    toy: pd.DataFrame, kind: str, options: dict[str, object], shown: str
) -> None:
    m = getattr(crank, kind)(toy, "y ~ x1 + x2", **options)
    assert shown in str(m.call)
    printed = eval(str(m.call), {"crank": crank, "data": toy})
    for again in (printed, m.update(toy), crank.from_json(m.to_json()).update(toy)):
        assert str(again.call) == str(m.call)
        np.testing.assert_array_equal(again.predict(toy), m.predict(toy))


def test_pairs_in_an_array_are_refused_in_our_words(toy: pd.DataFrame) -> None:
    with pytest.raises(OptionError, match="is not a way to choose pairs"):
        crank.additive(toy, "y ~ x1 + x2", pairs=np.array([["x1", "x2"]]))  # type: ignore[arg-type]
