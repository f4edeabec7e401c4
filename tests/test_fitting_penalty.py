"""Penalties of linear rankers: paths, their minima, the choice among them, what is shown of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.special import expit, log_expit, ndtr

import crank
from crank import RankingLinear
from crank.cli import main
from crank.errors import DataError, ModelFileError, OptionError
from crank.export.json.text import fingerprint
from crank.fitting import linear as fitting
from crank.fitting.folds import some_rows
from crank.fitting.linear import fit_linear
from crank.fitting.pairs import mean_loss
from crank.fitting.penalty import coefficient_path, fit_judged, penalty_grid
from crank.fitting.selection import select
from crank.fitting.sparse import parabola_minimum
from crank.kernels.links import LINKS
from crank.rankers.linear import LinearOptions
from crank.ranks import Ranks, rank
from tests.narrowing import of

Floats = NDArray[np.float64]


def drawn(seed: int, n: int = 80, p: int = 6, ties: bool = False) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.4) * rng.uniform(0.1, 20.0, p)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    y = scaled[:, :2] @ [1.0, -0.7] + rng.logistic(size=n)
    return X, np.round(y) if ties else y, rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("ratio", [1.0, 0.4])
@pytest.mark.parametrize("pairs", [0, 10**7], ids=["grid", "exact"])
def test_the_lasso_is_at_the_minimum_over_all_pairs(
    link: Literal["logit", "probit"], ratio: float, pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The subgradient of the loss of explicit pairs holds 0 there, and the loss is convex."""
    monkeypatch.setattr(fitting, "MOST_PAIRS", pairs)
    X, y, w = drawn(3, ties=True)
    penalty = 0.05
    options = LinearOptions(link, penalty, ratio)
    found = fit_linear(X, rank(y, w), options=options)
    share = w / w.sum()
    sd = np.sqrt(share @ (X - share @ X) ** 2)
    i, j = np.triu_indices(len(y), 1)
    D, weight = (X[i] - X[j]) / sd, w[i] * w[j]
    won = (y[i] > y[j]) + 0.5 * (y[i] == y[j])
    b = found.coef * sd
    above = {"logit": expit, "probit": ndtr}[link](D @ b)
    pull = D.T @ (weight * (won - above)) / (w.sum() ** 2 / 2.0) - penalty * (1 - ratio) * b
    zero = b == 0.0
    assert 0 < zero.sum() < len(b)
    np.testing.assert_allclose(pull[~zero], penalty * ratio * np.sign(b[~zero]), atol=1e-7)
    assert (np.abs(pull[zero]) <= penalty * ratio).all()
    assert np.isnan(found.vcov).all()


def test_parabolas_that_fit_no_equations_are_swept() -> None:
    """Two equal columns: any split is a minimum, and the equations are singular."""
    J = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    found = parabola_minimum(np.array([3.0, 3.0, 0.0]), J, np.array([0.5, 0.5, 0.0]), 1.0)
    assert found.sum() == pytest.approx(3.0)
    assert found[2] == 0.0
    # one that starts on the wrong side changes its sign
    J = np.array([[2.0, 1.0], [1.0, 2.0]])
    found = parabola_minimum(np.array([8.0, 1.0]), J, np.array([-1.0, 0.0]), 0.5)
    np.testing.assert_allclose(J @ (found - [-1.0, 0.0]), [7.5, 1.5])


