"""The additive ranker: its basis, its fit against all pairs written down, its tests, its files."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit

import crank
from crank.cli import main
from crank.design.penalties import column_penalties
from crank.errors import DataError, FormulaError, ModelFileError, OptionError
from crank.fitting.pairs import Pairs
from crank.fitting.smoothing import Penalty, approached, choose_smoothing, dispersion, penalised
from crank.formula import learn_design, parse_formula
from crank.formula.natural import bspline_pieces, natural_pieces
from crank.formula.smooths import evaluate, smooth
from crank.frames.table import Table
from crank.kernels.links import LINKS
from crank.page.terms import shown_effects
from crank.ranks import rank
from tests.narrowing import number

FloatArray = NDArray[np.float64]


def sample(n: int = 150, seed: int = 0, noise: float = 1.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": rng.uniform(-2, 2, n),
            "z": np.exp(rng.normal(size=n)),
            "b": rng.integers(0, 2, n),
            "g": rng.choice(["low", "mid", "top"], n),
        }
    )
    level = frame["g"].map({"low": 0.0, "mid": 0.5, "top": 2.0})
    frame["y"] = np.sin(2 * frame["x"]) * 2 + level + noise * rng.logistic(size=n)
    return frame


# The basis ----------------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(3, 12), st.sampled_from(["normal", "skewed", "tied"]))
def test_columns_are_standardised_and_uncorrelated(seed: int, knots: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=80)
    x = {"normal": x, "skewed": np.exp(2 * x) * 1e3, "tied": np.round(2 * x)}[kind]
    w = rng.integers(1, 4, 80).astype(float)
    factor = smooth("s(x)", (), x, knots, w)
    values = evaluate(factor.coefficients, np.array(factor.knots), x)
    share = w / w.sum()
    assert np.abs(share @ values).max() < 1e-8
    assert np.abs((values * share[:, None]).T @ values - np.eye(values.shape[1])).max() < 1e-6
    assert list(factor.penalty) == sorted([0.0, *factor.penalty[1:]])


def test_basis_spans_all_natural_splines() -> None:
    x = np.random.default_rng(0).normal(size=200)
    factor = smooth("s(x)", (), x, 7)
    knots = np.array(factor.knots)
    ours = np.column_stack([np.ones(200), evaluate(factor.coefficients, knots, x)])
    theirs = evaluate(natural_pieces(bspline_pieces(knots), knots), knots, x)
    solution = np.linalg.lstsq(ours, theirs, rcond=None)[0]
    assert np.abs(ours @ solution - theirs).max() < 1e-9


def test_columns_are_lines_beyond_the_data() -> None:
    factor = smooth("s(x)", (), np.linspace(0, 1, 60), 6)
    for ends in (np.array([-3.0, -2.0, -1.0]), np.array([2.0, 3.0, 4.0])):
        values = evaluate(factor.coefficients, np.array(factor.knots), ends)
        assert np.abs(values[0] - 2 * values[1] + values[2]).max() < 1e-9


def test_few_values_make_few_columns() -> None:
    assert len(smooth("s", (), np.repeat([1.0, 2.0], 20)).labels) == 1
    assert len(smooth("s", (), np.repeat([1.0, 2.0, 5.0], 20)).labels) == 2
    mostly = np.concatenate([np.zeros(500), np.arange(1.0, 30.0)])
    assert len(smooth("s", (), mostly).labels) > 3


# The fit ------------------------------------------------------------------------------------


def naive(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    w: NDArray[np.float64],
    penalty: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Penalised logistic regression of all pairs, written down; with sandwich and freedom."""
    i, j = np.triu_indices(len(y), 1)
    D, weight = X[i] - X[j], w[i] * w[j]
    won = (y[i] > y[j]) + 0.5 * (y[i] == y[j])
    ridge, b = np.diag(penalty * w.sum() ** 2 / 2.0), np.zeros(X.shape[1])
    for _ in range(12):
        p = expit(D @ b)
        information = (D * (weight * p * (1 - p))[:, None]).T @ D
        b = b + np.linalg.solve(information + ridge, D.T @ (weight * (won - p)) - ridge @ b)
    pairwise = D * (weight * (won - expit(D @ b)))[:, None]
    u = np.zeros(X.shape)
    np.add.at(u, i, pairwise)
    np.add.at(u, j, pairwise)
    u -= np.outer(w / w.sum(), u.sum(axis=0))
    inverse = np.linalg.inv(information + ridge)
    return b, inverse @ (u.T @ u) @ inverse, np.diagonal(inverse @ information)


