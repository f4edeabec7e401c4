"""Monotone terms of linear and additive rankers: lines and curves that never turn."""

import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crank
from crank.cli import main
from crank.design.factors import Smooth
from crank.design.slopes import curve_slopes, slopes
from crank.errors import DataError, ModelFileError, OptionError
from crank.export.json.text import fingerprint
from crank.fitting.bounded import Bounds, bounded_minimum
from crank.formula.smooths import smooth
from crank.models.additive import AdditiveModel
from crank.serve import Scorer

PAIRS = 10_000
WAYS = {"x": 1, "z": -1, "b": 1}


def frame(n: int = 300) -> pd.DataFrame:
    """Responses that mostly contradict the directions which the tests ask for."""
    rng = np.random.default_rng(3)
    data = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "z": rng.uniform(0.1, 3.0, n),
            "u": rng.normal(size=n),
            "b": rng.integers(0, 2, n),
            "g": rng.choice(["red", "green", "blue"], n),
        }
    )
    bent = np.sin(2.0 * data["x"]) - np.cos(2.0 * data["z"]) + data["u"] * data["x"]
    return data.assign(y=bent - data["b"] + (data["g"] == "red") + rng.logistic(size=n) / 2.0)


DATA = frame()


def violations(score: Callable[[pd.DataFrame], Any], ways: dict[str, int]) -> int:
    """Count pairs of rows alike but for one column that are scored the wrong way round."""
    rng, wrong = np.random.default_rng(0), 0
    for name, sign in ways.items():
        low = DATA.iloc[rng.integers(0, len(DATA), PAIRS)].reset_index(drop=True)
        ends = rng.normal(scale=3.0, size=(PAIRS, 2))
        ends = np.abs(ends) + 1e-3 if name == "z" else ends
        ends = rng.integers(0, 2, (PAIRS, 2)).astype(float) if name == "b" else ends
        ends.sort(axis=1)
        first, second = (score(low.assign(**{name: ends[:, k]})) for k in range(2))
        wrong += int(np.count_nonzero((second - first) * sign < 0.0))
    return wrong


@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("y ~ .", {"smoothing": 0.001}),
        ("y ~ s(x, by=g) + s(log(z), df=5) + b + u + g", {"pairs": 0, "cv": None}),
    ],
)
def test_no_pair_of_rows_contradicts_a_monotone_curve(
    formula: str, options: dict[str, Any], tmp_path: Path
) -> None:
    model = crank.additive(DATA, formula, monotone=WAYS, **options)
    model.to_json(tmp_path / "m.json")
    model.to_onnx(tmp_path / "m.onnx")
    again = crank.load(tmp_path / "m.json")
    assert isinstance(again, AdditiveModel)
    assert again.ranker.options.monotone == {
        "x": "increasing",
        "z": "decreasing",
        "b": "increasing",
    }
    for score in (model.predict, again.predict, Scorer(tmp_path / "m.onnx").predict):
        assert violations(score, WAYS) == 0
    free = crank.additive(DATA, formula, **options)
    assert violations(free.predict, WAYS) > 100
    assert model.ranker.total_freedom < free.ranker.total_freedom


def test_neighbouring_values_differ_by_rounding_at_most() -> None:
    model = crank.additive(DATA, "y ~ x + z", smoothing=0.001, monotone={"x": 1})
    x = np.linspace(-6.0, 6.0, 100_001)
    scores = model.predict(pd.DataFrame({"x": x, "z": 1.0}))
    assert np.diff(scores).min() > -1e-14
    assert np.ptp(scores) > 0.5


def test_slopes_of_curves_are_those_of_their_pieces() -> None:
    factor = smooth("s(x)", (), np.random.default_rng(0).gamma(2.0, size=200), 6)
    rows, knots = curve_slopes(factor), np.array(factor.knots)
    sd = 1.0 / factor.coefficients[0, 0, 1]

    def slope(at: np.ndarray) -> np.ndarray:
        values = np.empty((2, len(at), len(factor.labels)))
        for k, step in enumerate((-1e-6, 1e-6)):
            factor.at(at + step, values[k])
        return np.asarray(sd * (values[1] - values[0]) / 2e-6)

    ends = slope(knots)
    assert np.allclose(rows[: len(knots) - 1], ends[:-1], atol=1e-5)
    assert np.allclose(rows[-1], ends[-1], atol=1e-5)
    # the slope of a parabola in the middle is that of its ends and twice its second coefficient
    middle, inner = slope((knots[1:] + knots[:-1]) / 2.0), rows[len(knots) - 1 : -1]
    assert np.allclose(middle, (ends[:-1] + 2.0 * inner + ends[1:]) / 4.0, atol=1e-5)