@pytest.mark.parametrize("ratio", [0.0, 1.0, 0.5])
def test_the_path_is_one_of_fits(ratio: float) -> None:
    X, y, w = drawn(1)
    ranks = rank(y, w)
    options = LinearOptions(penalty="cv", l1_ratio=ratio)
    grid = penalty_grid(X, ranks, options)
    coef, centre = coefficient_path(X, ranks, options, grid)
    assert (np.diff(grid) > 0.0).all()
    np.testing.assert_allclose(centre, w @ X / w.sum())
    for k in (0, len(grid) // 2, len(grid) - 3):
        one = LinearOptions(penalty=float(grid[k]), l1_ratio=ratio)
        alone = fit_linear(X, ranks, options=one)
        np.testing.assert_allclose(coef[k], alone.coef, rtol=1e-4, atol=1e-6)
    if ratio:  # the heaviest is the least that leaves nothing
        assert not coef[-1].any()
        assert coef[-2].any()
    sizes = np.abs(coef * X.std(axis=0)).sum(axis=1)
    assert (np.diff(sizes) < 1e-9).all()


@pytest.mark.parametrize("width", [0.0, 1 / 16], ids=["pairs", "grid"])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_the_loss_is_that_of_explicit_pairs(link: str, width: float) -> None:
    _, y, w = drawn(2, ties=True)
    score = np.random.default_rng(0).standard_t(4, size=len(y))
    ranks = rank(y, w)
    i, j = np.triu_indices(len(y), 1)
    won, d = (y[i] > y[j]) + 0.5 * (y[i] == y[j]), score[i] - score[j]
    if link == "logit":
        each = -won * log_expit(d) - (1.0 - won) * log_expit(-d)
    else:
        each = d * ndtr(d) + np.exp(-d * d / 2.0) / np.sqrt(2.0 * np.pi) - won * d
    wanted = np.average(each, weights=w[i] * w[j])
    found = mean_loss(score[ranks.row], ranks, LINKS[link], width)
    assert found == pytest.approx(wanted, rel=1e-12 if not width else 1e-5)


def test_folds_choose_a_penalty_and_judge_the_choice() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 40))
    y = X[:, :3] @ [1.0, 1.0, -1.0] + rng.logistic(size=150)
    fresh = rng.normal(size=(4000, 40))
    truth = fresh[:, :3] @ [1.0, 1.0, -1.0] + rng.logistic(size=4000)
    figures = {}
    for ratio in (0.0, 1.0):
        options = LinearOptions(penalty="cv", l1_ratio=ratio)
        fitted = fit_judged(X, rank(y), options=options)
        path = fitted.ranker.path
        assert path is not None
        assert fitted.ranker.penalty == path.penalty[path.step]
        assert path.mean_loss[path.step] == path.mean_loss.min()
        assert path.step < path.step_1se
        within = path.mean_loss <= path.mean_loss.min() + path.se[path.step]
        assert np.flatnonzero(within)[-1] == path.step_1se
        new = crank.metrics.kendall(truth, fitted.ranker.predict(fresh))
        judged = fitted.crossvalidated["kendall"]
        assert abs(judged.estimate - new) < 3.0 * judged.se
        figures[ratio] = new
        assert 0 < np.count_nonzero(fitted.ranker.coef) == (40 if not ratio else 12)
    plain = fit_linear(X, rank(y), options=LinearOptions())
    assert crank.metrics.kendall(truth, plain.predict(fresh)) < figures[1.0] - 0.02
    simple = fit_judged(X, rank(y), options=LinearOptions(penalty="1se", l1_ratio=1.0)).ranker
    assert np.flatnonzero(simple.coef).tolist()[:3] == [0, 1, 2]
    assert np.count_nonzero(simple.coef) < 12


@pytest.mark.no_cover
def test_noise_is_not_made_to_look_good() -> None:
    """Figures of a choice among forty lassos, of a response that no column has to do with."""
    rng = np.random.default_rng(1)
    found = []
    for _ in range(12):
        X, y = rng.normal(size=(60, 8)), rng.normal(size=60)
        options = LinearOptions(penalty="cv", l1_ratio=1.0, cv=5)
        found.append(fit_judged(X, rank(y), options=options).crossvalidated["kendall"].estimate)
    assert abs(np.mean(found) - 0.5) < 3.0 * np.std(found) / np.sqrt(12)