@pytest.mark.parametrize("seed", range(4))
def test_fit_is_the_penalised_regression_of_all_pairs(seed: int) -> None:
    frame = sample(60, seed)
    frame["y"] = frame["y"].round(seed % 2)
    w = np.random.default_rng(seed).integers(1, 4, 60).astype(float)
    m = crank.additive(frame, "y ~ .", smoothing=0.003, penalty=0.002, weights=w)
    X, ranker = np.asarray(m.design_matrix(frame), dtype=float), m.ranker
    known = ranker.estimated
    b, vcov, freedom = naive(X[:, known], frame["y"].to_numpy(), w, ranker.column_penalty[known])
    se = np.sqrt(np.diagonal(vcov))
    assert np.abs((ranker.coef[known] - b) / se).max() < 1e-6
    assert np.allclose(ranker.vcov[np.ix_(known, known)], vcov, rtol=1e-5, atol=1e-9)
    assert np.allclose(ranker.freedom[known], freedom, atol=1e-6)


def test_penalty_is_bending_in_its_own_unit_plus_a_ridge() -> None:
    frame = sample(80)
    m = crank.additive(frame, "y ~ x + b + g", smoothing=0.01, penalty=0.002)
    columns = column_penalties(m.design)
    sd = np.sqrt(np.diagonal(m.ranker.covariance))
    ridge = 0.002 * np.where(columns.scaled, sd**2, 1.0)
    assert np.allclose(m.ranker.column_penalty, 0.01 * columns.bending + ridge)


def test_on_a_grid_as_pair_by_pair() -> None:
    frame = sample(1010, 3)  # more than a million pairs
    m = crank.additive(frame, "y ~ s(x, df=3)", smoothing=0.001)
    X = np.asarray(m.design_matrix(frame), dtype=float)
    b, _, _ = naive(X, frame["y"].to_numpy(), np.ones(1010), m.ranker.column_penalty)
    assert np.abs((m.ranker.coef - b) / m.ranker.std_error).max() < 1e-5


def test_copies_are_weights() -> None:
    frame = sample(70)
    w = np.random.default_rng(1).integers(1, 4, 70)
    weighted = crank.additive(frame, "y ~ .", weights=w.astype(float), smoothing=0.001)
    copied = crank.additive(frame.loc[frame.index.repeat(w)], "y ~ .", smoothing=0.001)
    assert np.abs(weighted.predict(frame) - copied.predict(frame)).max() < 1e-8


def test_increasing_transforms_of_y_change_nothing() -> None:
    frame = sample()
    m = crank.additive(frame, "y ~ .")
    other = crank.additive(frame.assign(y=np.exp(frame["y"] / 3) ** 3), "y ~ .")
    assert np.array_equal(m.predict(frame), other.predict(frame))


def test_reversing_y_reverses_the_score() -> None:
    frame = sample()
    a = crank.additive(frame, "y ~ .", smoothing=0.001).predict(frame)
    b = crank.additive(frame.assign(y=-frame["y"]), "y ~ .", smoothing=0.001).predict(frame)
    assert np.abs(a + b).max() < 1e-6


def test_much_smoothing_is_the_linear_ranker() -> None:
    frame = sample()
    m = crank.additive(frame, "y ~ x + z + b", smoothing=1e6, penalty=0.001)
    line = crank.linear(frame, "y ~ x + z + b", penalty=0.001)
    assert np.abs(m.predict(frame) - line.predict(frame)).max() < 1e-4
    assert m.ranker.total_freedom < 3.001