def test_the_nearest_allowed_point_is_that_of_the_best_set_of_equations() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        A, rows = rng.normal(size=(3, 3)), rng.normal(size=(4, 3))
        curvature, point = A @ A.T + 0.1 * np.eye(3), rng.normal(size=3)
        least = rows @ rng.normal(size=3) - rng.exponential(size=4)  # some point is allowed
        best = np.inf
        for count in range(4):
            for chosen in combinations(range(4), count):
                held = rows[list(chosen)]
                moved = np.linalg.solve(curvature, held.T)
                pull = np.linalg.solve(held @ moved, least[list(chosen)] - held @ point)
                trial = point + moved @ pull
                if (rows @ trial >= least - 1e-9).all():
                    best = min(best, float((trial - point) @ curvature @ (trial - point)))
        found = Bounds(rows, least).nearest(point, curvature)
        assert (rows @ found >= least - 1e-9).all()
        assert np.isclose((found - point) @ curvature @ (found - point), best, rtol=1e-7)


def test_the_minimum_is_that_of_a_general_solver() -> None:
    from scipy.optimize import minimize

    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    D = np.array([X[i] - X[j] for i in range(40) for j in range(40) if y[i] > y[j]])
    rows = np.array([[1.0, 1.0, 0.0], [0.0, -1.0, 2.0]])
    bounds = Bounds(rows, np.array([0.3, 0.1]))

    def loss(b: np.ndarray) -> float:
        return float(np.logaddexp(0.0, -D @ b).sum())

    def newton(b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p = 1.0 / (1.0 + np.exp(D @ b))
        return D.T @ p, (D * (p * (1.0 - p))[:, None]).T @ D

    found = bounded_minimum(newton, bounds, np.zeros(3), 1e-10)
    constraint = {"type": "ineq", "fun": lambda b: rows @ b - bounds.least}
    oracle = minimize(loss, np.ones(3), constraints=constraint, tol=1e-12)
    assert np.allclose(found, oracle.x, atol=1e-4)
    assert loss(found) <= oracle.fun + 1e-8


def test_a_line_held_at_0_is_as_if_its_column_were_absent() -> None:
    held = crank.linear(DATA, "y ~ x + z + b", monotone={"b": "increasing"}, cv=None)
    absent = crank.linear(DATA, "y ~ x + z", cv=None)
    assert held.ranker.coef[2] == 0.0
    assert np.allclose(held.ranker.coef[:2], absent.ranker.coef, rtol=1e-7)
    shown = str(held.summary())
    assert "monotone: b increasing" in shown
    assert "held flat by that, at least in part: b; errors and tests are those without" in shown


def test_inequalities_that_do_not_bind_change_nothing() -> None:
    ways = {"z": "increasing", "b": "decreasing"}
    free = crank.linear(DATA, "y ~ x + z + b")
    held = crank.linear(DATA, "y ~ x + z + b", monotone=ways)
    assert np.allclose(held.ranker.coef, free.ranker.coef, rtol=1e-8)
    assert np.allclose(held.ranker.vcov, free.ranker.vcov, rtol=1e-6)
    assert held.training.crossvalidated.keys() == free.training.crossvalidated.keys()
    assert "held flat" not in str(held.summary())
    chosen = crank.linear(DATA, "y ~ x + z + b", monotone=ways, penalty="cv")
    assert chosen.ranker.path is not None
    assert (chosen.ranker.path.coef[:, 1] >= 0.0).all()


def test_monotone_terms_are_no_sides_of_pairs() -> None:
    model = crank.additive(DATA, "y ~ x + u + z", pairs=1, monotone={"z": 1})
    assert model.chosen_pairs == ("s(x, df=3):s(u, df=3)",)
    assert "monotone: z increasing" in str(model.summary())
    alone = crank.additive(DATA, "y ~ x + u + z", pairs=3, monotone={"x": 1, "s(u)": 1})
    assert alone.chosen_pairs == ()


@pytest.mark.parametrize(
    ("formula", "ways", "message"),
    [
        ("y ~ poly(x, 2)", {"x": 1}, "the term 'poly.x, 2.' is no line or curve"),
        ("y ~ x + x:u", {"x": 1}, "the term 'x:u' is no line or curve"),
        ("y ~ s(x, by=u)", {"x": 1}, "is no line or curve"),
        ("y ~ s(x ** 2)", {"x": 1}, "is no line or curve"),
        ("y ~ x + g", {"g": 1}, "holds categories"),
        ("y ~ x", {"xx": 1}, "which the formula does not use.*Did you mean 'x'"),
        ("y ~ s(x)", {"x": 1, "s(x)": -1}, "both directions of 's.x.'"),
        ("y ~ x", {"x": "up"}, "monotone.'x'.='up' is not allowed"),
    ],
)
def test_what_cannot_be_monotone_is_refused(
    formula: str, ways: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        crank.linear(DATA, formula, monotone=ways)


def test_other_refusals() -> None:
    with pytest.raises(OptionError, match="is no line or curve"):
        crank.additive(DATA, "y ~ x + u", monotone={"x": 1}, pairs=[("x", "u")])
    with pytest.raises(OptionError, match=r"l1_ratio=1.0 is not allowed with monotone="):
        crank.linear(DATA, "y ~ x", monotone={"x": 1}, penalty=0.1, l1_ratio=1.0)
    with pytest.raises(DataError, match="separation"):
        crank.linear(DATA.assign(y=DATA["x"]), "y ~ x + z", monotone={"x": 1}, cv=None)


def test_a_separating_column_may_be_held_back() -> None:
    model = crank.linear(DATA.assign(y=DATA["x"]), "y ~ x + z", monotone={"x": -1}, cv=None)
    assert model.ranker.coef[0] == 0.0


def test_files_that_break_the_promise_are_refused(tmp_path: Path) -> None:
    model = crank.linear(DATA, "y ~ x + s(z)", monotone={"x": 1, "z": -1})
    stored = json.loads(model.to_json() or "")
    path = tmp_path / "m.json"

    def write() -> None:
        stored.pop("fingerprint")
        stored["fingerprint"] = fingerprint(stored)
        path.write_text(json.dumps(stored))

    stored["ranker"]["linear"]["monotone"]["x"] = "decreasing"
    write()
    with pytest.raises(ModelFileError, match="is not monotone in the columns"):
        crank.load(path)
    stored["ranker"]["linear"]["monotone"] = {"q": "increasing"}
    write()
    with pytest.raises(ModelFileError, match="names 'q'"):
        crank.load(path)


def test_estimators_take_directions_by_name_or_number() -> None:
    X, y = DATA[["x", "z"]], DATA["y"]
    asked = crank.additive(DATA, "y ~ x + z", monotone={"x": 1}, pairs=0)
    named = crank.RankingAdditive(monotone={"x": "increasing"}, pairs=0).fit(X, y)
    number = crank.RankingAdditive(monotone={0: 1}, pairs=0).fit(X.to_numpy(), y)
    assert np.allclose(named.predict(X), asked.predict(DATA), atol=1e-12)
    assert np.allclose(number.predict(X.to_numpy()), asked.predict(DATA), atol=1e-12)
    assert number.ranker_.options.monotone == {"x0": "increasing"}
    line = crank.RankingLinear(penalty=0.0, monotone={1: "decreasing"}).fit(X.to_numpy(), y)
    assert line.coef_[1] == 0.0
    with pytest.raises(OptionError, match=r"monotone= names 'q', which X does not have"):
        crank.RankingLinear(monotone={"q": 1}).fit(X, y)


def test_the_command_line_takes_directions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    DATA.to_csv(tmp_path / "d.csv", index=False)
    out = tmp_path / "m.json"
    line = ["fit", str(tmp_path / "d.csv"), "y ~ x + z", "-o", str(out), "--model", "linear"]
    assert main([*line, "--monotone", "x=increasing", "--monotone", "z=decreasing"]) == 0
    assert "monotone: x increasing, z decreasing" in capsys.readouterr().out
    assert main([*line, "--monotone", "x"]) == 2
    assert "Allowed: COLUMN=increasing" in capsys.readouterr().err


def test_slopes_of_a_design_count_every_level() -> None:
    model = crank.additive(DATA, "y ~ s(x, by=g)", smoothing=0.01)
    smooths = [f for f in model.design.factors if isinstance(f, Smooth)]
    found = slopes(model.design, {"x": 1})
    assert found.rows.shape == (3 * len(curve_slopes(smooths[0])), len(model.design.names))