def test_a_fixed_penalty_is_judged_too_and_groups_stay_whole() -> None:
    rng = np.random.default_rng(2)
    who = np.repeat(np.arange(30), 4)
    frame = pd.DataFrame(rng.normal(size=(30, 24)), columns=[f"x{k}" for k in range(24)])
    frame = frame.iloc[who].reset_index(drop=True).assign(who=who)
    frame["y"] = rng.normal(size=30)[who] + 0.01 * rng.normal(size=120)
    apart = crank.linear(frame, "y ~ .", groups="who", penalty=0.01)
    mixed = crank.linear(frame.drop(columns="who"), "y ~ .", penalty=0.01)
    # whoever has been seen is known again: rows of one group in both parts flatter the figure
    assert mixed.training.crossvalidated["kendall"].estimate > 0.6
    assert apart.training.crossvalidated["kendall"].estimate < 0.6
    assert "d_tau, cross-validated" in str(apart.summary())
    assert crank.linear(frame, "y ~ x1", cv=None).training.crossvalidated == {}


def test_small_and_odd_data_have_an_answer() -> None:
    three = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [2.0, 1.0, 3.0]})
    assert crank.linear(three, "y ~ x").training.crossvalidated == {}
    with pytest.raises(DataError, match=r"at least 4 rows; got 3\. Use a fixed penalty"):
        crank.linear(three, "y ~ x", penalty="cv")
    # without the one row that is out of order, folds separate: no figure, and no error
    near = pd.DataFrame({"x": np.arange(12.0), "y": np.r_[0.0, 2.0, 1.0, np.arange(3.0, 12.0)]})
    assert crank.linear(near, "y ~ x").training.crossvalidated == {}
    chosen = crank.linear(near, "y ~ x", penalty="cv")
    assert chosen.training.crossvalidated["kendall"].estimate > 0.8
    constant = crank.linear(near.assign(z=1.0), "y ~ z", penalty="cv", l1_ratio=1.0)
    assert np.isnan(constant.ranker.coef).tolist() == [True]
    assert constant.training.crossvalidated["kendall"].estimate == 0.5
    binary = near.assign(y=(near["x"] % 3 == 0).astype(float))
    assert (
        0.0
        <= crank.linear(binary, "y ~ x", penalty="cv").training.crossvalidated["kendall"].estimate
        <= 1.0
    )
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(30, 60)))
    wide.columns = [f"x{k}" for k in range(60)]
    wide["y"] = 2.0 * wide["x3"] + rng.normal(size=30)
    for ratio in (0.0, 1.0):
        m = crank.linear(wide, "y ~ .", penalty="cv", l1_ratio=ratio)
        assert m.importance()["term"][0] == "x3"


def test_folds_without_pairs_have_no_figure() -> None:
    """Two rows differ from the others; a judge may find nothing to say of a fold."""
    y = np.r_[np.zeros(20), 1.0, 1.0]

    def constant(train: Ranks, test: Ranks) -> Floats:
        return np.zeros((len(test.row), 2))

    found = select(constant, rank(y), cv=10, rng=np.random.default_rng(0))
    assert (found.step, found.step_1se) == (1, 1)
    assert found.crossvalidated["kendall"].estimate == 0.5
    silent = select(
        constant,
        rank(y),
        cv=2,
        rng=np.random.default_rng(0),
        judge=lambda score, test: 0.0 if test.row[0] == 0 else np.nan,
    )
    assert list(silent.crossvalidated) == ["kendall"]


def test_options_are_checked_together() -> None:
    for wrong, message in (
        ({"penalty": "best"}, r"penalty='best' is not allowed\. Allowed: a number from 0 up, 'cv'"),
        ({"penalty": -1}, r"penalty=-1 is not allowed\. Allowed: a number from 0 up, 'cv' or"),
        ({"l1_ratio": 1.5, "penalty": 1}, r"l1_ratio=1\.5 is not allowed\. Allowed: from 0 to 1"),
        ({"l1_ratio": 1.0}, r"l1_ratio=1\.0 says how to share out.*Use penalty='cv'"),
        ({"penalty": "cv", "cv": None}, r"chosen by cross-validation, and cv is None"),
        ({"cv": 1}, r"cv=1 is not allowed\. Allowed: an integer from 2 up"),
        ({"random_state": -1}, r"random_state=-1 is not allowed"),
    ):
        with pytest.raises(OptionError, match=message):
            LinearOptions(**wrong)