def test_curves_are_found_where_lines_fail() -> None:
    train, test = sample(400, 1), sample(400, 2)
    m, line = crank.additive(train, "y ~ ."), crank.linear(train, "y ~ .")
    result = crank.compare(m, line, data=test, metric="kendall")
    assert result.estimates["estimate"].iloc[0] > 0.03 + result.estimates["estimate"].iloc[1]
    held = m.training.crossvalidated["kendall"]
    truth = number(m.evaluate(test).loc["kendall", "estimate"])
    assert held.ci_low < truth < held.ci_high


def test_rows_with_missing_values_are_dropped_and_counted() -> None:
    frame = sample()
    frame.loc[:9, "x"] = np.nan
    m = crank.additive(frame, "y ~ .", smoothing=0.01)
    assert (m.training.n, m.training.n_dropped) == (140, 10)
    with pytest.raises(DataError, match="missing in 10 of 150 rows"):
        m.predict(frame)


def test_odd_data_have_an_answer() -> None:
    frame = sample(60).assign(constant=3.0, twin=lambda d: d["x"])
    m = crank.additive(frame, "y ~ .")
    assert m.aliased == ("constant",)
    assert np.isfinite(m.predict(frame)).all()
    few = crank.additive(sample(8), "y ~ x + b")
    assert few.ranker.smoothing == 0.01
    assert few.training.crossvalidated == {}
    wide = crank.additive(
        {f"c{k}": np.random.default_rng(k).normal(size=30) for k in range(20)}, "c0 ~ ."
    )
    assert np.isfinite(wide.ranker.std_error).all()
    with pytest.raises(DataError, match="distinct"):
        crank.additive(frame.assign(y=1.0), "y ~ x")
    separated = crank.additive({"y": np.arange(60.0), "x": np.arange(60.0)}, "y ~ x")
    assert separated.training.figures["kendall"].estimate == 1.0


def test_groups_keep_together_and_cluster_errors() -> None:
    frame = sample(120)
    alone = crank.additive(frame, "y ~ x + g", smoothing=0.01)
    groups = np.arange(120) // 4
    m = crank.additive(frame, "y ~ x + g", groups=groups)
    assert m.ranker.n_groups == 30
    assert m.training.n_groups == 30
    fixed = crank.additive(frame, "y ~ x + g", groups=groups, smoothing=0.01)
    assert np.allclose(fixed.ranker.coef, alone.ranker.coef)
    assert not np.allclose(fixed.ranker.vcov, alone.ranker.vcov)


