"""The demonstration leaves what it says."""

from pathlib import Path

import pandas as pd
import pytest

import crank
from crank.demo import diabetes, run_demo
from tests.narrowing import number, of


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, crank.TreeModel, str]:
    """Run it once: the folder it leaves, its model, and what it says."""
    said: list[str] = []
    folder = tmp_path_factory.mktemp("demo") / "out"
    model = of(crank.TreeModel, run_demo(folder, said.append))
    return folder, model, "\n".join(said)


def test_the_demonstration_prints_a_summary_and_leaves_its_files(
    demo: tuple[Path, crank.TreeModel, str],
) -> None:
    folder, model, text = demo
    assert str(model.summary()) in text
    assert "CART" in text
    paper = pd.read_csv(folder / "paper.csv").set_index("tree")
    assert number(paper.loc["Kendall", "IAUC"]) > 0.93 > 0.62 > number(paper.loc["CART", "IAUC"])
    rules = (folder / "diabetes-rules.txt").read_text()
    assert rules == model.rules() + "\n"
    curve = pd.read_csv(folder / "diabetes-iroc.csv")
    assert (curve["iroc"].iloc[0], curve["iroc"].iloc[-1]) == (0.0, 1.0)
    assert f"crank fit {folder / 'diabetes-train.csv'}" in text


def test_the_model_and_the_data_it_leaves_can_be_loaded(
    demo: tuple[Path, crank.TreeModel, str],
) -> None:
    folder, model, _ = demo
    train, test = diabetes()
    for name, rows in {"train": train, "test": test}.items():
        left = pd.read_csv(folder / f"diabetes-{name}.csv")
        pd.testing.assert_frame_equal(left, rows.reset_index(drop=True))
    loaded = crank.load(folder / "diabetes.json")
    assert (loaded.predict(test) == model.predict(test)).all()