@pytest.fixture(scope="module")
def lasso() -> crank.LinearModel:
    sample = crank.datasets.regression(150, p=8, noise=1.0, random_state=0).frame
    return crank.linear(sample, "y ~ . + I(x1 + x2)", penalty="1se", l1_ratio=1.0)


def test_the_summary_says_what_was_chosen(lasso: crank.LinearModel) -> None:
    text = str(lasso.summary())
    assert "lasso, " in text
    assert "the heaviest within a standard error of the least loss in 6-fold" in text
    used = int(np.count_nonzero(lasso.ranker.coef))
    assert f"{used} of 9 are not 0; the others are not shown" in text
    assert "have no standard errors" in text
    assert "std.error  " in text.split("Fit:")[1]
    assert "std.error" not in text.split("Fit:")[0]
    assert lasso.tidy()["std_error"].isna().all()
    assert lasso.glance()["l1_ratio"][0] == 1.0
    with pytest.raises(OptionError, match="terms of a lasso cannot be tested"):
        lasso.anova()
    assert "elastic net, l1_ratio 0.5, " in str(
        crank.linear(
            crank.datasets.regression(60, p=5, random_state=0).frame,
            "y ~ .",
            penalty="cv",
            l1_ratio=0.5,
        ).summary()
    )


def test_the_path_is_a_table_and_a_plot(lasso: crank.LinearModel) -> None:
    table = lasso.penalty_path()
    assert list(table) == ["penalty", "nonzero", "loss", "loss_se", "kendall", "chosen"]
    assert sorted(table["chosen"].unique()) == ["", "1se", "cv"]
    row = table.set_index("chosen").loc["1se"]
    assert row["penalty"] == lasso.ranker.penalty
    assert row["nonzero"] == np.count_nonzero(lasso.ranker.coef)
    assert table["nonzero"].iloc[-1] == 0
    ax = lasso.plot_path(ax=Figure().subplots())
    assert len(ax.lines) == 9 + 3
    assert [text.get_text() for text in ax.texts][:2] == ["cv", "1se"]
    assert ax.texts[0].get_position()[1] != ax.texts[1].get_position()[1]
    frame = crank.datasets.regression(60, p=5, random_state=0).frame
    ridge = crank.linear(frame, "y ~ .", penalty="cv")
    assert len(ridge.plot_path(ax=Figure().subplots()).texts) == 2
    with pytest.raises(OptionError, match=r"tried no other\. Fit it with penalty='cv'"):
        crank.linear(frame, "y ~ .", penalty=0.1).penalty_path()


def test_a_penalty_that_two_rules_choose_is_named_once(lasso: crank.LinearModel) -> None:
    path = lasso.ranker.path
    assert path is not None
    both = replace(path, step=path.step_1se)
    model = replace(lasso, ranker=replace(lasso.ranker, path=both))
    texts = [text.get_text() for text in model.plot_path(ax=Figure().subplots()).texts]
    assert texts[0] == "cv, 1se"
    assert "1se" not in texts
    assert sorted(model.penalty_path()["chosen"].unique()) == ["", "cv, 1se"]