def test_many_rows_choose_on_a_part() -> None:
    frame = sample(11_000, 5)
    m = crank.additive(frame, "y ~ x", groups=np.arange(11_000) // 2)
    assert m.ranker.smoothing is None
    assert 4.0 < m.ranker.total_freedom < 9.0
    assert m.training.crossvalidated


# Smoothing and pairs ------------------------------------------------------------------------


def restricted_likelihood(
    J: FloatArray, at: FloatArray, c: float, penalty: Penalty, smoothing: FloatArray
) -> float:
    """By its definition, for a quadratic loss around coefficients without a penalty."""
    P = np.diag(penalty.per_column(smoothing))
    b = np.linalg.solve(J + P, J @ at)
    loss = (b - at) @ J @ (b - at) + b @ P @ b
    bent = penalty.term >= 0
    prior = np.log(np.diagonal(P)[bent]).sum() - np.linalg.slogdet((J + P) / c)[1]
    return float(-loss / c + prior) / 2.0


def test_smoothing_maximises_the_restricted_likelihood() -> None:
    frame = sample(250, 3)
    ranks = rank(frame["y"].to_numpy())
    table = Table.read(frame)
    design = learn_design(
        parse_formula("y ~ s(x, df=5) + s(z, df=4)", table.names), table, native=False, smooth=True
    )
    X = design.matrix(table)[ranks.row]
    penalties = column_penalties(design)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    # no ridge: then the prior of a term is its smoothing alone
    penalty = Penalty(penalties.bending, np.zeros(X.shape[1]), penalties.term, penalties.caution)
    pairs = Pairs(Z, ranks, LINKS["logit"], 0.0, 0.0)
    found = choose_smoothing(pairs, penalty)
    unit = ranks.total**2 / 2.0
    loss = penalised(pairs, np.maximum(penalty.per_column(found.smoothing), 1e-9))
    b = approached(loss, found.b, 20)
    products, _, information = loss.moments(b)
    P = np.diag(loss.ridge)
    inverse = np.asarray(np.linalg.inv(information), dtype=np.float64)
    freedom = 1.0 - np.diagonal(inverse) * loss.ridge
    c = dispersion(inverse, products, freedom, len(Z))
    J = information - P
    at = np.asarray(np.linalg.solve(J, information @ b), dtype=np.float64)
    inside = (found.smoothing > 1e-5) & (found.smoothing < 10.0)
    assert inside.any()
    for k in np.flatnonzero(inside):
        values = []
        for times in (0.8, 1.0, 1.25):
            other = found.smoothing.copy()
            other[k] *= times
            values.append(restricted_likelihood(J / unit, at, c / unit, penalty, other))
        assert values[1] > max(values[0], values[2]) - 1e-3


def test_products_are_twice_as_smooth_as_they_ask_and_bands_know_it() -> None:
    n = 200
    frame = sample(n, 3)
    frame["y"] += frame["x"] * np.log(frame["z"])
    for smoothing in (None, 0.01):
        m = crank.additive(frame, "y ~ x + z + x:z", smoothing=smoothing, cv=None)
        ranker, columns = m.ranker, column_penalties(m.design)
        assert columns.caution.tolist() == np.where(columns.term == 2, 2.0, 1.0).tolist()
        X, b = np.asarray(m.design_matrix(frame), dtype=float), ranker.coef
        P, i, j = np.diag(ranker.column_penalty) * n**2 / 2.0, *np.triu_indices(n, 1)
        D, p = X[i] - X[j], expit((X[i] - X[j]) @ b)
        information = (D * (p * (1 - p))[:, None]).T @ D + P
        inverse = np.linalg.inv(information)
        _, vcov, freedom = naive(X, frame["y"].to_numpy(), np.ones(n), ranker.column_penalty)
        spread, lost = np.sum(vcov * information) / freedom.sum(), n / (n - freedom.sum())
        times = columns.caution if smoothing is None else np.ones(len(b))
        bias = spread * inverse @ (P * times) @ inverse
        assert np.allclose(ranker.uncertainty, lost * (vcov + bias), rtol=1e-3, atol=1e-7)
        if smoothing is None:
            for term in (0, 2):
                here = columns.term == term
                bending, used = columns.bending[here], freedom[here].sum()
                asked = spread * lost * used / (n**2 / 2.0 * np.sum(bending * b[here] ** 2))
                found = (ranker.column_penalty[here] - 1e-4) / bending
                # on a coarse grid, until degrees of freedom change by less than .02
                assert found == pytest.approx(times[here] * asked, rel=0.1)


def test_lines_stay_lines_and_curves_bend() -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.uniform(-2, 2, (400, 3)), columns=["curve", "line", "noise"])
    frame["y"] = np.sin(2 * frame["curve"]) + frame["line"] + rng.logistic(size=400) / 2
    m = crank.additive(frame, "y ~ .", pairs=0)
    edf = m.terms().set_index("term")["edf"]
    assert edf["s(curve)"] > 4.0
    assert edf["s(line)"] < 2.5
    assert edf["s(noise)"] < 2.5


