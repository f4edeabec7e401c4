"""Drift: the index by its definition, its behaviour under no drift, and what each change does."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import crank
from crank.cli import main
from crank.errors import DataError, OptionError
from crank.frames.profile import MOST_VALUES, SAMPLE, number_profile, profile_of
from crank.frames.table import Table
from crank.monitor import drift
from crank.monitor.stability import stability
from tests.narrowing import present


def sample(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=n), "g": rng.choice(["a", "b", "c"], n)})
    frame["flag"] = rng.random(n) < 0.3
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, n), unit="D")
    frame["y"] = frame["x"] + (frame["g"] == "b") + rng.normal(size=n)
    return frame.assign(x=frame["x"].mask(rng.random(n) < 0.05))


@pytest.fixture(scope="module")
def model() -> crank.TreeModel:
    return crank.fit(sample(600, 1), "y ~ x + g + flag + day", cv=4, max_depth=3)


def test_the_index_is_its_definition_and_its_error_that_of_resampling() -> None:
    before, now = np.array([400, 300, 250, 50]), np.array([150, 180, 140, 90])
    found = stability(before, now)
    p, q = ((c + 0.5) / (c + 0.5).sum() for c in (before, now))
    assert found.index == pytest.approx(
        sum((b - a) * math.log(b / a) for a, b in zip(p, q, strict=True))
    )
    rng = np.random.default_rng(0)
    drawn = [stability(rng.multinomial(1000, p), rng.multinomial(560, q)).index for _ in range(999)]
    assert found.se == pytest.approx(np.std(drawn), rel=0.1)


def test_without_drift_the_index_is_what_chance_gives_and_p_values_are_uniform() -> None:
    rng = np.random.default_rng(3)
    share = np.array([0.1, 0.2, 0.3, 0.4])
    found = [
        stability(rng.multinomial(800, share), rng.multinomial(300, share)) for _ in range(600)
    ]
    assert np.mean([f.index for f in found]) == pytest.approx(found[0].chance, rel=0.1)
    assert np.mean([f.pvalue < 0.05 for f in found]) == pytest.approx(0.05, abs=0.027)


@pytest.mark.parametrize("counts", [([5, 0], [9, 0]), ([0, 0], [1, 2]), ([3, 4], [0, 0])])
def test_one_part_or_an_empty_sample_has_no_drift(counts: tuple[list[int], list[int]]) -> None:
    found = stability(*(np.array(c) for c in counts))
    assert (found.index, found.pvalue) == (0.0, 1.0)


def test_profiles_count_what_is_there() -> None:
    x = np.array([3.0, 1.0, 1.0, np.nan, 2.0])
    found = number_profile(x)
    assert (found.edges, found.counts, found.missing) == ((1.0, 2.0), (2, 1, 1, 1), 1)
    assert found.count_numbers(np.array([0.0, 2.5, np.nan])).tolist() == [1, 0, 1, 1, 0]
    many = number_profile(np.arange(1000.0))
    assert many.counts == (101, *(100,) * 8, 99, 0)
    assert (many.lowest, many.highest) == (0.0, 999.0)
    empty = number_profile(np.array([np.nan]))
    assert (empty.lowest, empty.counts, empty.labels[0]) == (None, (0, 1), "(all)")
    large = number_profile(np.arange(2.0 * SAMPLE))
    assert sum(large.counts) == SAMPLE


def test_a_factor_of_many_levels_keeps_the_commonest_and_counts_the_rest() -> None:
    text = [f"v{k:03d}" for k in range(MOST_VALUES + 10)]
    found = profile_of(Table.read({"g": [*text, *text[:MOST_VALUES], None]}), "g", "category")
    assert len(found.levels) == MOST_VALUES
    assert found.counts[-2:] == (10, 1)
    later = found.count(Table.read({"g": ["v000", "new", None]}), "g")
    assert later[-3:].tolist() == [1, 1, 0]


def test_data_like_those_of_training_have_not_drifted(model: crank.TreeModel) -> None:
    found = drift(model, sample(500, 2))
    assert found.drifted == ()
    assert found.table.index.tolist() == ["(score)", "x", "g", "flag", "day"]
    assert (found.table["drift"] == "none").all()
    assert "No large drift." in str(found)
    shares = found.parts.groupby("name")[["before", "now"]].sum()
    np.testing.assert_allclose(shares, 1.0)


def test_what_has_changed_is_named(model: crank.TreeModel) -> None:
    later = sample(500, 2).assign(x=lambda d: d["x"] + 2.0)
    later["g"] = later["g"].mask(later.index < 50, "new").mask(later.index > 480)
    found = drift(model, later)
    assert {"x", "(score)"} <= set(found.drifted)
    assert found.table.loc["g", "unknown"] == 0.1
    assert found.table.loc["g", "missing"] == 19 / 500
    training, now = sample(600, 1)["x"], later["x"]
    outside = (now < training.min()) | (now > training.max())
    assert found.table.loc["x", "outside"] == outside.mean()
    assert "Drifted: (score), x" in str(found)


def test_a_fall_of_the_figure_is_tested_against_cross_validation(model: crank.TreeModel) -> None:
    later = sample(400, 4)
    later["y"] = np.random.default_rng(0).permutation(later["y"])
    found = drift(model, later)
    assert found.drifted == ("(d_tau)",)
    assert found.figure is not None
    row, before = found.figure.iloc[0], model.training.crossvalidated["kendall"]
    now = crank.metrics.concordance(later["y"], model.predict(later), metric="kendall")
    assert row["compared_with"] == "cross-validated"
    assert row["change"] == pytest.approx(now.estimate - before.estimate)
    assert row["se"] == pytest.approx(math.hypot(now.se, before.se))
    without = drift(model, later.drop(columns="y"))
    assert without.figure is None
    assert not without.ranks_worse


def test_pieces_and_files_give_the_same_as_the_whole(model: crank.TreeModel) -> None:
    later = sample(500, 2)
    whole = drift(model, later, weights=None)
    pieces = drift(model, iter([later.iloc[:120], later.iloc[120:]]))
    loaded = drift(crank.from_json(model.to_json() or ""), later)
    for other in (pieces, loaded):
        pd.testing.assert_frame_equal(whole.table, other.table)
        pd.testing.assert_frame_equal(whole.parts, other.parts)


def test_a_pruned_tree_has_leaves_of_its_own(model: crank.TreeModel) -> None:
    small = model.prune(n_leaves=2)
    found = drift(small, sample(500, 2))
    assert (found.parts["name"] == "(score)").sum() == 2


def test_a_linear_model_counts_rows_that_it_cannot_score() -> None:
    train = sample(600, 1)
    linear = crank.linear(train, "y ~ x + g")
    later = sample(300, 5)
    found = drift(linear, later)
    assert found.n_unscored == later["x"].isna().sum() > 0
    assert found.drifted == ()
    assert found.table["psi"]["(score)"] < 0.1
    assert drift(linear, later.assign(x=later["x"] + 2.0)).drifted[0] == "(score)"


def test_a_forest_is_watched_by_what_it_says_of_rows_out_of_bag() -> None:
    forest = crank.forest(sample(300, 1), "y ~ x + g", n_trees=10)
    found = drift(forest, sample(300, 2))
    assert found.table.index.tolist() == ["(score)", "x", "g"]
    assert found.drifted == ()
    assert present(found.figure)["compared_with"].tolist() == ["out of bag"]
    moved = sample(300, 2).assign(x=lambda d: d["x"] + 2.0)
    assert drift(forest, moved).drifted[:2] == ("(score)", "x")


def test_old_models_and_wrong_options_are_refused(model: crank.TreeModel) -> None:
    from dataclasses import replace

    old = replace(model, training=replace(model.training, columns=None))
    with pytest.raises(DataError, match="does not know how its training data were spread"):
        drift(old, sample(10, 1))
    with pytest.raises(OptionError, match="alpha"):
        drift(model, sample(10, 1), alpha=2.0)


def test_the_command_line_tells_by_its_exit_code(
    model: crank.TreeModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    model.to_json("m.json")
    later = sample(500, 2)
    later.to_csv("same.csv", index=False)
    later.drop(columns="y").assign(x=later["x"] + 2.0).to_parquet("moved.parquet")
    assert main(["drift", "m.json", "same.csv"]) == 0
    assert "No large drift." in capsys.readouterr().out
    assert main(["drift", "m.json", "moved.parquet", "--format", "json", "--plot", "d.png"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["drifted"] == ["(score)", "x"]
    assert told["d_tau"] is None
    assert Path("d.png").read_bytes().startswith(b"\x89PNG")
    assert main(["drift", "m.json", "absent.csv"]) == 1


def test_one_column_can_be_drawn(model: crank.TreeModel) -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    ax = drift(model, sample(200, 2)).plot("g", ax=figure.subplots())
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b", "c"]
    with pytest.raises(OptionError, match="no drift of 'h'"):
        drift(model, sample(200, 2)).plot("h", ax=ax)
