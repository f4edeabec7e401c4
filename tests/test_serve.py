"""The Scorer: what it takes, what it refuses, and that it can be shared."""

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crank
from crank.errors import DataError, MissingExtraError, ModelFileError, OptionError
from crank.serve import BATCH, Scorer


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = 200
    frame = pd.DataFrame({"x": rng.normal(size=n), "g": rng.choice(["a", "b", "c"], n)})
    frame["y"] = frame["x"] + frame["g"].map({"a": 0.0, "b": 2.0, "c": -2.0})
    return frame


@pytest.fixture(scope="module")
def model(frame: pd.DataFrame) -> crank.TreeModel:
    return crank.fit(frame, "y ~ x + g", max_depth=4, prune=None)


@pytest.fixture(scope="module")
def scorer(model: crank.TreeModel) -> Scorer:
    return Scorer(model.to_onnx())


def test_a_path_and_the_content_give_the_same(
    model: crank.TreeModel, frame: pd.DataFrame, tmp_path: Path, scorer: Scorer
) -> None:
    model.to_onnx(tmp_path / "m.onnx")
    for source in (tmp_path / "m.onnx", str(tmp_path / "m.onnx")):
        assert np.array_equal(Scorer(source)(frame), scorer(frame))


def test_score_and_leaf_are_plain_vectors(
    scorer: Scorer, model: crank.TreeModel, frame: pd.DataFrame
) -> None:
    assert np.array_equal(scorer(frame), model.predict(frame))
    leaf = scorer.leaf(frame)
    assert leaf.dtype == np.int64
    assert np.array_equal(leaf, model.predict(frame, "leaf"))


def test_batches_keep_the_order(
    scorer: Scorer, model: crank.TreeModel, frame: pd.DataFrame
) -> None:
    many = frame.sample(2 * BATCH + 17, replace=True, random_state=0)
    assert np.array_equal(scorer(many), model.predict(many))


def test_no_rows_give_no_scores(scorer: Scorer, frame: pd.DataFrame) -> None:
    assert scorer(frame.iloc[:0]).shape == (0,)
    assert scorer.leaf({"x": [], "g": []}).dtype == np.int64


def test_other_columns_are_not_looked_at(scorer: Scorer, frame: pd.DataFrame) -> None:
    dates = frame.assign(when=pd.Timestamp("2026-01-01"))
    assert np.array_equal(scorer(dates), scorer(frame))


@pytest.mark.parametrize("x", [0.3, 1, True, np.float64(-1.0), float("nan"), None, 10**30])
@pytest.mark.parametrize("g", ["b", "new", None])
def test_one_row_of_plain_values(
    scorer: Scorer, model: crank.TreeModel, x: float | None, g: str | None
) -> None:
    assert scorer({"x": x, "g": g}) == model.predict({"x": [x], "g": [g]}, unknown="missing")


@pytest.mark.parametrize(
    "x",
    [
        *(0.3, 1, True, 10**30, float("nan"), None, 5e-324, -1e308, [0.5]),
        *(np.float32(0.25), np.int32(-1), np.bool_(True), np.array([0.5])),
    ],
)
def test_one_row_of_numbers_alone(frame: pd.DataFrame, x: Any) -> None:
    model = crank.fit(frame.assign(z=frame["x"] ** 2), "y ~ x + z", max_depth=4, prune=None)
    scorer = Scorer(model.to_onnx())
    for row in ({"x": x, "z": 0.4}, {"x": -0.2, "z": x}):
        columns = {name: np.ravel(np.array(v, dtype=object)) for name, v in row.items()}
        assert scorer(row) == model.predict(columns)
        assert scorer.leaf(row) == model.predict(columns, "leaf")
    for bad in (np.inf, -np.inf, 10**400, "0.3"):
        with pytest.raises(DataError):
            scorer({"x": bad, "z": 0.4})
    with pytest.raises(DataError, match="'z' of the formula is not in the data"):
        scorer({"x": 0.3})


def test_one_row_that_does_not_fit(scorer: Scorer) -> None:
    for row, message in (
        ({"x": 0.3}, "'g' of the formula is not in the data"),
        ({"x": float("inf"), "g": "a"}, "infinite"),
        ({"x": "low", "g": "a"}, "holds categories"),
        ({"x": 0.3, "g": 3}, "holds numbers"),
    ):
        with pytest.raises(DataError, match=message):
            scorer(row)


def test_it_survives_pickling(scorer: Scorer, frame: pd.DataFrame) -> None:
    again = pickle.loads(pickle.dumps(scorer))
    assert np.array_equal(again(frame), scorer(frame))
    assert again.metadata == scorer.metadata


def test_threads_may_share_it(scorer: Scorer, frame: pd.DataFrame) -> None:
    expected = scorer(frame)
    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: scorer(frame), range(40)):
            assert np.array_equal(got, expected)


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_threads_in_one_call_change_nothing(
    model: crank.TreeModel, frame: pd.DataFrame, threads: int
) -> None:
    many = frame.sample(3 * BATCH + 5, replace=True, random_state=1)
    scorer = Scorer(model.to_onnx(), threads=threads)
    assert np.array_equal(scorer(many), model.predict(many))
    assert np.array_equal(scorer(many.iloc[::-1]), model.predict(many)[::-1])