def test_pairs_are_found_where_they_are(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
    frame["g"] = rng.choice(["u", "v"], 300)
    noise = rng.logistic(size=300) / 2
    plain = frame.assign(y=frame["a"] + frame["b"] ** 2 + noise)
    assert crank.additive(plain, "y ~ .").chosen_pairs == ()
    crossed = frame.assign(
        y=2 * frame["a"] * frame["b"] + np.where(frame["g"] == "u", 2, -2) * frame["c"] + noise
    )
    m = crank.additive(crossed, "y ~ .")
    assert {"s(a, df=3):s(b, df=3)", "s(c, df=3):g"} <= set(m.chosen_pairs)
    estimate = m.training.crossvalidated["kendall"]
    alone = crank.additive(crossed, "y ~ .", pairs=0).training.crossvalidated["kendall"]
    assert estimate.estimate > alone.estimate + 0.15
    two = crank.additive(crossed, "y ~ .", pairs=2, cv=None)
    assert set(two.chosen_pairs) == {"s(a, df=3):s(b, df=3)", "s(c, df=3):g"}
    named = crank.additive(crossed, "y ~ .", pairs=[("a", "b"), ("s(c)", "g")], cv=None)
    assert np.allclose(named.predict(crossed), two.predict(crossed), atol=1e-3)
    two.to_json(tmp_path / "m.json")
    assert (
        crank.load(tmp_path / "m.json").predict(crossed).tolist() == two.predict(crossed).tolist()
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs": [("x", "nothing")]}, "no curve, category or number"),
        ({"pairs": [("x", "x")]}, "with itself"),
        ({"pairs": "some"}, "not a way to choose pairs"),
        ({"pairs": -1}, "not a way to choose pairs"),
        ({"pairs": 2, "smoothing": 0.1}, "Leave smoothing out"),
    ],
)
def test_wrong_pairs_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        crank.additive(sample(60), "y ~ x + z", **options)


# Formulas -----------------------------------------------------------------------------------


def test_terms_of_a_formula() -> None:
    frame = sample(200)
    m = crank.additive(frame, "y ~ s(x, df=3) + log(z) + b + g + x:z + s(z, by=g)", smoothing=0.01)
    assert [(part.name, part.shape) for part in m.parts] == [
        ("s(x, df=3)", "curve"),
        ("s(log(z))", "curve"),
        ("b", "columns"),
        ("g", "levels"),
        ("s(z, by=g)", "curves"),
        ("s(x, df=3):s(z, df=3)", "surface"),
    ]
    assert m.parts[0].columns == slice(0, 3)
    assert [part.columns.stop - part.columns.start for part in m.parts] == [3, 9, 1, 3, 27, 9]


def test_smooth_terms_in_a_linear_formula() -> None:
    frame = sample(300)
    m = crank.linear(frame, "y ~ b + s(x) + g")
    assert isinstance(m, crank.AdditiveModel)
    assert isinstance(m, crank.LinearModel)
    assert str(m.call) == "crank.linear(data, 'y ~ b + s(x) + g')"
    assert m.design.names[0] == "b"
    assert "g[T.mid]" in m.design.names
    # terms that are not smooth have no penalty
    straight = [k for k, name in enumerate(m.design.names) if not name.startswith("s(")]
    assert (m.ranker.column_penalty[straight] == 0.0).all()
    again = m.update(frame, ". - b")
    assert str(again.call).startswith("crank.linear")
    assert len(again.parts) == 2
    both = crank.linear(frame, "y ~ x + s(x)")
    assert both.aliased == ("s(x)[1]",)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("y ~ s(x, df=0)", "df of the term 's(x, df=0)' must be a whole number from 1"),
        ("y ~ s(x, by=nobody)", "column 'nobody'"),
        ("y ~ s(x, by=1)", "by= in the term .* must be a column"),
        ("y ~ s(x) + s(q)", "column 'q'"),
        ("y ~ log(s(x))", "makes columns of its own"),
    ],
)
def test_bad_smooth_terms_are_refused(formula: str, message: str) -> None:
    with pytest.raises(crank.CrankError, match=message.replace("(", r"\(").replace(")", r"\)")):
        crank.additive(sample(), formula)


