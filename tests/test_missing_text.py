"""Missing text has a form of its own: no text is mistaken for it, in any runtime."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
import pytest

import crank
from crank.cli import main
from crank.errors import DataError
from crank.frames.columns import MISSING_TEXT
from crank.models.base import RankingModel
from crank.serve import Scorer

TEXTS = ["a", "b", "", "NA", "c", None]
FORMULAS = [
    "y ~ I(g == 'a')",
    "y ~ I(g != 'a') + x",
    "y ~ isin(g, ['a', 'NA']) + x",
    "y ~ where(g == '', x, -x)",
    "y ~ g + x",
    "y ~ I(g == 'a') + C(g)",
]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(12)
    frame = pd.DataFrame({"x": rng.normal(size=240), "g": TEXTS * 40})
    effect = frame["g"].map({"a": 2.0, "b": -1.0, "": 1.0, "NA": 3.0, "c": 0.0}).fillna(-2.0)
    return frame.assign(y=frame["x"] + effect)


def fitted(frame: pd.DataFrame, formula: str) -> RankingModel:
    return crank.fit(frame, formula, max_depth=4, min_samples_leaf=2, prune=None)


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_empty_text_is_a_text(frame: pd.DataFrame, formula: str) -> None:
    known = frame[frame["g"] != ""]  # also where training never had it
    for data in (frame, known):
        m = fitted(data, formula)
        scorer = Scorer(m.to_onnx())
        wanted = m.predict(frame, unknown="missing")
        np.testing.assert_array_equal(scorer(frame), wanted)
        singles = [scorer({"x": x, "g": g}).item() for x, g in zip(frame["x"], TEXTS, strict=False)]
        assert singles == wanted[: len(TEXTS)].tolist()
    assert len(set(wanted)) > 1


@pytest.mark.parametrize("formula", FORMULAS[:4])
def test_a_runtime_without_crank_tells_them_apart_without_metadata(
    frame: pd.DataFrame, formula: str
) -> None:
    m = fitted(frame, formula)
    session = onnxruntime.InferenceSession(m.to_onnx())
    texts = frame["g"].fillna(MISSING_TEXT).tolist()
    every = {
        "g": np.array(texts, dtype=object)[:, None],
        "x": frame["x"].to_numpy()[:, None],
    }
    feeds = {i.name: every[i.name] for i in session.get_inputs()}
    np.testing.assert_array_equal(session.run(["score"], feeds)[0][:, 0], m.predict(frame))


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_csv_file_means_the_same_to_json_and_onnx(
    frame: pd.DataFrame, formula: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    m = fitted(frame, formula)
    m.to_json("m.json")
    m.to_onnx("m.onnx")
    frame.to_csv("x.csv", index=False)
    for model in ("m.json", "m.onnx"):
        assert main(["score", model, "x.csv", "-o", f"{model}.csv"]) == 0
    first, second = (pd.read_csv(f"{model}.csv")["score"] for model in ("m.json", "m.onnx"))
    np.testing.assert_array_equal(first, second)


def test_the_mark_itself_is_refused_as_a_text(frame: pd.DataFrame) -> None:
    marked = frame.assign(g=frame["g"].replace("b", MISSING_TEXT))
    m = fitted(frame, "y ~ I(g == 'a') + x")
    scorer = Scorer(m.to_onnx())
    for call in (m.predict, scorer, lambda data: fitted(data, "y ~ g")):
        with pytest.raises(DataError, match=r"'g' holds the text '\\uffff'.*reserved"):
            call(marked)
    with pytest.raises(DataError, match="reserved"):
        scorer({"x": 0.1, "g": MISSING_TEXT})


def test_the_file_says_which_texts_it_knows(frame: pd.DataFrame) -> None:
    metadata = Scorer(fitted(frame, "y ~ isin(g, ['NA', 'a'])").to_onnx()).metadata
    column = json.loads(metadata["columns"])["g"]
    assert column == {"kind": "category", "missing": "\uffff", "texts": ["NA", "a"]}