def test_a_chosen_penalty_survives_the_file(lasso: crank.LinearModel) -> None:
    text = lasso.to_json()
    back = of(crank.LinearModel, crank.from_json(text))
    assert back.to_json() == text
    pd.testing.assert_frame_equal(back.penalty_path(), lasso.penalty_path())
    assert str(back.summary()) == str(lasso.summary())
    for entry, wrong, message in (
        ("penalty", "cv?", "penalty='cv\\?' is not allowed"),
        ("penalty", 0.5, "path is there without a penalty chosen"),
        ("l1_ratio", 0.0, "vcov is not null exactly"),
        ("path", {"step": 99}, "step is not one of the penalties"),
        ("path", {"coef": [[1.0]]}, "path.coef is not 40 rows of 9"),
        ("path", {"loss": [[1.0]]}, "path.loss is not 1 rows of 40"),
        ("path", {"penalty": [1.0] * 40}, "path.penalty is not increasing"),
    ):
        document = json.loads(text)
        ranker = document["ranker"]
        ranker[entry] = ranker[entry] | wrong if isinstance(wrong, dict) else wrong
        document["fingerprint"] = fingerprint(document)
        with pytest.raises(ModelFileError, match=message):
            crank.from_json(json.dumps(document))


def test_update_and_the_command_line_take_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = crank.datasets.regression(80, p=5, random_state=0).frame.round(6)
    frame.to_csv("d.csv", index=False)
    options = ["--model", "linear", "--penalty", "1se", "--l1-ratio", "0.5", "--cv", "4"]
    assert main(["fit", "d.csv", "y ~ .", "-o", "m.json", *options]) == 0
    assert "penalty='1se', l1_ratio=0.5, cv=4" in capsys.readouterr().out
    m = crank.load("m.json")
    same = crank.linear(pd.read_csv("d.csv"), "y ~ .", penalty="1se", l1_ratio=0.5, cv=4)
    assert same.to_json() == m.to_json()
    assert of(crank.LinearModel, m.update(frame, penalty=0.1)).ranker.penalty == 0.1
    assert main(["fit", "d.csv", "y ~ .", "-o", "n.json", "--penalty", "most"]) == 2
    assert "--penalty belongs to --model linear" in capsys.readouterr().err


def test_the_estimator_chooses_as_the_formula_does() -> None:
    sample = crank.datasets.regression(120, p=6, noise=1.0, random_state=0)
    m = crank.linear(sample.frame, "y ~ .", penalty="cv", l1_ratio=1.0)
    estimator = RankingLinear(penalty="cv", l1_ratio=1.0).fit(sample.X, sample.y)
    assert estimator.penalty_ == m.ranker.penalty
    np.testing.assert_array_equal(estimator.coef_, m.ranker.coef)
    drawn_anew = RankingLinear(penalty="cv", random_state=None).fit(sample.X, sample.y)
    assert drawn_anew.penalty_ > 0.0


def test_a_part_of_many_rows_is_dealt_out_to_folds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("crank.fitting.penalty.MOST_JUDGED", 200)
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.normal(size=600), "k": np.repeat(np.arange(60), 10)})
    data["y"] = data["x"] + rng.logistic(size=600)
    whole = crank.linear(data, "y ~ x", cv=None)
    for options in ({}, {"penalty": "cv"}, {"groups": "k"}):
        model = crank.linear(data, "y ~ x", **options)  # type: ignore[arg-type]
        assert model.training.n_judged == 200
        judged = model.training.crossvalidated["kendall"]
        assert judged.se > 1.5 * model.training.figures["kendall"].se
        assert "Cross-validation fitted and judged 200 of the 600 rows" in str(model.summary())
        model.to_json(tmp_path / "m.json")
        assert crank.load(tmp_path / "m.json").training.n_judged == 200
    assert np.array_equal(crank.linear(data, "y ~ x").ranker.coef, whole.ranker.coef)
    assert whole.training.n_judged is None


def test_groups_stay_whole_in_a_part_of_the_rows() -> None:
    labels = np.random.default_rng(0).integers(0, 9, 500)
    chosen = some_rows(500, 200, labels, np.random.default_rng(1))
    assert 0 < chosen.sum() <= 200 or len(np.unique(labels[chosen])) == 4
    assert not set(labels[chosen]) & set(labels[~chosen])