def test_smooth_terms_need_a_penalised_fit() -> None:
    with pytest.raises(FormulaError, match=r"crank\.linear or crank\.additive"):
        crank.fit(sample(), "y ~ s(x)")
    with pytest.raises(DataError, match="needs a column that varies"):
        crank.additive(sample().assign(x=1.0), "y ~ s(x)")


@pytest.mark.parametrize(
    "options", [{"smoothing": -1.0}, {"penalty": "much"}, {"cv": 1}, {"link": "cauchit"}]
)
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="is not allowed"):
        crank.additive(sample(), "y ~ x", **options)


# Tests and bands ----------------------------------------------------------------------------


@pytest.mark.no_cover
def test_tests_hold_their_level() -> None:
    smooth_p, bent_p = [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame({"x": rng.normal(size=100), "z": rng.uniform(size=100)})
        frame["y"] = frame["x"] + rng.logistic(size=100)
        m = crank.additive(frame, "y ~ x + z", pairs=0, cv=None)
        table = m.terms().set_index("term")
        smooth_p.append(table.loc["s(z)", "pvalue"])
        bent_p.append(table.loc["s(x)", "pvalue_bent"])
    for found in (np.array(smooth_p), np.array(bent_p)):
        # three standard errors above .05; below, tests may be cautious (docs/design/additive.md)
        assert np.mean(found < 0.05) < 0.12
        assert 0.41 < found.mean() < 0.75


def test_two_levels_are_tested_as_a_number_is() -> None:
    frame = sample(200)
    levels, number = (
        crank.additive(frame, f"y ~ x + {b}", cv=None).terms().iloc[1] for b in ("C(b)", "b")
    )
    assert levels["F"] == pytest.approx(number["F"], rel=0.02)


def test_tests_find_curves_and_effects() -> None:
    table = crank.additive(sample(400), "y ~ .").terms().set_index("term")
    assert number(table.loc["s(x)", "pvalue_bent"]) < 1e-6
    assert number(table.loc["g", "pvalue"]) < 1e-6
    assert number(table.loc["s(x)", "edf"]) > 3
    assert crank.additive(sample(400), "y ~ .").anova()["term"].tolist() == table.index.tolist()
    m = crank.additive(sample(60), "y ~ x")
    with pytest.raises(DataError, match=r"crank\.compare"):
        m.anova(m)


def test_effects_sum_to_the_score() -> None:
    frame = sample(100)
    m = crank.additive(frame, "y ~ x + z + b + g", smoothing=0.001)
    one = frame.assign(z=frame["z"].mean(), b=0, g="low")
    low, high = frame["x"].min(), frame["x"].max()
    curve = m.effects("x")
    at = np.interp(frame["x"], curve["x"].astype(float), curve["effect"])
    moved = m.predict(one)
    assert np.abs((moved - at) - (moved - at).mean()).max() < 0.02
    assert (curve["x"].min(), curve["x"].max()) == (low, high)
    levels = m.effects("g").set_index("x")["effect"]
    change = m.predict(frame.head(1).assign(g="top")) - m.predict(frame.head(1).assign(g="low"))
    assert abs(levels["top"] - levels["low"] - change[0]) < 1e-12
    with pytest.raises(OptionError, match="not a term of the model"):
        m.effects("q")


@pytest.mark.no_cover
def test_bands_cover() -> None:
    inside = []
    for seed in range(20):
        rng = np.random.default_rng(1000 + seed)
        x = rng.uniform(-2, 2, 150)
        frame = pd.DataFrame({"x": x, "y": 1.5 * np.sin(2 * x) + rng.logistic(size=150)})
        curve = crank.additive(frame, "y ~ x", cv=None).effects()
        # .67: the difference of two logistic errors is not logistic; from 20,000 rows
        truth = 0.67 * 1.5 * (np.sin(2 * curve["x"].astype(float)) - np.sin(2 * x).mean())
        inside.append(((curve["ci_low"] < truth) & (truth < curve["ci_high"])).mean())
    assert 0.92 < np.mean(inside) <= 1.0


# Everything a tree has ----------------------------------------------------------------------

FORMULAS = [
    "y ~ .",
    "y ~ s(x, by=g) + x:z + b",
    "y ~ s(z, by=b) + g",
    "y ~ log(z) + poly(x, 2) + b:x",
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_files_and_graphs_keep_the_model(formula: str, tmp_path: Path) -> None:
    frame, new = sample(200), sample(50, 9).assign(x=lambda d: 3 * d["x"])
    m = crank.additive(frame, formula, smoothing=0.001)
    m.to_json(tmp_path / "m.json")
    for other in (crank.load(tmp_path / "m.json"), pickle.loads(pickle.dumps(m))):
        assert isinstance(other, crank.AdditiveModel)
        assert np.array_equal(other.predict(new), m.predict(new))
        assert str(other.summary()) == str(m.summary())
        pd.testing.assert_frame_equal(other.effects(), m.effects())
    scorer = crank.serve.Scorer(m.to_onnx())
    assert (
        np.abs(scorer.predict(new) - m.predict(new)).max() <= 1e-12 * np.abs(m.predict(new)).max()
    )
    probability = crank.serve.Scorer(m.to_onnx(outputs=("probability",)))
    assert (
        np.abs(probability.predict(new, "probability") - m.predict(new, "probability")).max()
        < 1e-12
    )


def test_damaged_files_are_refused() -> None:
    from crank.export.json.additive import read, write

    m = crank.additive(sample(60), "y ~ x", smoothing=0.01)
    stored = write(m.ranker)
    changes: list[dict[str, object]] = [
        {"penalty": [1.0]},
        {"freedom": [-1.0] * 9},
        {"uncertainty": [[None], *stored["uncertainty"][1:]]},
        {"rugs": {"s(x)": [2.0, 1.0]}},
        {"smoothing": -1.0},
    ]
    for change in changes:
        with pytest.raises(ModelFileError):
            read(stored | change, m.design)


def test_readers_of_a_tree_read_it_too() -> None:
    train, test = sample(200), sample(100, 4)
    m = crank.additive(train, "y ~ .", smoothing=0.001)
    assert repr(m).startswith("<AdditiveModel 'y ~ .': 2 smooth terms, ")
    assert "Effective degrees of freedom" in str(m)
    text = str(m.summary())
    for words in (
        "Terms (smoothing 0.001, ridge 0.0001;",
        "P>F (line)",
        "s(x)",
        "d_tau, training",
    ):
        assert words in text
    assert "<table" in m.summary().to_html()
    glance = m.glance().iloc[0]
    assert glance["smoothing"] == 0.001
    assert glance["edf"] == pytest.approx(m.ranker.total_freedom)
    assert m.tidy().equals(m.terms())
    assert m.importance()["term"].iloc[0] == "s(x)"
    assert abs(m.importance()["share"].sum() - 1.0) < 1e-12
    assert m.augment(test)[".score"].notna().all()
    assert number(m.evaluate(test).loc["kendall", "estimate"]) > 0.7
    assert "x" in m.permutation_importance(test, repeats=2)["variable"].tolist()
    assert m.vcov().shape == (len(m.design.names),) * 2
    assert (
        m.predict(test, "probability", reference={"x": 0.0, "z": 1.0, "b": 0, "g": "low"}).max() < 1
    )


def test_page_of_curves() -> None:
    from matplotlib.figure import Figure

    m = crank.additive(sample(200), "y ~ x + b + g + x:z + s(z, by=g)", smoothing=0.001)
    page = m.plot_effects(figure=Figure())
    labels = {ax.get_xlabel() for ax in page.axes}
    assert {"x", "b", "g", "z"} <= labels
    curve = next(ax for ax in page.axes if ax.get_xlabel() == "x" and ax.lines)
    assert len(m.plot_effects("b", figure=Figure()).axes) == 1
    assert curve.get_ylim()[0] < 0 < curve.get_ylim()[1]
    with pytest.raises(DataError, match="no term that can be drawn"):
        crank.additive(sample(100), "y ~ poly(x, 2)").plot_effects()
    by_number = crank.additive(sample(100), "y ~ s(x, by=z)", smoothing=0.01)
    assert by_number.plot_effects(figure=Figure()).axes[0].get_title() == "times z"


def test_curves_by_a_category_that_comes_first() -> None:
    """A pair is named in the order of the columns, so a category may stand before its curve."""
    from matplotlib.figure import Figure

    first, second = (
        crank.additive(sample(200), f"y ~ {term}", smoothing=0.01)
        for term in ("g:s(z, df=3)", "s(z, df=3):g")
    )
    one, other = (m.effects().drop(columns="term") for m in (first, second))
    pd.testing.assert_frame_equal(one, other, rtol=1e-6)
    drawn = first.plot_effects(figure=Figure()).axes[0]
    assert drawn.get_xlabel() == "z"
    legend = drawn.get_legend()
    assert legend is not None
    assert legend.get_title().get_text() == "g"
    assert [one["term"] for one in shown_effects(first)] == ["g:s(z, df=3)"]


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = tmp_path / "d.csv", tmp_path / "m.json"
    sample(120).to_csv(data, index=False)
    command = ["fit", str(data), "y ~ .", "-o", str(out), "--model", "additive"]
    assert main([*command, "--smoothing", "0.01"]) == 0
    assert "Terms (smoothing 0.01" in capsys.readouterr().out
    assert main([*command, "--cv", "3", "--quiet"]) == 0
    assert crank.load(out).asked.arguments == {"cv": 3}
    assert main([*command, "--max-depth", "3"]) != 0
    assert "--max-depth belongs to --model tree" in capsys.readouterr().err
    assert main(["score", str(out), str(data), "-o", str(tmp_path / "s.csv")]) == 0


def test_estimator_is_the_model() -> None:
    from sklearn.model_selection import KFold, cross_val_score

    frame = sample(150).drop(columns="g")
    X, y = frame.drop(columns="y"), frame["y"]
    estimator = crank.RankingAdditive().fit(X, y)
    m = crank.additive(frame, "y ~ .")
    assert np.allclose(estimator.predict(X), m.predict(frame))
    folds = KFold(3, shuffle=True, random_state=0)
    assert crank.RankingAdditive(cv=folds).fit(X, y).score(X, y) > 0.6
    assert cross_val_score(crank.RankingAdditive(smoothing=0.001), X, y, cv=folds).min() > 0.6
    with pytest.raises(OptionError, match="neither trained on nor held out"):
        crank.RankingAdditive(cv=[(np.arange(9), np.arange(9, 20))]).fit(X, y)
    assert crank.RankingAdditive(random_state=None, smoothing=0.1).fit(X, y).ranker_ is not None


@pytest.mark.no_cover
@pytest.mark.filterwarnings("ignore")
def test_estimator_passes_the_checks_of_scikit_learn() -> None:
    from sklearn.utils.estimator_checks import check_estimator

    checked = check_estimator(crank.RankingAdditive(pairs=0), on_fail=None)
    assert {one["status"] for one in checked} <= {"passed", "skipped"}


def test_a_missing_value_is_said_of_the_term_not_of_a_column_of_its_basis() -> None:
    sample = crank.datasets.regression(200, p=5, random_state=0)
    m = crank.additive(sample.frame, "y ~ x1 + x3", smoothing=0.001)
    with pytest.raises(DataError, match=r"the term 's\(x3\)' is missing in 4 of 200 rows"):
        m.predict(sample.frame.assign(x3=sample.frame["x3"].where(sample.frame.index > 3)))
