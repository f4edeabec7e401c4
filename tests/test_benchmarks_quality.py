"""The page of quality: its tables say what the results say."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.quality import page as written
from benchmarks.quality.choices import CHOICES, filled, measured
from benchmarks.quality.comparing import Study
from benchmarks.quality.sets import split
from benchmarks.quality.study import METHODS, RESULTS, Result, append, plan, read, run

FIGURES = {
    ("Auto", 0): {"crank blend": 0.90, "LightGBM on y": 0.88, "EBM on ranks": 0.89},
    ("Auto", 1): {"crank blend": 0.92, "LightGBM on y": 0.91, "EBM on ranks": 0.89},
    ("diabetes", 0): {"crank blend": 0.70, "LightGBM on y": 0.71, "EBM on ranks": 0.72},
    ("diabetes", 1): {"crank blend": 0.72, "LightGBM on y": 0.70, "EBM on ranks": 0.75},
}


def results() -> list[Result]:
    found = [
        Result(name, number, method, figure, figure, 1.0, 2.0, 200, 100)
        for (name, number), figures in FIGURES.items()
        for method, figure in figures.items()
    ]
    return [*found, Result("Auto", 0, "CatBoost PairLogit", None, None, 0.1, 0.1, 200, 100, "no")]


def test_means_ranks_and_neighbours_of_the_best_are_those_of_the_common_splits() -> None:
    study = Study.of(results(), METHODS)
    assert study.compared == ["crank blend", "LightGBM on y", "EBM on ranks"]
    means = study.means()
    assert list(means.loc["Auto"]) == pytest.approx([0.91, 0.895, 0.89])
    assert list(means.loc["diabetes"]) == pytest.approx([0.71, 0.705, 0.735])
    assert study.average_ranks().tolist() == [1.5, 2.5, 2.0]
    # LightGBM is .015 behind on Auto with a standard error of .005; the blend .025 ± .005
    assert study.near_best().tolist() == [1, 0, 1]
    assert study.repeated_sets == 2


def test_a_difference_is_the_mean_over_sets_with_students_interval() -> None:
    found = Study.of(results(), METHODS).difference("crank blend", "LightGBM on y")
    assert found.mean == pytest.approx(0.01)
    assert found.half == pytest.approx(12.7062 * 0.005, rel=1e-5)  # R: qt(.975, 1)
    assert (found.sets, found.ahead, found.behind) == (2, 0, 0)


def test_a_set_counts_as_ahead_only_beyond_the_error_of_overlapping_splits() -> None:
    gaps = 0.01 + 0.001 * np.array([-1.0, 0.0, 1.0, 0.0, 0.0])
    found = [
        Result("Auto", k, method, value, value, 1.0, 1.0, 200, 100)
        for k, gap in enumerate(gaps)
        for method, value in (("crank linear", 0.8 + gap), ("LinearRegression on y", 0.8))
    ]
    one = Study.of(found, METHODS).difference("crank linear", "LinearRegression on y")
    assert (one.ahead, one.behind) == (1, 0)
    other = Study.of(found, METHODS).difference("LinearRegression on y", "crank linear")
    assert (other.ahead, other.behind) == (0, 1)
    assert math.isnan(one.half)


def test_the_page_shows_losses_failures_and_sets_that_were_seen() -> None:
    text = written.page(results())
    assert "| Auto* |" in text
    assert "| diabetes |" in text
    assert "| Additive" not in text
    assert "* CatBoost PairLogit on Auto, split 0: no" in text
    assert "| crank blend | EBM on ranks | -0.0025 |" in text
    assert "| Blend: its place by average rank | ≤ 1 | 1 | met |" in text
    assert "above the best single peer's | ≥ 0.008 | -0.0025 | **missed** |" in text


def test_results_are_read_as_written_and_not_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "quality.csv"
    assert read(path) == []
    for one in results():
        append(path, one)
    with path.open("a", encoding="utf-8") as file:
        file.write("Auto,1,crank tree,0.8")  # the run was stopped here
    assert read(path) == results()
    more = Result("Boston", 0, "crank tree", 0.8, 0.9, 1.0, 1.0, 20, 10)
    append(path, more)
    assert read(path) == [*results(), more]
    run(path, ["Auto"], ["crank blend", "LightGBM on y"], 2)
    assert "0 to go" in capsys.readouterr().out


def test_work_begins_with_what_is_cheap_on_the_first_split_of_all_sets() -> None:
    work = list(plan(["Auto", "Boston"], ["crank blend", "crank tree", "FLAML on ranks"], 2))
    assert work[:2] == [("Auto", 0, "crank tree"), ("Boston", 0, "crank tree")]
    assert work[2:4] == [("Auto", 0, "crank blend"), ("Auto", 0, "FLAML on ranks")]
    assert len(work) == len(set(work)) == 12


def test_a_split_is_disjoint_and_knows_no_level_of_the_test_rows_alone() -> None:
    import pandas as pd

    frame = pd.DataFrame({"y": np.arange(90.0), "g": ["a"] * 60 + [f"l{i}" for i in range(30)]})
    train, test = split(frame, 0)
    assert (len(train), len(test)) == (60, 30)
    assert not set(train["y"]) & set(test["y"])
    assert set(test["g"]) <= set(train["g"])
    again, _ = split(frame, 0)
    assert again.equals(train)


def test_the_choices_show_what_was_measured() -> None:
    pair = {"crank tree, kendall": (0.80, 0.70), "crank tree, kendall, logistic": (0.83, 0.71)}
    found = [
        Result(name, 0, method, figure, figure + 0.1, 1.0, 2.0, 200, 100)
        for method, figures in pair.items()
        for name, figure in zip(("Auto", "diabetes"), figures, strict=True)
    ]
    tables = measured(found)
    assert tables["learners"][2] == "| `stump` | 0.750 |  | 0.850 | 2 |"
    # R: t.test(c(.03, .01))$conf.int gives -0.107 0.147
    assert "| `logistic` | 0.770 | +0.020 (-0.107 to +0.147) | 0.870 | 2 |" in tables["learners"]
    assert tables["rankers"] == ["Not measured yet."]


def test_the_page_of_choices_is_up_to_date() -> None:
    text = CHOICES.read_text(encoding="utf-8")
    fresh = filled(text, measured(read(RESULTS)))
    assert text == fresh, "run python -m benchmarks.quality --page"
