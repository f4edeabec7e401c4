"""What a plugin may do to others: nothing. It changes no data, and its errors carry its name."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

import crank
from crank import RankingTree
from crank.errors import ModelFileError, PluginError
from crank.export.json.text import fingerprint
from crank.growing.rule import Split
from crank.growing.splitter import LayerSplits, LayerTask, Splitter
from crank.plugins.base import ColumnTest, SplitLearner, SplitRule, TrainingMatrix
from crank.plugins.nodewise import bind
from tests.published import publish


class SignRule(SplitRule):
    """Left where the first column is positive; others break it."""

    def decision(self, X: Any) -> Any:
        return X[:, 0].astype(np.float64)

    def to_dict(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_dict(cls, d: Any) -> SplitRule:
        return cls()


class Sign(SplitLearner):
    description = "the sign of the first column"
    rule = SignRule

    def fit(self, X: Any, label: Any, weight: Any, *, rng: Any) -> Any:
        return SignRule()


def learner(**members: Any) -> SplitLearner:
    kind: Any = type("Odd", (Sign,), members)
    found: SplitLearner = kind()
    return found


def with_rule(**members: Any) -> SplitLearner:
    kind: Any = type("OddRule", (SignRule,), members)
    return learner(rule=kind, fit=lambda self, X, label, weight, *, rng: kind())


def sample() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    return X, X[:, 0] + 0.1 * rng.normal(size=60)


def writes_into(which: int) -> Any:
    def fit(self: Any, X: Any, label: Any, weight: Any, *, rng: Any) -> Any:
        (X, label, weight)[which][...] *= 100.0

    return fit


def raises(error: BaseException) -> Any:
    def method(*args: Any, **kwargs: Any) -> Any:
        raise error

    return method


FAULTS: dict[str, tuple[SplitLearner, str]] = {
    "X in place": (learner(fit=writes_into(0)), "fit at node 1: ValueError: .*read-only"),
    "label in place": (learner(fit=writes_into(1)), "fit at node 1: ValueError: .*read-only"),
    "weight in place": (learner(fit=writes_into(2)), "fit at node 1: ValueError: .*read-only"),
    "an error in fit": (learner(fit=raises(KeyError("lost"))), "fit at node 1: KeyError: 'lost'"),
    "sys.exit in fit": (learner(fit=raises(SystemExit(3))), "fit at node 1: SystemExit: 3"),
    "a number from fit": (learner(fit=lambda self, *a, **k: 3), "returned int from fit"),
    "an error in prepare": (learner(prepare=raises(OSError("no"))), "prepare: OSError: no"),
    "None from prepare": (learner(prepare=lambda self, data: None), "gave None from prepare"),
    "the matrix in place": (
        learner(prepare=lambda self, data: data.X.__setitem__(0, 5.0)),
        "prepare: ValueError: .*read-only",
    ),
    "an error in decision": (
        with_rule(decision=raises(ZeroDivisionError("by zero"))),
        "decision at node 1: ZeroDivisionError: by zero",
    ),
    "rows in place in decision": (
        with_rule(decision=lambda self, X: X.__imul__(2.0)[:, 0]),
        "decision at node 1: ValueError: .*read-only",
    ),
    "a column instead of a vector": (with_rule(decision=lambda self, X: X), r"shape \(60, 2\)"),
    "NaN": (with_rule(decision=lambda self, X: X[:, 0] * np.nan), "60 of them NaN"),
    "infinity": (with_rule(decision=lambda self, X: X[:, 0] * np.inf), "60 of them NaN or inf"),
    "text": (with_rule(decision=lambda self, X: ["left"] * len(X)), "ValueError: could not conv"),
    "a column test that is not one": (
        with_rule(column_test=lambda self: ColumnTest(1, 0.0, True, None, False)),
        "rows go elsewhere by that",
    ),
}


@pytest.mark.parametrize("what", FAULTS)
def test_a_fault_is_named_and_changes_no_data(what: str) -> None:
    X, y = sample()
    kept, frame = X.copy(), pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})
    broken, message = FAULTS[what]
    with pytest.raises(PluginError, match=message) as caught:
        RankingTree(broken, max_depth=2, random_state=0).fit(X, y)
    assert "Odd" in str(caught.value)
    assert "check_learner" in str(caught.value) or "Allowed" in str(caught.value)
    np.testing.assert_array_equal(X, kept)
    before = frame.copy()
    with pytest.raises(PluginError, match="Odd"):
        crank.fit(frame, "y ~ a + b", learner=broken, prune=None)
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (lambda self, X: X.__imul__(2.0)[:, 0], "read-only"),
        (lambda self, X: np.full(len(X), np.nan), "NaN in decision"),
        (lambda self, X: np.ones(len(X) + 1), "shape"),
        (raises(SystemExit("bye")), "SystemExit: bye"),
    ],
)
def test_a_rule_that_fails_on_new_rows_is_named_with_its_node(
    decision: Any, message: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = sample()
    tree = RankingTree(Sign(), max_depth=1, random_state=0).fit(X, y)
    new = X[:rows].copy()
    monkeypatch.setattr(SignRule, "decision", decision)
    with pytest.raises(PluginError, match=f"SignRule .*node 1.*{message}|SignRule .*{message}"):
        tree.predict(new)
    np.testing.assert_array_equal(new, X[:rows])


class Halves(Splitter):
    """A splitter that cuts every node at 0 of the first column; others break it."""

    def __init__(self, data: TrainingMatrix) -> None:
        self.data = data

    def split(self, task: LayerTask) -> Any:
        rows = task.ranks.row[task.layer.position]
        left = self.data.X[rows, 0] > 0.0
        splits: list[Split | None] = []
        for start, end in zip(task.layer.bounds[:-1], task.layer.bounds[1:], strict=True):
            size = int(left[start:end].sum())
            enough = min(size, end - start - size) >= task.min_leaf
            splits.append(Split(SignRule()) if enough else None)
            left[start:end] &= enough
        return LayerSplits(splits, left)


def changed(change: Any) -> SplitLearner:
    class Other(Halves):
        def split(self, task: LayerTask) -> Any:
            return change(self, task, super().split(task))

    return learner(prepare=lambda self, data: Other(data))


def scores_in_place(self: Any, task: LayerTask, found: Any) -> Any:
    task.score[:] = 0.0


def all_but_one(self: Any, task: LayerTask, found: Any) -> Any:
    left = np.zeros(len(found.left), dtype=bool)
    left[0] = True
    return LayerSplits(found.splits, left)


SPLITTERS = {
    "sides that contradict the rule": (
        lambda self, task, found: LayerSplits(found.splits, ~found.left),
        "sends 60 of 60 rows elsewhere than its own rule does at node 1",
    ),
    "leaves below the minimum": (all_but_one, "leaves 1 rows on one side, fewer than min_leaf"),
    "sides as integers": (
        lambda self, task, found: LayerSplits(found.splits, found.left.astype(int)),
        "type int64",
    ),
    "too few sides": (
        lambda self, task, found: LayerSplits(found.splits, found.left[1:]),
        r"shape \(59,\)",
    ),
    "too many splits": (
        lambda self, task, found: LayerSplits([*found.splits, None], found.left),
        "2 splits",
    ),
    "a tuple": (lambda self, task, found: (found.splits, found.left), "gave tuple from split"),
    "a rule instead of a split": (
        lambda self, task, found: LayerSplits(cast(Any, [SignRule()]), found.left),
        "not a Split",
    ),
    "sides without a split": (
        lambda self, task, found: LayerSplits([None], found.left),
        "though it gives no split",
    ),
    "a rule that raises": (
        lambda self, task, found: LayerSplits(
            [Split(cast(Any, with_rule(decision=raises(KeyError("x")))).fit(0, 0, 0, rng=0))],
            found.left,
        ),
        "a rule that cannot be asked .*KeyError",
    ),
    "scores in place": (scores_in_place, "split of its splitter: ValueError: .*read-only"),
}


@pytest.mark.parametrize("what", SPLITTERS)
def test_wrong_answers_of_a_splitter_are_caught(what: str) -> None:
    X, y = sample()
    change, message = SPLITTERS[what]
    with pytest.raises(PluginError, match=message) as caught:
        RankingTree(changed(change), max_depth=2, min_samples_leaf=3, random_state=0).fit(X, y)
    assert "Odd" in str(caught.value)


def test_a_right_splitter_grows_the_tree_of_its_rules() -> None:
    X, y = sample()
    right = RankingTree(changed(lambda self, task, found: found), max_depth=1).fit(X, y)
    np.testing.assert_array_equal(right.predict(X) == 2.0, X[:, 0] > 0.0)
    assert np.bincount(right.apply(X)).tolist() == [node.n for node in right.tree_.nodes[1:]]


def test_built_in_splitters_are_not_checked_twice() -> None:
    data = TrainingMatrix(np.zeros((4, 1)), (0,))
    assert type(bind(crank.plugins.registry.get_learner("stump"), data)).__module__ == (
        "crank.plugins.stump"
    )


OLD = """
import numpy as np
from crank.plugins.base import SplitLearner, SplitRule

