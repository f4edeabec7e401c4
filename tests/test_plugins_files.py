"""What a broken plugin leaves behind: no file, no changed data, and its name in the error."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crank
from crank.cli import main
from crank.errors import NotExportableError, PluginError
from crank.plugins.base import ColumnTest, SplitLearner, SplitRule
from crank.plugins.discovery import announced
from tests.test_plugins_isolation import FAULTS, SPLITTERS, changed

BROKEN = {what: broken for what, (broken, _) in FAULTS.items()}
BROKEN |= {what: changed(change) for what, (change, _) in SPLITTERS.items()}


@pytest.fixture
def frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Sixty rows, also as a file in the working directory."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    found = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    found["g"] = rng.choice(["u", "v", "w"], 60)
    found["y"] = found["a"] + (found["g"] == "u") + 0.1 * rng.normal(size=60)
    found.to_csv("train.csv", index=False)
    return found


@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.usefixtures("frame")
def test_a_fault_leaves_no_file_and_is_named(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (tmp_path / "train.csv").read_bytes()
    with announced(type(BROKEN[what])) as name:
        command = ["fit", "train.csv", "y ~ a + b", "--learner", name, "--prune", "none"]
        assert main([*command, "--min-samples-leaf", "3", "-o", "m.json"]) == 1
    told = capsys.readouterr()
    assert told.err.startswith(("crank: Odd", "crank: learner Odd"))
    assert not told.out
    assert [path.name for path in tmp_path.iterdir()] == ["train.csv"]
    assert (tmp_path / "train.csv").read_bytes() == before


class Line(SplitRule):
    """Left where the first column exceeds a bound; others break it."""

    def __init__(self, bound: float = 0.1) -> None:
        self.bound = bound

    def decision(self, X: Any) -> Any:
        return np.nan_to_num(X[:, 0] - self.bound)

    def to_dict(self) -> dict[str, Any]:
        return {"bound": self.bound}

    @classmethod
    def from_dict(cls, d: Any) -> SplitRule:
        return cls(d["bound"])

    def to_onnx(self, graph: Any, x: str) -> str:
        value = graph.op("Sub", graph.columns([0]), self.bound)
        found: str = graph.op("Where", graph.op("IsNaN", value), 0.0, value)
        return found


def learner(**members: Any) -> SplitLearner:
    """Make a learner whose rules have other methods."""
    rule: Any = type("OddRule", (Line,), members)
    about = {"description": "a bound", "rule": rule, "exports_onnx": True, "takes_categories": True}

    def fit(self: Any, X: Any, label: Any, weight: Any, *, rng: Any, levels: Any = ()) -> Any:
        return rule()

    kind: Any = type("Odd", (SplitLearner,), about | {"fit": fit})
    found: SplitLearner = kind()
    return found


def raises(*args: Any, **kwargs: Any) -> Any:
    raise KeyError("lost")


LIES_IN_JSON: dict[str, tuple[dict[str, Any], str]] = {
    "it raises": ({"to_dict": raises}, "OddRule .* failed in to_dict: KeyError"),
    "an array": ({"to_dict": lambda self: {"bound": np.zeros(1)}}, "'Odd' .* not plain data"),
    "NaN": ({"to_dict": lambda self: {"bound": float("nan")}}, "'Odd' .* not plain data"),
    "too few digits": (
        {"to_dict": lambda self: {"bound": round(self.bound)}},
        "'Odd' .* sends .* rows elsewhere after its rules have been written and read.*No file",
    ),
    "it reads another": (
        {"from_dict": classmethod(lambda cls, d: cls(d["bound"] + 1.0))},
        "'Odd' does not read back what it wrote: rule.bound differs",
    ),
    "it cannot read": ({"from_dict": classmethod(raises)}, "'Odd' .* cannot read one of its"),
    "it reads no rule": ({"from_dict": classmethod(lambda cls, d: 3)}, "'Odd' .* as int"),
}


@pytest.mark.parametrize("what", LIES_IN_JSON)
def test_a_rule_that_lies_in_json_writes_no_file(
    what: str, frame: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    members, message = LIES_IN_JSON[what]
    before, odd = frame.copy(), learner(**members)
    with announced(type(odd)):
        m = crank.fit(frame, "y ~ a + b", learner=odd, max_depth=1, prune=None)
        with pytest.raises(PluginError, match=message):
            m.to_json("m.json")
        command = ["fit", "train.csv", "y ~ a + b", "--learner", "Odd", "--prune", "none"]
        assert main([*command, "-o", "m.json"]) == 1
    assert "Odd" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["train.csv"]
    pd.testing.assert_frame_equal(frame, before)


def of_value(change: Any) -> dict[str, Any]:
    return {"to_onnx": lambda self, graph, x: change(graph, Line.to_onnx(self, graph, x))}


LIES_IN_ONNX: dict[str, tuple[dict[str, Any], str]] = {
    "another value": (of_value(lambda g, v: g.op("Add", v, 0.5)), "60 of|values differ"),
    "the other sign": (of_value(lambda g, v: g.op("Neg", v)), "values differ"),
    "NaN": (of_value(lambda g, v: g.op("Div", g.op("Sub", v, v), 0.0)), "values are NaN"),
    "single precision": (of_value(lambda g, v: g.cast(v, 1)), "float32|not valid|cannot be opened"),
    "two columns": (of_value(lambda g, v: g.op("Concat", v, v, axis=1)), "shape"),
    "it raises": ({"to_onnx": raises}, "failed in to_onnx at .*KeyError"),
    "no name": ({"to_onnx": lambda self, graph, x: None}, "gave None"),
    "a name that is nowhere": ({"to_onnx": lambda self, graph, x: "nowhere"}, "nowhere|not valid"),
}


@pytest.mark.parametrize("what", LIES_IN_ONNX)
def test_a_rule_that_lies_in_onnx_writes_no_file(
    what: str, frame: pd.DataFrame, tmp_path: Path
) -> None:
    pytest.importorskip("onnxruntime")
    members, message = LIES_IN_ONNX[what]
    before = frame.copy()
    m = crank.fit(frame, "y ~ a + b", learner=learner(**members), max_depth=1, prune=None)
    with pytest.raises(PluginError, match=message) as caught:
        m.to_onnx("m.onnx")
    assert "OddRule" in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["train.csv"]
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.usefixtures("frame")
def test_a_learner_that_cannot_be_saved_is_refused_before_data_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind: Any = type(learner())
    kind.saves_json = False
    with announced(kind):
        command = ["fit", "no-such-file.csv", "y ~ a", "--learner", "Odd", "-o", "m.json"]
        assert main(command) == 2
    assert "--learner Odd cannot be used here" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["train.csv"]


DESCRIBED: dict[str, tuple[dict[str, Any], str, str]] = {
    "neither": ({}, "OddRule(all columns) > 0", "not (OddRule(all columns) > 0)"),
    "the left side only, without levels": (
        {"describe": lambda self, names: f"{names[0]} is high"},
        "a is high",
        "not (a is high)",
    ),
    "the left side only, with levels": (
        {"describe": lambda self, names, *, levels=None: f"{names[2]} of {levels and levels[2]}"},
        "g of ('u', 'v', 'w')",
        "not (g of ('u', 'v', 'w'))",
    ),
    "the right side only, without levels": (
        {"describe_right": lambda self, names: f"{names[0]} is low"},
        "OddRule(all columns) > 0",
        "a is low",
    ),
    "the right side only, with anything": (
        {"describe_right": lambda self, names, **more: f"low, not {sorted(more)}"},
        "OddRule(all columns) > 0",
        "low, not ['levels']",
    ),
}


@pytest.mark.parametrize("what", DESCRIBED)
def test_a_rule_that_describes_one_side_prints_saves_and_loads(
    what: str, frame: pd.DataFrame
) -> None:
    members, left, right = DESCRIBED[what]
    odd = learner(**members)
    with announced(type(odd)):
        m = crank.fit(frame, "y ~ a + b + g", learner=odd, max_depth=1, prune=None)
        m.to_json("m.json")
        again = crank.load("m.json")
        assert isinstance(again, crank.TreeModel)
        for model in (m, again):
            for text in (str(model.rules()), str(model)):
                assert left in text
                assert right in text
            assert "Odd" in str(model.summary())
        np.testing.assert_array_equal(again.predict(frame), m.predict(frame))
        assert np.array_equal(crank.serve.Scorer(m.to_onnx() or b"")(frame), m.predict(frame))


def test_a_plugins_test_of_one_column_is_written_as_sql(frame: pd.DataFrame) -> None:
    bound = {"column_test": lambda self: ColumnTest(0, self.bound, True, None, False)}
    m = crank.fit(frame, "y ~ a + b", learner=learner(**bound), max_depth=1, prune=None)
    new = frame.assign(a=frame["a"].mask(frame.index % 7 == 0))
    new.loc[1, "a"] = 0.1  # on the bound
    with closing(sqlite3.connect(":memory:")) as connection:
        new.to_sql("t", connection, index=False)
        found = [row[-1] for row in connection.execute(m.to_sql("sqlite", table="t"))]
    test = m.tree.nodes[0].split
    assert test is not None
    wanted = np.where(ColumnTest(0, 0.1, True, None, False).passes(new[["a"]].to_numpy()), 2.0, 1.0)
    np.testing.assert_array_equal(found, wanted if test.sign > 0 else 3.0 - wanted)
    slanted = crank.fit(frame, "y ~ a + b", learner=learner(), max_depth=1, prune=None)
    with pytest.raises(NotExportableError, match="it is no test of one column"):
        slanted.to_sql()
