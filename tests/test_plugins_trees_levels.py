"""Trees as arrays that part categories: in words, in files, in graphs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crank
from crank.errors import DataError, ModelFileError
from crank.export.json.text import fingerprint
from crank.kernels.descent import GOES_HIGH, GOES_LOW, GOES_MISSING, NodeTable
from crank.plugins.base import SplitLearner, SplitRule
from crank.plugins.discovery import announced
from crank.plugins.trees import TreesRule
from crank.serve import Scorer

LEVELS = [None, ["u", "v", "w", "x"]]


def rule(missing_low: bool = False) -> TreesRule:
    """Numbers above 1 are high; the others if their level is v or x, w goes with the missing."""
    branch = [GOES_LOW, GOES_HIGH, GOES_MISSING, GOES_HIGH]
    table: dict[str, Any] = dict(  # noqa: C408 - fields by name
        column=[0, 1, 0, 0, 0],
        threshold=[1.0, 0.0, 0.0, 0.0, 0.0],
        low=[1, 3, 2, 3, 4],
        high=[2, 4, 2, 3, 4],
        missing_low=[True, missing_low, False, False, False],
        value=[0.0, 0.0, 1.0, -1.0, 1.0],
        roots=[0],
        level_start=[0, 0, 4, 4, 4, 4],
        level_branch=branch,
    )
    return TreesRule(NodeTable(**table), {0: 0.5, 1: 0.5})


def test_sets_of_levels_are_told_on_both_sides() -> None:
    names = ["a", "g"]
    high = rule()
    assert high.describe(names, levels=LEVELS) == (
        "(a <= 1 or missing) & (g in {v, w, x} or missing) or a > 1"
    )
    assert high.describe_right(names, levels=LEVELS) == "(a <= 1 or missing) & g in {u}"
    low = rule(missing_low=True)
    assert low.describe(names, levels=LEVELS) == "(a <= 1 or missing) & g in {v, x} or a > 1"
    assert low.describe_right(names, levels=LEVELS) == (
        "(a <= 1 or missing) & (g in {u, w} or missing)"
    )


@pytest.mark.parametrize("missing_low", [False, True])
def test_what_is_told_is_what_is_done(missing_low: bool) -> None:
    trees = rule(missing_low)
    numbers, codes = np.array([0.0, 1.0, 2.0, np.nan]), np.array([0, 1, 2, 3, 9, np.nan])
    X = np.array([[x, g] for x in numbers for g in codes])
    held = trees.condition(">")
    assert held is not None

    def holds(values: Any, x: float) -> bool:
        if np.isnan(x):
            return bool(values.missing)
        if values.levels is None:
            return bool(values.allows(x))
        return bool((x in values.levels) != values.all_but)

    told = [any(all(holds(v, row[j]) for j, v in box.items()) for box in held.boxes) for row in X]
    assert told == (trees.decision(X) > 0.0).tolist()


def test_sets_of_levels_are_stored_and_read() -> None:
    stored = json.loads(json.dumps(rule().to_dict()))
    assert stored["levels"] == [[1, "lhmh"]]
    again = TreesRule.from_dict(stored)
    assert again.to_dict() == stored
    X = np.array([[0.0, code] for code in (0.0, 1.0, 2.0, 3.0, 4.0, np.nan)])
    assert again.decision(X).tolist() == rule().decision(X).tolist()
    lone: Any = ([0], [0], [0], [0], [0], [1], [0])
    assert "levels" not in TreesRule(NodeTable(*lone), {}).to_dict()


@pytest.mark.parametrize(
    "levels",
    [
        *([[1, "lhx"]], [[1]], [[1, ""]], [["1", "lh"]], [[9, "lh"]], [[-1, "lh"]]),
        *([[1, "lh"], [1, "lh"]], [[True, "lh"]], {"1": "lh"}, "lh", 7),
    ],
)
def test_damaged_sets_are_refused(levels: Any) -> None:
    with pytest.raises(DataError, match="levels of stored trees"):
        TreesRule.from_dict(rule().to_dict() | {"levels": levels})


class Fixed(SplitLearner):
    """Always the tree above."""

    description = "a tree that is known"
    rule: type[SplitRule] = TreesRule  # type: ignore[misc]  # as authors write it
    takes_missing = takes_categories = exports_onnx = True

    def fit(self, X: Any, label: Any, weight: Any, *, rng: Any, levels: Any = ()) -> Any:
        return rule()


def test_models_with_them_are_the_same_in_every_form() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(1.0, 1.0, 200), "g": rng.choice(list("uvwx"), 200)})
    frame["y"] = (frame["a"] > 1.0) + frame["g"].isin(["v", "x"]) + 0.1 * rng.normal(size=200)
    frame.loc[::9, "g"] = None
    frame.loc[::13, "a"] = np.nan
    with announced(Fixed):
        m = crank.fit(frame, "y ~ a + g", learner=Fixed(), max_depth=1, prune=None)
        scores = m.predict(frame)
        assert len(set(scores)) == 2
        assert np.array_equal(Scorer(m.to_onnx() or b"")(frame), scores)
        text = m.to_json() or ""
        again = crank.from_json(text)
        assert np.array_equal(again.predict(frame), scores)
        assert isinstance(again, crank.TreeModel)
        assert "g in {u}" in str(again.rules())
        document = json.loads(text)
        split = document["ranker"]["nodes"][0]["split"]
        for change, message in (
            ({"levels": [[1, "lhmhh"]]}, "node 1 does not fit"),
            ({"feature": [0, 0, 0, 0, 0]}, "node 1 does not fit"),
            ({"levels": [[2, "l"]]}, "node 2 does not fit"),
        ):
            kept = dict(split["rule"])
            split["rule"] = kept | change
            document["fingerprint"] = fingerprint(document)
            with pytest.raises(ModelFileError, match=message):
                crank.from_json(json.dumps(document))
            split["rule"] = kept