class Rule(SplitRule):
    def __init__(self, column):
        self.column = column
    def decision(self, X):
        return X[:, self.column].astype(float)
    def to_dict(self):
        return {"column": self.column}
    @classmethod
    def from_dict(cls, d):
        return cls(d["column"])

class Mine(SplitLearner):
    description = "the sign of the first column"
    contract = 1
    rule = Rule
    def fit(self, X, label, weight, *, rng):
        return Rule(0)
"""
NEW = OLD.replace('return {"column": self.column}', 'return {"feature": self.column}').replace(
    'cls(d["column"])', 'cls(d["feature"] if "feature" in d else d["column"])'
)
RIGID = NEW.replace('d["feature"] if "feature" in d else d["column"]', 'd["feature"]')


def reinstall(site: Path, source: str, version: str) -> None:
    sys.modules.pop("crank_sign", None)
    publish(site, "crank-sign", "sign", source, version)
    crank.plugins.registry.installed()


def test_a_later_version_reads_rules_that_an_earlier_one_wrote(
    site: Path, toy: pd.DataFrame
) -> None:
    reinstall(site, OLD, "0.3")
    m = crank.fit(toy, "y ~ x1 + x2", learner="sign", max_depth=1, prune=None)
    text = m.to_json() or ""
    assert '"distribution": "crank-sign"' in text
    assert '"version": "0.3"' in text
    assert '"contract": 1' in text
    reinstall(site, NEW, "0.5")
    again = crank.from_json(text)
    np.testing.assert_array_equal(again.predict(toy), m.predict(toy))
    rewritten = again.to_json() or ""
    assert '"feature": 0' in rewritten
    assert '"version": "0.5"' in rewritten
    reinstall(site, RIGID, "0.6")
    with pytest.raises(
        ModelFileError,
        match=r"KeyError: 'feature'.*written by crank-sign 0\.3; installed is crank-sign 0\.6",
    ):
        crank.from_json(text)
    reinstall(site, NEW, "0.3")  # the same version must write what it reads
    with pytest.raises(ModelFileError, match=r"rule\.column has a value or a type"):
        crank.from_json(text)


def test_files_go_to_the_distribution_that_wrote_them(site: Path, toy: pd.DataFrame) -> None:
    publish(site, "crank-sign", "sign", OLD)
    text = crank.fit(toy, "y ~ x1", learner="sign", max_depth=1, prune=None).to_json() or ""
    publish(site, "other-sign", "sign", NEW)
    crank.plugins.registry.installed()
    assert '"column": 0' in (crank.from_json(text).to_json() or "")
    logistic = crank.fit(toy, "y ~ x1", learner="logistic", max_depth=1, prune=None).to_json() or ""
    document = json.loads(logistic)
    for change, message in (
        ({"distribution": "bold-plugin"}, "Install bold-plugin"),
        ({"contract": 7}, "keeps version 7 of the contract"),
    ):
        forged = document | {"ranker": dict(document["ranker"])}
        forged["ranker"]["learner"] = document["ranker"]["learner"] | change
        forged["fingerprint"] = fingerprint(forged)
        with pytest.raises(ModelFileError, match=message):
            crank.from_json(json.dumps(forged))
