"""The demonstration leaves what it says."""

from pathlib import Path
from typing import Any

import pandas as pd

import crank
from crank.demo import diabetes, run_demo
from tests.narrowing import number, of


def test_the_demonstration_prints_a_summary_and_leaves_its_files(tmp_path: Path) -> None:
    said: list[Any] = []
    model = run_demo(tmp_path / "out", said.append)
    text = "\n".join(said)
    assert str(model.summary()) in text
    assert "CART" in text
    paper = pd.read_csv(tmp_path / "out" / "paper.csv").set_index("tree")
    assert number(paper.loc["Kendall", "IAUC"]) > 0.93 > 0.62 > number(paper.loc["CART", "IAUC"])
    rules = (tmp_path / "out" / "diabetes-rules.txt").read_text()
    assert rules == of(crank.TreeModel, model).rules() + "\n"
    curve = pd.read_csv(tmp_path / "out" / "diabetes-iroc.csv")
    assert (curve["iroc"].iloc[0], curve["iroc"].iloc[-1]) == (0.0, 1.0)


def test_the_model_it_leaves_can_be_loaded(tmp_path: Path) -> None:
    model = run_demo(tmp_path, lambda _: None)
    _, test = diabetes()
    loaded = crank.load(tmp_path / "diabetes.json")
    assert (loaded.predict(test) == model.predict(test)).all()