def test_a_bad_value_in_the_last_batch_is_found(scorer: Scorer, frame: pd.DataFrame) -> None:
    many = frame.sample(2 * BATCH + 5, replace=True, random_state=1)
    many.iloc[-1, list(many.columns).index("x")] = np.inf
    with pytest.raises(DataError, match="'x' holds infinite values"):
        scorer(many)


def test_threads_may_share_it_row_by_row(frame: pd.DataFrame) -> None:
    model = crank.fit(frame, "y ~ x", max_depth=4, prune=None)  # numbers alone: bound in place
    scorer = Scorer(model.to_onnx())
    values = frame["x"].tolist()
    with ThreadPoolExecutor(4) as pool:
        scores = list(pool.map(lambda x: scorer({"x": x}), values * 20))
        leaves = list(pool.map(lambda x: scorer.leaf({"x": x}), values))
    assert np.array_equal(np.concatenate(scores), np.tile(model.predict(frame), 20))
    assert np.array_equal(np.concatenate(leaves), model.predict(frame, "leaf"))


FORKS = """
import multiprocessing, sys, warnings
import numpy as np, pandas as pd
from crank.serve import Scorer

model, rows = sys.argv[1:]
many, scorer = pd.read_pickle(rows), Scorer(model, threads=2)
expected = scorer(many)
here, there = multiprocessing.Pipe()
warnings.simplefilter("ignore")  # Python warns of forks beside threads
fork = multiprocessing.get_context("fork")
child = fork.Process(target=lambda: there.send(scorer(many)), daemon=True)
child.start()
there.close()  # a child that dies without an answer ends the wait for it
assert np.array_equal(here.recv(), expected)
child.join()
assert child.exitcode == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_scores_too(
    model: crank.TreeModel, frame: pd.DataFrame, tmp_path: Path
) -> None:
    """In a process of its own: a fork is safe beside the scorer's threads, not beside any."""
    model.to_onnx(tmp_path / "m.onnx")
    many = frame.sample(2 * BATCH + 5, replace=True, random_state=1)
    many.to_pickle(tmp_path / "many.pickle")
    files = [str(tmp_path / "m.onnx"), str(tmp_path / "many.pickle")]
    command = [sys.executable, "-c", FORKS, *files]
    # no result depends on the time: it only ends a test that would never end
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"x": [1.0]}, "column 'g' of the formula is not in the data. Columns: x"),
        ({"x": ["low"], "g": ["a"]}, "'x' holds categories .* where numbers are"),
        ({"x": [1.0], "g": [3]}, "'g' holds numbers .* where text is expected"),
        ({"x": [np.inf], "g": ["a"]}, "'x' holds infinite values"),
        ({"x": [1.0, 2.0], "g": ["a"]}, "different lengths"),
        (np.zeros((3, 2)), "data must be"),
    ],
)
def test_rows_that_do_not_fit(scorer: Scorer, data: dict[str, list[float]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        scorer(data)


def test_missing_values_of_every_sort(scorer: Scorer, model: crank.TreeModel) -> None:
    data = {"x": [None, np.nan, 1.0, 2.0], "g": ["a", None, np.nan, pd.NA]}
    assert np.array_equal(scorer(data), model.predict(data))


def test_a_matrix_of_the_wrong_width(model: crank.TreeModel, frame: pd.DataFrame) -> None:
    scorer = Scorer(model.to_onnx(form="matrix"))
    assert scorer.columns == ("x", "g")
    X = model.design_matrix(frame)
    assert np.array_equal(scorer(X), model.predict(frame))
    assert scorer(X[:0]).shape == (0,)
    with pytest.raises(DataError, match=r"matrix of 2 design columns, got shape \(200, 1\)"):
        scorer(X[:, :1])


def test_threads_must_be_a_count(model: crank.TreeModel) -> None:
    with pytest.raises(OptionError, match="threads"):
        Scorer(model.to_onnx(), threads=-1)


def test_an_output_that_the_file_lacks(scorer: Scorer, frame: pd.DataFrame) -> None:
    with pytest.raises(OptionError, match=r"gives no 'median'\. It gives: score, leaf"):
        scorer.predict(frame, "median")


def test_files_that_are_no_models(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="cannot be read"):
        Scorer(tmp_path / "absent.onnx")
    with pytest.raises(ModelFileError, match="cannot open this model"):
        Scorer(b"not a model")
    with pytest.raises(ModelFileError, match="cannot open this model"):
        Scorer(b"")


def test_another_programs_file_is_refused(tmp_path: Path) -> None:
    from crank.graphs.graph import Element, Graph

    graph = Graph()
    graph.op("Identity", graph.input("x", Element.DOUBLE, 1), out="score")
    graph.output("score", Element.DOUBLE)
    with pytest.raises(ModelFileError, match="not written by crank"):
        Scorer(graph.serialise({}, ""))


def test_a_truncated_file_is_refused(model: crank.TreeModel) -> None:
    content = model.to_onnx()
    for size in (10, len(content) // 2, len(content) - 3):
        with pytest.raises(ModelFileError):
            Scorer(content[:size])


def test_without_onnx_runtime_the_extra_is_named(
    model: crank.TreeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = model.to_onnx()
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"crank-rank\[onnx\]"):
        Scorer(content)
    with pytest.raises(MissingExtraError, match=r"crank-rank\[onnx\]"):
        model.to_onnx()
